"""Opening a session: what is sent, when it counts as sent, and how it is refused."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from acp.schema import HttpMcpServer, McpServerHttp, McpServerStdio

from kandev_nb.agents.delivery import Server
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import AgentError, ConfigError
from tests.agents.conftest import Opening, Recorder, fake_agent, open_session, until

pytestmark = pytest.mark.anyio


SERVERS: list[Server] = [
    HttpMcpServer(type="http", name="remote", url="http://127.0.0.1:1/mcp", headers=[]),
    McpServerStdio(name="local", command="/bin/cat", args=[], env=[]),
    {"type": "sse", "name": "old", "url": "http://127.0.0.1:1/sse", "headers": []},
]


async def test_session_new_carries_the_servers_as_they_were_given(
    opened: Opening, tmp_path: Path
) -> None:
    agent = fake_agent("""
        shake_hands()
        request = receive()
        answer(request, {"sessionId": json.dumps(request["params"])})
        receive()
    """)
    async with opened(agent) as connection:
        params = json.loads(await open_session(connection, tmp_path, *SERVERS))
    assert params["cwd"] == str(tmp_path)
    remote, local, old = params["mcpServers"]
    assert remote["type"] == "http"
    assert remote["headers"] == []
    assert local == {"name": "local", "command": "/bin/cat", "args": [], "env": []}
    assert old["url"] == "http://127.0.0.1:1/sse"


@pytest.mark.parametrize(
    "malformed",
    [
        McpServerHttp(name="bad one", url="http://127.0.0.1:1/mcp", headers=[]),
        {"type": "http", "name": "bad one", "url": "http://127.0.0.1:1/mcp"},
        {"name": "bad one", "command": "cat"},
        {"name": "bad one"},
    ],
)
async def test_a_server_that_the_library_would_drop_is_named_and_nothing_is_sent(
    opened: Opening, tmp_path: Path, malformed: Any
) -> None:
    sent: list[bool] = []
    async with opened(fake_agent("shake_hands(); receive(); sys.exit(5)")) as connection:
        with pytest.raises(ConfigError, match="'bad one'") as failure:
            await connection.open_session(
                "new",
                cwd=tmp_path,
                servers=[*SERVERS, malformed],
                on_sent=lambda: sent.append(True),
            )
    assert failure.value.reason_code == ReasonCode.INVALID_PROFILE
    assert sent == []


@pytest.mark.req("CF-6")
async def test_on_sent_is_called_when_the_agent_has_the_frame_and_before_its_answer(
    opened: Opening, tmp_path: Path
) -> None:
    go, sent = tmp_path / "go", tmp_path / "sent"
    agent = fake_agent(f"""
        shake_hands()
        while not os.path.exists({str(go)!r}):
            time.sleep(0.01)
        request = receive()
        while not os.path.exists({str(sent)!r}):
            time.sleep(0.01)
        answer(request, {{"sessionId": "s"}})
        receive()
    """)
    large = McpServerStdio(name="large", command="x", args=["a" * (8 << 20)], env=[])
    async with opened(agent) as connection:
        opening = asyncio.create_task(
            connection.open_session("new", cwd=tmp_path, servers=[large], on_sent=sent.touch)
        )
        done, _ = await asyncio.wait([opening], timeout=0.3)
        # The agent reads nothing yet, so the frame cannot have been delivered.
        assert not done
        assert not sent.exists()
        go.touch()
        assert (await opening).session_id == "s"


@pytest.mark.req("CF-6")
async def test_on_sent_is_not_called_for_an_agent_that_is_gone(
    opened: Opening, events: Recorder, tmp_path: Path
) -> None:
    sent: list[bool] = []
    async with opened(fake_agent("shake_hands(); sys.exit(2)")) as connection:
        await until(lambda: events.exits == [2])
        with pytest.raises(AgentError, match="exit code 2") as failure:
            await connection.open_session(
                "new", cwd=tmp_path, servers=[], on_sent=lambda: sent.append(True)
            )
        assert failure.value.reason_code == ReasonCode.AGENT_EXITED
    assert sent == []


async def test_a_callback_that_raises_changes_nothing(opened: Opening, tmp_path: Path) -> None:
    def complain() -> None:
        raise RuntimeError

    async with opened(fake_agent("serve_session(); receive()")) as connection:
        made = await connection.open_session("new", cwd=tmp_path, servers=[], on_sent=complain)
        assert made.session_id == "s"


@pytest.mark.parametrize(
    ("error", "reason", "words"),
    [
        (
            {"code": -32000, "message": "Authentication required"},
            ReasonCode.AUTH_REQUIRED,
            "Log in",
        ),
        (
            {"code": -32603, "message": "Internal error", "data": {"details": "Not logged in"}},
            ReasonCode.AUTH_REQUIRED,
            "Not logged in",
        ),
        (
            {"code": -32603, "message": "no", "data": {"authMethods": [{"id": "x"}]}},
            ReasonCode.AUTH_REQUIRED,
            "no",
        ),
        (
            {
                "code": -32603,
                "message": "Internal error",
                "data": {"details": "MCP Server: 'x': Failed: authentication required"},
            },
            ReasonCode.SESSION_REQUEST_FAILED,
            "MCP Server",
        ),
        (
            {"code": -32602, "message": "Invalid params", "data": ["odd"]},
            ReasonCode.SESSION_REQUEST_FAILED,
            "Invalid params",
        ),
        ("bad", ReasonCode.SESSION_REQUEST_FAILED, "bad"),
        (None, ReasonCode.SESSION_REQUEST_FAILED, "no reason given"),
    ],
)
async def test_a_refused_session_says_why_and_keeps_code_and_data(
    opened: Opening, tmp_path: Path, error: Any, reason: str, words: str
) -> None:
    agent = fake_agent(f"""
        shake_hands()
        send({{"jsonrpc": "2.0", "id": receive()["id"], "error": {error!r}}})
        receive()
    """)
    async with opened(agent) as connection:
        with pytest.raises(AgentError, match=words) as failure:
            await open_session(connection, tmp_path)
    assert failure.value.reason_code == reason
    if isinstance(error, dict):
        assert failure.value.code == error["code"]
        assert failure.value.data == error.get("data")


@pytest.mark.parametrize("result", [{}, None, {"sessionId": 5}, "s"])
async def test_a_session_without_an_id_is_refused(
    opened: Opening, tmp_path: Path, result: Any
) -> None:
    agent = fake_agent(f"shake_hands(); answer(receive(), {result!r}); receive()")
    async with opened(agent) as connection:
        with pytest.raises(AgentError, match="without a session ID"):
            await open_session(connection, tmp_path)
