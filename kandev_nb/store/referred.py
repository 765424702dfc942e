"""What reports refer to, and what is kept beside them: catalogs, and results of endpoint tests."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import Connection, Table, bindparam, delete, select

from kandev_nb.store.records import Offer
from kandev_nb.store.split import Rows, catalog_json
from kandev_nb.store.statements import insert_new
from kandev_nb.store.tables import CATALOGS, TESTS

TESTS_KEPT: Final = 20
"""Results of endpoint tests that are kept of one server of one session."""

Prepared = tuple[Offer, Rows]


def write_catalogs(connection: Connection, batch: Sequence[Prepared]) -> None:
    """Write the catalogs that are not there yet, and delete those that no report refers to."""
    names = [offer.session_id for offer, _ in batch]
    there = _hashes(connection, CATALOGS, names)
    missing, stale = [], []
    for offer, rows in batch:
        known = there[offer.session_id]
        for found in sorted(rows.catalogs.keys() - known):
            body = catalog_json(rows.catalogs[found])
            row = {"session_id": offer.session_id, "content_hash": found, "body": body}
            missing.append(row)
        stale += [(offer.session_id, old) for old in sorted(known - rows.catalogs.keys())]
    insert_new(connection, CATALOGS, missing)
    _delete(connection, CATALOGS, stale)


def write_tests(connection: Connection, batch: Sequence[Prepared]) -> None:
    """Write the results that are new, and forget the oldest beyond :data:`TESTS_KEPT`."""
    tested = [(offer, rows) for offer, rows in batch if rows.tests]
    there = _hashes(connection, TESTS, [offer.session_id for offer, _ in tested])
    fresh = [
        test
        for offer, rows in tested
        for test in rows.tests
        if test["content_hash"] not in there[offer.session_id]
    ]
    if not fresh:
        return
    insert_new(connection, TESTS, fresh)
    _forget_old_tests(connection, {test["session_id"] for test in fresh})


def _forget_old_tests(connection: Connection, sessions: Iterable[str]) -> None:
    columns = (TESTS.c.session_id, TESTS.c.server_name, TESTS.c.content_hash)
    rows = connection.execute(
        select(*columns)
        .where(TESTS.c.session_id.in_(sorted(sessions)))
        .order_by(TESTS.c.tested.desc(), TESTS.c.content_hash)
    )
    kept: defaultdict[tuple[str, str], int] = defaultdict(int)
    old = []
    for session_id, server_name, found in rows:
        kept[session_id, server_name] += 1
        if kept[session_id, server_name] > TESTS_KEPT:
            old.append((session_id, found))
    _delete(connection, TESTS, old)


def _hashes(
    connection: Connection, table: Table, sessions: Sequence[str]
) -> defaultdict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    if sessions:
        columns = (table.c.session_id, table.c.content_hash)
        where = table.c.session_id.in_(sessions)
        for session_id, content_hash in connection.execute(select(*columns).where(where)):
            found[session_id].add(content_hash)
    return found


def _delete(connection: Connection, table: Table, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        connection.execute(
            delete(table).where(
                table.c.session_id == bindparam("of"), table.c.content_hash == bindparam("is")
            ),
            [{"of": session_id, "is": content_hash} for session_id, content_hash in rows],
        )
