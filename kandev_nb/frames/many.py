"""The frames of many sessions, each made once and not once a session.

There may be hundreds of thousands of events, so a timeline is made a column at a time, and not of a
model an event.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from kandev_nb.attachment import EvidenceKind, display
from kandev_nb.attachment.columns import AttemptEvidence, plain
from kandev_nb.attachment.model import DEFAULT_PROVENANCE
from kandev_nb.frames.coded import Coded, Codes, Gathered
from kandev_nb.frames.columns import ALL_SERVERS, ALL_TIMELINES, SESSION, frame
from kandev_nb.frames.one import server_row
from kandev_nb.shown import ShowsReport, Whose

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

_FACTS: Final = (*_TEXTS.values(), "kind", "provenance", "count", "tool_count")
"""What is gathered of each attempt beside the times."""

_WHOSE: Final = (*SESSION, "attempt")


class _Spans:
    """The attempts of all sessions, one after the other.

    The row of an attempt's supersession stands after those of its evidence.
    """

    def __init__(self, sessions: Iterable[ShowsReport]) -> None:
        self.whose: list[tuple[str, ...]] = []
        """Whose each attempt is, and which it is."""
        self.started: list[str] = []
        self.times: list[str] = []
        """When each event occurred, and when each attempt was superseded."""
        self._lengths: list[int] = []
        self._superseded: list[bool] = []
        self._columns = {name: Gathered() for name in _FACTS}
        for session in sessions:
            whose = session.whose
            for attempt in session.evidence():
                self._add(attempt, whose)
        self._finish()

    def _add(self, attempt: AttemptEvidence, whose: Whose) -> None:
        columns, place = attempt.columns, len(self._lengths)
        for name, column in columns.items():
            if name in self._columns:
                self._columns[name].add(place, column)
        self.whose.append((*whose, attempt.attempt))
        self.started.append(attempt.started_at)
        self.times += plain(columns.get("occurred_at", ()))
        if attempt.superseded_at:
            self.times.append(attempt.superseded_at)
        self._lengths.append(attempt.length)
        self._superseded.append(bool(attempt.superseded_at))

    def _finish(self) -> None:
        self.lengths: Codes = np.array(self._lengths, dtype=np.intp)
        is_superseded = np.array(self._superseded, dtype=bool)
        rows = self.lengths + is_superseded
        self.at: Codes = np.repeat(np.arange(len(rows)), rows)
        """For each row, which attempt it is of."""
        self.is_event = np.ones(len(self.at), dtype=bool)
        """For each row, whether it is evidence and not a supersession."""
        self.is_event[np.cumsum(rows)[is_superseded] - 1] = False

    def coded(self, name: str, superseded: str = "") -> Coded:
        """Return a column, with what it says of a supersession."""
        found = self._columns[name].coded(self.lengths)
        codes = np.zeros(len(self.at), dtype=np.intp)
        codes[self.is_event] = found.codes + 1
        return Coded(codes, np.insert(found.values, 0, superseded))


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
    columns = zip(*spans.whose, strict=True) if spans.whose else ((),) * len(_WHOSE)
    return {
        name: pd.array(list(values), dtype="string").take(spans.at)
        for name, values in zip(_WHOSE, columns, strict=True)
    }


def _facts(spans: _Spans) -> dict[str, Any]:
    kinds = spans.coded("kind", _SUPERSEDED)
    is_list = (kinds.values == _LISTED)[kinds.codes]
    return {
        **{name: spans.coded(wire).texts() for name, wire in _TEXTS.items()},
        "kind": kinds.category(),
        "provenance": _provenance(spans, kinds).category(),
        "count": spans.coded("count").counts(1, ~spans.is_event),
        "tool_count": spans.coded("tool_count").counts(0, ~is_list),
    }


def _when(spans: _Spans) -> dict[str, Any]:
    times, starts = _times(spans.times), _times(spans.started)
    seconds = (times.asi8 - starts.asi8[spans.at]) / 1_000_000
    return {"occurred_at": times, "seconds": seconds}


def _provenance(spans: _Spans, kinds: Coded) -> Coded:
    """Return the provenance of each event, its kind's default filled in (EV-12)."""
    given = spans.coded("provenance")
    defaults = [DEFAULT_PROVENANCE.get(kind, "") for kind in kinds.values]
    # The codes of the defaults follow those of what was given.
    is_given = (given.values != "")[given.codes]
    codes = np.where(is_given, given.codes, kinds.codes + len(given.values))
    return Coded(codes, np.concatenate([given.values, np.array(defaults, dtype=object)]))


def _times(texts: list[str]) -> pd.DatetimeIndex:
    # Few times are the same: to look for those takes longer than to read them.
    array = np.fromiter(texts, object, len(texts))
    return pd.to_datetime(array, format="ISO8601", utc=True, cache=False).as_unit("us")
