"""Databases for the tests: files, and a real PostgreSQL."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kandev_nb.store import Store, StoreWriter
from tests.postgres import PostgresServer, binaries

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests of this process; each takes a ``postgres.database()``."""
    if binaries() is None:
        pytest.skip("PostgreSQL is not installed. On Debian: apt-get install postgresql")
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What a store is opened with: the path of a file, then the URL of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "data" / "kandev.sqlite3")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.database()


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """A store on an empty database."""
    store = Store(database)
    yield store
    store.close()


@pytest.fixture
def writer(store: Store) -> Iterator[StoreWriter]:
    """Its writer."""
    writer = StoreWriter(store)
    yield writer
    writer.close(10)


@pytest.fixture
def sql(database: str) -> Sql:
    """Any other program that works on the database."""
    return lambda statement: run_sql(database, statement)


def run_sql(database: str, statement: str) -> list[tuple[Any, ...]]:
    """Run one statement and return its rows."""
    if "://" in database:
        with psycopg.connect(database, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []
    with closing(sqlite3.connect(database, timeout=10, isolation_level=None)) as file:
        return file.execute(statement).fetchall()
