"""What the registry says of the agents that ``make test`` does not start, seen of each.

They run without a login and without a network. Those that open no session without a login are
seen to say so, and then they are given one that is not worth anything.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any, Final

import pytest

from kandev_nb import AgentError, PermissionRequest, Session
from kandev_nb.agents import registry
from kandev_nb.agents.registry import find_agent
from kandev_nb.attachment import Attempt, ServerAttachment
from tests.agents.model import ScriptedModel
from tests.agents.real.starting import Start, home_of, processes
from tests.agents.rest.conftest import CASES, Case, beside, end, given
from tests.processes import eventually

# An agent is installed first, which may take minutes.
pytestmark = [pytest.mark.real_agent, pytest.mark.rest_agent, pytest.mark.timeout(600)]

TOOLS: Final = 7
STATELESS: Final = "2026-07-28"
ROOT: Final = Path(__file__).parents[3]
REFUSES: Final = {"refuses": {"url": "http://127.0.0.1:9/mcp"}}
"""Nobody listens there."""

LOCAL: Final = """
import pathlib, runpy, sys
pathlib.Path(sys.argv[1]).touch()
runpy.run_module("tests.agents.mcp_server", run_name="__main__")
"""
"""A server over stdio that leaves a file to say that it was started."""

NEED_A_LOGIN: Final = [agent for agent, case in CASES.items() if case.needs_login]
TAKE_REFUSING: Final = [
    agent for agent in CASES if find_agent(agent).likely_transports and agent != "fast-agent"
]
"""Those that take servers over HTTP, and open a session though one of these refuses."""


@pytest.fixture(scope="module", params=CASES)
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def case(agent: str) -> Case:
    return CASES[agent]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, agent: str) -> Path:
    """The program of a server over stdio; ``started`` is beside it once it was."""
    program = tmp_path_factory.mktemp(f"{agent}-local") / "local.py"
    program.write_text(LOCAL)
    return program


@pytest.fixture(scope="module")
def session(
    start: Start, model: ScriptedModel, agent: str, case: Case, local: Path
) -> Iterator[Session]:
    """One session for each agent; a test begins with whatever attempt the one before it left."""
    arguments = [str(local), str(started(local))]
    env = {"PYTHONPATH": str(ROOT)}
    servers: dict[str, Any] = {"local": {"command": sys.executable, "args": arguments, "env": env}}
    if agent in TAKE_REFUSING:
        servers |= REFUSES
    session = start(agent, servers=servers, permissions="allow", **given(agent, model))
    yield session
    session.close()
    if case.leaves:
        end(processes(home_of(session)))


@pytest.mark.req("CF-2")
@pytest.mark.parametrize("agent", NEED_A_LOGIN, indirect=True)
def test_without_a_login_it_says_what_to_do(start: Start, agent: str, case: Case) -> None:
    with pytest.raises(AgentError, match="Authentication required") as refused:
        start(agent, {}, beside=beside(agent))

    failed = start.task.sessions[-1]
    assert refused.value.reason_code == "auth_required"
    assert " ".join(find_agent(agent).needs) in refused.value.__notes__
    assert current(failed).session_error_code == "auth_required"
    assert failed.state == "failed"
    assert not processes(home_of(failed))


@pytest.mark.req("CF-2")
def test_it_is_the_version_of_the_registry_and_advertises_what_is_said_there(
    session: Session, agent: str
) -> None:
    running, spec = session._core.agent, find_agent(agent)

    assert running
    assert running.agent_version.split()[0] in (spec.npm or spec.install)
    assert running.mcp_capabilities.offered == spec.advertises


@pytest.mark.req("CF-3", "AC.3", "AC.4")
def test_it_comes_as_far_as_was_measured(session: Session, case: Case) -> None:
    check_reached(session, case)

    row = row_of(session, "kandev")
    expected = ("http", STATELESS) if case.stateless else (row.transport, row.protocol_version)
    assert (row.transport, row.protocol_version) == expected
    assert not (case.stateless and row.connection_id)
    assumed = "transport_assumed" in {note.reason_code for note in row.notes}
    assert assumed is case.assumed
    assert row_of(session, "local").status == "delivered"


@pytest.mark.req("SE-2", "EV-7", "AC.2")
def test_its_reset_is_a_new_attempt_that_comes_as_far_by_itself(
    session: Session, agent: str, case: Case
) -> None:
    check_reached(session, case)
    before = current(session)

    session.reset()

    check_reached(session, case)
    now = current(session)
    by_restart = find_agent(agent).reset_by_restart
    assert (now.kind, bool(now.cause)) == ("reset", by_restart)
    assert (now.execution_id != before.execution_id) is by_restart
    assert session.report.previous[0].evidence == before.evidence


@pytest.mark.req("CF-3")
def test_it_starts_a_server_over_stdio_or_accepts_and_forgets_it(
    session: Session, case: Case, local: Path
) -> None:
    check_reached(session, case)

    if case.starts_stdio:
        assert eventually(started(local).exists, 60)
    else:
        session.prompt("Say hello.")
        assert not started(local).exists()


@pytest.mark.req("EV-3", "EV-12")
@pytest.mark.parametrize("agent", TAKE_REFUSING, indirect=True)
def test_it_says_that_a_server_refused_it_or_keeps_silent(session: Session, case: Case) -> None:
    check_reached(session, case)

    if case.tells:
        assert eventually(lambda: row_of(session, "refuses").status == "failed", 60)
        assert row_of(session, "refuses").reason_code == "agent_reported_failure"
    else:
        assert row_of(session, "refuses").status == "delivered"


@pytest.mark.req("EV-3", "EV-12")
def test_qwen_connects_before_it_asks_for_a_login_and_may_call_what_answered_it_failed(
    start: Start,
) -> None:
    # It says so before or after it has been answered: one of several does it after.
    refused = (refused_by_qwen(start) for _ in range(8))
    session = next((failed for failed in refused if row_of(failed, "kandev").reported), None)

    assert session, "none said it after it had been answered"
    row, shown = row_of(session, "kandev"), session.view.row("kandev")
    assert (row.status, row.tool_count) == ("active", TOOLS)
    assert row.reported
    assert row.reported.status == "failed"
    assert shown
    assert "the agent reports: failed" in [detail.text for detail in shown.details]


@pytest.mark.req("CF-3", "EV-2")
def test_auggie_connects_when_its_permission_request_has_been_answered(
    start: Start, model: ScriptedModel
) -> None:
    asked, answered = Event(), Event()

    def ask(_request: PermissionRequest) -> bool:
        asked.set()
        return answered.wait(60)

    session = start("auggie", permissions=ask, **given("auggie", model))
    assert asked.wait(60)
    # It connects nowhere else meanwhile: a second session of its own has come and gone.
    start("auggie", permissions="allow", **given("auggie", model)).wait_for("kandev", "active")
    assert session.status("kandev") == "delivered"

    answered.set()

    session.wait_for("kandev", "active")


@pytest.mark.req("EV-7", "AC.2")
def test_auggie_would_give_a_session_after_a_reset_the_server_from_before_it(
    start: Start, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = kept_in_one_process("auggie", monkeypatch)
    session = start(agent, permissions="allow", **given("auggie", model))
    session.wait_for("kandev", "active")

    session.reset()

    assert eventually(lambda: current(session).late_traffic is not None, 60)
    assert session.status("kandev") == "delivered"


@pytest.mark.req("EV-7", "EV-3")
def test_fast_agent_would_refuse_a_session_after_a_reset(
    start: Start, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = kept_in_one_process("fast-agent", monkeypatch)
    session = start(agent, **given("fast-agent", model))
    session.wait_for("kandev", "active")

    with pytest.raises(AgentError, match="already registered with different settings"):
        session.reset()

    assert row_of(session, "kandev").status == "failed"


@pytest.mark.req("AC.5", "EV-3")
def test_fast_agent_refuses_the_session_when_one_of_its_servers_fails(
    start: Start, model: ScriptedModel
) -> None:
    with pytest.raises(AgentError):
        start("fast-agent", servers=REFUSES, **given("fast-agent", model))

    failed = start.task.sessions[-1]
    assert row_of(failed, "refuses").status == "failed"
    assert row_of(failed, "kandev").status == "active", "it had connected before"
    assert not current(failed).session_error


@pytest.mark.req("SE-3")
def test_cline_leaves_a_daemon_that_has_left_its_process_group(
    start: Start, model: ScriptedModel
) -> None:
    session = start("cline", **given("cline", model))
    session.prompt("Say hello.")
    assert eventually(lambda: len(processes(home_of(session))) > 1, 60)

    session.close()

    left = processes(home_of(session))
    try:
        assert [CASES["cline"].leaves in " ".join(process.cmdline()) for process in left] == [True]
    finally:
        end(left)


def started(local: Path) -> Path:
    return local.with_name("started")


def refused_by_qwen(start: Start) -> Session:
    """Return a session that it refused, having connected to its server."""
    with pytest.raises(AgentError, match="Authentication required"):
        start("qwen", {})
    session = start.task.sessions[-1]
    assert row_of(session, "kandev").connected_at
    return session


def kept_in_one_process(agent: str, patch: pytest.MonkeyPatch) -> str:
    """Register an agent once more, as one whose reset is no restart; return its ID."""
    again = {"id": f"{agent}-again", "reset_by_restart": False}
    spec = find_agent(agent).model_copy(update=again)
    patch.setattr(registry, "_added", lambda: iter([spec]))
    return spec.id


def check_reached(session: Session, case: Case) -> None:
    """Wait for what the agent does; of one that never connects a turn is awaited."""
    if case.connects:
        assert session.wait_for("kandev", "active").tool_count == TOOLS
        return
    assert session.prompt("Say hello.").stop_reason == "end_turn"
    assert session.status("kandev") == "delivered"


def current(session: Session) -> Attempt:
    attempt = session.report.current
    assert attempt
    return attempt


def row_of(session: Session, name: str) -> ServerAttachment:
    row = current(session).server(name)
    assert row
    return row
