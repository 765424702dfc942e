"""A server that is tested beside its agent: what is told of it, and what stays as it was."""

import asyncio
import json
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from kandev_nb import ConfigError, EndpointTest, Session, Task, Unsupported
from kandev_nb.attachment import History
from kandev_nb.diagnose.endpoint.course import Course
from kandev_nb.diagnose.endpoint.stdio import stdio
from kandev_nb.diagnose.endpoint.talk import converse
from kandev_nb.servers.server import StdioServer
from tests.diagnose.conftest import TOY, Tested, toy
from tests.diagnose.servers.web import (
    EVENTS,
    LEGACY,
    MODERN,
    Answer,
    Request,
    Script,
    SseScript,
    answered,
    but,
    mcp,
    tools,
    web_server,
)
from tests.processes import eventually
from tests.test_passthrough import CLI

IGNORES = ["--scenario", "ignores"]


def facts(report: History) -> dict[str, Any]:
    """The report as it would be had nobody tested anything."""
    wire = report.to_wire()
    del wire["revision"]
    for row in wire["current"]["servers"]:
        row.pop("endpoint_test", None)
    return wire


@pytest.mark.req("DI-1", "EV-2", "EV-12", "AC.5")
@pytest.mark.parametrize("capabilities", ["http,sse", "sse", "none"])
def test_a_test_of_kandev_is_no_evidence_of_an_agent_that_ignores_its_servers(
    task: Task, capabilities: str
) -> None:
    session = task.start("scripted", args=[*IGNORES, "--mcp-capabilities", capabilities])
    before = facts(session.report)

    outcome = session.test_endpoint("kandev")

    assert (outcome.reachable, outcome.tool_count, outcome.server_name) == (True, 7, "kandev")
    assert outcome.protocol_version == (MODERN if "http" in capabilities else LEGACY)
    assert session.status("kandev") == "delivered"
    assert facts(session.report) == before
    session.prompt("connect kandev\nlist kandev")
    assert session.wait_for("kandev", "active").tool_count == 7


@pytest.mark.req("DI-1", "CF-4")
def test_a_test_of_kandev_goes_the_way_that_a_cli_was_given(task: Task, tmp_path: Path) -> None:
    session = task.start(passthrough=CLI, cwd=tmp_path)
    before = facts(session.report)

    outcome = session.test_endpoint("kandev")

    assert outcome.tool_count == 7
    assert facts(session.report) == before


@pytest.mark.req("DI-1", "SA-4")
def test_the_secret_of_a_test_is_gone_with_it(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    session = task.start("scripted", args=IGNORES)
    endpoints = session._core._endpoints
    live = set(endpoints._attempts)

    session.test_endpoint("kandev")

    assert set(endpoints._attempts) == live


@pytest.mark.req("DI-1", "EV-2", "AC.5", "AC.6")
def test_the_outcome_stands_on_the_row_and_nothing_else_moves(task: Task) -> None:
    with web_server(mcp) as server:
        servers = {"up": {"type": "http", "url": server.url}, "down": {"url": "http://127.0.0.1:9"}}
        session = task.start("scripted", args=IGNORES, servers=servers)
        before, told = session.report, list[History]()
        session.subscribe(told.append)

        up, down = session.test_endpoint("up"), session.test_endpoint("down")

    after = session.report
    assert facts(after) == facts(before)
    assert after.revision == before.revision + 2
    assert after.current
    kept = {row.name: row.endpoint_test for row in after.current.servers}
    assert kept == {"kandev": None, "up": up.stored, "down": down.stored}
    assert [up.stored.outcome, down.stored.outcome] == ["ok", "failed"]
    assert eventually(lambda: bool(told) and told[-1] == after)
    wire = json.dumps(up.stored.to_wire())
    assert "two" not in wire, "the names of tools are the caller's alone"


@pytest.mark.req("DI-1", "EV-7")
def test_an_outcome_of_an_attempt_that_is_past_is_dropped(task: Task) -> None:
    asked = threading.Event()

    def script(request: Request) -> Answer:
        asked.set()
        reset.wait(10)
        return mcp(request)

    reset = threading.Event()
    with web_server(script) as server:
        servers = {"x": {"type": "http", "url": server.url}}
        session = task.start("scripted", args=IGNORES, servers=servers)
        outcomes: list[EndpointTest] = []
        test = threading.Thread(target=lambda: outcomes.append(session.test_endpoint("x")))
        test.start()
        assert asked.wait(10)
        session.reset()
        reset.set()
        test.join()

    assert outcomes[0].reachable
    report = session.report
    assert report.current
    assert [a.servers[1].endpoint_test for a in (report.current, *report.previous)] == [None, None]


@pytest.mark.req("DI-1")
def test_a_command_is_started_once_the_user_has_agreed_to_it_as_it_is(
    session: Session, tmp_path: Path
) -> None:
    words = f"To test 'x' is to start .* with 2 arguments in {session._core.launch.cwd}"
    session.reset(servers={"x": toy("chatty")})
    for _ in range(2):
        with pytest.raises(ConfigError, match=words) as refused:
            session.test_endpoint("x")
        assert refused.value.reason_code == "consent_needed"

    assert session.test_endpoint("x", consent=True).reachable
    assert session.test_endpoint("x").reachable
    session.reset(servers={"y": toy("chatty")})
    assert session.test_endpoint("y").reachable, "it is the command that was agreed to"
    for other in (toy("chatty", env={"A": "b"}), toy("chatty", "--more")):
        session.reset(servers={"y": other})
        with pytest.raises(ConfigError, match="call again with consent=True"):
            session.test_endpoint("y")


@pytest.mark.req("DI-1")
def test_a_server_runs_in_the_folder_and_the_environment_of_the_agent(
    tested: Tested, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_KERNEL", "kernel-value")
    names = ("OF_THE_KERNEL", "OF_THE_SESSION", "OF_THE_SERVER")
    env = {"OF_THE_SERVER": "server-value"}

    outcome = tested(toy("surroundings", *names, env=env), timeout=60)

    told = [tool.description for tool in outcome.tools]
    folder = str(session._core.launch.cwd)
    assert told == [folder, "kernel-value", "session-value", "server-value"]
    assert (outcome.server_name, outcome.server_version) == ("toy", "1.2")


@pytest.mark.req("DI-1", "SE-3")
def test_a_child_that_a_server_leaves_behind_is_ended_too(tested: Tested, session: Session) -> None:
    outcome = tested(toy("orphaning"), timeout=60)

    child = int((session._core.launch.cwd / "child").read_text())
    assert outcome.reachable
    assert eventually(lambda: not psutil.pid_exists(child))


@pytest.mark.req("DI-1", "SE-3")
@pytest.mark.parametrize(
    ("behaviour", "version"),
    [("stubborn", LEGACY), ("chatty", LEGACY), ("asks_back", LEGACY), ("modern_only", MODERN)],
)
def test_a_server_over_stdio_with_ways_of_its_own_is_reached(
    tested: Tested, behaviour: str, version: str
) -> None:
    outcome = tested(toy(behaviour), timeout=60)

    assert (outcome.reachable, outcome.protocol_version) == (True, version), outcome
    assert ("1 line was no message" in str(outcome)) == (behaviour == "chatty")


@pytest.mark.req("DI-1")
def test_the_session_that_a_server_gives_is_ended_again(tested: Tested) -> None:
    with web_server(mcp) as server:
        entry = {"type": "http", "url": server.url, "headers": {"x-key": "of the entry"}}
        outcome = tested(entry, timeout=60)

    assert outcome.protocol_version == LEGACY
    assert server.methods() == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
        "DELETE",
    ]
    for request in server.asked:
        assert request.headers["x-key"] == "of the entry"
        assert request.headers["accept-encoding"] == "identity"
    assert [r.headers.get("mcp-session-id") for r in server.asked] == [None, None, *["one"] * 3]
    assert server.asked[0].headers["mcp-protocol-version"] == MODERN
    assert server.asked[3].headers["mcp-protocol-version"] == LEGACY


@pytest.mark.req("DI-1")
def test_a_server_over_sse_is_reached_where_its_endpoint_event_says(tested: Tested) -> None:
    with web_server(SseScript()) as server:
        outcome = tested({"type": "sse", "url": f"{server.origin}/sse"}, timeout=60)

    assert (outcome.reachable, outcome.tool_count) == (True, 2), outcome
    assert [r.path for r in server.asked] == ["/sse", *["/messages?session=1"] * 3]


def away(request: Request) -> Answer:
    """Redirect to another path of the same origin, as a missing slash makes many servers do."""
    if request.path == "/mcp":
        return Answer(307, {"location": "/mcp/"})
    return mcp(request)


def paged(request: Request) -> Answer:
    if "cursor" in request.body["params"]:
        return answered(request, {"tools": tools("two")})
    return answered(request, {"tools": tools("one"), "nextCursor": "more"})


@pytest.mark.req("DI-1")
@pytest.mark.parametrize(
    ("script", "words"), [(away, "2 tools in "), (but("tools/list", paged), "over 2 pages")]
)
def test_pages_and_redirects_within_the_origin_are_followed(
    tested: Tested, script: Script, words: str
) -> None:
    with web_server(script) as server:
        outcome = tested({"type": "http", "url": server.url}, timeout=60)

    assert outcome.tool_count == 2
    assert str(outcome).startswith("Test reached the server: ")
    assert words in str(outcome)


@pytest.mark.req("DI-1")
@pytest.mark.parametrize("status", [400, 404, 500])
def test_a_server_that_refuses_our_answer_to_its_question_may_still_answer(
    tested: Tested, status: int
) -> None:
    def script(request: Request) -> Answer:
        if "method" not in request.body and request.method == "POST":
            return Answer(status)
        if request.asks != "tools/list":
            return mcp(request)
        question = {"jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage", "params": {}}
        body = b"data: " + json.dumps(question).encode() + b"\n\n"
        body += b"data: " + answered(request, {"tools": tools("one")}).body + b"\n\n"
        return Answer(headers=EVENTS, body=body)

    with web_server(script) as server:
        outcome = tested({"type": "http", "url": server.url}, timeout=60)

    assert (outcome.reachable, outcome.tool_count) == (True, 1), outcome
    assert "POST" in server.methods(), "its question was answered"


@pytest.mark.req("DI-1", "SE-1")
def test_a_server_that_floods_its_output_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    server = StdioServer(name="x", command=sys.executable, args=(str(TOY), "floods"))

    async def lines_between_turns() -> int:
        course, most = Course(), 0

        async def take_turns() -> None:
            nonlocal most
            while True:
                before = course.stray_lines
                await asyncio.sleep(0)
                most = max(most, course.stray_lines - before)

        others = asyncio.create_task(take_turns())
        async with stdio(server, {}, tmp_path, course) as channel:
            await converse(channel)
        others.cancel()
        assert course.stray_lines == 50_000
        return most

    assert asyncio.run(lines_between_turns()) < 100


@pytest.mark.req("DI-1")
def test_one_bad_entry_hides_none_of_the_others_and_is_noted(tested: Tested) -> None:
    served = [*tools("good", "half \ud800"), "nonsense", {"name": 5}, {"description": "nameless"}]
    with web_server(but("tools/list", lambda r: answered(r, {"tools": served}))) as server:
        outcome = tested({"type": "http", "url": server.url}, timeout=60)

    assert outcome.tool_count == 5
    assert outcome.usable_count < 5
    assert [tool.name for tool in outcome.tools] == ["good", "half ?"]
    assert all(tool.estimated_tokens > 5 for tool in outcome.tools)
    assert outcome.notes
    first, *more = str(outcome).splitlines()
    assert first.startswith(f"Test reached the server: 5 tools, {outcome.usable_count} usable, in ")
    assert len(more) == len(outcome.notes)


@pytest.mark.req("DI-1")
def test_a_server_that_the_agent_does_not_take_can_be_tested(task: Task) -> None:
    with web_server(SseScript()) as server:
        servers = {"x": {"type": "sse", "url": f"{server.origin}/sse"}}
        args = [*IGNORES, "--mcp-capabilities", "http"]
        session = task.start("scripted", args=args, servers=servers)

        outcome = session.test_endpoint("x")

    assert outcome.reachable
    assert session.status("x") == "filtered"


@pytest.mark.req("DI-1")
def test_no_proxy_of_the_environment_comes_between(
    tested: Tested, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with web_server(mcp) as server:
        assert tested({"type": "http", "url": server.url}, timeout=60).reachable


@pytest.mark.req("DI-1", "SE-2")
def test_a_session_that_is_over_has_no_configuration_to_test_by(task: Task) -> None:
    session = task.start("scripted", args=IGNORES)
    session.close()

    with pytest.raises(Unsupported, match="is not live") as refused:
        session.test_endpoint("kandev")

    assert refused.value.reason_code == "not_live"


@pytest.mark.req("DI-1")
@pytest.mark.parametrize("timeout", [None, -1, "soon", float("inf")])
def test_a_test_has_a_bound(session: Session, timeout: Any) -> None:
    with pytest.raises(ConfigError, match="timeout="):
        session.test_endpoint("kandev", timeout=timeout)


@pytest.mark.req("DI-1", "SE-7")
def test_a_test_that_is_cancelled_leaves_nothing(session: Session) -> None:
    session.reset(servers={"x": toy("hanging")})
    written = session._core.launch.cwd / "pid"
    written.unlink(missing_ok=True)

    async def give_up() -> int:
        task = asyncio.create_task(session.aio.test_endpoint("x", consent=True, timeout=60))
        runs = partial(eventually, lambda: written.exists() and bool(written.read_text()))
        assert await asyncio.to_thread(runs)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return int(written.read_text())

    server = asyncio.run(give_up())

    assert eventually(lambda: not psutil.pid_exists(server))
    assert session.prompt("say hello").stop_reason == "end_turn"
    row = session.report.current and session.report.current.server("x")
    assert row
    assert row.endpoint_test is None


@pytest.mark.req("DI-1")
def test_several_servers_are_tested_at_once(session: Session) -> None:
    session.reset(servers={name: toy("chatty") for name in "abc"})

    async def all_of_them() -> list[EndpointTest]:
        tests = (session.aio.test_endpoint(name, consent=True, timeout=60) for name in "abc")
        return await asyncio.gather(*tests)

    assert [outcome.tool_count for outcome in asyncio.run(all_of_them())] == [2, 2, 2]
