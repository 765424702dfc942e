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
