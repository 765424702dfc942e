"""What an agent of somebody else says of a server that it could not reach."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kandev_nb import AttachmentFailed, Session
from kandev_nb.attachment import Evidence, ServerAttachment
from tests.agents.real.conftest import StartModelled

# An agent is installed first, which may take minutes.
pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(300)]

ROOT: Final = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def refusing() -> Iterator[str]:
    """The address of a port that refuses connections, and that nobody else gets."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture(scope="module")
def told(start_modelled: StartModelled, refusing: str) -> Session:
    """Claude Code with one server that refuses it and one that does not, after its first prompt."""
    fine = {"command": sys.executable, "args": ["-m", "tests.agents.mcp_server"]}
    servers = {
        "refuses": {"url": f"{refusing}/mcp"},
        "fine": {**fine, "env": {"PYTHONPATH": str(ROOT)}},
    }
    session = start_modelled("claude", servers=servers)
    session.wait_for("kandev", "active")
    assert session.status("refuses") == "delivered", "nothing was said yet"
    session.prompt("Say hello.")
    return session


@pytest.mark.req("AC.5", "EV-3", "EV-12")
def test_the_server_that_claude_calls_failed_is_failed_by_its_word(
    told: Session, refusing: str
) -> None:
    row = row_of(told, "refuses")
    (error,) = [event for event in evidence(told) if event.kind == "explicit_error"]

    assert (row.status, row.reason_code) == ("failed", "agent_reported_failure")
    assert (error.server_name, error.known_by) == ("refuses", "agent_reported")
    assert (row.target, row.connected_at) == (refusing, "")
    assert "The agent reports" in told.explain("refuses")
    with pytest.raises(AttachmentFailed, match="'refuses' is failed"):
        told.wait_for("refuses")


@pytest.mark.req("AC.5", "EV-2", "EV-12")
def test_what_claude_says_raises_and_lowers_no_other_server(told: Session) -> None:
    kandev, fine = row_of(told, "kandev"), row_of(told, "fine")

    assert (kandev.status, kandev.reported) == ("active", None)
    assert (fine.status, fine.reported, fine.connected_at) == ("delivered", None, "")
    assert "Delivered · connection unverified" in told.explain("fine")
    known_by = {event.kind: event.known_by for event in evidence(told) if event.is_observation}
    assert set(known_by.values()) == {"observed"}


@pytest.mark.req("AC.5", "EV-7", "EV-12")
def test_what_claude_said_before_a_reset_is_no_word_on_the_new_attempt(told: Session) -> None:
    told.reset()

    assert told.status("refuses") == "delivered"
    before = told.report.previous[0].server("refuses")
    assert before
    assert before.status == "failed"


def row_of(session: Session, name: str) -> ServerAttachment:
    attempt = session.report.current
    row = attempt.server(name) if attempt else None
    assert row
    return row


def evidence(session: Session) -> tuple[Evidence, ...]:
    attempt = session.report.current
    assert attempt
    return tuple(attempt.evidence)
