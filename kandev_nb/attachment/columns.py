"""Evidence as columns: a list for each field instead of an object for each event.

That is how it is kept and how frames of many sessions are made, both without a model an event.
What an event does not have is ``None``. A column has one of three forms, all of them JSON::

    ["a", null, "c"]                           the values
    "a b c"                                    words, where none is missing, empty or has a space
    {"values": ["a", null], "codes": "0010"}   few values, and for each event which one it has

A code is one character, counted from ``0`` on as they stand in ASCII.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from kandev_nb.attachment.model import Evidence, History

Column = Sequence[Any] | dict[str, Any]
Columns = Mapping[str, Column]

FIRST_CODE: Final = ord("0")
_CODED: Final = 32
"""Most values of a column with codes: the codes are ordinary characters, none of them escaped."""

_FIELDS: Final = tuple(name for name in Evidence.model_fields if name != "attachment_attempt_id")
_facts: Final = itemgetter(*_FIELDS)


class AttemptEvidence(NamedTuple):
    """The evidence of one attempt. Times are RFC 3339, ``superseded_at`` may be empty."""

    attempt: str
    started_at: str
    superseded_at: str
    columns: Columns

    @property
    def length(self) -> int:
        """How many events there are."""
        return _length(next(iter(self.columns.values()), ()))


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
    facts = zip(*map(_facts, map(vars, events)), strict=True)
    found: dict[str, list[Any]] = {
        name: [value or None for value in values]
        for name, values in zip(_FIELDS, facts, strict=False)
        if any(values)
    }
    more = dict.fromkeys(name for event in events for name in event.model_extra or ())
    for name in more:
        values = [(event.model_extra or {}).get(name) for event in events]
        if any(value is not None for value in values):
            found[name] = values
    return found


def packed(columns: Mapping[str, list[Any]]) -> dict[str, Column]:
    """Return columns as they are kept: each in the shortest form that it can have."""
    return {name: _packed(values) for name, values in columns.items()}


def plain(column: Column) -> Sequence[Any]:
    """Return the values of a column of any form.

    Raises ``ValueError`` or ``LookupError`` for one that is malformed.
    """
    if isinstance(column, str):
        return column.split(" ")
    if isinstance(column, dict):
        by_code = {chr(FIRST_CODE + place): each for place, each in enumerate(column["values"])}
        return [by_code[code] for code in column["codes"]]
    return column


def events_of(columns: Columns, attachment_attempt_id: str) -> list[dict[str, Any]]:
    """Return such columns as events of that attempt in their wire form.

    Raises ``ValueError`` or ``LookupError`` for columns that are malformed or of different lengths.
    """
    whose = {"attachment_attempt_id": attachment_attempt_id}
    return [
        whose
        | {name: value for name, value in zip(columns, values, strict=True) if value is not None}
        for values in zip(*map(plain, columns.values()), strict=True)
    ]


def _packed(values: list[Any]) -> Column:
    types = set(map(type, values)) - {type(None)}
    # Of other types, values may be equal that are not the same, and some cannot be looked up.
    if types not in ({str}, {int}):
        return values
    codes = {value: chr(FIRST_CODE + place) for place, value in enumerate(dict.fromkeys(values))}
    if len(codes) <= min(_CODED, len(values) // 2):
        return {"values": list(codes), "codes": "".join(map(codes.__getitem__, values))}
    is_words = types == {str} and None not in codes and "" not in codes
    return " ".join(values) if is_words and " " not in "".join(codes) else values


def _length(column: Column) -> int:
    if isinstance(column, str):
        return column.count(" ") + 1
    return len(column["codes"]) if isinstance(column, dict) else len(column)


def _columns_of_wire(events: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    events = list(events)
    names = dict.fromkeys(name for event in events for name in event)
    return {name: [event.get(name) for event in events] for name in names}
