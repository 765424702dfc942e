"""Each scenario of the reference agent, against a real MCP server."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kandev_nb.agents.scripted import command
from kandev_nb.agents.scripted.failures import FAILURES
from kandev_nb.agents.scripted.grammar import GRAMMAR
from kandev_nb.agents.scripted.options import AFTER_RESET
from kandev_nb.agents.scripted.scenarios import SCENARIOS
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import AgentError
from tests.agents.conftest import REFUSING, Opening, Recorder, Words, http, open_session, until
from tests.agents.mcp_server import TinyServer

pytestmark = pytest.mark.anyio


def stdio(name: str = "local") -> dict[str, Any]:
    args = ["-m", "tests.agents.mcp_server"]
    path = {"name": "PYTHONPATH", "value": str(Path(__file__).parents[2])}
    return {"name": name, "command": sys.executable, "args": args, "env": [path]}


async def test_lists_and_calls_connects_and_lists_before_it_answers(
    opened: Opening, server: TinyServer, tmp_path: Path
) -> None:
    async with opened(command()) as agent:
        await open_session(agent, tmp_path, http(server))
        assert server.requests() == ["initialize", "tools/list"]


async def test_connect_after_answers_first(
    opened: Opening, server: TinyServer, tmp_path: Path
) -> None:
    async with opened(command(connect="after", delay=0.2)) as agent:
        await open_session(agent, tmp_path, http(server))
        assert server.requests() == []
        await until(lambda: server.requests() == ["initialize", "tools/list"])


async def test_the_headers_of_a_server_are_sent(
    opened: Opening, server: TinyServer, tmp_path: Path
) -> None:
    entry = http(server) | {"headers": [{"name": "x-key", "value": "abc"}]}
    async with opened(command()) as agent:
        await open_session(agent, tmp_path, entry)
    assert server.headers
    assert all(headers["x-key"] == "abc" for headers in server.headers)


async def test_a_prompt_calls_a_tool_and_says_the_result(
    opened: Opening, server: TinyServer, events: Recorder, tmp_path: Path
) -> None:
    async with opened(command()) as agent:
        session = await open_session(agent, tmp_path, http(server))
        result = await agent.prompt(session, 'call tiny echo {"text": "hello"}')
        assert result.stop_reason == "end_turn"
        assert result.text == "echo: hello\n"
        assert result.tool_names == ("mcp__tiny__echo",)
        assert server.requests() == ["initialize", "tools/list", "tools/call"]
        statuses = [update.get("status") for _, update in events.updates]
        assert statuses == ["in_progress", "completed", None]


async def test_a_tool_that_fails_is_a_failed_call(
    opened: Opening, server: TinyServer, events: Recorder, tmp_path: Path
) -> None:
    async with opened(command()) as agent:
        session = await open_session(agent, tmp_path, http(server))
        await agent.prompt(session, 'call tiny echo {"text": "fail"}')
        assert "failed" in [update.get("status") for _, update in events.updates]


@pytest.mark.parametrize("shape", ["sse", "stdio"])
async def test_it_connects_over_the_other_transports(
    opened: Opening, server: TinyServer, tmp_path: Path, shape: str
) -> None:
    sse = {"type": "sse", "name": "local", "url": server.sse_url, "headers": []}
    async with opened(command()) as agent:
        session = await open_session(agent, tmp_path, sse if shape == "sse" else stdio())
        result = await agent.prompt(session, 'call local echo {"text": "hello"}\nlist local')
        assert result.text == "echo: hello\nlocal has 2 tools\n"


async def test_servers_that_are_processes_end_with_the_agent(
    opened: Opening, tmp_path: Path
) -> None:
    script = f"import os, sys; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()));"
    entry = stdio() | {"args": ["-c", f"{script} sys.stdin.read()"]}
    async with opened(command(connect="after")) as agent:
        await open_session(agent, tmp_path, entry)
        await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
        pid = int((tmp_path / "pid").read_text())
        os.kill(pid, 0)
    await until(lambda: not Path(f"/proc/{pid}").exists() or _is_zombie(pid))


def _is_zombie(pid: int) -> bool:
    return ") Z " in Path(f"/proc/{pid}/stat").read_text()


async def test_lists_only_refuses_to_call(
    opened: Opening, server: TinyServer, tmp_path: Path
) -> None:
    async with opened(command("lists-only")) as agent:
        session = await open_session(agent, tmp_path, http(server))
        result = await agent.prompt(session, "call tiny echo")
        assert result.tool_names == ()
        assert server.requests() == ["initialize", "tools/list"]


async def test_initializes_only_does_not_list_but_may_call(
    opened: Opening, server: TinyServer, tmp_path: Path
) -> None:
    async with opened(command("initializes-only")) as agent:
        session = await open_session(agent, tmp_path, http(server))
        assert server.requests() == ["initialize"]
        await agent.prompt(session, "call tiny echo")
        assert server.requests() == ["initialize", "tools/call"]


async def test_ignores_takes_servers_and_does_only_what_a_prompt_says(
    opened: Opening, server: TinyServer, tmp_path: Path
) -> None:
    async with opened(command("ignores")) as agent:
        session = await open_session(agent, tmp_path, http(server))
        assert (await agent.prompt(session, "call tiny echo")).text == "tiny is not connected\n"
        assert server.asked == []
        await agent.prompt(session, "connect tiny")
        assert server.requests() == ["initialize"]
        await agent.prompt(session, "list tiny")
        assert server.requests() == ["initialize", "tools/list"]


@pytest.mark.req("EV-6")
async def test_stateless_lists_without_a_handshake(
    opened: Opening, server: TinyServer, tmp_path: Path
) -> None:
    async with opened(command("stateless")) as agent:
        session = await open_session(agent, tmp_path, http(server))
        await agent.prompt(session, 'call tiny echo {"text": "a"}\nclose tiny')
        assert server.asked == ["tools/list", "tools/call"]


async def test_auto_asks_for_discovery_first(
    opened: Opening, server: TinyServer, tmp_path: Path
) -> None:
    async with opened(command("auto")) as agent:
        await open_session(agent, tmp_path, http(server))
        assert server.requests() == ["server/discover", "tools/list"]


async def test_a_server_that_cannot_be_reached_is_not_mentioned(
    opened: Opening, server: TinyServer, events: Recorder, tmp_path: Path
) -> None:
    async with opened(command()) as agent:
        session = await open_session(agent, tmp_path, REFUSING, http(server))
        await agent.prompt(session, "say done")
        assert server.requests() == ["initialize", "tools/list"]
        assert len(events.updates) == 1
        assert agent.recent_output.text == ""


@pytest.mark.req("EV-3")
async def test_reports_failed_names_the_server_at_the_first_prompt(
    opened: Opening, server: TinyServer, events: Recorder, tmp_path: Path
) -> None:
    async with opened(command("reports-failed")) as agent:
        session = await open_session(agent, tmp_path, REFUSING, http(server))
        assert events.updates == []
        await agent.prompt(session, "say first")
        await agent.prompt(session, "say second")
    reports = [update["_meta"]["claudeCode"] for _, update in events.updates if "_meta" in update]
    assert reports == [{"kind": "mcpServerStatus", "server": "refusing", "status": "failed"}]


@pytest.mark.req("EV-3")
@pytest.mark.parametrize(("options", "named"), [({}, "refusing"), ({"server": "other"}, "other")])
async def test_fails_session_new_after_connecting_the_good_ones(
    opened: Opening, server: TinyServer, tmp_path: Path, options: dict[str, str], named: str
) -> None:
    async with opened(command("fails-session-new", **options)) as agent:
        servers = [http(server), REFUSING] if not options else [http(server), http(server, "other")]
        with pytest.raises(AgentError, match="session/new") as refusal:
            await open_session(agent, tmp_path, *servers)
        assert refusal.value.code == -32603
        assert refusal.value.reason_code == ReasonCode.SESSION_REQUEST_FAILED
        assert isinstance(refusal.value.data, dict)
        details = refusal.value.data["details"]
        assert details.startswith(f"MCP Server: '{named}': Failed to initialize")
        assert server.requests() == ["initialize", "tools/list"]


async def test_reconnects_closes_and_connects_anew(
    opened: Opening, server: TinyServer, tmp_path: Path
) -> None:
    async with opened(command("reconnects")) as agent:
        await open_session(agent, tmp_path, http(server))
        once = ["initialize", "tools/list"]
        assert server.requests() == [*once, "DELETE", *once]


async def test_closes_ends_with_delete(opened: Opening, server: TinyServer, tmp_path: Path) -> None:
    async with opened(command("closes")) as agent:
        session = await open_session(agent, tmp_path, http(server))
        assert server.requests() == ["initialize", "tools/list", "DELETE"]
        assert (await agent.prompt(session, "close tiny")).text == "tiny is not connected\n"


async def test_slow_waits_before_each_step(opened: Opening, tmp_path: Path) -> None:
    async with opened(command("slow", delay=0.5)) as agent:
        session = await open_session(agent, tmp_path)
        asked = time.monotonic()
        await agent.prompt(session, "say hello")
        assert time.monotonic() - asked >= 0.5


async def test_crashes_at_initialize(opened: Opening) -> None:
    with pytest.raises(AgentError, match="exit code 3") as crash:
        async with opened(command("crashes", at="initialize")):
            pass
    assert crash.value.reason_code == ReasonCode.AGENT_EXITED


@pytest.mark.parametrize(
    ("at", "after", "asked", "fails"),
    [
        ("session-new", False, [], True),
        ("connect", False, [], True),
        ("connect", True, ["initialize"], True),
        ("session-new", True, ["initialize", "tools/list"], False),
    ],
)
async def test_crashes_at_the_point_it_is_told(
    opened: Opening,
    server: TinyServer,
    events: Recorder,
    tmp_path: Path,
    at: str,
    after: bool,
    asked: list[str],
    fails: bool,
) -> None:
    moment = {"after": True} if after else {"before": True}
    async with opened(command("crashes", at=at, **moment)) as agent:
        if fails:
            with pytest.raises(AgentError, match="exit code 3"):
                await open_session(agent, tmp_path, http(server))
        else:
            await open_session(agent, tmp_path, http(server))
        await until(lambda: events.exits == [3])
        assert server.requests() == asked


@pytest.mark.req("SE-4")
async def test_noisy_is_understood_all_the_same(
    opened: Opening, server: TinyServer, tmp_path: Path
) -> None:
    async with opened(command("noisy")) as agent:
        session = await open_session(agent, tmp_path, http(server))
        assert (await agent.prompt(session, "say hello")).text == "hello\n"
        assert agent.oddities.lines > 20


async def test_auth_required_refuses_the_session(opened: Opening, tmp_path: Path) -> None:
    async with opened(command("auth-required")) as agent:
        assert agent.auth_methods == ("scripted-login",)
        with pytest.raises(AgentError, match="Log in") as refusal:
            await open_session(agent, tmp_path)
        assert refusal.value.reason_code == ReasonCode.AUTH_REQUIRED
        assert refusal.value.code == -32000


@pytest.mark.parametrize(
    ("listed", "http_offered", "sse_offered"),
    [("http,sse", True, True), ("http", True, False), ("none", False, False)],
)
async def test_it_advertises_the_transports_it_is_told(
    opened: Opening, listed: str, http_offered: bool, sse_offered: bool
) -> None:
    async with opened(command("ignores", mcp_capabilities=listed)) as agent:
        assert agent.mcp_capabilities.http is http_offered
        assert agent.mcp_capabilities.sse is sse_offered
        assert agent.agent_name == "kandev-nb-scripted"


async def test_sessions_of_one_process_are_separate(
    opened: Opening, server: TinyServer, events: Recorder, tmp_path: Path
) -> None:
    async with opened(command()) as agent:
        first = await open_session(agent, tmp_path, http(server, "one"))
        second = await open_session(agent, tmp_path, http(server, "two"))
        assert first != second
        assert (await agent.prompt(second, "list one")).text == "one is not connected\n"
        assert (await agent.prompt(first, "list one")).text == "one has 2 tools\n"
        assert [session for session, _ in events.updates] == [second, first]


@pytest.mark.req("SE-2")
async def test_cancel_ends_a_wait(opened: Opening, tmp_path: Path) -> None:
    async with opened(command("ignores")) as agent:
        session = await open_session(agent, tmp_path)

        said = Words()
        turn = asyncio.create_task(agent.prompt(session, "say now\nwait 60\nsay later", said))
        await until(lambda: said == ["now\n"])
        await agent.cancel(session)
        result = await turn
        assert result.stop_reason == "cancelled"
        assert result.text == "now\n"


def test_help_prints_every_table_whole() -> None:
    words = subprocess.run([*command()[:4], "--help"], capture_output=True, text=True, check=True)
    rows = [line.split()[0] for line in words.stdout.splitlines() if line.startswith("  ")]
    assert not {*SCENARIOS, *AFTER_RESET, *FAILURES, *GRAMMAR} - {*rows}
    assert "call SERVER TOOL {json}" in words.stdout


def test_an_unknown_scenario_is_refused_at_once() -> None:
    refusal = subprocess.run(command("dances"), capture_output=True, text=True, check=False)
    assert refusal.returncode == 2
    assert "lists-and-calls" in refusal.stderr


async def test_a_prompt_that_is_no_command_is_answered_with_the_grammar(
    opened: Opening, tmp_path: Path
) -> None:
    async with opened(command("ignores")) as agent:
        session = await open_session(agent, tmp_path)
        for prompt in ("please help", "", "wait long", "call tiny echo {broken}"):
            result = await agent.prompt(session, prompt)
            assert "call SERVER TOOL {json}" in result.text
            assert result.stop_reason == "end_turn"


async def test_a_prompt_can_fail(opened: Opening, tmp_path: Path) -> None:
    async with opened(command("ignores")) as agent:
        session = await open_session(agent, tmp_path)
        with pytest.raises(AgentError, match="out of paper") as failure:
            await agent.prompt(session, "fail out of paper")
        assert failure.value.reason_code == ReasonCode.PROMPT_FAILED
        assert (await agent.prompt(session, "say still here")).text == "still here\n"


async def test_a_prompt_can_write_to_standard_error_and_exit(
    opened: Opening, events: Recorder, tmp_path: Path
) -> None:
    async with opened(command("ignores")) as agent:
        session = await open_session(agent, tmp_path)
        with pytest.raises(AgentError, match="exit code 7"):
            await agent.prompt(session, "stderr going down\nexit 7")
        assert agent.recent_output.text == "going down\n"
        assert events.exits == [7]


async def test_connect_opens_one_more_connection_and_close_ends_it(
    opened: Opening, server: TinyServer, tmp_path: Path
) -> None:
    async with opened(command("initializes-only")) as agent:
        session = await open_session(agent, tmp_path, http(server))
        await agent.prompt(session, "connect tiny\nclose tiny\nlist tiny")
        assert server.requests() == ["initialize", "initialize", "DELETE", "tools/list"]


async def test_names_with_blanks_are_quoted(
    opened: Opening, server: TinyServer, tmp_path: Path
) -> None:
    async with opened(command()) as agent:
        session = await open_session(agent, tmp_path, http(server, "my server"))
        result = await agent.prompt(session, 'call "my server" "echo" {"text": "x"}')
        assert result.text == "echo: x\n"


def test_the_scripted_package_loads_nothing_heavy() -> None:
    heavy = "import sys, kandev_nb.agents.scripted.options; print(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run(
        [sys.executable, "-c", f"import json; {heavy}"], capture_output=True, text=True, check=True
    )
    assert not {"acp", "mcp", "pydantic"} & set(json.loads(ran.stdout))
