"""Nothing of a frame reaches a log, whatever the agent sends (SA-1)."""

import json
import logging
from pathlib import Path

import pytest

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import AgentError
from tests.agents.conftest import Complains, Opening, Recorder, fake_agent

pytestmark = [pytest.mark.anyio, pytest.mark.req("SA-1")]

SECRET = "sk-live-do-not-log-this"

CARELESS = f"""
SECRET = {SECRET!r}

def shout():
    send(SECRET.encode())
    send(b"\\xff" + SECRET.encode())
    send(json.dumps(SECRET).encode())
    send(json.dumps([SECRET]).encode())
    send(b'{{"jsonrpc": "2.0", "id": 1, "result": ' + SECRET.encode())
    send({{"jsonrpc": "2.0", "id": [SECRET], "result": {{}}}})
    send({{"jsonrpc": "2.0", "id": 77, "result": SECRET}})
    send({{"jsonrpc": "2.0", "method": SECRET, "params": {{"a": SECRET}}}})
    send({{"jsonrpc": "2.0", "id": SECRET, "method": SECRET, "params": SECRET}})
    send({{"jsonrpc": "2.0", "id": 5, "method": "session/request_permission", "params": SECRET}})
    for update in (
        SECRET,
        {{"sessionUpdate": SECRET}},
        {{"sessionUpdate": "tool_call", "x": SECRET}},
        {{"sessionUpdate": "agent_message_chunk", "content": {{"text": SECRET}}}},
    ):
        send({{"jsonrpc": "2.0", "method": "session/update",
              "params": {{"sessionId": "s", "update": update}}}})

def receive_answer():
    while True:
        frame = receive()
        if "method" in frame:
            return frame

shout()
answer(receive_answer(), {{"protocolVersion": 1, "agentInfo": SECRET, "agentCapabilities": SECRET}})
shout()
answer(receive_answer(), {{"sessionId": "s"}})
shout()
print(SECRET, file=sys.stderr)
send({{"jsonrpc": "2.0", "id": receive_answer()["id"], "error": SECRET}})
shout()
sys.exit(1)
"""


async def test_no_frame_reaches_a_log_at_any_level(
    opened: Opening, events: Recorder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async with opened(fake_agent(CARELESS), env={"KEY": SECRET}) as connection:
        made = await connection.open_session("new", cwd=tmp_path, servers=[], on_sent=lambda: None)
        with pytest.raises(AgentError) as failure:
            await connection.prompt(made.session_id, SECRET, Complains())
    assert failure.value.reason_code == ReasonCode.PROMPT_FAILED
    # The hook did get what the logs did not.
    assert SECRET in json.dumps(events.updates)
    formatter = logging.Formatter("%(name)s %(message)s")
    assert SECRET not in "\n".join(formatter.format(record) for record in caplog.records)
    assert "root" not in {record.name for record in caplog.records}


async def test_the_secrets_of_a_session_do_not_come_back_in_an_error(
    opened: Opening, tmp_path: Path
) -> None:
    agent = fake_agent("""
        shake_hands()
        request = receive()
        entry = request["params"]["mcpServers"][0]
        words = "cannot reach " + entry["headers"][0]["value"] + " at " + entry["url"]
        words += " (word-of-mine, /hidden-path, quite-secret)"
        send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32603, "message": words}})
        receive()
    """)
    header = {"name": "authorization", "value": SECRET}
    url = "http://me:word-of-mine@h/hidden-path?k=quite-secret"
    entry = {"type": "http", "name": "s", "url": url, "headers": [header]}
    async with opened(agent) as connection:
        with pytest.raises(AgentError, match="cannot reach") as failure:
            await connection.open_session(
                "new", cwd=tmp_path, servers=[entry], on_sent=lambda: None
            )
    for hidden in (SECRET, "word-of-mine", "hidden-path", "quite-secret"):
        assert hidden not in str(failure.value)
    assert failure.value.__suppress_context__
