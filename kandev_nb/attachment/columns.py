"""Evidence as columns: a list for each field instead of an object for each event.

That is how it is kept and how frames of many sessions are made, both without a model an event.
What an event does not have is ``None``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kandev_nb.attachment.model import Evidence, History

Columns = Mapping[str, Sequence[Any]]

_FIELDS: Final = tuple(name for name in Evidence.model_fields if name != "attachment_attempt_id")


class AttemptEvidence(NamedTuple):
    """The evidence of one attempt. Times are RFC 3339, ``superseded_at`` may be empty."""

    attempt: str
    started_at: str
    superseded_at: str
    columns: Columns

    @property
    def length(self) -> int:
        """How many events there are."""
        return len(next(iter(self.columns.values()), ()))


def evidence_of(report: History) -> Iterator[AttemptEvidence]:
    """Yield the evidence of each kept attempt, the oldest first."""
    current = (report.current,) if report.current else ()
    for attempt in (*reversed(report.previous), *current):
        yield AttemptEvidence(
            attempt.attachment_attempt_id,
            attempt.started_at,
            attempt.superseded_at,
            columns_of(attempt.evidence),
        )


def evidence_of_wire(report: Mapping[str, Any]) -> Iterator[AttemptEvidence]:
    """Yield the same of a report in its wire form, or of one that was kept with columns."""
    current = report.get("current")
    for attempt in (*reversed(report.get("previous", ())), *((current,) if current else ())):
        events = attempt.get("evidence", ())
        yield AttemptEvidence(
            attempt["attachment_attempt_id"],
            attempt["started_at"],
            attempt.get("superseded_at", ""),
            events if isinstance(events, Mapping) else _columns_of_wire(events),
        )


def columns_of(events: Sequence[Evidence]) -> dict[str, list[Any]]:
    """Return events of one attempt as columns; a field that no event has is left out."""
    found = {name: [getattr(event, name) or None for event in events] for name in _FIELDS}
    more = dict.fromkeys(name for event in events for name in event.model_extra or ())
    for name in more:
        found[name] = [(event.model_extra or {}).get(name) for event in events]
    return {name: values for name, values in found.items() if any(v is not None for v in values)}


def events_of(columns: Columns, attachment_attempt_id: str) -> list[dict[str, Any]]:
    """Return such columns as events of that attempt in their wire form.

    Raises ``ValueError`` for columns of different lengths.
    """
    whose = {"attachment_attempt_id": attachment_attempt_id}
    return [
        whose
        | {name: value for name, value in zip(columns, values, strict=True) if value is not None}
        for values in zip(*columns.values(), strict=True)
    ]


def _columns_of_wire(events: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    events = list(events)
    names = dict.fromkeys(name for event in events for name in event)
    return {name: [event.get(name) for event in events] for name in names}
