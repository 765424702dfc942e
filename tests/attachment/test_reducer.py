"""Where the rules go beyond the reference: failures, connections, bounds, row names."""

import pytest

from kandev_nb.attachment import limits
from tests.attachment.story import Story, at


@pytest.fixture
def story() -> Story:
    return Story().start()


@pytest.mark.req("EV-4")
@pytest.mark.parametrize("kind", ["initialize_observed", "tools_list_observed"])
def test_a_failed_server_is_restored_by_a_later_connection(story: Story, kind: str) -> None:
    story.tell("explicit_error", "c1", reason_code="initialize_refused", provenance="observed")
    assert story.row().status == "failed"

    story.tell(kind, "c2")

    restored = {"initialize_observed": "connected", "tools_list_observed": "active"}
    assert story.row().status == restored[kind]
    assert story.row().failed_at == at(2)
    assert story.row().reason_code == "initialize_refused"


@pytest.mark.req("EV-4")
def test_an_answer_to_a_request_from_before_the_failure_restores_nothing(story: Story) -> None:
    story.tell("explicit_error", "c1", provenance="observed")

    story.tell("tools_list_observed", "c1", tool_count=1, requested_at=at(1))
    assert story.row().status == "failed"

    story.tell("tools_list_observed", "c1", tool_count=1, requested_at=at(3))
    assert story.row().status == "active"


@pytest.mark.req("EV-4")
def test_an_observation_that_is_not_later_restores_nothing(story: Story) -> None:
    story.tell("explicit_error", "c1", second=50)

    story.tell("initialize_observed", "c2", second=50)

    assert story.row().status == "failed"


@pytest.mark.req("EV-3")
@pytest.mark.parametrize("connection", ["c1", ""], ids=["session", "stateless"])
def test_what_the_agent_says_is_a_note_while_a_client_that_loaded_tools_is_there(
    story: Story, connection: str
) -> None:
    story.tell("tools_list_observed", connection, tool_count=6)

    story.tell("explicit_error", reason_code="agent_reported_failure", summary="did not start")

    row = story.row()
    assert row.status == "active"
    assert row.reason_code == ""
    assert row.reported is not None
    assert row.reported.to_wire() == {
        "status": "failed",
        "reason_code": "agent_reported_failure",
        "summary": "did not start",
        "at": at(3),
    }


@pytest.mark.req("EV-3")
def test_what_the_agent_says_fails_the_row_once_that_client_has_closed(story: Story) -> None:
    story.tell("tools_list_observed", "c1", tool_count=6).tell("connection_closed", "c1")

    story.tell("explicit_error", reason_code="agent_reported_failure")

    assert story.row().status == "failed"


@pytest.mark.req("EV-3")
def test_an_observed_failure_fails_an_active_row(story: Story) -> None:
    story.tell("tools_list_observed", "c1", tool_count=6)

    story.tell("explicit_error", "c1", reason_code="tools_list_failed", provenance="observed")

    assert story.row().status == "failed"


@pytest.mark.req("EV-2", "EV-12")
@pytest.mark.parametrize("kind", ["initialize_observed", "tools_list_observed"])
@pytest.mark.parametrize("provenance", ["agent_reported", "tested", "decided"])
def test_only_what_was_seen_raises_a_row_above_delivered(
    story: Story, kind: str, provenance: str
) -> None:
    story.tell("delivered")

    story.tell(kind, "c1", provenance=provenance, tool_count=3)

    assert story.row().status == "delivered"


@pytest.mark.req("EV-2", "DI-1")
def test_a_failed_endpoint_test_fails_no_row(story: Story) -> None:
    story.tell("delivered").tell("explicit_error", provenance="tested", summary="refused")

    assert story.row().status == "delivered"


@pytest.mark.req("EV-5")
def test_a_close_points_the_row_to_the_newest_connection_that_is_open(story: Story) -> None:
    for connection in ("c1", "c2", "c3"):
        story.tell("initialize_observed", connection)
    story.tell("tools_list_observed", "c2", tool_count=1)

    story.tell("connection_closed", "c2")

    assert story.row().status == "active"
    assert story.row().connection_id == "c3"
    assert story.row().disconnected_at == ""


@pytest.mark.req("EV-5")
def test_a_row_is_disconnected_only_when_its_last_open_connection_closes(story: Story) -> None:
    story.tell("tools_list_observed", "c1", tool_count=1).tell("initialize_observed", "c2")

    story.tell("connection_closed", "c1")
    assert story.row().status == "active"

    story.tell("connection_closed", "c2")
    assert story.row().status == "connected"
    assert story.row().disconnected_at == at(5)


@pytest.mark.req("EV-5")
@pytest.mark.parametrize("connection", ["", "never-seen"])
def test_a_close_of_no_known_connection_changes_no_row(story: Story, connection: str) -> None:
    story.tell("tools_list_observed", "c1", tool_count=1)
    before = story.row()

    story.tell("connection_closed", connection)

    assert story.row() == before
    assert story.attempt.updated_at == at(3)


@pytest.mark.req("EV-1", "EV-5")
def test_a_close_says_nothing_of_the_row(story: Story) -> None:
    story.tell("tools_list_observed", "c1", tool_count=1)

    story.tell("connection_closed", "other", reason_code="x", summary="y", target="z")

    assert (story.row().reason_code, story.row().summary, story.row().target) == ("", "", "")


@pytest.mark.req("EV-3", "EV-9")
def test_listed_connections_beyond_the_bound_do_not_shield_a_row_for_ever(story: Story) -> None:
    for number in range(limits.OPEN_CONNECTIONS + 9):
        story.tell("tools_list_observed", f"c{number}", tool_count=1)
    for number in range(limits.OPEN_CONNECTIONS + 9):
        story.tell("connection_closed", f"c{number}")

    story.tell("explicit_error", reason_code="agent_reported_failure")

    assert story.row().status == "failed"


@pytest.mark.req("EV-6")
def test_a_close_beside_a_stateless_client_leaves_the_row_active(story: Story) -> None:
    story.tell("initialize_observed", "c1").tell("tools_list_observed", tool_count=1)

    story.tell("connection_closed", "c1")

    assert story.row().status == "active"


@pytest.mark.req("EV-7")
def test_evidence_of_a_superseded_attempt_is_refused_and_the_catalog_is_gone(story: Story) -> None:
    story.tell("tools_list_observed", "c1", tool_count=1, tools=[{"name": "a"}])
    story.start("attempt-2")
    before = story.history

    story.tell("tools_list_observed", "c1", attempt="attempt-1", tool_count=1)

    assert not story.accepted
    assert story.history == before
    assert story.history.previous[0].servers[0].tools == ()
    assert story.history.previous[0].servers[0].tool_count == 1


@pytest.mark.req("EV-7")
def test_a_superseded_attempt_cannot_be_started_again(story: Story) -> None:
    story.start("attempt-2").start("attempt-1")

    assert story.attempt.attachment_attempt_id == "attempt-2"


@pytest.mark.req("EV-8")
def test_the_acp_session_id_is_kept_on_the_attempt(story: Story) -> None:
    story.tell("session_accepted", server="", acp_session_id="acp-7")

    assert story.attempt.acp_session_id == "acp-7"
    assert story.attempt.servers == ()


@pytest.mark.req("EV-3")
def test_an_error_that_names_no_server_stays_on_the_attempt(story: Story) -> None:
    story.tell("delivered").tell(
        "explicit_error", server="", reason_code="auth_required", summary="log in first"
    )

    assert story.row().status == "delivered"
    assert story.attempt.session_error == "log in first"
    assert story.attempt.session_error_code == "auth_required"


@pytest.mark.req("EV-9")
def test_below_the_limit_nothing_is_merged(story: Story) -> None:
    for _ in range(limits.EVIDENCE_EVENTS):
        story.tell("tool_call_observed", "c1")

    assert len(story.attempt.evidence) == limits.EVIDENCE_EVENTS
    assert story.row().call_count == 0


@pytest.mark.req("EV-9")
def test_at_the_limit_repeated_calls_merge_into_the_earliest(story: Story) -> None:
    story.tell("initialize_observed", "c1")
    for _ in range(limits.EVIDENCE_EVENTS):
        story.tell("tool_call_observed", "c1")

    assert [event.kind for event in story.attempt.evidence] == [
        "initialize_observed",
        "tool_call_observed",
    ]
    merged = story.attempt.evidence[1]
    assert merged.count == limits.EVIDENCE_EVENTS
    assert merged.occurred_at == at(story.clock)
    assert story.attempt.evidence_dropped == 0


@pytest.mark.req("EV-9")
def test_what_is_no_milestone_goes_first(story: Story) -> None:
    story.tell("initialize_observed", "c1").tell("tools_list_observed", "c1", tool_count=1)
    for _ in range(limits.EVIDENCE_EVENTS):
        story.tell("tools_list_observed", "c1", tool_count=1)

    assert len(story.attempt.evidence) == limits.EVIDENCE_EVENTS
    assert story.attempt.evidence[0].kind == "initialize_observed"
    assert story.attempt.evidence[1].occurred_at == at(3), "the first list is a milestone"
    assert story.attempt.evidence_dropped == 2


@pytest.mark.req("EV-9")
def test_milestones_of_closed_connections_go_before_those_of_open_ones(story: Story) -> None:
    story.tell("initialize_observed", "open")
    story.tell("initialize_observed", "closed").tell("connection_closed", "closed")
    for number in range(limits.EVIDENCE_EVENTS - 2):
        story.tell("initialize_observed", f"c{number}")

    kept = [event.connection_id for event in story.attempt.evidence]
    assert kept[0] == "open"
    assert "c0" in kept
    assert story.attempt.evidence_dropped == 1


@pytest.mark.req("EV-9")
def test_errors_and_closes_outlive_repeated_lists(story: Story) -> None:
    story.tell("explicit_error", "c1", summary="first").tell("explicit_error", "c1", summary="2nd")
    for _ in range(2 * limits.EVIDENCE_EVENTS):
        story.tell("tools_list_observed", "c2", tool_count=1)

    assert [event.summary for event in story.attempt.evidence[:2]] == ["first", "2nd"]


@pytest.mark.req("EV-9")
def test_the_row_knows_every_call_when_the_evidence_no_longer_does(story: Story) -> None:
    for number in range(3 * limits.EVIDENCE_EVENTS):
        story.tell("tool_call_observed", f"c{number}")

    assert len(story.attempt.evidence) == limits.EVIDENCE_EVENTS
    assert story.attempt.calls(story.row()) == 3 * limits.EVIDENCE_EVENTS


@pytest.mark.req("EV-9")
def test_open_connections_are_bounded(story: Story) -> None:
    for number in range(limits.OPEN_CONNECTIONS + 50):
        story.tell("initialize_observed", f"c{number}")

    assert len(story.row().links.open) == limits.OPEN_CONNECTIONS


@pytest.mark.req("EV-9", "SA-2")
def test_what_a_peer_chose_is_bounded_and_sanitized(story: Story) -> None:
    story.tell(
        "initialize_observed",
        "c" * 9000,
        server="s" * 9000,
        client_name="ü" * 9000,
        target="https://me:pw@host.test/secret?key=1",
        transport="http",
        summary="x" * 9000,
    )

    (row,) = story.attempt.servers
    assert row.target == "https://host.test"
    for text in (row.name, row.client_name, row.connection_id, row.summary):
        assert 0 < len(text.encode()) <= limits.NAME_BYTES


@pytest.mark.req("EV-14")
def test_rows_of_other_names_stand_beside_each_other(story: Story) -> None:
    story.tell("configured").tell(
        "filtered", server="kandev (profile)", reason_code="reserved_name"
    )

    assert [(row.name, row.status) for row in story.attempt.servers] == [
        ("kandev", "unknown"),
        ("kandev (profile)", "filtered"),
    ]


@pytest.mark.req("EV-11")
def test_an_unknown_kind_is_kept_and_moves_nothing(story: Story) -> None:
    story.tell("delivered").tell("roots_observed", "c1")

    assert story.row().status == "delivered"
    assert story.attempt.evidence[-1].kind == "roots_observed"


@pytest.mark.req("EV-13")
def test_client_facts_go_to_the_row_and_not_into_the_evidence(story: Story) -> None:
    story.tell("initialize_observed", "c1", protocol_version="2025-11-25", client_name="opencode")

    assert story.row().protocol_version == "2025-11-25"
    assert story.row().client_name == "opencode"
    assert "protocol_version" not in story.attempt.evidence[0].to_wire()
