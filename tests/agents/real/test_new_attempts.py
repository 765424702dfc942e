"""Reset and restart of other people's agents: what proves the old attempt proves no new one."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import psutil
import pytest
from mcp import Client

from kandev_nb import Session
from kandev_nb.agents.registry import find_agent
from kandev_nb.attachment import Attempt, ServerAttachment
from tests.agents.real.conftest import AGENTS, StartModelled
from tests.processes import eventually

# An agent is installed first, which may take minutes.
pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(300)]

TOOLS: Final = 7
RESTARTED: Final = {agent for agent in AGENTS if find_agent(agent).reset_by_restart}
"""Those of which a reset is a restart."""


@pytest.fixture(scope="module", params=AGENTS)
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def session(start_modelled: StartModelled, agent: str) -> Iterator[Session]:
    """One session for each agent; a test begins with whatever attempt the one before it left."""
    session = start_modelled(agent)
    yield session
    session.close()


@pytest.mark.req("AC.2", "EV-7", "SE-2")
def test_a_reset_agent_earns_its_own_evidence(session: Session, agent: str) -> None:
    session.wait_for("kandev", "active")
    before = current(session)

    session.reset()

    row = session.wait_for("kandev", "active")
    now = current(session)
    by_restart = agent in RESTARTED
    assert (now.kind, bool(now.cause)) == ("reset", by_restart)
    assert (now.execution_id != before.execution_id) is by_restart
    assert row.tool_count == TOOLS
    check_own_evidence(now)
    check_history(session, before)


@pytest.mark.req("AC.2", "EV-7", "SE-2", "SE-3")
def test_a_restarted_agent_earns_its_own_evidence_and_the_url_from_before_is_gone(
    session: Session,
) -> None:
    session.wait_for("kandev", "active")
    before, process, url = current(session), session._core.agent, url_of(session)
    assert process

    session.restart()

    row = session.wait_for("kandev", "active")
    now = current(session)
    assert (now.kind, now.cause) == ("restart", "")
    assert now.execution_id != before.execution_id
    assert not psutil.pid_exists(process.pid)
    assert row.tool_count == TOOLS
    check_own_evidence(now)
    check_history(session, before)
    report = session.report
    assert asked_raw(url) == httpx2.codes.GONE
    assert session.report == report


@pytest.mark.req("EV-7")
@pytest.mark.parametrize("agent", sorted({*AGENTS} - RESTARTED), indirect=True)
def test_what_is_asked_at_the_url_from_before_a_reset_is_late_and_changes_no_row(
    session: Session,
) -> None:
    session.wait_for("kandev", "active")
    url = url_of(session)

    session.reset()

    session.wait_for("kandev", "active")
    before, told = current(session), late(session)
    assert asyncio.run(tools_at(url, kandev(before))) == TOOLS
    assert eventually(lambda: late(session) > told)
    assert current(session).servers == before.servers
    assert current(session).evidence == before.evidence


@pytest.mark.req("AC.2", "AC.1", "EV-7", "SE-1")
def test_an_agent_that_is_restarted_and_stays_away_is_not_active_any_more(
    gemini_while_trusted: tuple[Session, Path], claude: Session
) -> None:
    gemini, trusted = gemini_while_trusted
    for session in (gemini, claude):
        session.wait_for("kandev", "active")
    before, others = current(gemini), claude.report
    # From now on it connects to nothing.
    trusted.write_text("{}")

    gemini.restart()
    gemini.prompt("Say hello.")

    shown = gemini.view.row("kandev")
    assert shown
    assert shown.label.text == "Delivered · connection unverified"
    row = kandev(current(gemini))
    assert (row.connected_at, row.tool_count, row.tools) == ("", 0, ())
    assert [event.kind for event in current(gemini).evidence] == [
        "configured",
        "delivered",
        "session_accepted",
    ]
    check_history(gemini, before)
    assert claude.report == others
    assert claude.status("kandev") == "active"


def current(session: Session) -> Attempt:
    attempt = session.report.current
    assert attempt
    return attempt


def kandev(attempt: Attempt) -> ServerAttachment:
    row = attempt.server("kandev")
    assert row
    return row


def late(session: Session) -> int:
    traffic = current(session).late_traffic
    return traffic.count if traffic else 0


def check_own_evidence(attempt: Attempt) -> None:
    """The attempt began as one that was delivered, and what makes it active is its own."""
    kinds = [event.kind for event in attempt.evidence]
    assert kinds[:2] == ["configured", "delivered"]
    assert {"initialize_observed", "tools_list_observed", "session_accepted"} <= set(kinds)
    owners = {event.attachment_attempt_id for event in attempt.evidence}
    assert owners == {attempt.attachment_attempt_id}
    assert all(event.occurred_at >= attempt.started_at for event in attempt.evidence)


def check_history(session: Session, before: Attempt) -> None:
    """The superseded attempt is history: its evidence as it was, and nowhere else."""
    now, old = current(session), session.report.previous[0]
    assert old.attachment_attempt_id == before.attachment_attempt_id != now.attachment_attempt_id
    assert old.superseded_at == now.started_at
    assert old.evidence == before.evidence
    assert (kandev(old).status, kandev(old).tool_count, kandev(old).tools) == ("active", TOOLS, ())


def url_of(session: Session) -> str:
    """Return the URL that the agent was given of Kandev's server."""
    execution: Any = session._core._execution
    return str(execution._server.url(execution._endpoints[-1]))


def asked_raw(url: str) -> int:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accepted = {"accept": "application/json, text/event-stream"}
    return httpx2.post(url, json=body, headers=accepted).status_code


async def tools_at(url: str, like: ServerAttachment) -> int:
    """List tools as the client of that row did, stateless or with a connection."""
    mode = "legacy" if like.connection_id else like.protocol_version
    async with Client(url, mode=mode) as client:
        return len((await client.list_tools()).tools)
