"""Starting an agent and shaking hands with it: each agent here is a real process."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest

from kandev_nb.agents.connection import AgentConnection
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import AgentError
from tests.agents.conftest import Opening, Recorder, fake_agent, until

pytestmark = pytest.mark.anyio


async def test_the_handshake_asks_for_version_1_and_offers_nothing(
    opened: Opening, tmp_path: Path
) -> None:
    agent = fake_agent("""
        request = receive()
        answer(request, {"protocolVersion": 1, "agentInfo": {"name": json.dumps(request)}})
        receive()
    """)
    # The name is cut; the request is short enough to be in it.
    async with opened(agent) as connection:
        asked = connection.agent_name
        assert '"method": "initialize"' in asked
        assert '"protocolVersion": 1' in asked
        assert '"terminal": false' in asked
        assert '"readTextFile": false' in asked


async def test_it_tells_what_the_agent_advertises(opened: Opening) -> None:
    agent = fake_agent("""
        answer(receive(), {
            "protocolVersion": 1,
            "agentInfo": {"name": "clever", "version": "2.1"},
            "authMethods": [{"id": "login", "name": "Log in"}, "odd", {"name": "no id"}],
            "agentCapabilities": {
                "loadSession": True,
                "mcpCapabilities": {"http": True},
                "sessionCapabilities": {"resume": {}, "close": None, "list": False},
            },
        })
        receive()
    """)
    async with opened(agent) as connection:
        assert (connection.agent_name, connection.agent_version) == ("clever", "2.1")
        assert connection.mcp_capabilities.http
        assert not connection.mcp_capabilities.sse
        assert connection.capabilities.load_session
        assert connection.capabilities.resume
        assert not connection.capabilities.close
        assert not connection.capabilities.list
        assert connection.auth_methods == ("login",)


@pytest.mark.req("SE-4")
@pytest.mark.parametrize(
    "odd",
    [
        '"agentCapabilities": "nonsense"',
        '"agentCapabilities": {"mcpCapabilities": [1], "sessionCapabilities": 5}',
        '"agentCapabilities": None, "agentInfo": [], "authMethods": {"id": "x"}',
        '"agentCapabilities": {"mcpCapabilities": {"http": "yes"}}, "agentInfo": {"name": 5}',
    ],
)
async def test_odd_capabilities_count_as_not_offered(opened: Opening, odd: str) -> None:
    agent = fake_agent(f"answer(receive(), {{'protocolVersion': 1, {odd}}})\nreceive()")
    async with opened(agent) as connection:
        assert not connection.mcp_capabilities.http
        assert not connection.capabilities.load_session
        assert connection.agent_name == ""
        assert connection.auth_methods == ()


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"protocolVersion": 2}, "version 2"),
        ({"protocolVersion": "1"}, "no ACP version"),
        ({}, "no ACP version"),
        (None, "no ACP version"),
        ("hello", "no ACP version"),
    ],
)
async def test_another_version_of_the_protocol_is_a_mismatch(
    opened: Opening, events: Recorder, result: Any, words: str
) -> None:
    agent = fake_agent(f"answer(receive(), {result!r})\nreceive()")
    with pytest.raises(AgentError, match=words) as failure:
        async with opened(agent):
            pass
    assert failure.value.reason_code == ReasonCode.PROTOCOL_MISMATCH
    assert len(events.exits) == 1


async def test_an_agent_that_keeps_silent_is_ended(opened: Opening, events: Recorder) -> None:
    with pytest.raises(AgentError, match=r"within 0\.3 s") as failure:
        async with opened(fake_agent("sys.stdin.read()"), handshake_timeout=0.3):
            pass
    assert failure.value.reason_code == ReasonCode.HANDSHAKE_TIMEOUT
    assert events.exits == [0]


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("sys.exit(9)", "exit code 9"),
        ("receive(); sys.exit(0)", "exit code 0"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("receive(); os.close(1); time.sleep(600)", "ended"),
    ],
)
async def test_an_agent_that_ends_in_the_handshake_is_said_with_its_status(
    opened: Opening, events: Recorder, behaviour: str, words: str
) -> None:
    with pytest.raises(AgentError, match=words) as failure:
        async with opened(fake_agent(behaviour)):
            pass
    assert failure.value.reason_code == ReasonCode.AGENT_EXITED
    assert len(events.exits) == 1


@pytest.mark.req("SE-7")
async def test_a_cancelled_opening_leaves_no_process(tmp_path: Path, events: Recorder) -> None:
    opening = asyncio.create_task(
        AgentConnection.open(
            fake_agent(f"open({str(tmp_path / 'up')!r}, 'w').close(); sys.stdin.read()"),
            cwd=tmp_path,
            events=events,
        )
    )
    await until((tmp_path / "up").exists)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert events.exits == [0]


@pytest.mark.req("SE-7")
async def test_a_deadline_of_the_caller_leaves_no_process(tmp_path: Path, events: Recorder) -> None:
    with anyio.move_on_after(0.3) as patience:
        await AgentConnection.open(fake_agent("sys.stdin.read()"), cwd=tmp_path, events=events)
    assert patience.cancelled_caught
    await until(lambda: events.exits == [0])
