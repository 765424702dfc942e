"""What agents ask of us: what is offered, what is not, and what is malformed."""

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from kandev_nb.agents.requests import Client
from tests.agents.asking import ASKING, CANCELLED, ask, permission, request, selected
from tests.agents.conftest import Opening

pytestmark = [pytest.mark.anyio, pytest.mark.req("SE-4")]

SECRET = "sk-live-do-not-log-this"


@pytest.mark.parametrize(
    ("offered", "outcome"),
    [
        (("allow_once", "reject_always", "reject_once"), selected("reject_once")),
        (("reject_always",), selected("reject_always")),
        (("allow_once",), CANCELLED),
        ((), CANCELLED),
    ],
)
async def test_permission_is_refused_where_nobody_decides(
    opened: Opening, offered: tuple[str, ...], outcome: dict[str, Any]
) -> None:
    async with opened(ASKING) as connection:
        assert (await ask(connection, permission(*offered)))[0] == outcome


@pytest.mark.parametrize(
    "method",
    ["fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/kill", "x", "_x/y"],
)
async def test_what_was_not_offered_is_not_found(opened: Opening, method: str) -> None:
    async with opened(ASKING) as connection:
        answers = await ask(connection, request(method, path="/"), permission())
        assert answers[0]["error"]["code"] == -32601
        assert connection.oddities.requests == 1


@pytest.mark.parametrize(("files", "terminal"), [(True, False), (False, True)])
async def test_the_handshake_offers_what_is_answered(
    opened: Opening, tmp_path: Path, files: bool, terminal: bool
) -> None:
    client = Client.in_directory(tmp_path, files=files, terminal=terminal)
    async with opened(ASKING, client=client) as connection:
        assert json.loads(connection.agent_name) == {
            "fs": {"readTextFile": files, "writeTextFile": files},
            "terminal": terminal,
        }
        answers = await ask(connection, request("fs/read_text_file"), request("terminal/create"))
    assert (answers[0]["error"]["code"] == -32602) is files
    assert (answers[1]["error"]["code"] == -32602) is terminal


READ, WRITE = "fs/read_text_file", "fs/write_text_file"
RUN, PERMIT = "terminal/create", "session/request_permission"
CALL = {"toolCallId": "1"}


@pytest.mark.parametrize(
    ("method", "params", "member"),
    [
        (READ, None, "params"),
        (READ, [SECRET], "params"),
        (READ, {"path": SECRET}, "sessionId"),
        (READ, {"sessionId": "s"}, "path"),
        (READ, {"sessionId": "s", "path": [SECRET]}, "path"),
        (READ, {"sessionId": "s", "path": "/", "line": SECRET}, "line"),
        (READ, {"sessionId": "s", "path": "/", "line": -1}, "line"),
        (READ, {"sessionId": "s", "path": "/", "limit": True}, "limit"),
        (WRITE, {"sessionId": "s", "path": "/"}, "content"),
        (WRITE, {"sessionId": "s", "path": "/", "content": {"a": SECRET}}, "content"),
        (RUN, {"sessionId": "s", "command": "x", "args": ["a", 1]}, "args.1"),
        (RUN, {"sessionId": "s", "command": "x", "env": [{"name": "A"}]}, "env.0.value"),
        (RUN, {"sessionId": "s", "command": "x", "outputByteLimit": "9"}, "outputByteLimit"),
        ("terminal/wait_for_exit", {"sessionId": "s"}, "terminalId"),
        (PERMIT, {"sessionId": "s", "options": []}, "toolCall"),
        (PERMIT, {"sessionId": "s", "toolCall": {}, "options": []}, "toolCall.toolCallId"),
        (PERMIT, {"sessionId": "s", "toolCall": CALL}, "options"),
        (PERMIT, {"sessionId": "s", "toolCall": CALL, "options": {"a": SECRET}}, "options"),
    ],
)
async def test_a_malformed_request_is_told_which_member_is_wrong(
    opened: Opening,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    method: str,
    params: Any,
    member: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    client = Client.in_directory(tmp_path, terminal=True)
    async with opened(ASKING, client=client) as connection:
        error = (await ask(connection, {"method": method, "params": params}))[0]["error"]
        assert connection.oddities.requests == 0
    assert (error["code"], error["data"]) == (-32602, {"member": member})
    assert member in error["message"]
    assert SECRET not in error["message"]
    assert not [record for record in caplog.records if SECRET in record.getMessage()]
    assert client.permission_counts.asked == 0


async def test_a_fault_of_ours_is_told_without_a_word_of_it(
    tmp_path: Path, opened: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> Any:
        raise RuntimeError(SECRET)

    client = Client.in_directory(tmp_path)
    client._answers[READ] = fail
    async with opened(ASKING, client=client) as connection:
        error = (await ask(connection, request(READ, path="/")))[0]["error"]
    assert error == {"code": -32603, "message": "Internal error", "data": None}
    assert "fs/read_text_file could not be answered (RuntimeError)" in caplog.text
    assert SECRET not in caplog.text


LIBRARY_AGENT = """
import asyncio, json, sys, acp
from acp.schema import PermissionOption, ToolCallUpdate

class Asking(acp.Agent):
    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, client_capabilities=None, **_):
        self.offered = client_capabilities
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd, **_):
        self.cwd = cwd
        return acp.NewSessionResponse(session_id="s")

    async def prompt(self, session_id, prompt, **_):
        client, at = self.client, dict(session_id=session_id)
        options = [PermissionOption(option_id="go", name="Go", kind="allow_once")]
        call = ToolCallUpdate(tool_call_id="1", title="write")
        permitted = await client.request_permission(tool_call=call, options=options, **at)
        path = self.cwd + "/made/by agent.txt"
        await client.write_text_file(path=path, content="one\\ntwo\\nthree", **at)
        read = await client.read_text_file(path=path, line=2, limit=1, **at)
        created = await client.create_terminal(
            command=sys.executable, args=["-c", "print('ran'); exit(3)"], **at
        )
        on = dict(terminal_id=created.terminal_id, **at)
        ended = await client.wait_for_terminal_exit(**on)
        output = await client.terminal_output(**on)
        await client.kill_terminal(**on)
        await client.release_terminal(**on)
        told = [self.offered.terminal, permitted.outcome.option_id, read.content, ended.exit_code,
                output.output, output.truncated, output.exit_status.exit_code]
        await client.session_update(update=acp.update_agent_message_text(json.dumps(told)), **at)
        return acp.PromptResponse(stop_reason="end_turn")

asyncio.run(acp.run_agent(Asking()))
"""


@pytest.mark.timeout(60)
async def test_an_agent_of_the_protocols_own_library_gets_all_that_it_asks_for(
    opened: Opening, tmp_path: Path
) -> None:
    client = Client.in_directory(tmp_path, permissions="allow", terminal=True)
    async with opened((sys.executable, "-c", LIBRARY_AGENT), client=client) as connection:
        made = await connection.open_session("new", cwd=tmp_path, servers=[], on_sent=lambda: None)
        told = json.loads((await connection.prompt(made.session_id, "go")).text)
    assert told == [True, "go", "two\n", 3, "ran\n", False, 3]
    assert (tmp_path / "made" / "by agent.txt").read_text() == "one\ntwo\nthree"
