"""Reports that come from elsewhere: a store, a saved notebook, a Kandev database (EV-11)."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from pydantic_core import from_json

from kandev_nb.attachment import limits
from kandev_nb.attachment.catalog import normalize_catalog
from kandev_nb.attachment.model import (
    Attempt,
    History,
    Links,
    ServerAttachment,
    WireModel,
    later,
)
from kandev_nb.attachment.sanitize import sanitize_summary, sanitize_target
from kandev_nb.attachment.timeline import stored

T = TypeVar("T", bound=WireModel)

_PROSE: Final = ("summary", "session_error", "cause", "end_reason")
_NAMES: Final = (
    "name",
    "server_name",
    "original_name",
    "client_name",
    "client_version",
    "tool_name",
)
_IDENTIFIER: Final = re.compile(r"[\w.:-]{1,128}")


def decode_history(raw: str | bytes | Mapping[str, Any]) -> History | None:
    """Return the report that ``raw`` holds, or ``None`` for one that cannot be read.

    ``raw`` is the JSON of a version-1 report, as text or parsed. A malformed report and one of
    another version are unreadable; unknown fields, kinds and reason codes are kept. What was
    written elsewhere is bounded and sanitized like evidence.
    """
    try:
        parsed = from_json(raw) if isinstance(raw, str | bytes) else raw
        history = _cleaned(History.model_validate(parsed))
        # What is read has to be readable again, wherever it is kept.
        from_json(json.dumps(history.to_wire(), ensure_ascii=False))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
    return history


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
    previous = history.previous[: limits.ATTEMPTS - 1]
    return history.updated(
        current=history.current and _cleaned_attempt(history.current),
        previous=tuple(_cleaned_attempt(attempt, superseded=True) for attempt in previous),
    )


def _cleaned_attempt(attempt: Attempt, *, superseded: bool = False) -> Attempt:
    cleaned = _cleaned_texts(attempt)
    if not cleaned.attachment_attempt_id:
        raise ValueError("the attempt's ID has nothing that can be shown")
    kept = attempt.evidence[-limits.EVIDENCE_EVENTS :]
    servers = (_cleaned_row(row, superseded=superseded) for row in attempt.servers)
    return cleaned.updated(
        servers=tuple(row.with_links(Links(calls=attempt.calls(row))) for row in servers),
        evidence=tuple(stored(_cleaned_texts(event)) for event in kept),
        evidence_dropped=attempt.evidence_dropped + len(attempt.evidence) - len(kept),
    )


def _cleaned_row(row: ServerAttachment, *, superseded: bool) -> ServerAttachment:
    catalog = normalize_catalog(() if superseded else row.tools, row.tool_count)
    return _cleaned_texts(row).updated(
        tools=catalog.tools,
        reported=row.reported and _cleaned_texts(row.reported),
        endpoint_test=row.endpoint_test and _cleaned_texts(row.endpoint_test),
    )


def _cleaned_texts(model: T) -> T:
    """Return the model with its texts bounded; what is no identifier is sanitized too."""
    changes: dict[str, str] = {}
    for name in type(model).model_fields:
        text = getattr(model, name)
        if not isinstance(text, str) or not text:
            continue
        if name == "target":
            changes[name] = sanitize_target(getattr(model, "transport", ""), text)
        elif name in _PROSE or not _IDENTIFIER.fullmatch(text):
            changes[name] = text if name in _NAMES else sanitize_summary(text)
        changes[name] = limits.cut_utf8(changes.get(name, text), limits.NAME_BYTES)
    return model.updated(**changes)
