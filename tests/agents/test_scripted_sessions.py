"""The session methods of the reference agent, and what becomes of servers between sessions."""

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError

from kandev_nb.agents.scripted import command
from kandev_nb.agents.scripted.options import SESSION_METHODS
from kandev_nb.errors import AgentError
from tests.agents.acp_client import RawClient, connected
from tests.agents.conftest import REFUSING, Opening, http, open_session, until
from tests.agents.mcp_server import TinyServer, tiny_server

pytestmark = pytest.mark.anyio

ONCE = ["initialize", "tools/list"]

AGAIN = ["session/load", "session/resume", "session/fork"]


@pytest.fixture
async def second() -> AsyncIterator[TinyServer]:
    async with tiny_server() as tiny:
        yield tiny


def error(refusal: pytest.ExceptionInfo[RequestError]) -> tuple[int, Any]:
    return refusal.value.code, refusal.value.data


def capabilities(client: RawClient) -> dict[str, Any]:
    offered: dict[str, Any] = client.frames[0]["result"]["agentCapabilities"]
    return offered


@pytest.mark.req("SE-2")
async def test_all_session_methods_are_advertised_unless_it_is_told_otherwise() -> None:
    async with connected(command()) as client:
        assert capabilities(client)["loadSession"] is True
        offered = capabilities(client)["sessionCapabilities"]
        assert offered == {"list": {}, "fork": {}, "resume": {}, "close": {}}


@pytest.mark.req("SE-2")
async def test_what_is_not_advertised_is_not_answered(tmp_path: Path) -> None:
    async with connected(command("ignores", session_capabilities="close")) as client:
        assert not capabilities(client).get("loadSession")
        assert capabilities(client)["sessionCapabilities"] == {"close": {}}
        session = (await client.open(tmp_path))["sessionId"]
        for method in ("load", "resume", "fork", "list"):
            with pytest.raises(RequestError) as refusal:
                await client.open(tmp_path, method=f"session/{method}", sessionId=session)
            assert refusal.value.code == -32601
        assert await client.request("session/close", sessionId=session) == {}


async def test_none_leaves_every_session_method_out(tmp_path: Path) -> None:
    async with connected(command("ignores", session_capabilities="none")) as client:
        assert not capabilities(client).get("sessionCapabilities")
        for method in SESSION_METHODS:
            with pytest.raises(RequestError) as refusal:
                await client.open(tmp_path, method=f"session/{method}", sessionId="scripted-1")
            assert refusal.value.code == -32601


@pytest.mark.parametrize("option", ["session_capabilities", "mcp_capabilities"])
def test_a_capability_that_is_unknown_is_refused_at_once(option: str) -> None:
    refusal = subprocess.run(
        command(**{option: "juggle"}), capture_output=True, text=True, check=False
    )
    assert refusal.returncode == 2
    assert "juggle" in refusal.stderr


@pytest.mark.req("SE-2")
async def test_load_attaches_and_replays_before_it_answers(
    server: TinyServer, tmp_path: Path
) -> None:
    async with connected(command()) as client:
        await client.open(tmp_path, http(server), method="session/load", sessionId="scripted-41")
        assert server.requests() == ONCE
        assert client.order() == ["answer", "user_message_chunk", "agent_message_chunk", "answer"]
        assert await client.prompt("scripted-41", "list tiny") == "tiny has 2 tools\n"


@pytest.mark.req("SE-2")
async def test_resume_attaches_without_a_replay(server: TinyServer, tmp_path: Path) -> None:
    async with connected(command()) as client:
        await client.open(tmp_path, http(server), method="session/resume", sessionId="scripted-41")
        assert server.requests() == ONCE
        assert client.order() == ["answer", "answer"]
        assert await client.prompt("scripted-41", "list tiny") == "tiny has 2 tools\n"


@pytest.mark.req("SE-2")
async def test_fork_attaches_a_session_of_its_own(
    server: TinyServer, second: TinyServer, tmp_path: Path
) -> None:
    async with connected(command()) as client:
        first = (await client.open(tmp_path, http(server)))["sessionId"]
        await client.request("session/set_mode", sessionId=first, modeId="plan")
        forked = await client.open(tmp_path, http(second), method="session/fork", sessionId=first)
        assert forked["sessionId"] != first
        assert forked["modes"]["currentModeId"] == "plan"
        assert server.requests() == second.requests() == ONCE
        await client.request("session/set_mode", sessionId=forked["sessionId"], modeId="default")
        assert await client.prompt(first, "mode") == "mode plan\n"


@pytest.mark.parametrize("method", AGAIN)
async def test_an_id_that_is_not_its_own_is_not_found(
    server: TinyServer, tmp_path: Path, method: str
) -> None:
    async with connected(command()) as client:
        with pytest.raises(RequestError) as refusal:
            await client.open(tmp_path, http(server), method=method, sessionId="elsewhere-1")
        assert refusal.value.code == -32002
        assert server.requests() == []


async def test_a_new_session_never_has_the_id_of_one_that_was_loaded(tmp_path: Path) -> None:
    async with connected(command("ignores")) as client:
        await client.open(tmp_path, method="session/load", sessionId="scripted-1")
        assert (await client.open(tmp_path))["sessionId"] == "scripted-2"


@pytest.mark.req("SE-2")
async def test_close_ends_the_connections_and_the_session_can_be_resumed(
    server: TinyServer, tmp_path: Path
) -> None:
    async with connected(command()) as client:
        session = (await client.open(tmp_path, http(server)))["sessionId"]
        await client.request("session/close", sessionId=session)
        assert server.requests() == [*ONCE, "DELETE"]
        with pytest.raises(RequestError) as refusal:
            await client.prompt(session, "say hello")
        assert refusal.value.code == -32002
        await client.open(tmp_path, http(server), method="session/resume", sessionId=session)
        assert server.requests() == [*ONCE, "DELETE", *ONCE]


async def test_close_ends_a_turn(tmp_path: Path) -> None:
    async with connected(command("ignores")) as client:
        session = (await client.open(tmp_path))["sessionId"]
        prompt = [{"type": "text", "text": "say now\nwait 60"}]
        turn = client.start("session/prompt", sessionId=session, prompt=prompt)
        await until(lambda: client.said() == "now\n")
        await client.request("session/close", sessionId=session)
        assert (await turn)["stopReason"] == "cancelled"


async def test_a_session_that_is_loaded_again_lets_its_connections_go(
    server: TinyServer, tmp_path: Path
) -> None:
    async with connected(command()) as client:
        session = (await client.open(tmp_path, http(server)))["sessionId"]
        await client.request("session/set_mode", sessionId=session, modeId="plan")
        again = await client.open(tmp_path, http(server), method="session/load", sessionId=session)
        assert server.requests() == [*ONCE, "DELETE", *ONCE]
        assert again["modes"]["currentModeId"] == "plan"


@pytest.mark.req("SE-2")
async def test_list_has_the_sessions_of_the_process_closed_ones_included(tmp_path: Path) -> None:
    async with connected(command("ignores")) as client:
        first = (await client.open(tmp_path))["sessionId"]
        other = (await client.open(tmp_path / "other"))["sessionId"]
        await client.request("session/close", sessionId=first)
        listed = (await client.request("session/list"))["sessions"]
        assert [each["sessionId"] for each in listed] == [first, other]
        there = await client.request("session/list", cwd=str(tmp_path / "other"))
        assert there["sessions"] == [{"sessionId": other, "cwd": str(tmp_path / "other")}]


async def test_a_mode_is_offered_set_and_said(tmp_path: Path) -> None:
    async with connected(command("ignores")) as client:
        opened = await client.open(tmp_path)
        assert [mode["id"] for mode in opened["modes"]["availableModes"]] == ["default", "plan"]
        session = opened["sessionId"]
        assert await client.prompt(session, "mode") == "mode default\n"
        await client.request("session/set_mode", sessionId=session, modeId="plan")
        assert await client.prompt(session, "mode") == "mode plan\n"
        with pytest.raises(RequestError) as refusal:
            await client.request("session/set_mode", sessionId=session, modeId="swim")
        assert refusal.value.code == -32602


async def test_a_model_is_offered_set_and_said(tmp_path: Path) -> None:
    async with connected(command("ignores")) as client:
        opened = await client.open(tmp_path)
        session, (option,) = opened["sessionId"], opened["configOptions"]
        assert (option["id"], option["category"]) == ("model", "model")
        assert [each["value"] for each in option["options"]] == ["fast", "careful"]
        assert await client.prompt(session, "model") == "model fast\n"
        chosen = {"sessionId": session, "configId": "model", "value": "careful"}
        answer = await client.request("session/set_config_option", **chosen)
        assert answer["configOptions"][0]["currentValue"] == "careful"
        assert await client.prompt(session, "model") == "model careful\n"
        for odd in ({"value": "huge"}, {"configId": "colour"}, {"type": "boolean", "value": True}):
            with pytest.raises(RequestError) as refusal:
                await client.request("session/set_config_option", **(chosen | odd))
            assert refusal.value.code == -32602


@pytest.mark.parametrize("method", AGAIN)
async def test_it_crashes_at_the_other_openings_too(tmp_path: Path, method: str) -> None:
    point = method.replace("/", "-")
    async with connected(command("crashes", at=point)) as client:
        first = await client.open(tmp_path)
        with pytest.raises(ConnectionError):
            await client.open(tmp_path, method=method, sessionId=first["sessionId"])


@pytest.mark.parametrize("method", AGAIN)
async def test_it_crashes_after_the_other_openings_too(tmp_path: Path, method: str) -> None:
    point = method.replace("/", "-")
    async with connected(command("crashes", at=point, after=True)) as client:
        first = await client.open(tmp_path)
        await client.open(tmp_path, method=method, sessionId=first["sessionId"])
        assert await client.exit_code() == 3


@pytest.mark.req("EV-7")
async def test_sessions_with_a_server_of_one_name_connect_separately(
    server: TinyServer, second: TinyServer, tmp_path: Path
) -> None:
    async with connected(command()) as client:
        sessions = [await client.open(tmp_path, http(each)) for each in (server, second)]
        assert server.requests() == second.requests() == ONCE
        for session in sessions:
            await client.prompt(session["sessionId"], "call tiny echo")
        assert server.requests() == second.requests() == [*ONCE, "tools/call"]


@pytest.mark.req("EV-7")
async def test_keeps_first_never_contacts_the_new_url(
    server: TinyServer, second: TinyServer, tmp_path: Path
) -> None:
    async with connected(command(after_reset="keeps-first")) as client:
        first = await client.open(tmp_path, http(server))
        await client.request("session/close", sessionId=first["sessionId"])
        later = await client.open(tmp_path, http(second), http(second, "other"))
        await client.prompt(later["sessionId"], "call tiny echo")
        assert server.requests() == [*ONCE, "tools/call"]
        assert second.requests() == ONCE
        assert await client.prompt(later["sessionId"], "list other") == "other has 2 tools\n"


@pytest.mark.req("EV-7")
async def test_moves_takes_the_server_from_the_first_session(
    server: TinyServer, second: TinyServer, tmp_path: Path
) -> None:
    async with connected(command(after_reset="moves")) as client:
        first = await client.open(tmp_path, http(server), http(server, "mine"))
        await client.open(tmp_path, http(second))
        assert server.requests()[4:] == ["DELETE"]
        assert second.requests() == ONCE
        words = await client.prompt(first["sessionId"], "list tiny\nlist mine")
        assert words == "tiny is not connected\nmine has 2 tools\n"


@pytest.mark.req("EV-7")
async def test_refuses_twice_names_the_server_and_connects_the_others(
    server: TinyServer, second: TinyServer, tmp_path: Path
) -> None:
    async with connected(command(after_reset="refuses-twice")) as client:
        first = await client.open(tmp_path, http(server))
        with pytest.raises(RequestError) as refusal:
            await client.open(tmp_path, http(second), http(second, "other"))
        words = "Runtime MCP server 'tiny' is already registered with different settings"
        assert error(refusal) == (-32603, {"details": words})
        assert second.requests() == ONCE
        assert await client.prompt(first["sessionId"], "list tiny") == "tiny has 2 tools\n"
        await client.open(tmp_path, http(server))


FAILS = {
    "login": (-32000, {"authMethods": [{"id": "scripted-login", "name": "Log in"}]}, []),
    "login-internal": (-32603, {"details": "Authentication required"}, []),
    "qwen": (-32000, None, ONCE),
    "list-data": (-32602, [{"path": ["mcpServers"], "message": "Invalid input"}], []),
}


@pytest.mark.req("CF-6")
@pytest.mark.parametrize("name", FAILS)
@pytest.mark.parametrize("method", ["session/new", "session/load"])
async def test_it_fails_as_real_agents_do(
    server: TinyServer, tmp_path: Path, name: str, method: str
) -> None:
    code, data, asked = FAILS[name]
    async with connected(command(fails_with=name, connect="after")) as client:
        with pytest.raises(RequestError) as refusal:
            await client.open(tmp_path, http(server), method=method, sessionId="scripted-1")
        assert error(refusal) == (code, data)
        assert server.requests() == asked
        assert client.order() == ["answer", "answer"]


@pytest.mark.req("CF-6")
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_claude_resume_connects_and_does_not_find_the_session(
    server: TinyServer, tmp_path: Path, method: str
) -> None:
    async with connected(command(fails_with="claude-resume")) as client:
        session = (await client.open(tmp_path))["sessionId"]
        with pytest.raises(RequestError) as refusal:
            await client.open(tmp_path, http(server), method=method, sessionId=session)
        assert refusal.value.code == -32002
        assert server.requests() == ONCE


@pytest.mark.req("EV-3")
@pytest.mark.parametrize("connect", ["before", "after"])
async def test_reports_startup_in_a_failed_tool_call_after_the_answer(
    server: TinyServer, tmp_path: Path, connect: str
) -> None:
    async with connected(command("reports-startup", connect=connect)) as client:
        await client.open(tmp_path, REFUSING, http(server))
        await until(lambda: client.updates("tool_call") != [])
        assert client.order() == ["answer", "answer", "tool_call"]
        (report,) = client.updates("tool_call")
        assert report["toolCallId"].startswith("mcp_startup.refusing.")
        assert report["title"] == "mcp__refusing__startup"
        assert report["status"] == "failed"


WORDINGS = {
    "auggie": "❌ refusing (failed)\n✅ tiny\n",
    "gemini": "MCP issues detected. Run /mcp list for status.\n",
    "qwen": "Warning: MCP server(s) failed to start: refusing. Going on without them.\n",
}


@pytest.mark.req("EV-3")
@pytest.mark.parametrize("wording", WORDINGS)
async def test_reports_on_stderr_in_the_words_of_real_agents(
    opened: Opening, server: TinyServer, tmp_path: Path, wording: str
) -> None:
    async with opened(command("reports-on-stderr", wording=wording)) as agent:
        await open_session(agent, tmp_path, REFUSING, http(server))
        await until(lambda: agent.recent_output.text == WORDINGS[wording])


@pytest.mark.req("EV-3")
async def test_reports_on_stderr_are_written_when_the_session_is_refused_too(
    opened: Opening, tmp_path: Path
) -> None:
    options = {"wording": "qwen", "fails_with": "qwen"}
    async with opened(command("reports-on-stderr", **options)) as agent:
        with pytest.raises(AgentError, match="session/new"):
            await open_session(agent, tmp_path, REFUSING)
        await until(lambda: agent.recent_output.text == WORDINGS["qwen"])
