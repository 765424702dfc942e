"""Other people's agents that ask before they call a tool of Kandev's."""

import pytest

from kandev_nb import PermissionRequest, Session
from kandev_nb.agents.permission import PermissionCounts
from kandev_nb.attachment import ServerAttachment
from tests.agents.model import ANSWER
from tests.agents.real.conftest import AGENTS, StartModelled

# An agent is installed first, which may take minutes.
pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(300)]

TOOL = "get_task_plan_kandev"


@pytest.mark.req("SE-4", "EV-1")
@pytest.mark.parametrize("agent", AGENTS)
def test_a_tool_call_that_is_denied_does_not_reach_the_endpoint(
    start_modelled: StartModelled, agent: str
) -> None:
    session = start_modelled(agent, permissions="deny")
    make_it_ask(session)

    turn = session.prompt(f"call {TOOL} {{}}")

    assert turn.stop_reason == "end_turn"
    assert session.permission_counts == PermissionCounts(asked=1, denied=1)
    assert row(session).status == "active"
    assert row(session).used_at == ""
    session.close()


@pytest.mark.req("SE-4", "EV-1")
@pytest.mark.parametrize("agent", ["gemini", "claude"])
def test_a_tool_call_that_a_function_allows_is_seen_at_the_endpoint(
    start_modelled: StartModelled, agent: str
) -> None:
    asked: list[tuple[PermissionRequest, str]] = []

    def allow(request: PermissionRequest) -> bool:
        asked.append((request, row(session).used_at))
        return True

    session = start_modelled(agent, permissions=allow)
    make_it_ask(session)

    turn = session.prompt(f"call {TOOL} {{}}")

    assert ANSWER in turn.text
    ((request, used_before),) = asked
    assert TOOL in request.tool
    assert {"allow_once", "reject_once"} <= set(request.options)
    assert used_before == "", "it asked before it called"
    assert session.permission_counts == PermissionCounts(asked=1, allowed=1)
    assert row(session).used_at
    session.close()


def make_it_ask(session: Session) -> None:
    """Wait until the agent has its tools, and take it out of a mode in which it does not ask."""
    session.wait_for("kandev", "active")
    if session.mode == "auto":
        session.set_mode("default")
        assert session.mode == "default"


def row(session: Session) -> ServerAttachment:
    attempt = session.report.current
    kandev = attempt.server("kandev") if attempt else None
    assert kandev
    return kandev
