"""Reports as pandas frames, one documented schema each, with stable dtypes.

Times are ``datetime64[us, UTC]``, counts are nullable integers, and what is missing is missing:
``NaT``, ``<NA>`` or empty text. An empty report gives an empty frame of the same schema.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pandas as pd

from kandev_nb.attachment import Attempt, EvidenceKind, History
from kandev_nb.attachment.display import Row, display
from kandev_nb.attachment.model import Evidence, ServerAttachment

_TIME: Final = "datetime64[us, UTC]"

SERVERS: Final[Mapping[str, str]] = {
    "server": "string",
    "status": "category",
    "label": "string",
    "source": "string",
    "transport": "string",
    "target": "string",
    "tool_count": "Int64",
    "estimated_tokens": "Int64",
    "calls": "Int64",
    "configured_at": _TIME,
    "delivered_at": _TIME,
    "connected_at": _TIME,
    "tools_listed_at": _TIME,
    "used_at": _TIME,
    "failed_at": _TIME,
    "disconnected_at": _TIME,
    "reason_code": "string",
    "summary": "string",
}
"""The columns of :func:`servers` and their dtypes."""

TIMELINE: Final[Mapping[str, str]] = {
    "attempt": "string",
    "server": "string",
    "kind": "category",
    "occurred_at": _TIME,
    "seconds": "float64",
    "provenance": "category",
    "connection_id": "string",
    "transport": "string",
    "target": "string",
    "tool_count": "Int64",
    "tool_name": "string",
    "count": "Int64",
    "reason_code": "string",
    "summary": "string",
}
"""The columns of :func:`timeline` and their dtypes; ``seconds`` counts from the attempt's start."""


PLAN: Final[Mapping[str, str]] = {
    "server": "string",
    "transport": "string",
    "target": "string",
    "decision": "category",
    "reason_code": "string",
    "reason": "string",
    "hint": "string",
}
"""The columns of :func:`plan` and their dtypes."""


def plan(rows: Iterable[Mapping[str, str]]) -> pd.DataFrame:
    """Return the rows of a :class:`kandev_nb.Plan`, one server a row (columns: :data:`PLAN`)."""
    return _frame(rows, PLAN)


def servers(history: History) -> pd.DataFrame:
    """Return the servers of the current attempt, one a row (columns: :data:`SERVERS`).

    ``estimated_tokens`` sums the estimates of the listed tools and is missing without any.
    """
    attempt = history.current
    if attempt is None:
        return _frame((), SERVERS)
    shown = display(history).rows
    pairs = zip(attempt.servers, shown, strict=True)
    return _frame((_server(attempt, server, row) for server, row in pairs), SERVERS)


def timeline(history: History) -> pd.DataFrame:
    """Return the evidence of every kept attempt, oldest first (columns: :data:`TIMELINE`).

    The supersession of an attempt stands in it as a row of the kind ``attempt_superseded``.
    """
    attempts = [*reversed(history.previous), *((history.current,) if history.current else ())]
    rows = [row for attempt in attempts for row in _events(attempt)]
    frame = _frame(rows, TIMELINE)
    starts = pd.Series([row["started_at"] for row in rows], index=frame.index, dtype="string")
    frame["seconds"] = (frame["occurred_at"] - _times(starts)).dt.total_seconds()
    return frame


def _server(attempt: Attempt, server: ServerAttachment, row: Row) -> dict[str, Any]:
    tokens = sum(tool.estimated_tokens for tool in server.tools)
    listed = bool(server.tools_listed_at)
    return {
        **{name: getattr(server, name) for name in SERVERS if hasattr(server, name)},
        "server": server.name,
        "label": row.label.text,
        "tool_count": server.tool_count if listed else None,
        "estimated_tokens": tokens or None,
        "calls": attempt.calls(server),
    }


def _events(attempt: Attempt) -> Iterable[dict[str, Any]]:
    common = {"attempt": attempt.attachment_attempt_id, "started_at": attempt.started_at}
    for event in attempt.evidence:
        yield {**common, **_event(event)}
    if attempt.superseded_at:
        kind = EvidenceKind.ATTEMPT_SUPERSEDED.value
        yield {**common, "kind": kind, "occurred_at": attempt.superseded_at}


def _event(event: Evidence) -> dict[str, Any]:
    is_list = event.kind == EvidenceKind.TOOLS_LIST_OBSERVED
    return {
        **{name: getattr(event, name) for name in TIMELINE if hasattr(event, name)},
        "server": event.server_name,
        "provenance": str(event.known_by),
        "tool_count": event.tool_count if is_list else None,
        "count": event.count or 1,
    }


def _frame(rows: Iterable[Mapping[str, Any]], schema: Mapping[str, str]) -> pd.DataFrame:
    columns: dict[str, list[Any]] = {name: [] for name in schema}
    for row in rows:
        for name, values in columns.items():
            values.append(row.get(name))
    series = {name: _column(values, schema[name]) for name, values in columns.items()}
    return pd.DataFrame(series)


def _column(values: list[Any], dtype: str) -> "pd.Series[Any]":
    if dtype == _TIME:
        return _times(pd.Series([value or None for value in values], dtype="string"))
    if dtype == "category":
        return pd.Series([value or "" for value in values], dtype="string").astype("category")
    if dtype == "string":
        return pd.Series([value or "" for value in values], dtype="string")
    return pd.Series(values, dtype=dtype)


def _times(texts: "pd.Series[str]") -> "pd.Series[pd.Timestamp]":
    times = pd.to_datetime(texts, format="ISO8601", utc=True)
    return times.astype("datetime64[us, UTC]")
