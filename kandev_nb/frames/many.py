"""The frames of many sessions, each made once and not once a session.

There may be hundreds of thousands of events, so a timeline is made a column at a time, and not of a
model an event.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from kandev_nb.attachment import EvidenceKind, display
from kandev_nb.attachment.model import DEFAULT_PROVENANCE
from kandev_nb.frames.columns import ALL_SERVERS, ALL_TIMELINES, SESSION, frame
from kandev_nb.frames.one import server_row
from kandev_nb.shown import ShowsReport

_SUPERSEDED: Final = EvidenceKind.ATTEMPT_SUPERSEDED.value
_LISTED: Final = EvidenceKind.TOOLS_LIST_OBSERVED.value
_TEXTS: Final = {
    "server": "server_name",
    "connection_id": "connection_id",
    "transport": "transport",
    "target": "target",
    "tool_name": "tool_name",
    "reason_code": "reason_code",
    "summary": "summary",
}
"""Columns of text, and what each is called on the wire."""

_Codes = npt.NDArray[np.intp]


class _Coded(NamedTuple):
    """Values as codes into the few that differ; the last of these is the empty text."""

    codes: _Codes
    values: npt.NDArray[np.object_]

    def texts(self) -> Any:
        """Return them as an array of text."""
        return pd.array(self.values, dtype="string").take(self.codes)

    def category(self) -> pd.Categorical:
        """Return them as a category of those that occur, in order."""
        used = np.unique(self.codes % len(self.values))
        names, places = np.unique(self.values[used].astype(str), return_inverse=True)
        lookup = np.zeros(len(self.values), dtype=np.intp)
        lookup[used] = places
        return pd.Categorical.from_codes(lookup[self.codes], pd.Index(names, dtype="string"))


class _Spans:
    """The attempts of all sessions, one after the other."""

    def __init__(self, sessions: Iterable[ShowsReport]) -> None:
        pairs = [(each, session.whose) for session in sessions for each in session.evidence()]
        self.attempts = [attempt for attempt, _ in pairs]
        self.whose = [whose for _, whose in pairs]
        lengths = [each.length + bool(each.superseded_at) for each in self.attempts]
        self.at: _Codes = np.repeat(np.arange(len(pairs)), lengths)
        """For each row, which attempt it is of."""
        self._names = {name for each in self.attempts for name in each.columns}

    def coded(self, name: str, superseded: str | None = None) -> _Coded:
        """Return a column of text."""
        if name not in self._names and superseded is None:
            return _Coded(np.full(len(self.at), -1), np.array([""], dtype=object))
        # What is missing has the code -1, and so the last value.
        codes, unique = pd.factorize(np.array(self.column(name, superseded), dtype=object))
        return _Coded(codes, np.append(np.asarray(unique, dtype=object), [""]))

    def counts(self, name: str, default: int) -> Any:
        """Return a column of numbers."""
        if name not in self._names:
            return pd.array(np.full(len(self.at), default), dtype="Int64")
        return pd.array([value or default for value in self.column(name)], dtype="Int64")

    def column(self, name: str, superseded: object = None) -> list[Any]:
        """Return a column of all events; an attempt's supersession stands after its evidence."""
        values: list[Any] = []
        for attempt in self.attempts:
            found = attempt.columns.get(name)
            values += [None] * attempt.length if found is None else found
            if attempt.superseded_at:
                values.append(superseded)
        return values

    def times(self) -> list[str]:
        """Return when each event occurred."""
        values: list[str] = []
        for attempt in self.attempts:
            values += attempt.columns.get("occurred_at", ())
            if attempt.superseded_at:
                values.append(attempt.superseded_at)
        return values


def all_servers(sessions: Iterable[ShowsReport]) -> pd.DataFrame:
    """Return the servers of each session's current attempt, one a row (:data:`ALL_SERVERS`)."""
    return frame(_server_rows(sessions), ALL_SERVERS)


def all_timelines(sessions: Iterable[ShowsReport]) -> pd.DataFrame:
    """Return the evidence of each session's kept attempts (columns: :data:`ALL_TIMELINES`).

    Sessions stand in the order given, the attempts of each oldest first.
    """
    spans = _Spans(sessions)
    columns = {**_whose(spans), **_facts(spans), **_when(spans)}
    return pd.DataFrame({name: columns[name] for name in ALL_TIMELINES})


def _server_rows(sessions: Iterable[ShowsReport]) -> Iterator[dict[str, Any]]:
    for session in sessions:
        report, whose = session.report, session.whose
        if attempt := report.current:
            shown = display(report).rows
            for server, row in zip(attempt.servers, shown, strict=True):
                yield {**whose._asdict(), **server_row(attempt, server, row)}


def _whose(spans: _Spans) -> dict[str, Any]:
    texts = {name: [getattr(whose, name) for whose in spans.whose] for name in SESSION}
    texts["attempt"] = [each.attempt for each in spans.attempts]
    return {name: pd.array(values, dtype="string").take(spans.at) for name, values in texts.items()}


def _facts(spans: _Spans) -> dict[str, Any]:
    kinds = spans.coded("kind", _SUPERSEDED)
    superseded = (kinds.values == _SUPERSEDED)[kinds.codes]
    counts = spans.counts("count", 1)
    counts[superseded] = pd.NA
    listed = spans.counts("tool_count", 0)
    listed[(kinds.values != _LISTED)[kinds.codes]] = pd.NA
    return {
        **{name: spans.coded(wire).texts() for name, wire in _TEXTS.items()},
        "kind": kinds.category(),
        "provenance": _provenance(spans, kinds).category(),
        "count": counts,
        "tool_count": listed,
    }


def _when(spans: _Spans) -> dict[str, Any]:
    times = _times(spans.times())
    starts = _times([each.started_at for each in spans.attempts])
    seconds = (times - starts[spans.at]).total_seconds()
    return {"occurred_at": times, "seconds": np.asarray(seconds, dtype="float64")}


def _provenance(spans: _Spans, kinds: _Coded) -> _Coded:
    """Return the provenance of each event, its kind's default filled in (EV-12)."""
    given = spans.coded("provenance")
    defaults = [DEFAULT_PROVENANCE.get(kind, "") for kind in kinds.values]
    # The codes of the defaults follow those of what was given.
    is_given = (given.values != "")[given.codes]
    known = len(given.values)
    codes = np.where(is_given, given.codes, kinds.codes % len(defaults) + known)
    return _Coded(codes, np.append(given.values, np.array(defaults, dtype=object)))


def _times(texts: list[str]) -> pd.DatetimeIndex:
    return pd.to_datetime(texts, format="ISO8601", utc=True).as_unit("us")
