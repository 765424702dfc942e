"""The words and dots of a report."""

import json
from typing import Any

import pytest

from kandev_nb.attachment import display, note_late_traffic, words
from kandev_nb.attachment.display import MIME_TYPE, Row
from tests.attachment.story import Story, at


def shown(story: Story, server: str = "kandev") -> Row:
    row = display(story.history).row(server)
    assert row is not None
    return row


@pytest.mark.req("UI/Labels and dots")
@pytest.mark.parametrize(
    ("kinds", "label", "dot"),
    [
        (["configured"], "Configured", "gray"),
        (["delivered"], "Delivered · connection unverified", "amber"),
        (["delivered", "session_accepted"], "Delivered · connection unverified", "amber"),
        (["initialize_observed"], "Connected", "amber"),
        (["tools_list_observed"], "Active", "green"),
        (["tools_list_observed", "connection_closed"], "Disconnected", "amber"),
        (["initialize_observed", "connection_closed"], "Disconnected", "amber"),
        (["tools_list_observed", "connection_closed", "tools_list_observed"], "Active", "green"),
        (
            ["tools_list_observed", "connection_closed", "initialize_observed"],
            "Connected",
            "amber",
        ),
        (["delivered", "tool_call_observed"], "Connected · used, tools not listed", "amber"),
        (
            ["initialize_observed", "tool_call_observed"],
            "Connected · used, tools not listed",
            "amber",
        ),
        (["explicit_error"], "Failed", "red"),
        (["filtered"], "Filtered", "gray"),
        (["unavailable"], "Unavailable", "gray"),
    ],
)
def test_each_state_has_its_label_and_dot(kinds: list[str], label: str, dot: str) -> None:
    story = Story().start()
    for kind in kinds:
        story.tell(kind, "c1", tool_count=1)

    assert (shown(story).label.text, shown(story).dot) == (label, dot)


@pytest.mark.req("EV-11")
def test_a_status_of_a_newer_writer_is_shown_as_configured() -> None:
    story = Story().start().tell("configured")
    row = story.row().updated(status="dreaming")
    history = story.history.updated(current=story.attempt.updated(servers=(row,)))

    assert display(history).rows[0].label.text == "Configured"


@pytest.mark.req("UI/Labels and dots")
def test_a_red_or_gray_row_says_why_and_a_restored_one_no_longer() -> None:
    story = Story().start().tell("filtered", reason_code="sse_unsupported")
    assert shown(story).summary == words.verbatim(
        "The agent does not take servers over SSE.", "reason.sse_unsupported"
    )

    story.tell("explicit_error", summary="connect ECONNREFUSED", provenance="observed")
    assert str(shown(story).summary) == "connect ECONNREFUSED"

    story.tell("tools_list_observed", "c1", tool_count=1)
    assert shown(story).summary is None


@pytest.mark.req("UI/Labels and dots")
@pytest.mark.parametrize(
    ("facts", "details"),
    [
        ({"tool_count": 0}, ["Served 0 tools"]),
        (
            {"tool_count": 1, "tools": [{"name": "a", "estimated_tokens": 1}]},
            ["1 tool", "~1 token"],
        ),
        (
            {
                "tool_count": 300,
                "tools": [{"name": f"t{n}", "estimated_tokens": 10} for n in range(300)],
            },
            ["300 tools", "~1,280 tokens", "showing 128 of 300 tools"],
        ),
        ({"tool_count": 2, "tool_catalog_partial": True}, ["2 tools", "partial list"]),
    ],
)
def test_an_active_row_tells_its_catalog(facts: dict[str, Any], details: list[str]) -> None:
    story = Story().start().tell("tools_list_observed", "c1", **facts)

    assert [message.text for message in shown(story).details] == details


@pytest.mark.req("UI/Labels and dots")
def test_use_is_detail_of_an_active_row() -> None:
    story = Story().start().tell("tools_list_observed", "c1", tool_count=2)
    for _ in range(12):
        story.tell("tool_call_observed", "c1")

    assert [m.text for m in shown(story).details] == ["2 tools", "used · 12 calls"]


@pytest.mark.req("UI/Explorer, wide", "DI-4")
def test_the_checklist_never_calls_absence_a_failure() -> None:
    story = Story().start().tell("configured", server="github").tell("delivered", server="github")
    story.tell("session_accepted", server="")

    states = {check.kind: (check.state, check.at) for check in shown(story, "github").checklist}

    assert states == {
        "configured": ("proven", at(2)),
        "delivered": ("proven", at(3)),
        "session_accepted": ("proven", at(4)),
        "initialize_observed": ("open", ""),
        "tools_list_observed": ("open", ""),
        "tool_call_observed": ("open", ""),
    }
    assert "That is not a failure." in shown(story, "github").explanation


@pytest.mark.req("DI-4", "EV-3")
@pytest.mark.parametrize("kind", ["filtered", "unavailable", "explicit_error"])
def test_a_red_or_gray_row_is_explained_by_its_reason_and_what_to_do(kind: str) -> None:
    story = Story().start().tell("configured").tell(kind, reason_code="disabled")

    explanation = shown(story).explanation.splitlines()

    assert explanation[1:] == [
        "The profile switches this server off.",
        "Proven: Configured.",
        "What to do: Enable it in its document.",
    ]


@pytest.mark.req("DI-4")
def test_every_open_check_says_what_would_settle_it() -> None:
    story = Story().start()
    for server in ("kandev", "github"):
        story.tell("explicit_error", server=server, reason_code="connection_refused")

    for server in ("kandev", "github"):
        for check in shown(story, server).checklist:
            assert check.state != "open" or (check.settle and check.settle.text)


@pytest.mark.req("UI/Labels and dots", "EV-3")
def test_a_session_error_is_a_banner_and_recolours_no_row() -> None:
    story = Story().start().tell("delivered")
    story.tell("explicit_error", server="", reason_code="auth_required", summary="log in first")

    view = display(story.history)

    assert str(view.banner) == "Session error: log in first"
    assert view.rows[0].dot == "amber"


@pytest.mark.req("CA-5")
def test_provider_text_is_shown_with_its_hidden_characters_escaped() -> None:
    story = Story().start()
    story.tell("configured", server="evil\u202egpj.\x1b[31m")

    text = str(display(story.history))

    assert "evil\\u202egpj." in text
    assert "\u202e" not in text
    assert "\x1b" not in text


@pytest.mark.req("UI/States every view must have")
def test_nothing_started_and_no_servers_are_said() -> None:
    assert "Nothing started yet." in str(display(Story().history))
    assert "This session was given no servers." in str(display(Story().start().history))


@pytest.mark.req("EV-7")
def test_traffic_of_an_earlier_attempt_is_a_note() -> None:
    story = Story().start()
    history = note_late_traffic(story.history, at(9))

    assert "An earlier connection of this session is still in use (1 request)" in str(
        display(history)
    )


@pytest.mark.req("UI/Labels and dots")
def test_the_text_table_is_stable() -> None:
    story = Story().start(session_id="session-1", agent_id="opencode")
    story.tell("configured").tell("delivered").tell("delivered", server="github-enterprise")
    story.tell("tools_list_observed", "c1", tool_count=2, tools=[{"name": "a"}, {"name": "b"}])

    assert str(display(story.history, session='session "triage"')).splitlines() == [
        'MCP servers · session "triage" · opencode',
        "● kandev             Active                             2 tools",
        "◐ github-enterprise  Delivered · connection unverified",
    ]


def test_every_message_has_a_singular_where_it_counts() -> None:
    counted = {key.removesuffix(".one") for key in words.ENGLISH if key.endswith(".one")}
    beside = {"name": "a", "command": "b", "folder": "c"}
    for key in counted:
        assert words.count(key, 1, **beside).text != words.count(key, 2, **beside).text


@pytest.mark.req("UI", "SA-1")
def test_a_report_in_a_cell_is_a_table_and_the_data_that_a_notebook_keeps() -> None:
    story = Story().start(session_id="session-1").tell("delivered")

    bundle = story.history._repr_mimebundle_()

    saved = bundle[MIME_TYPE]
    assert bundle["text/plain"] == str(display(story.history))
    assert saved["version"] == 1
    assert saved["report"] == story.history.to_wire()
    assert [row["name"] for row in saved["rows"]["rows"]] == ["kandev"]
    assert json.loads(json.dumps(saved)) == saved
