"""What is observed of coding agents that other people wrote, without a login or a network."""

import pytest

from kandev_nb import Session
from kandev_nb.agents.permission import PermissionCounts
from tests.agents.model import ANSWER
from tests.agents.real.starting import version_of

# An agent is installed first, which may take minutes.
pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(300)]

TOOLS = 7
STATELESS = "2026-07-28"


@pytest.mark.req("AC.4", "CF-3")
def test_opencode_is_active_without_a_login(opencode: Session) -> None:
    row = opencode.wait_for("kandev", "active")

    assert (row.client_name, row.client_version) == ("opencode", version_of("opencode")[1])
    assert row.transport == "http"
    assert row.tool_count == TOOLS
    assert row.connection_id


@pytest.mark.req("EV-1", "CA-1")
def test_a_tool_that_opencode_calls_is_seen_at_the_endpoint(opencode: Session) -> None:
    opencode.wait_for("kandev", "active")
    assert "tool_call_observed" not in kinds(opencode)

    turn = opencode.prompt("call get_task_plan_kandev {}")

    attempt = opencode.report.current
    assert attempt
    (call,) = [event for event in attempt.evidence if event.kind == "tool_call_observed"]
    row = attempt.server("kandev")
    assert row
    assert turn.tool_names == ("kandev_get_task_plan_kandev",)
    assert ANSWER in turn.text
    assert (call.server_name, call.connection_id) == ("kandev", row.connection_id)
    assert row.used_at == call.occurred_at
    assert opencode.permission_counts == PermissionCounts(asked=1, allowed=1)


@pytest.mark.req("AC.3", "EV-2")
def test_gemini_in_an_untrusted_folder_stays_unverified_through_a_turn(gemini: Session) -> None:
    turn = gemini.prompt("Say hello.")

    row = gemini.view.row("kandev")
    assert turn.stop_reason == "end_turn"
    assert ANSWER in turn.text
    assert gemini.status("kandev") == "delivered"
    assert row
    assert row.label.text == "Delivered · connection unverified"
    assert gemini.view.banner is None
    assert kinds(gemini) == ["configured", "delivered", "session_accepted"]


@pytest.mark.req("AC.4")
def test_gemini_in_a_trusted_folder_is_active(trusted_gemini: Session) -> None:
    row = trusted_gemini.wait_for("kandev", "active")

    assert (row.client_name, row.client_version) == (
        "gemini-cli-mcp-client",
        version_of("gemini")[1],
    )
    assert row.tool_count == TOOLS


@pytest.mark.req("AC.9", "EV-6")
def test_claude_is_active_and_has_no_connection_that_could_close(claude: Session) -> None:
    claude.wait_for("kandev", "active")

    turn = claude.prompt("Say hello.")

    timeline = claude.timeline()
    attempt = claude.report.current
    assert attempt
    row = attempt.server("kandev")
    assert row
    assert ANSWER in turn.text
    assert row.status == "active"
    assert (row.protocol_version, row.connection_id) == (STATELESS, "")
    assert row.client_name == "claude-code"
    assert set(timeline["connection_id"]) == {""}
    assert {"initialize_observed", "tools_list_observed"} <= set(timeline["kind"])
    assert "connection_closed" not in set(timeline["kind"])


@pytest.mark.req("AC.1", "SE-1", "EV-8")
def test_of_two_agents_of_one_task_only_the_one_that_listed_tools_is_active(
    opencode: Session, gemini: Session
) -> None:
    opencode.wait_for("kandev", "active")
    gemini.prompt("Say hello.")

    assert opencode.status("kandev") == "active"
    assert gemini.status("kandev") == "delivered"
    first, second = opencode.report.current, gemini.report.current
    assert first
    assert second
    assert first.task_id == second.task_id == opencode.task.task_id
    assert first.session_id != second.session_id
    assert (first.agent_id, second.agent_id) == ("opencode", "gemini")
    assert "initialize_observed" not in kinds(gemini)


def kinds(session: Session) -> list[str]:
    """The kinds of the current attempt's evidence, in order."""
    attempt = session.report.current
    return [event.kind for event in attempt.evidence] if attempt else []
