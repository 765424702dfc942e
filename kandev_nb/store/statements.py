"""Statements that both databases know, each in its own words."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows whose keys are not there yet."""
    if rows:
        connection.execute(_insert(connection, table).on_conflict_do_nothing(), list(rows))


def replace(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows, in the place of those that have their keys."""
    if rows:
        insert = _insert(connection, table)
        key = list(table.primary_key)
        others = {c.name: insert.excluded[c.name] for c in table.columns if c not in key}
        replacing = insert.on_conflict_do_update(index_elements=key, set_=others)
        connection.execute(replacing, list(rows))


def _insert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)
