"""What holds for any sequence of events."""

import json
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kandev_nb.attachment import (
    Attempt,
    Evidence,
    EvidenceKind,
    History,
    apply,
    apply_repeated,
    decode_history,
    limits,
    newer,
    start_attempt,
)
from kandev_nb.attachment.model import NOTHING_STARTED, from_nanoseconds, rfc3339
from tests.attachment.story import at

ATTEMPTS = ("a0", "a1", "a2", "a3", "a4")
START = "start the next attempt"
SERVERS = ("kandev", "github", "files", "")
POSITIVE_PROOF = ("initialize_observed", "tools_list_observed", "tool_call_observed")

tools = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["", "a", "b", "ü" * 30]), "description": st.text(max_size=20)}
    ),
    max_size=4,
)
facts = st.fixed_dictionaries(
    {
        "attachment_attempt_id": st.sampled_from(ATTEMPTS),
        "kind": st.sampled_from([*EvidenceKind, "of_a_newer_writer"]),
        "server_name": st.sampled_from(SERVERS),
        "connection_id": st.sampled_from(["", "c1", "c2", "c3"]),
        "provenance": st.sampled_from(["", "", "", "agent_reported", "tested", "relayed"]),
        "summary": st.sampled_from(["", "token=hunter2secret", "connect ECONNREFUSED"]),
        "reason_code": st.sampled_from(["", "connection_refused"]),
        "tool_count": st.integers(0, 200),
        "tools": tools,
    }
)
events = st.lists(st.one_of(facts, facts, facts, facts, st.just(START)), max_size=120)


def play(steps: list[Any]) -> list[History]:
    """The histories after each step, the first attempt started."""
    numbers = count()
    told = [start_attempt(NOTHING_STARTED, _attempt(next(numbers), second=0))]
    for second, step in enumerate(steps, start=1):
        if step == START:
            told.append(start_attempt(told[-1], _attempt(next(numbers), second)))
        else:
            told.append(apply(told[-1], Evidence(**step, occurred_at=at(second)))[0])
    return told


def _attempt(number: int, second: int) -> Attempt:
    return Attempt(attachment_attempt_id=f"a{number}", started_at=at(second))


@pytest.mark.req("EV-9", "CA-1")
@given(events)
def test_every_bound_holds(steps: list[Any]) -> None:
    for history in play(steps):
        assert history.current is not None
        assert len(history.previous) <= limits.ATTEMPTS - 1
        assert len(history.current.evidence) <= limits.EVIDENCE_EVENTS
        for row in history.current.servers:
            assert len(row.tools) <= limits.TOOLS
            assert len(row.summary.encode()) <= limits.SUMMARY_BYTES
            assert "hunter2secret" not in json.dumps(history.to_wire())


@pytest.mark.req("EV-7", "CA-4")
@given(events)
def test_a_superseded_attempt_never_changes_or_returns(steps: list[Any]) -> None:
    seen: dict[str, Any] = {}
    for history in play(steps):
        assert _id(history) not in seen
        for attempt in history.previous:
            identity = attempt.attachment_attempt_id
            assert seen.setdefault(identity, attempt.to_wire()) == attempt.to_wire()
            assert all(not row.tools for row in attempt.servers)


@pytest.mark.req("EV-2", "EV-3")
@given(events)
def test_no_status_without_its_evidence(steps: list[Any]) -> None:
    told: set[tuple[str, str, str]] = set()
    for step, history in zip(steps, play(steps)[1:], strict=True):
        if step != START:
            told.add((step["attachment_attempt_id"], step["server_name"], step["kind"]))
        assert history.current is not None
        for row in history.current.servers:
            kinds = {k for a, s, k in told if (a, s) == (_id(history), row.name)}
            if row.status == "failed":
                assert "explicit_error" in kinds
            if row.status in ("connected", "active"):
                assert kinds & set(POSITIVE_PROOF)
            if row.status == "active":
                assert "tools_list_observed" in kinds


@pytest.mark.req("EV-11")
@given(events)
def test_a_report_survives_encoding_and_decoding(steps: list[Any]) -> None:
    history = play(steps)[-1]

    decoded = decode_history(json.dumps(history.to_wire()))

    assert decoded is not None
    assert decoded.to_wire() == history.to_wire()


@pytest.mark.req("EV-10")
@given(events)
def test_the_same_events_give_the_same_report(steps: list[Any]) -> None:
    assert play(steps)[-1].to_wire() == play(steps)[-1].to_wire()


@pytest.mark.req("EV-9", "EV-10")
@given(st.lists(facts, max_size=150), st.randoms())
def test_events_of_different_servers_in_another_order_give_the_same_rows(
    steps: list[Any], random: Any
) -> None:
    timed = [
        {**step, "attachment_attempt_id": "a0", "occurred_at": at(second)}
        for second, step in enumerate(steps, start=1)
        if step["server_name"]
    ]
    shuffled = _interleaved(timed, random)

    assert _rows(timed) == _rows(shuffled)


@pytest.mark.req("EV-11")
@given(events, st.integers(0, 120), st.integers(0, 120))
def test_of_two_moments_of_one_session_the_later_is_newer(steps: list[Any], i: int, j: int) -> None:
    told = play(steps)
    early, late = sorted((min(i, len(steps)), min(j, len(steps))))
    before, after = (told[k].updated(revision=k + 1) for k in (early, late))

    assert newer(before, after).revision == after.revision
    assert newer(after, before).revision == after.revision


def _id(history: History) -> str:
    assert history.current is not None
    return history.current.attachment_attempt_id


def _interleaved(timed: list[dict[str, Any]], random: Any) -> list[dict[str, Any]]:
    """Another order in which each server's own events keep theirs."""
    queues = {name: [e for e in timed if e["server_name"] == name] for name in SERVERS}
    order: list[dict[str, Any]] = []
    while any(queues.values()):
        order.append(random.choice([queue for queue in queues.values() if queue]).pop(0))
    return order


def _rows(timed: list[dict[str, Any]]) -> dict[str, Any]:
    history = play([])[0]
    for event in timed:
        history, _ = apply(history, Evidence(**event))
    assert history.current is not None
    return {
        row.name: (row.updated(call_count=0).to_wire(), history.current.calls(row))
        for row in history.current.servers
    }


repeated = st.lists(
    st.fixed_dictionaries(
        {
            "attachment_attempt_id": st.just("a0"),
            "kind": st.sampled_from(["tool_call_observed", "tools_list_observed"]),
            "server_name": st.sampled_from(SERVERS),
            "connection_id": st.sampled_from(["", "c1", "c2", "c3", "c4"]),
            "tool_name": st.sampled_from(["", "x", "y" * 300]),
            "tool_count": st.integers(0, 200),
            "tool_catalog_partial": st.booleans(),
            "client_name": st.sampled_from(["", "mcp"]),
            "count": st.sampled_from([0, 0, 1, 3]),
        }
    ),
    min_size=1,
    max_size=150,
)


@pytest.mark.req("EV-9", "EV-10")
@given(st.lists(facts, max_size=80), repeated)
def test_calls_and_lists_of_active_rows_leave_the_same_together_as_one_by_one(
    before: list[Any], steps: list[Any]
) -> None:
    history = play([*before, {**steps[0], "kind": "tools_list_observed"}])[-1]
    assert history.current
    active = {row.name for row in history.current.servers if row.status == "active"}
    told = [
        Evidence(**step, occurred_at=at(100 + second))
        for second, step in enumerate(steps)
        if step["server_name"] in active
    ]
    one_by_one = history
    for event in told:
        one_by_one, _ = apply(one_by_one, event)

    together = apply_repeated(history, told) if told else history

    assert together.to_wire() == one_by_one.to_wire()
    assert together.current
    assert one_by_one.current
    for row, expected in zip(together.current.servers, one_by_one.current.servers, strict=True):
        assert row.links == expected.links


@given(st.integers(0, 7_000_000_000 * 10**9))
def test_nanoseconds_are_written_as_any_time_is(moment: int) -> None:
    microseconds = moment // 1000
    same = datetime.fromtimestamp(microseconds // 10**6, UTC).replace(
        microsecond=microseconds % 10**6
    )

    assert from_nanoseconds(moment) == rfc3339(same)
