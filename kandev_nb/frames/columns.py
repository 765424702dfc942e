"""The columns of each frame, and how they are made."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pandas as pd

TIME: Final = "datetime64[us, UTC]"

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
    "configured_at": TIME,
    "delivered_at": TIME,
    "connected_at": TIME,
    "tools_listed_at": TIME,
    "used_at": TIME,
    "failed_at": TIME,
    "disconnected_at": TIME,
    "reason_code": "string",
    "summary": "string",
}
"""The columns of :func:`servers` and their dtypes."""

TIMELINE: Final[Mapping[str, str]] = {
    "attempt": "string",
    "server": "string",
    "kind": "category",
    "occurred_at": TIME,
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


SESSION: Final[Mapping[str, str]] = {
    "session_id": "string",
    "session": "string",
    "task": "string",
    "agent": "string",
}
"""Whose a row is, before the columns of one session's frame."""

ALL_SERVERS: Final[Mapping[str, str]] = {**SESSION, **SERVERS}
"""The columns of :func:`all_servers` and their dtypes."""

ALL_TIMELINES: Final[Mapping[str, str]] = {**SESSION, **TIMELINE}
"""The columns of :func:`all_timelines` and their dtypes."""

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


def frame(rows: Iterable[Mapping[str, Any]], schema: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows as a frame of that schema; what a row does not have is missing."""
    columns: dict[str, list[Any]] = {name: [] for name in schema}
    for row in rows:
        for name, values in columns.items():
            values.append(row.get(name))
    series = {name: column(values, schema[name]) for name, values in columns.items()}
    return pd.DataFrame(series)


def column(values: list[Any], dtype: str) -> "pd.Series[Any]":
    """Return the values as a column of that dtype."""
    if dtype == TIME:
        return times(pd.Series([value or None for value in values], dtype="string"))
    if dtype == "category":
        return pd.Series([value or "" for value in values], dtype="string").astype("category")
    if dtype == "string":
        return pd.Series([value or "" for value in values], dtype="string")
    return pd.Series(values, dtype=dtype)


def times(texts: "pd.Series[str]") -> "pd.Series[pd.Timestamp]":
    """Return RFC 3339 texts as times."""
    found = pd.to_datetime(texts, format="ISO8601", utc=True)
    return found.astype("datetime64[us, UTC]")
