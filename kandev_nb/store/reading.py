"""What one transaction reads: sessions with their reports, in one query, and their catalogs."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from sqlalchemy import Connection, Select, func, select

from kandev_nb.attachment import EndpointTestResult
from kandev_nb.store import leases
from kandev_nb.store.records import (
    MALFORMED,
    Skipped,
    Stored,
    StoredSession,
    StoredSessions,
    StoredTest,
)
from kandev_nb.store.split import checksum
from kandev_nb.store.tables import CATALOGS, REPORTS, SESSIONS, TASKS, TESTS

_CATALOG_MISSING: Final = "a catalog of the report is missing"
_NO_REPORT: Final = "the session has no report"

_COLUMNS: Final = (
    SESSIONS,
    TASKS.c.title.label("task_title"),
    REPORTS.c.revision,
    REPORTS.c.updated_at,
    REPORTS.c.catalogs,
    REPORTS.c.checksum,
    REPORTS.c.body,
)


class Found(NamedTuple):
    """Rows as they are in one state of the database."""

    rows: list[dict[str, Any]]
    catalogs: Mapping[str, str]
    at: float


def fetch(
    connection: Connection, session_id: str | None, task_id: str | None, limit: int | None
) -> Found:
    """Return the rows of the sessions that are asked for, the last changed one first."""
    picked = select(SESSIONS.c.session_id).order_by(
        SESSIONS.c.changed.desc(), SESSIONS.c.session_id
    )
    if session_id is not None:
        picked = picked.where(SESSIONS.c.session_id == session_id)
    if task_id is not None:
        picked = picked.where(SESSIONS.c.task_id == task_id)
    if limit is not None:
        picked = picked.limit(limit)
    query = (
        select(*_COLUMNS)
        .join(TASKS, TASKS.c.task_id == SESSIONS.c.task_id)
        .outerjoin(REPORTS, REPORTS.c.session_id == SESSIONS.c.session_id)
        .where(SESSIONS.c.session_id.in_(picked))
    )
    result = connection.execute(query)
    names = list(result.keys())
    rows = [dict(zip(names, row, strict=True)) for row in result]
    # A database that sorts moves every report.
    rows.sort(key=_last_changed_first)
    return Found(rows, _catalogs(connection, picked), leases.now(connection))


def _last_changed_first(row: Mapping[str, Any]) -> tuple[float, str]:
    """Return the key by which rows are sorted; SQLite holds anything in a column of numbers."""
    changed = row["changed"]
    return -changed if isinstance(changed, int | float) else 0.0, str(row["session_id"])


def _catalogs(connection: Connection, picked: Select[tuple[str]]) -> dict[str, str]:
    """Return each catalog once, however many sessions have the same one."""
    once = (
        select(CATALOGS.c.content_hash, func.min(CATALOGS.c.session_id).label("session_id"))
        .where(CATALOGS.c.session_id.in_(picked))
        .group_by(CATALOGS.c.content_hash)
        .subquery()
    )
    query = select(CATALOGS.c.content_hash, CATALOGS.c.body).join(
        once,
        (once.c.session_id == CATALOGS.c.session_id)
        & (once.c.content_hash == CATALOGS.c.content_hash),
    )
    return {row.content_hash: row.body for row in connection.execute(query)}


def assemble(found: Found, owner: str) -> StoredSessions:
    """Return the sessions of those rows. What is not as we wrote it is decoded at once."""
    sessions: list[StoredSession] = []
    skipped: list[Skipped] = []
    for row in found.rows:
        read = _session(row, found, owner)
        if isinstance(read, StoredSession):
            sessions.append(read)
        else:
            skipped.append(Skipped(row["session_id"], read))
    return StoredSessions(sessions, skipped)


def _session(row: Mapping[str, Any], found: Found, owner: str) -> StoredSession | str:
    """Return the session of a row, or why it cannot be read."""
    if row["body"] is None:
        return _NO_REPORT
    try:
        stored = Stored(row["body"], _referred(row["catalogs"], found.catalogs))
        is_ours = checksum(stored.body) == row["checksum"]
        live = leases.is_live(row, found.at) and row["lease_owner"] != owner
        session = StoredSession.model_validate({**row, "is_live_elsewhere": live})
    except KeyError:
        return _CATALOG_MISSING
    except (ValueError, TypeError, AttributeError, RecursionError):
        return MALFORMED
    session.with_stored(stored, is_ours=is_ours)
    return session if is_ours or session.decode() is not None else MALFORMED


def _referred(text: str, catalogs: Mapping[str, str]) -> dict[int, str]:
    return {int(place): catalogs[found] for place, found in json.loads(text).items()}


def fetch_tests(connection: Connection, session_id: str) -> list[Any]:
    """Return the rows of the endpoint tests of a session, the newest first."""
    return list(
        connection.execute(
            select(TESTS.c.server_name, TESTS.c.body)
            .where(TESTS.c.session_id == session_id)
            .order_by(TESTS.c.tested.desc(), TESTS.c.content_hash)
        )
    )


def read_tests(rows: Iterable[Any]) -> tuple[StoredTest, ...]:
    """Return the results of those rows; one that cannot be read is left out."""
    found = []
    for name, body in rows:
        try:
            found.append(StoredTest(name, EndpointTestResult.model_validate_json(body)))
        except ValidationError:
            continue
    return tuple(found)
