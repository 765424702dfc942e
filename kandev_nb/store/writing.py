"""What one transaction writes: sessions, their reports, and what the reports refer to.

A session of which another writer has the lease is left alone, and a report never replaces a newer
one (EV-11). Rows are taken in the order of their keys, so that two writers never wait for each
other.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, case, select, update

from kandev_nb.attachment import newer
from kandev_nb.store import leases
from kandev_nb.store.leases import Hold
from kandev_nb.store.records import Offer
from kandev_nb.store.referred import Prepared, write_catalogs, write_tests
from kandev_nb.store.split import skeleton
from kandev_nb.store.statements import insert_new, replace
from kandev_nb.store.tables import REPORTS, SESSIONS, TASKS

_DESCRIBED: Final = (
    "task_id",
    "name",
    "agent_id",
    "agent_title",
    "agent_profile_id",
    "started_at",
    "state",
)
_NO_LEASE: Final = {"lease_owner": "", "lease_until": 0.0, "lease_term": 0}
_AGE: Final = (
    REPORTS.c.session_id,
    REPORTS.c.revision,
    REPORTS.c.attempt_id,
    REPORTS.c.attempt_started_at,
    REPORTS.c.updated_at,
    REPORTS.c.previous_ids,
)


class Written(NamedTuple):
    """What became of a batch, by session; ``terms`` are those that the writer holds now."""

    terms: Mapping[str, int]
    written: tuple[str, ...]
    refused: tuple[str, ...]
    older: tuple[str, ...]


def write(
    connection: Connection, batch: Sequence[Prepared], hold: Hold, *, tie: bool = True
) -> Written:
    """Write the batch, one entry a session, for that writer.

    ``tie`` says whether a report as new as the stored one is written. A writer without a name
    takes no lease.
    """
    batch = sorted(batch, key=lambda each: each[0].session_id)
    at = leases.now(connection)
    found = _make_rows(connection, batch)
    admitted = [each for each in batch if leases.may_write(found[each[0].session_id], hold, at)]
    written = _newer(connection, admitted, tie=tie)
    names = {offer.session_id for offer, _ in admitted}
    fresh = {offer.session_id for offer, _ in written}
    held = {
        offer.session_id: leases.taken(
            found[offer.session_id], hold, at, is_open=offer.record.is_open
        )
        for offer, _ in admitted
    }
    _describe(connection, admitted if tie else written, fresh, found, held)
    replace(connection, REPORTS, [rows.report for _, rows in written])
    write_catalogs(connection, written)
    write_tests(connection, written)
    return Written(
        terms={name: lease["lease_term"] for name, lease in held.items()},
        written=tuple(sorted(fresh)),
        refused=tuple(sorted(found.keys() - names)),
        older=tuple(sorted(names - fresh)),
    )


def _make_rows(connection: Connection, batch: Sequence[Prepared]) -> dict[str, Mapping[str, Any]]:
    """Return the locked session rows of the batch, which are made where there are none."""
    tasks, sessions = {}, []
    for offer, rows in batch:
        record, changed = offer.record, {"changed": rows.changed}
        described = {name: getattr(record, name) for name in _DESCRIBED}
        sessions.append({"session_id": record.session_id, **described, **changed, **_NO_LEASE})
        title = {"title": record.task_title, "started_at": record.started_at}
        tasks[record.task_id] = {"task_id": record.task_id, **title, **changed}
    insert_new(connection, TASKS, [tasks[key] for key in sorted(tasks)])
    insert_new(connection, SESSIONS, sessions)
    names = [offer.session_id for offer, _ in batch]
    locked = (
        select(SESSIONS)
        .where(SESSIONS.c.session_id.in_(names))
        .order_by(SESSIONS.c.session_id)
        .with_for_update()
    )
    return {row.session_id: row._asdict() for row in connection.execute(locked)}


def _newer(connection: Connection, batch: Sequence[Prepared], *, tie: bool) -> list[Prepared]:
    """Return what is newer than what is stored."""
    names = [offer.session_id for offer, _ in batch]
    stored = connection.execute(select(*_AGE).where(REPORTS.c.session_id.in_(names)))
    ages = {row.session_id: row._asdict() for row in stored}

    def is_newer(offer: Offer) -> bool:
        age = ages.get(offer.session_id)
        if age is None:
            return True
        old, new = skeleton(age), offer.history
        return newer(new, old) is new if tie else newer(old, new) is new

    return [each for each in batch if is_newer(each[0])]


def _describe(
    connection: Connection,
    batch: Sequence[Prepared],
    fresh: Collection[str],
    found: Mapping[str, Mapping[str, Any]],
    held: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write the sessions' own rows, and what changed of their tasks."""
    sessions, tasks = [], {}
    for offer, rows in batch:
        key, record = offer.session_id, offer.record
        changed = rows.changed if key in fresh else found[key]["changed"]
        described = {name: getattr(record, name) for name in _DESCRIBED}
        sessions.append({"key": key, **described, "changed": changed, **held[key]})
        title = {"title": record.task_title, "later": changed}
        tasks[record.task_id] = {"key": record.task_id, **title}
    _update_rows(connection, sessions, [tasks[key] for key in sorted(tasks)])


def _update_rows(
    connection: Connection, sessions: list[dict[str, Any]], tasks: list[dict[str, Any]]
) -> None:
    if not sessions:
        return
    names = [name for name in sessions[0] if name != "key"]
    connection.execute(
        update(SESSIONS)
        .where(SESSIONS.c.session_id == bindparam("key"))
        .values({name: bindparam(name) for name in names}),
        sessions,
    )
    then: Any = bindparam("later", type_=TASKS.c.changed.type)
    connection.execute(
        update(TASKS)
        .where(TASKS.c.task_id == bindparam("key"))
        .values(
            title=bindparam("title"),
            changed=case((TASKS.c.changed > then, TASKS.c.changed), else_=then),
        ),
        tasks,
    )
