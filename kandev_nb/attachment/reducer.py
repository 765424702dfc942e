"""Where a report changes: evidence in, the next report out (EV-1 to EV-10).

:func:`apply` is the one function that changes a status. It is pure: the same events in the same
order give the same report. What it does not know it stores and otherwise leaves alone.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from kandev_nb.attachment import limits, timeline
from kandev_nb.attachment.catalog import normalize_catalog
from kandev_nb.attachment.model import (
    DEFAULT_PROVENANCE,
    Attempt,
    EndpointTestResult,
    Evidence,
    EvidenceKind,
    History,
    LateTraffic,
    Links,
    Provenance,
    Reported,
    RowNote,
    ServerAttachment,
    Status,
    later,
)
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import sanitize_summary, sanitize_target

_NOT_DELIVERED: Final = (Status.UNKNOWN, Status.FILTERED, Status.UNAVAILABLE)
_BELOW_CONNECTED: Final = (*_NOT_DELIVERED, Status.DELIVERED)
_OBSERVED: Final[dict[str, Status]] = {
    EvidenceKind.INITIALIZE_OBSERVED: Status.CONNECTED,
    EvidenceKind.TOOLS_LIST_OBSERVED: Status.ACTIVE,
    EvidenceKind.TOOL_CALL_OBSERVED: Status.CONNECTED,
}
_STATELESS: Final = ""
_DESCRIPTIVE: Final = (
    "reason_code",
    "summary",
    "source",
    "transport",
    "target",
    "original_name",
    "protocol_version",
    "client_name",
    "client_version",
    "connection_id",
)
_BOUNDED_NAMES: Final = (
    "server_name",
    "source",
    "transport",
    "reason_code",
    "connection_id",
    "acp_session_id",
    "tool_name",
    "protocol_version",
    "client_name",
    "client_version",
    "original_name",
)


def start_attempt(history: History, attempt: Attempt) -> History:
    """Return the history with ``attempt`` as the current one (EV-7).

    The attempt before it is superseded at the new ``started_at``, keeps its tool counts and loses
    its catalogs (CA-4). An attempt that the history knows already is not started again.
    """
    if history.attempt(attempt.attachment_attempt_id) is not None:
        return history
    previous = history.previous
    if history.current is not None:
        previous = (_superseded(history.current, attempt.started_at), *previous)
    return history.updated(
        current=attempt.updated(updated_at=attempt.started_at),
        previous=previous[: limits.ATTEMPTS - 1],
    )


def apply(history: History, evidence: Evidence) -> tuple[History, bool]:
    """Return the next history and whether the evidence was accepted.

    Evidence of any attempt but the current one is refused and changes nothing.
    """
    attempt = history.current
    if attempt is None or evidence.attachment_attempt_id != attempt.attachment_attempt_id:
        return history, False
    event = _clean(evidence, attempt)
    kept = timeline.append(timeline.Timeline(attempt.evidence, attempt.evidence_dropped), event)
    servers = _with_row(attempt, event) if event.server_name else attempt.servers
    return history.updated(current=_after(attempt, event, servers, kept)), True


def apply_repeated(history: History, events: Sequence[Evidence]) -> History:
    """Return the history after tool calls and lists of current, active rows; they must be that.

    It is the history that :func:`apply` gives, one after the other. But a row is written once for
    those that say the same: what such an event leaves in an active row, the next one replaces.
    """
    attempt = history.current
    assert attempt is not None
    cleaned = [_clean(event, attempt) for event in events]
    kept = timeline.Timeline(attempt.evidence, attempt.evidence_dropped)
    newest: dict[tuple[str, ...], Evidence] = {}
    times: Counter[tuple[str, ...]] = Counter()
    for event in cleaned:
        kept = timeline.append(kept, event)
        alike = event.kind, event.server_name, *(getattr(event, name) for name in _DESCRIPTIVE)
        times[alike] += max(event.count, 1)
        # Taken out and put in again: they stand in the order of their last events.
        newest.pop(alike, None)
        newest[alike] = event
    for alike, event in newest.items():
        row = _with_row(attempt, event.updated(count=times[alike]))
        attempt = attempt.updated(servers=row)
    return history.updated(current=_after(attempt, cleaned[-1], attempt.servers, kept))


def end_attempt(history: History, attachment_attempt_id: str, at: str, reason: str) -> History:
    """Return the history with that attempt ended, once; its rows keep their status (EV-5)."""
    attempt = history.current
    if attempt is None or attempt.attachment_attempt_id != attachment_attempt_id:
        return history
    if attempt.ended_at:
        return history
    return history.updated(
        current=attempt.updated(ended_at=at, end_reason=reason, updated_at=at),
    )


def note_late_traffic(history: History, at: str) -> History:
    """Return the history with one more event of a superseded attempt on its count (EV-7)."""
    attempt = history.current
    if attempt is None:
        return history
    count = attempt.late_traffic.count if attempt.late_traffic else 0
    return history.updated(
        current=attempt.updated(late_traffic=LateTraffic(count=count + 1, at=at))
    )


def note_tools_changed(
    history: History, attachment_attempt_id: str, server_name: str, at: str
) -> History:
    """Return the history with that row's catalog marked as older than the server's tools.

    A row that holds no catalog, and one of another attempt than the current, is left alone.
    """
    attempt = history.current
    if attempt is None or attempt.attachment_attempt_id != attachment_attempt_id:
        return history
    row = attempt.server(server_name)
    if row is None or not row.tools_listed_at:
        return history
    changed = row.updated(tools_changed_at=at)
    servers = tuple(changed if server is row else server for server in attempt.servers)
    return history.updated(current=attempt.updated(servers=servers, updated_at=at))


def note_endpoint_test(
    history: History, attachment_attempt_id: str, server_name: str, result: EndpointTestResult
) -> History:
    """Return the history with the outcome of a test on that row; nothing else moves (DI-1).

    One that began in another attempt than the current is past, and left alone.
    """
    attempt = history.current
    if attempt is None or attempt.attachment_attempt_id != attachment_attempt_id:
        return history
    row = attempt.server(server_name)
    if row is None:
        return history
    tested = row.updated(endpoint_test=result)
    servers = tuple(tested if server is row else server for server in attempt.servers)
    return history.updated(current=attempt.updated(servers=servers))


def _after(
    attempt: Attempt,
    event: Evidence,
    servers: tuple[ServerAttachment, ...],
    kept: timeline.Timeline,
) -> Attempt:
    """Return the attempt after its last event, with these rows and this evidence."""
    if kept.dropped > attempt.evidence_dropped:
        servers = _count_lost_calls(servers, kept.events)
    return attempt.updated(
        servers=servers,
        evidence=kept.events,
        evidence_dropped=kept.dropped,
        updated_at=event.occurred_at,
        **_attempt_facts(event),
    )


def _superseded(attempt: Attempt, at: str) -> Attempt:
    return attempt.updated(
        superseded_at=at,
        updated_at=at,
        servers=tuple(
            row.with_links(Links(), tools=(), tool_token_estimator="", tool_catalog_truncated=False)
            for row in attempt.servers
        ),
    )


def _clean(event: Evidence, attempt: Attempt) -> Evidence:
    """Return the event bounded and sanitized, its provenance left out where it is the default."""
    row = attempt.server(event.server_name)
    transport = event.transport or (row.transport if row else "")
    changes: dict[str, object] = {
        name: limits.cut_utf8(value, limits.NAME_BYTES)
        for name in _BOUNDED_NAMES
        if (value := getattr(event, name))
        and not (value.isascii() and len(value) <= limits.NAME_BYTES)
    }
    if event.target:
        changes["target"] = sanitize_target(transport, event.target)
    if event.summary:
        changes["summary"] = sanitize_summary(event.summary)
    if event.provenance and event.provenance == DEFAULT_PROVENANCE.get(event.kind):
        changes["provenance"] = ""
    return event.updated(**changes) if changes else event


def _attempt_facts(event: Evidence) -> dict[str, str]:
    if event.server_name:
        return {}
    if event.kind == EvidenceKind.EXPLICIT_ERROR:
        code = "" if event.reason_code == ReasonCode.SESSION_REQUEST_FAILED else event.reason_code
        return {"session_error_code": code} | (
            {"session_error": event.summary} if event.summary else {}
        )
    if event.kind == EvidenceKind.SESSION_ACCEPTED and event.acp_session_id:
        return {"acp_session_id": event.acp_session_id}
    return {}


def _with_row(attempt: Attempt, event: Evidence) -> tuple[ServerAttachment, ...]:
    before = attempt.server(event.server_name)
    if before is None:
        row = ServerAttachment(name=event.server_name, status=Status.UNKNOWN)
        return (*attempt.servers, _row_after(row, event))
    return tuple(_row_after(row, event) if row is before else row for row in attempt.servers)


def _row_after(row: ServerAttachment, event: Evidence) -> ServerAttachment:
    if _is_note(row, event):
        return _noted(row, event)
    rule = _RULES.get(event.kind)
    if event.kind == EvidenceKind.CONNECTION_CLOSED:
        return _closed(row, event)
    described = row.updated(
        **{name: value for name in _DESCRIPTIVE if (value := getattr(event, name))}
    )
    return rule(described, event) if rule else described


def _is_note(row: ServerAttachment, event: Evidence) -> bool:
    """Tell whether the event is only said or tested, and so moves no status (EV-2, EV-3)."""
    if event.kind in _OBSERVED:
        return not event.is_observation
    if event.kind != EvidenceKind.EXPLICIT_ERROR:
        return False
    said = event.known_by == Provenance.AGENT_REPORTED
    return event.known_by == Provenance.TESTED or (said and bool(row.links.listed))


def _noted(row: ServerAttachment, event: Evidence) -> ServerAttachment:
    if event.known_by != Provenance.AGENT_REPORTED:
        return row
    status = _OBSERVED.get(event.kind, Status.FAILED)
    return row.updated(
        reported=Reported(
            status=status,
            reason_code=event.reason_code,
            summary=event.summary,
            at=event.occurred_at,
        )
    )


def _configured(row: ServerAttachment, event: Evidence) -> ServerAttachment:
    return _with_note(row, event).updated(configured_at=event.occurred_at)


def _left_out(row: ServerAttachment, event: Evidence) -> ServerAttachment:
    return row.updated(status=event.kind) if row.status in _NOT_DELIVERED else row


def _delivered(row: ServerAttachment, event: Evidence) -> ServerAttachment:
    status = Status.DELIVERED if row.status in _NOT_DELIVERED else row.status
    return _with_note(row, event).updated(delivered_at=event.occurred_at, status=status)


def _with_note(row: ServerAttachment, event: Evidence) -> ServerAttachment:
    note = RowNote(reason_code=event.reason_code, summary=event.summary)
    if not event.reason_code or note in row.notes or len(row.notes) >= limits.NOTES:
        return row
    return row.updated(notes=(*row.notes, note))


def _initialized(row: ServerAttachment, event: Evidence) -> ServerAttachment:
    lifted = row.status in _BELOW_CONNECTED or _restores(row, event)
    status = Status.CONNECTED if lifted else row.status
    return _spoken(row, event).updated(connected_at=event.occurred_at, status=status)


def _listed(row: ServerAttachment, event: Evidence) -> ServerAttachment:
    keeps_failed = row.status == Status.FAILED and not _restores(row, event)
    catalog = normalize_catalog(event.tools, event.tool_count)
    spoken = _spoken(row, event)
    links = spoken.links._replace(listed=spoken.links.listed | {event.connection_id})
    return spoken.with_links(
        links,
        status=Status.FAILED if keeps_failed else Status.ACTIVE,
        connection_id=event.connection_id,
        tools_listed_at=event.occurred_at,
        tool_count=event.tool_count,
        tools=catalog.tools,
        tool_catalog_truncated=catalog.truncated,
        tool_token_estimator=event.tool_token_estimator,
        tool_catalog_partial=event.tool_catalog_partial,
        unnamed_tools=event.unnamed_tools,
    )


def _used(row: ServerAttachment, event: Evidence) -> ServerAttachment:
    calls = max(event.count, 1)
    spoken = _spoken(row, event)
    return spoken.with_links(
        spoken.links._replace(calls=spoken.links.calls + calls),
        used_at=event.occurred_at,
        call_count=row.call_count + calls if row.call_count else 0,
    )


def _failed(row: ServerAttachment, event: Evidence) -> ServerAttachment:
    return row.with_links(
        row.links._replace(failed_on=event.connection_id),
        status=Status.FAILED,
        failed_at=event.occurred_at,
    )


def _closed(row: ServerAttachment, event: Evidence) -> ServerAttachment:
    links = row.links
    if event.connection_id not in links.open:
        return row
    still_open = tuple(c for c in links.open if c != event.connection_id)
    links = links._replace(open=still_open, listed=links.listed - {event.connection_id})
    if still_open and row.connection_id == event.connection_id:
        return row.with_links(links, connection_id=still_open[-1])
    if still_open or _STATELESS in links.listed:
        return row.with_links(links)
    status = Status.CONNECTED if row.status == Status.ACTIVE else row.status
    return row.with_links(links, status=status, disconnected_at=event.occurred_at)


def _spoken(row: ServerAttachment, event: Evidence) -> ServerAttachment:
    """Return the row after traffic of the event's connection, which is open now."""
    if not event.connection_id:
        return row
    others = tuple(c for c in row.links.open if c != event.connection_id)
    opened = (*others, event.connection_id)[-limits.OPEN_CONNECTIONS :]
    listed = row.links.listed & {*opened, _STATELESS}
    return row.with_links(row.links._replace(open=opened, listed=listed))


def _restores(row: ServerAttachment, event: Evidence) -> bool:
    """Tell whether the event proves that a failed row works again (EV-4)."""
    if row.status != Status.FAILED or not later(event.occurred_at, row.failed_at):
        return False
    if event.connection_id and event.connection_id == row.links.failed_on:
        return later(event.requested_at or event.occurred_at, row.failed_at)
    return True


def _count_lost_calls(
    servers: tuple[ServerAttachment, ...], events: tuple[Evidence, ...]
) -> tuple[ServerAttachment, ...]:
    """Return the rows with their own call count, where the evidence no longer tells it."""
    told: Counter[str] = Counter()
    for event in events:
        if event.kind == EvidenceKind.TOOL_CALL_OBSERVED:
            told[event.server_name] += max(event.count, 1)
    return tuple(
        row if row.links.calls == told[row.name] else row.updated(call_count=row.links.calls)
        for row in servers
    )


_RULES: Final[dict[str, Callable[[ServerAttachment, Evidence], ServerAttachment]]] = {
    EvidenceKind.CONFIGURED: _configured,
    EvidenceKind.FILTERED: _left_out,
    EvidenceKind.UNAVAILABLE: _left_out,
    EvidenceKind.DELIVERED: _delivered,
    EvidenceKind.SESSION_ACCEPTED: _delivered,
    EvidenceKind.INITIALIZE_OBSERVED: _initialized,
    EvidenceKind.TOOLS_LIST_OBSERVED: _listed,
    EvidenceKind.TOOL_CALL_OBSERVED: _used,
    EvidenceKind.EXPLICIT_ERROR: _failed,
}
