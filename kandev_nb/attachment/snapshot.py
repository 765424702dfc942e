"""Reports that come from elsewhere: a store, a saved notebook, a Kandev database (EV-11)."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from kandev_nb.attachment import limits
from kandev_nb.attachment.catalog import normalize_catalog
from kandev_nb.attachment.model import Attempt, Evidence, History, ServerAttachment, later
from kandev_nb.attachment.sanitize import sanitize_summary, sanitize_target


def decode_history(raw: str | bytes | Mapping[str, Any]) -> History | None:
    """Return the report that ``raw`` holds, or ``None`` for one that cannot be read.

    ``raw`` is the JSON of a version-1 report, as text or parsed. A malformed report and one of
    another version are unreadable; unknown fields, kinds and reason codes are kept. What was
    written elsewhere is bounded and sanitized like evidence.
    """
    try:
        parsed = json.loads(raw) if isinstance(raw, str | bytes) else raw
        return _cleaned(History.model_validate(parsed))
    except (ValidationError, ValueError, TypeError, RecursionError):
        return None


def newer(a: History, b: History) -> History:
    """Return the newer of two reports of one session; ``a``, the live one, wins a tie.

    What decides is, in this order: the position of one's attempt in the other's history, the
    start of the attempt, the revision where both have one, and the last update.
    """
    return b if _order(a, b) > 0 else a


def _order(a: History, b: History) -> int:
    """Return a positive number when ``b`` is newer, a negative one when ``a`` is, else 0."""
    first, second = a.current, b.current
    if first is None or second is None:
        return (second is not None) - (first is not None)
    if first.attachment_attempt_id != second.attachment_attempt_id:
        known = _sign(
            b.attempt(first.attachment_attempt_id) is not None,
            a.attempt(second.attachment_attempt_id) is not None,
        )
        if by_attempt := known or _time_order(first.started_at, second.started_at):
            return by_attempt
    if a.revision and b.revision:
        return _sign(b.revision > a.revision, a.revision > b.revision)
    return _time_order(first.updated_at, second.updated_at)


def _time_order(a: str, b: str) -> int:
    return _sign(later(b, a), later(a, b))


def _sign(positive: bool, negative: bool) -> int:
    return int(positive) - int(negative)


def _cleaned(history: History) -> History:
    return history.updated(
        current=history.current and _cleaned_attempt(history.current),
        previous=tuple(map(_cleaned_attempt, history.previous[: limits.ATTEMPTS - 1])),
    )


def _cleaned_attempt(attempt: Attempt) -> Attempt:
    kept = attempt.evidence[-limits.EVIDENCE_EVENTS :]
    return attempt.updated(
        servers=tuple(map(_cleaned_row, attempt.servers)),
        evidence=tuple(map(_cleaned_event, kept)),
        evidence_dropped=attempt.evidence_dropped + len(attempt.evidence) - len(kept),
        session_error=sanitize_summary(attempt.session_error),
    )


def _cleaned_row(row: ServerAttachment) -> ServerAttachment:
    catalog = normalize_catalog(row.tools, row.tool_count)
    return row.updated(
        target=sanitize_target(row.transport, row.target),
        summary=sanitize_summary(row.summary),
        tools=catalog.tools,
    )


def _cleaned_event(event: Evidence) -> Evidence:
    return event.updated(
        target=sanitize_target(event.transport, event.target),
        summary=sanitize_summary(event.summary),
    )
