"""The bounded list of stored evidence (EV-9).

Below the limit nothing is touched. At the limit, what says least goes first: repeated tool calls
merge, then the oldest event that is no milestone, then the oldest milestone of a connection that
is closed, then the oldest.
"""

from typing import NamedTuple

from kandev_nb.attachment import limits
from kandev_nb.attachment.model import Evidence, EvidenceKind

_TRANSIENT = (
    "tools",
    "tool_token_estimator",
    "tool_catalog_partial",
    "unnamed_tools",
    "protocol_version",
    "client_name",
    "client_version",
    "original_name",
    "requested_at",
)
_STORED_EMPTY = {name: Evidence.model_fields[name].default for name in _TRANSIENT}
_ALWAYS_MILESTONES = (EvidenceKind.EXPLICIT_ERROR, EvidenceKind.CONNECTION_CLOSED)


class Timeline(NamedTuple):
    """Stored evidence in order, and how many events the bound has cost so far."""

    events: tuple[Evidence, ...]
    dropped: int


def stored(event: Evidence) -> Evidence:
    """Return the event as it is kept: without the catalog and what went to the row (CA-4)."""
    return event.updated(**_STORED_EMPTY)


def append(timeline: Timeline, event: Evidence) -> Timeline:
    """Return the timeline with ``event``, at most :data:`limits.EVIDENCE_EVENTS` long."""
    events, dropped = (*timeline.events, stored(event)), timeline.dropped
    if len(events) > limits.EVIDENCE_EVENTS and _calls(events) > 1:
        events = _merge_repeated_calls(events)
    while len(events) > limits.EVIDENCE_EVENTS:
        victim = _least_telling(events)
        dropped += max(events[victim].count, 1)
        events = events[:victim] + events[victim + 1 :]
    return Timeline(events, dropped)


def _calls(events: tuple[Evidence, ...]) -> int:
    return sum(event.kind == EvidenceKind.TOOL_CALL_OBSERVED for event in events)


def _merge_repeated_calls(events: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    merged: list[Evidence] = []
    first: dict[tuple[str, str], int] = {}
    for event in events:
        key = (event.server_name, event.connection_id)
        if event.kind != EvidenceKind.TOOL_CALL_OBSERVED:
            merged.append(event)
        elif key in first:
            merged[first[key]] = _joined(merged[first[key]], event)
        else:
            first[key] = len(merged)
            merged.append(event)
    return tuple(merged)


def _joined(earliest: Evidence, event: Evidence) -> Evidence:
    return earliest.updated(
        count=max(earliest.count, 1) + max(event.count, 1),
        occurred_at=event.occurred_at,
        tool_name=earliest.tool_name if earliest.tool_name == event.tool_name else "",
    )


def _least_telling(events: tuple[Evidence, ...]) -> int:
    if (first := _first_without_milestone(events)) is not None:
        return first
    closed = {
        (event.server_name, event.connection_id)
        for event in events
        if event.kind == EvidenceKind.CONNECTION_CLOSED and event.connection_id
    }
    for position, event in enumerate(events):
        if (event.server_name, event.connection_id) in closed:
            return position
    return 0


def _first_without_milestone(events: tuple[Evidence, ...]) -> int | None:
    """Return where the oldest event stands that is no milestone, if there is one."""
    seen: set[tuple[str, str, str]] = set()
    for position, event in enumerate(events):
        key = (event.kind, event.server_name, event.connection_id)
        if key in seen and event.kind not in _ALWAYS_MILESTONES:
            return position
        seen.add(key)
    return None
