"""What one transaction deletes. A session that somebody writes is never deleted."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection, delete, exists, select

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import StoreError
from kandev_nb.store import leases
from kandev_nb.store.tables import SESSIONS, TASKS


def delete_sessions(connection: Connection, sessions: Sequence[str], owner: str) -> int:
    """Delete those sessions with all that belongs to them, and return how many there were.

    Raises :class:`~kandev_nb.errors.StoreError` where one of them is open, before any is deleted.
    """
    rows = connection.execute(
        select(SESSIONS)
        .where(SESSIONS.c.session_id.in_(sessions))
        .order_by(SESSIONS.c.session_id)
        .with_for_update()
    )
    at, found = leases.now(connection), [row._asdict() for row in rows]
    for row in found:
        if leases.is_live(row, at):
            where = "here" if row["lease_owner"] == owner else "in another process"
            raise StoreError(
                f"Session {row['session_id']} is open {where}. Close it there, then delete it.",
                reason_code=ReasonCode.SESSION_LIVE,
            )
    _delete(connection, [row["session_id"] for row in found])
    return len(found)


def sessions_of(connection: Connection, task_id: str) -> list[str]:
    """Return the sessions of a task."""
    query = select(SESSIONS.c.session_id).where(SESSIONS.c.task_id == task_id)
    return list(connection.execute(query).scalars())


def prune(
    connection: Connection, older_than: timedelta | None, keep: int | None, at_once: int
) -> int:
    """Delete some sessions that are too old or too many, and return how many; 0 when done."""
    at = leases.now(connection)
    free = (SESSIONS.c.lease_owner == "") | (SESSIONS.c.lease_until <= at)
    newest_first = select(SESSIONS.c.session_id).order_by(
        SESSIONS.c.changed.desc(), SESSIONS.c.session_id
    )
    doomed: set[str] = set()
    if older_than is not None:
        old = newest_first.where(free & (SESSIONS.c.changed < at - older_than.total_seconds()))
        doomed.update(connection.execute(old.limit(at_once)).scalars())
    if keep is not None:
        kept = newest_first.limit(keep).subquery()
        surplus = newest_first.where(free & SESSIONS.c.session_id.not_in(select(kept.c.session_id)))
        doomed.update(connection.execute(surplus.limit(at_once)).scalars())
    _delete(connection, sorted(doomed))
    return len(doomed)


def _delete(connection: Connection, sessions: Sequence[str]) -> None:
    connection.execute(delete(SESSIONS).where(SESSIONS.c.session_id.in_(sessions)))
    has_some = exists().where(SESSIONS.c.task_id == TASKS.c.task_id)
    connection.execute(delete(TASKS).where(~has_some))
