"""Reset, restart and what follows: each is a new attempt, and the one before it is history."""

import os
import signal
from typing import Any, Final

import psutil
import pytest

from kandev_nb import AgentError, ConfigError, Session, Task, Unsupported
from kandev_nb.agents import registry
from kandev_nb.agents.registry import AgentSpec, find_agent
from tests.processes import eventually

GITHUB: Final[dict[str, Any]] = {"github": {"url": "http://127.0.0.1:9/mcp"}}
IGNORES: Final = ["--scenario", "ignores"]


def activate(session: Session) -> None:
    """Make an agent that ignores its servers connect to Kandev's and list its tools."""
    session.prompt("connect kandev\nlist kandev")
    session.wait_for("kandev", "active")


def attempts(session: Session) -> list[tuple[str, str]]:
    """Kind and Kandev's status of every kept attempt, the newest first."""
    report = session.report
    kept = [report.current, *report.previous]
    return [(a.kind, row.status) for a in kept if a and (row := a.server("kandev"))]


@pytest.mark.req("AC.2", "EV-7", "SE-2")
def test_a_reset_is_a_new_attempt_of_the_same_execution_and_cannot_stay_green(task: Task) -> None:
    session = task.start("scripted", args=IGNORES, servers=GITHUB)
    activate(session)
    before = session.report.current

    session.reset()

    now = session.report.current
    assert before
    assert now
    assert attempts(session) == [("reset", "delivered"), ("new", "active")]
    assert now.attachment_attempt_id != before.attachment_attempt_id
    assert now.execution_id == before.execution_id
    assert now.acp_session_id != before.acp_session_id
    assert session.report.previous[0].superseded_at == now.started_at
    assert session.view.heading.text.endswith("execution 1 · attempt 2")
    activate(session)
    assert attempts(session) == [("reset", "active"), ("new", "active")]


@pytest.mark.req("AC.2", "EV-7", "SE-2", "SE-3")
def test_a_restart_is_a_new_execution_and_ends_the_old_process(task: Task) -> None:
    session = task.start("scripted", args=IGNORES)
    activate(session)
    before, agent = session.report.current, session._core.agent
    assert before
    assert agent

    session.restart()

    now = session.report.current
    assert now
    assert attempts(session) == [("restart", "delivered"), ("new", "active")]
    assert now.execution_id != before.execution_id
    assert not psutil.pid_exists(agent.pid)
    assert session.state == "running"
    assert session.view.heading.text.endswith("execution 2 · attempt 2")
    kept = session.report.previous[0].evidence
    assert "connection_closed" not in [event.kind for event in kept]
    activate(session)


@pytest.mark.req("SE-2")
def test_a_session_that_ended_with_its_agent_can_be_restarted(task: Task) -> None:
    session = task.start("scripted")
    agent = session._core.agent
    assert agent
    os.kill(agent.pid, signal.SIGKILL)
    assert eventually(lambda: session.state == "ended")
    with pytest.raises(AgentError, match="has ended with its agent"):
        session.reset()

    session.restart()

    assert session.wait_for("kandev", "active")
    assert session.report.previous[0].end_reason == "the agent was ended by SIGKILL"


@pytest.mark.req("SE-2", "CF-1")
def test_a_reset_may_bring_other_servers_and_another_policy(task: Task) -> None:
    session = task.start("scripted", args=IGNORES, servers=GITHUB)

    session.reset(servers={"tickets": {"url": "http://127.0.0.1:9/"}, "x": {"command": "/bin/sh"}})
    kept = {row.name: row.status for row in session.view.rows}
    session.restart(servers=GITHUB, policy="deny_all")
    denied = {row.name: row.status for row in session.view.rows}

    assert kept == {"kandev": "delivered", "tickets": "delivered", "x": "delivered"}
    assert denied == {"kandev": "delivered", "github": "filtered"}


@pytest.mark.req("SE-2")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"servers": 5}, "servers= cannot be read"),
        ({"policy": "deny_all"}, "policy= comes with the servers="),
        ({"servers": GITHUB, "policy": "nonsense"}, "deny_all"),
        ({"timeout": -1}, "timeout= is no number"),
    ],
)
def test_a_reset_with_bad_input_changes_nothing(
    task: Task, arguments: dict[str, Any], message: str
) -> None:
    session = task.start("scripted", args=IGNORES, servers=GITHUB)
    before = session.report

    for change in (session.reset, session.restart):
        with pytest.raises(ConfigError, match=message):
            change(**arguments)

    assert session.report == before
    assert session.prompt("say hello").stop_reason == "end_turn"


@pytest.mark.req("EV-7", "EV-3")
def test_a_reset_that_the_agent_refuses_leaves_no_row_green(task: Task) -> None:
    args = ["--scenario", "lists-and-calls"]
    session = task.start("scripted", args=args)
    session.wait_for("kandev", "active")
    agent = session._core.agent
    assert agent
    refuse = agent.open_session

    async def refused(*args: Any, **options: Any) -> Any:
        # What the agent cannot be made to do by itself: it dies while it is asked.
        os.kill(agent.pid, signal.SIGKILL)
        return await refuse(*args, **options)

    agent.open_session = refused  # type: ignore[method-assign]
    with pytest.raises(AgentError):
        session.reset()

    assert eventually(lambda: session.state == "ended")
    assert session.status("kandev") != "active"
    assert attempts(session)[1] == ("new", "active")
    current = session.report.current
    assert current
    errors = [event for event in current.evidence if event.kind == "explicit_error"]
    assert len(errors) == 1, "the end of the agent is told once"


@pytest.mark.req("SE-2")
def test_what_the_agent_does_not_advertise_is_refused_before_anything_is_sent(task: Task) -> None:
    session = task.start("scripted", args=IGNORES)
    before = session.report

    if not session._core.agent or not session._core.agent.capabilities.fork:
        with pytest.raises(Unsupported, match="The agent does not offer session/fork"):
            session.fork()
        assert session.report == before
    assert session.prompt("say hello").stop_reason == "end_turn"


@pytest.mark.req("SE-2")
def test_an_agent_that_keeps_its_first_connections_is_restarted_for_a_reset(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    sticky = find_agent("scripted").model_copy(update={"id": "sticky", "reset_by_restart": True})
    assert isinstance(sticky, AgentSpec)
    monkeypatch.setattr(registry, "_added", lambda: iter([sticky]))
    session = task.start("sticky", args=IGNORES)
    before = session.report.current

    session.reset()

    now = session.report.current
    assert before
    assert now
    assert (now.kind, now.cause) == ("reset", "by restart, which this agent needs")
    assert now.execution_id != before.execution_id


@pytest.mark.req("SE-2")
def test_a_session_is_not_reset_while_it_answers_a_prompt(task: Task) -> None:
    import threading

    session = task.start("scripted", args=IGNORES)
    ended = threading.Event()

    def ask() -> None:
        session.prompt("wait 60")
        ended.set()

    thread = threading.Thread(target=ask)
    thread.start()
    assert eventually(lambda: session._core._is_prompting)

    with pytest.raises(AgentError, match="Wait for it or interrupt it, then reset it"):
        session.reset()
    session.cancel()

    assert ended.wait(10)
    thread.join()
    session.reset()
    assert attempts(session)[0] == ("reset", "delivered")
