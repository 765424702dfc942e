"""One live writer a session.

A writer that opens a session takes its lease for :data:`SECONDS` and renews it while the session
is open. An expired lease can be taken over, which begins a new term; a writer that still writes in
an older term is refused and changes nothing. The time is the database's own.
"""

import time
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select, text, update

from kandev_nb.store.tables import SESSIONS

SECONDS: Final = 15.0


class Hold(NamedTuple):
    """Who writes, and since which term of each session, as far as it holds one."""

    owner: str
    terms: Mapping[str, int]


def now(connection: Connection) -> float:
    """Return the database's time in seconds since the epoch; a file has that of its machine."""
    if connection.dialect.name != "postgresql":
        return time.time()
    seconds: float = connection.execute(
        text("SELECT extract(epoch FROM clock_timestamp())::double precision")
    ).scalar_one()
    return seconds


def is_live(row: Mapping[str, Any], at: float) -> bool:
    """Tell whether somebody holds the session of that row."""
    return bool(row["lease_owner"]) and row["lease_until"] > at


def may_write(row: Mapping[str, Any], hold: Hold, at: float) -> bool:
    """Tell whether that writer may write the session of that row."""
    term = hold.terms.get(row["session_id"])
    # A row in its first term is new: what the writer held was of a file that is gone.
    if term is not None and row["lease_term"] not in (0, term):
        return False
    return row["lease_owner"] == hold.owner or not is_live(row, at)


def taken(row: Mapping[str, Any], hold: Hold, at: float, *, is_open: bool) -> dict[str, Any]:
    """Return the lease of a session that this writer writes now.

    Who has no name takes none. Whoever has begins a new term where it was not in this one, also
    for a session that is closed: from now on its earlier writer is stale.
    """
    term = row["lease_term"]
    if hold.owner and hold.terms.get(row["session_id"]) != term:
        term += 1
    holds = bool(hold.owner) and is_open
    return {
        "lease_owner": hold.owner if holds else "",
        "lease_until": at + SECONDS if holds else 0.0,
        "lease_term": term,
    }


def renew(connection: Connection, hold: Hold) -> set[str]:
    """Renew the writer's leases, and return the sessions of which it has none any more."""
    held = (SESSIONS.c.lease_owner == hold.owner) & SESSIONS.c.session_id.in_(list(hold.terms))
    found = connection.execute(
        select(SESSIONS.c.session_id, SESSIONS.c.lease_term)
        .where(held)
        .order_by(SESSIONS.c.session_id)
        .with_for_update()
    )
    kept = {each.session_id for each in found if hold.terms[each.session_id] == each.lease_term}
    _until(connection, kept, now(connection) + SECONDS)
    return set(hold.terms) - kept


def release(connection: Connection, owner: str) -> None:
    """Give up every lease of that writer."""
    connection.execute(
        update(SESSIONS)
        .where(SESSIONS.c.lease_owner == owner)
        .values(lease_owner="", lease_until=0.0)
    )


def _until(connection: Connection, sessions: Collection[str], moment: float) -> None:
    connection.execute(
        update(SESSIONS).where(SESSIONS.c.session_id.in_(sessions)).values(lease_until=moment)
    )
