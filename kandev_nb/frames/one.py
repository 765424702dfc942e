"""The frames of one report, and of a plan."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from kandev_nb.attachment import Attempt, EvidenceKind, History
from kandev_nb.attachment.display import Row, display
from kandev_nb.attachment.model import Evidence, ServerAttachment
from kandev_nb.frames.columns import PLAN, SERVERS, TIMELINE, frame, times


def plan(rows: Iterable[Mapping[str, str]]) -> pd.DataFrame:
    """Return the rows of a :class:`kandev_nb.Plan`, one server a row (columns: :data:`PLAN`)."""
    return frame(rows, PLAN)


def servers(history: History) -> pd.DataFrame:
    """Return the servers of the current attempt, one a row (columns: :data:`SERVERS`).

    ``estimated_tokens`` sums the estimates of the listed tools and is missing without any.
    """
    attempt = history.current
    if attempt is None:
        return frame((), SERVERS)
    shown = display(history).rows
    pairs = zip(attempt.servers, shown, strict=True)
    return frame((server_row(attempt, server, row) for server, row in pairs), SERVERS)


def timeline(history: History) -> pd.DataFrame:
    """Return the evidence of every kept attempt, oldest first (columns: :data:`TIMELINE`).

    The supersession of an attempt stands in it as a row of the kind ``attempt_superseded``.
    """
    attempts = [*reversed(history.previous), *((history.current,) if history.current else ())]
    rows = [row for attempt in attempts for row in _events(attempt)]
    made = frame(rows, TIMELINE)
    starts = pd.Series([row["started_at"] for row in rows], index=made.index, dtype="string")
    made["seconds"] = (made["occurred_at"] - times(starts)).dt.total_seconds()
    return made


def server_row(attempt: Attempt, server: ServerAttachment, row: Row) -> dict[str, Any]:
    """Return one server as a row of a frame."""
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
