"""What an explorer shows of a server beside its row."""

import json
from typing import Any

import pytest

from kandev_nb.attachment import History, display, explored, note_late_traffic
from kandev_nb.attachment.explored import CatalogShown, Detail
from kandev_nb.attachment.model import Attempt, Reported, RowNote, ToolSummary
from tests.attachment.story import Story, at

TOOLS = tuple(
    ToolSummary(name=name, input_schema={"type": "object"}, estimated_tokens=tokens)
    for name, tokens in (("read", 30), ("write", 12))
)


def detail(story: Story, server: str = "kandev") -> Detail:
    shown = explored.detail(story.history, display(story.history), server)
    assert shown is not None
    return shown


def row(story: Story) -> dict[str, Any]:
    first: dict[str, Any] = explored.rows(story.history, display(story.history))["rows"][0]
    return first


def listed(story: Story, tools: tuple[ToolSummary, ...] = TOOLS, **facts: Any) -> Story:
    count = facts.pop("tool_count", len(tools))
    return story.tell("tools_list_observed", "c1", tools=tools, tool_count=count, **facts)


@pytest.mark.req("UI/Explorer, wide")
def test_a_row_has_what_a_list_of_servers_needs() -> None:
    story = Story().start().tell("configured", transport="http", target="https://x.example")
    assert {name: row(story)[name] for name in ("tools", "tokens", "catalog", "built_in")} == {
        "tools": None,
        "tokens": 0,
        "catalog": "",
        "built_in": True,
    }

    listed(story)
    assert (row(story)["tools"], row(story)["tokens"]) == (2, 42)
    assert (row(story)["transport"], row(story)["target"]) == ("http", "https://x.example")


@pytest.mark.req("UI/States every view must have")
def test_a_session_without_an_attempt_has_no_rows_and_no_details() -> None:
    nothing = Story().history
    view = display(nothing)

    assert explored.rows(nothing, view)["rows"] == []
    assert explored.detail(nothing, view, "kandev") is None


@pytest.mark.req("CA-1")
def test_a_revision_is_that_of_the_content_of_a_catalog() -> None:
    again = tuple(ToolSummary(**tool.to_wire()) for tool in TOOLS)
    longer = (*TOOLS, ToolSummary(name="zap"))

    assert explored.revision(TOOLS) == explored.revision(again) != ""
    assert explored.revision(longer) not in ("", explored.revision(TOOLS))
    assert explored.revision(()) == ""


@pytest.mark.req("CA-6")
def test_a_catalog_names_its_schema_as_the_page_does() -> None:
    nested = {"type": "object", "properties": {"x": {"type": "object", "anyOf": [{}]}}}
    story = listed(Story().start(), (ToolSummary(name="read", input_schema=nested),))

    wire = explored.catalog(story.row()).to_json()

    assert wire["revision"] == row(story)["catalog"]
    assert json.loads(wire["tools"][0]["arguments"]["schema"]) == nested


@pytest.mark.req("UI/Explorer, wide")
def test_a_tool_is_shown_by_each_client_in_its_own_way() -> None:
    catalog: CatalogShown = explored.catalog(listed(Story().start()).row())

    names = {each.client: each.name for each in catalog.tools[0].names}
    assert names == {
        "Claude Code": "mcp__kandev__read",
        "opencode": "kandev_read",
        "Gemini CLI": "read (kandev MCP Server)",
    }


@pytest.mark.req("UI/Explorer, wide", "DI-4")
def test_details_have_the_checklist_and_the_explanation_of_the_row() -> None:
    story = Story().start().tell("configured").tell("delivered")
    shown = display(story.history).row("kandev")
    assert shown

    assert detail(story).checklist == shown.checklist
    assert "\n".join(each.text for each in detail(story).explanation) == shown.explanation
    assert explored.detail(story.history, display(story.history), "other") is None


@pytest.mark.req("UI/Explorer, wide")
def test_connection_details_leave_out_what_is_not_known_and_say_stateless() -> None:
    story = Story().start(session_id="session-1", acp_session_id="acp-1")
    story.tell("initialize_observed", "c1", client_name="cli\u202e", client_version="2")
    facts = {fact.label.key: fact.value for fact in detail(story).facts}
    assert facts["fact.connection_id"] == "c1"
    assert facts["fact.client"] == "cli\\u202e 2"
    assert facts["fact.acp_session_id"] == "acp-1"
    assert facts["fact.started_at"] == at(1)
    assert "" not in facts.values()
    assert "fact.transport" not in facts

    stateless = Story().start().tell("initialize_observed")
    facts = {fact.label.key: fact.value for fact in detail(stateless).facts}
    assert facts["fact.connection_id"] == "stateless"


@pytest.mark.req("UI/Explorer, wide", "EV-7")
def test_earlier_attempts_keep_status_and_count_and_say_when_they_ended() -> None:
    story = listed(Story().start("first", kind="new"))
    story.start("second", kind="reset", cause="by restart").tell("configured")
    story.start("third", kind="restart").tell("configured")

    latest, oldest = detail(story).attempts

    assert (latest.id, oldest.id) == ("second", "first")
    assert (latest.heading.text, oldest.heading.text) == ("Reset (by restart)", "New session")
    assert oldest.rows[0].label.text == "Active"
    assert (oldest.rows[0].tools, latest.rows[0].tools) == (2, None)
    assert oldest.ended_at == at(3)


@pytest.mark.req("FR/timeline", "EV-12")
def test_lanes_tell_the_facts_of_the_server_and_of_the_attempt_in_order_of_time() -> None:
    story = Story().start("first", kind="new")
    story.tell("configured").tell("configured", server="github")
    story.tell("session_accepted", server="").tell("tool_call_observed", tool_name="read")
    story.start("second", kind="reset").tell("configured")

    now, before = detail(story).lanes

    assert (now.attempt, now.historical, before.historical) == ("second", False, True)
    assert [(mark.kind, mark.seconds) for mark in before.marks] == [
        ("configured", 1.0),
        ("session_accepted", 3.0),
        ("tool_call_observed", 4.0),
        ("attempt_superseded", 5.0),
    ]
    assert before.seconds == 5.0
    assert [mark.provenance.text for mark in before.marks] == [
        "decided by Kandev",
        "told by the agent",
        "seen by the Kandev endpoint",
        "decided by Kandev",
    ]
    assert before.marks[2].text == "read"
    assert before.marks[3].label.text == "Superseded by the next attempt"


@pytest.mark.req("EV-11")
def test_a_kind_of_a_newer_writer_stands_in_its_lane_as_it_is() -> None:
    story = Story().start()
    event = story.tell("configured").attempt.evidence[0].updated(kind="dreamt", provenance="felt")
    history = story.history.updated(current=story.attempt.updated(evidence=(event,)))

    shown = explored.detail(history, display(history), "kandev")

    assert shown
    assert shown.lanes[0].marks[0].label.text == "dreamt"
    assert shown.lanes[0].marks[0].provenance.text == "felt"


@pytest.mark.req("UI/Explorer, wide", "CA-7")
@pytest.mark.parametrize(
    ("kind", "server", "key"),
    [
        ("delivered", "kandev", "absent.not_loaded"),
        ("delivered", "github", "absent.third_party"),
        ("filtered", "github", "absent.left_out"),
        ("unavailable", "github", "absent.left_out"),
        ("explicit_error", "kandev", "absent.failed"),
        ("tools_list_observed", "kandev", "absent.none_served"),
    ],
)
def test_the_reason_is_said_when_there_are_no_tools(kind: str, server: str, key: str) -> None:
    absent = detail(Story().start().tell(kind, server=server), server).tools_absent

    assert absent
    assert absent.key == key


@pytest.mark.req("CA-4")
def test_a_catalog_that_is_not_saved_says_so_and_one_that_is_says_nothing() -> None:
    story = listed(Story().start())
    assert detail(story).tools_absent is None

    gone = story.attempt.updated(servers=(story.row().updated(tools=()),))
    history: History = story.history.updated(current=gone)
    shown = explored.detail(history, display(history), "kandev")

    assert shown
    assert shown.tools_absent
    assert shown.tools_absent.key == "absent.not_saved"


@pytest.mark.req("UI/Explorer, wide", "EV-3")
def test_what_limits_the_list_stands_in_the_notes() -> None:
    story = listed(Story().start(), tool_count=300, tool_catalog_partial=True)
    reported = Reported(status="failed", reason_code="agent_reported_failure", at=at(2))
    hints = tuple(RowNote(reason_code=code) for code in ("command_not_found", "unused_keys"))
    server = story.row().updated(reported=reported, notes=hints, tools_changed_at=at(9))
    history = story.history.updated(current=story.attempt.updated(servers=(server,)))

    shown = explored.detail(history, display(history), "kandev")

    assert shown
    assert [note.key for note in shown.notes] == [
        "detail.shown",
        "detail.partial",
        "detail.stale",
        "note.reported",
        "explain.hint",
        "explain.hint.1",
    ]
    assert shown.notes[0].text == "showing 2 of 300 tools"
    assert "could not attach" in shown.notes[3].text


@pytest.mark.req("UI/Explorer, wide")
def test_no_two_lines_of_one_list_have_the_same_key() -> None:
    story = listed(Story().start(session_id="s"), tool_count=9).tell("tool_call_observed", "c1")
    hints = tuple(RowNote(reason_code="unused_keys", summary=each) for each in "abc")
    server = story.row().updated(notes=hints, failed_at=at(2), disconnected_at=at(3))
    attempt: Attempt = story.attempt.updated(servers=(server,), ended_at=at(9), evidence_dropped=2)
    history = note_late_traffic(story.history.updated(current=attempt), at(9))

    wire = explored.rows(history, display(history))
    shown = explored.detail(history, display(history), "kandev")

    assert shown
    for lines in (
        [note["key"] for note in wire["notes"]],
        [each["key"] for each in wire["rows"][0]["details"]],
        [fact.label.key for fact in shown.facts],
        [note.key for note in shown.notes],
    ):
        assert len(lines) > 1
        assert len(set(lines)) == len(lines)
