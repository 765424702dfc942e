"""Reports that come from elsewhere."""

import json
from typing import Any

import pytest

from kandev_nb.attachment import History, decode_history, limits, newer
from tests.attachment.story import Story, at


def wire(**changes: Any) -> dict[str, Any]:
    attempt = {"attachment_attempt_id": "a1", "started_at": at(1), **changes}
    return {"version": 1, "current": attempt}


@pytest.mark.req("EV-11", "AC.12")
@pytest.mark.parametrize(
    "raw",
    [
        "",
        "{",
        "[]",
        "null",
        "42",
        '{"version": 2, "current": null}',
        '{"current": null}',
        '{"version": "1"}',
        '{"version": 1, "current": []}',
        '{"version": 1, "current": {"started_at": "2026-08-01T09:00:00Z"}}',
        json.dumps(wire(started_at="yesterday")),
        json.dumps(wire(started_at="0001-01-01T00:00:00+23:59")),
        json.dumps(wire(started_at="9999-12-31T23:59:59-23:59")),
        json.dumps(wire(started_at="1600-01-01T00:00:00.123456789Z")),
        json.dumps(wire(started_at="2026-08-01T09:00:00.\u0663Z")),
        json.dumps(wire(servers=[{"name": "x", "status": "active", "tool_count": 2**70}])),
        '{"version": 1, "note": "\\ud800"}',
        json.dumps(wire(servers=[{"status": "active"}])),
        json.dumps(wire(servers={"kandev": {}})),
        json.dumps(wire(evidence=[{"kind": "configured"}])),
        '{"version": 1, "current": ' + "[" * 5000 + "]" * 5000 + "}",
        b"\xff\xfe",
    ],
)
def test_a_malformed_or_unsupported_report_is_no_report(raw: str | bytes) -> None:
    assert decode_history(raw) is None


@pytest.mark.req("EV-11")
def test_an_attempt_whose_id_has_nothing_to_show_is_malformed() -> None:
    attempt = {"attachment_attempt_id": "\x1b[0m", "started_at": "2026-01-01T00:00:00Z"}

    assert decode_history({"version": 1, "current": attempt}) is None


@pytest.mark.req("EV-11")
@pytest.mark.parametrize("depth", [150, 300, 900])
def test_what_is_read_can_be_read_again_however_deep_it_nests(depth: int) -> None:
    nested: Any = {}
    for _ in range(depth):
        nested = {"more": nested}

    history = decode_history({"version": 1, "unknown": nested})

    assert (history is None) == (depth > 200)
    if history is not None:
        assert decode_history(json.dumps(history.to_wire())) == history


@pytest.mark.req("EV-11")
def test_what_a_newer_writer_adds_is_kept() -> None:
    report = wire(
        mood="good",
        servers=[{"name": "kandev", "status": "dreaming", "reason_code": "who_knows", "extra": 1}],
        evidence=[
            {"attachment_attempt_id": "a1", "kind": "new_kind", "occurred_at": at(2), "more": [1]}
        ],
    )

    decoded = decode_history(report)

    assert decoded is not None
    assert decoded.to_wire() == report


@pytest.mark.req("EV-9", "SA-1")
def test_a_report_of_another_writer_is_bounded_and_sanitized() -> None:
    event = {
        "attachment_attempt_id": "a1",
        "kind": "configured",
        "occurred_at": at(2),
        "transport": "http",
        "target": "https://me:pw@host.test/secret",
    }
    row = {"name": "x", "status": "delivered", "transport": "http", "target": event["target"]}
    report = wire(evidence=[event] * 100, servers=[row])
    report["previous"] = [report["current"]] * 9

    decoded = decode_history(report)

    assert decoded is not None
    assert decoded.current is not None
    assert len(decoded.previous) == limits.ATTEMPTS - 1
    assert len(decoded.current.evidence) == limits.EVIDENCE_EVENTS
    assert decoded.current.evidence_dropped == 100 - limits.EVIDENCE_EVENTS
    assert "secret" not in json.dumps(decoded.to_wire())


@pytest.mark.req("EV-9", "EV-1", "CA-4", "SA-1")
def test_every_text_of_another_writers_report_is_cleaned() -> None:
    leak = "Bearer hunter2hunter2"
    tool = {"name": "a", "description": "kept"}
    row = {
        "name": "n" * 999,
        "status": "failed",
        "reason_code": leak,
        "reported": {"status": "failed", "summary": leak},
        "endpoint_test": {"outcome": leak, "summary": leak},
        "tool_count": 1,
        "tools": [tool],
    }
    event = {"attachment_attempt_id": "a1", "kind": leak, "occurred_at": at(2), "tools": [tool]}
    report = wire(end_reason=leak, cause=leak, session_error_code=leak, servers=[row])
    report["current"]["evidence"] = [event]
    report["previous"] = [report["current"]]

    decoded = decode_history(report)

    assert decoded is not None
    assert decoded.current is not None
    text = json.dumps(decoded.to_wire())
    assert "hunter2" not in text
    assert len(decoded.current.servers[0].name) == 256
    assert decoded.current.servers[0].tools[0].name == "a"
    assert decoded.previous[0].servers[0].tools == ()
    assert decoded.current.evidence[0].tools == ()


@pytest.mark.req("EV-9", "EV-11")
def test_calls_are_counted_on_after_a_restore() -> None:
    story = Story().start()
    for _ in range(10):
        story.tell("tool_call_observed", "c1")
    restored = decode_history(json.dumps(story.history.to_wire()))
    assert restored is not None
    story.history = restored
    for number in range(100):
        story.tell("tool_call_observed", f"c{number}")
    for _ in range(70):
        story.tell("explicit_error", provenance="observed")

    assert story.attempt.calls(story.row()) == 110


@pytest.mark.req("CA-2", "EV-11")
@pytest.mark.parametrize("depth", [100, 300, 1000, 5000])
def test_a_schema_that_nests_too_deep_or_cannot_be_written_is_left_out_whole(depth: int) -> None:
    deep: dict[str, Any] = {}
    for _ in range(depth):
        deep = {"items": deep}
    tools = [
        {"name": "deep", "input_schema": deep},
        {"name": "half", "input_schema": {"\ud800": 1}},
        {"name": "nan", "input_schema": {"default": float("nan")}},
    ]
    story = Story().start().tell("tools_list_observed", "c1", tool_count=3, tools=tools)

    kept = {tool.name: tool.input_schema_truncated for tool in story.row().tools}

    assert kept == {"deep": depth > limits.SCHEMA_DEPTH, "half": True, "nan": True}
    assert decode_history(json.dumps(story.history.to_wire())) is not None


@pytest.mark.req("EV-1")
@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("2026-08-01T09:00:00.120000Z", "2026-08-01T09:00:00.12Z"),
        ("2026-08-01T09:00:00.000Z", "2026-08-01T09:00:00Z"),
        ("2026-08-01T11:30:00.123456789+02:30", "2026-08-01T09:00:00.123456789Z"),
        ("2026-08-01t09:00:00z", "2026-08-01T09:00:00Z"),
    ],
)
def test_times_are_utc_with_trailing_zeros_trimmed(written: str, kept: str) -> None:
    decoded = decode_history(wire(started_at=written))

    assert decoded is not None
    assert decoded.current is not None
    assert decoded.current.started_at == kept


def history(attempt: str, start: int, updated: int, revision: int = 0, before: str = "") -> History:
    story = Story()
    story.clock = start - 1
    if before:
        story.clock -= 1
        story.start(before)
    story.start(attempt).tell("delivered", second=updated)
    return story.history.updated(revision=revision)


@pytest.mark.req("EV-11", "AC.11")
@pytest.mark.parametrize(
    ("live", "snapshot", "winner"),
    [
        (history("a1", 1, 5), history("a1", 1, 5), "live"),
        (history("a1", 1, 5), history("a1", 1, 4), "live"),
        (history("a1", 1, 5), history("a1", 1, 6), "snapshot"),
        (history("a1", 1, 5, revision=9), history("a1", 1, 9, revision=8), "live"),
        (history("a1", 1, 9, revision=8), history("a1", 1, 5, revision=9), "snapshot"),
        (history("a1", 1, 9, revision=8), history("a1", 1, 5), "live"),
        (history("a1", 7, 9), history("a2", 3, 4, before="a1"), "snapshot"),
        (history("a2", 3, 4, before="a1"), history("a1", 7, 9), "live"),
        (history("a1", 5, 6), history("a2", 4, 9), "live"),
        (history("a1", 4, 9), history("a2", 5, 6), "snapshot"),
    ],
)
def test_the_newer_report_wins_and_a_tie_keeps_the_live_one(
    live: History, snapshot: History, winner: str
) -> None:
    assert newer(live, snapshot) is (live if winner == "live" else snapshot)
