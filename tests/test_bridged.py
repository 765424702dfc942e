"""A session whose agent takes stdio only: its built-in server over the bridge, and every end."""

import os
import signal
from collections.abc import Iterator

import psutil
import pytest

from kandev_nb import AgentError, Session, Task
from tests.processes import eventually

STDIO_ONLY = ["--mcp-capabilities", "none"]


def bridges() -> list[psutil.Process]:
    """The bridges that agents of this process run."""
    return [child for child in psutil.Process().children(recursive=True) if is_bridge(child)]


def is_bridge(process: psutil.Process) -> bool:
    try:
        return "kandev_nb.endpoint.bridge" in process.cmdline()
    except psutil.Error:
        return False


@pytest.fixture
def bridged(task: Task) -> Iterator[tuple[Session, psutil.Process]]:
    """A session that is active over the bridge, and that bridge."""
    session = task.start("scripted", args=STDIO_ONLY)
    session.wait_for("kandev", "active")
    (bridge,) = bridges()
    yield session, bridge
    session.close()
    assert eventually(lambda: not bridge.is_running()), "the bridge was left behind"


def kinds(session: Session) -> list[str]:
    attempt = session.report.current
    assert attempt
    return [event.kind for event in attempt.evidence if event.server_name == "kandev"]


@pytest.mark.req("CF-3", "EV-1")
def test_what_comes_over_the_bridge_is_observed_like_any_other_client(
    bridged: tuple[Session, psutil.Process],
) -> None:
    session, _ = bridged

    answer = session.prompt("call kandev get_task_plan_kandev {}")

    assert "This task has no plan yet" in answer.text
    assert kinds(session) == [
        "configured",
        "delivered",
        "initialize_observed",
        "tools_list_observed",
        "tool_call_observed",
    ]
    row = session.wait_for("kandev", "active")
    assert (row.transport, row.connection_id) == ("stdio", "mcp-1")
    assert row.tool_count == len(row.tools) == 7


@pytest.mark.req("CF-3", "EV-5")
def test_a_killed_bridge_is_a_closed_connection_and_the_session_goes_on(
    bridged: tuple[Session, psutil.Process],
) -> None:
    session, bridge = bridged

    bridge.send_signal(signal.SIGKILL)

    assert eventually(lambda: "connection_closed" in kinds(session))
    assert session.state == "running"
    row = session.view.row("kandev")
    assert row
    assert row.label.text == "Disconnected"


@pytest.mark.req("CF-3", "EV-5", "SE-3")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_an_agent_that_dies_takes_its_bridge_along_and_its_rows_keep_their_status(
    bridged: tuple[Session, psutil.Process], end: signal.Signals
) -> None:
    session, bridge = bridged

    os.kill(bridge.ppid(), end)

    assert eventually(lambda: session.state == "ended")
    assert eventually(lambda: not bridge.is_running())
    with pytest.raises(AgentError):
        session.prompt("say hello")
    assert "connection_closed" not in kinds(session)
    assert session.status("kandev") == "active"


@pytest.mark.req("EV-5")
@pytest.mark.parametrize("capabilities", ["http", "sse", "none"])
def test_a_close_that_ends_the_session_is_no_evidence_over_any_transport(
    task: Task, capabilities: str
) -> None:
    session = task.start("scripted", args=["--mcp-capabilities", capabilities])
    session.wait_for("kandev", "active")

    session.close()

    assert "connection_closed" not in kinds(session)
    row = session.view.row("kandev")
    assert row
    assert row.label.text == "Active"
    assert not bridges()
