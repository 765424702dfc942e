"""How a database is found, made, migrated, and refused."""

import contextlib
import logging
import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
import traceback
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from kandev_nb import StoreError
from kandev_nb.attachment import ReasonCode
from kandev_nb.store import Store, StoreWriter, opening
from kandev_nb.store.migrations import HEAD, VERSIONS
from kandev_nb.store.opening import migrate, versions
from kandev_nb.store.place import default_path
from kandev_nb.store.tables import METADATA
from tests.postgres import PostgresServer
from tests.processes import eventually
from tests.store.conftest import Sql, run_sql
from tests.store.stories import record, story


def tables(store: Store) -> set[str]:
    with store._database.reading() as connection:
        found = connection.dialect.get_table_names(connection)
    return {name for name in found if name != VERSIONS}


@pytest.mark.req("SA-5")
def test_the_file_and_those_beside_it_are_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0o000)
    try:
        path = tmp_path / "new" / "kandev.sqlite3"
        store = Store(path)
        writer = StoreWriter(store)
        writer.offer(record(), story().history)
        assert writer.flush(10)
    finally:
        os.umask(before)

    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    assert modes == dict.fromkeys([path.name, f"{path.name}-wal", f"{path.name}-shm"], 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert writer.close(10)
    store.close()


@pytest.mark.req("SA-5")
def test_a_file_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "kandev.sqlite3"
    path.touch(mode=0o644)
    path.chmod(0o644)

    store = Store(path)
    assert len(store.sessions()) == 0

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    store.close()


@pytest.mark.req("SA-5")
def test_by_default_the_store_is_below_jupyters_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("KANDEV_NB_STORE", raising=False)
    by_default = Store().name
    monkeypatch.setenv("KANDEV_NB_STORE", str(tmp_path / "other.sqlite3"))
    by_path = Store().name
    monkeypatch.setenv("KANDEV_NB_STORE", "postgresql://me:hunter2secret@db.test:5433/kandev")
    by_url = Store()

    assert by_default == str(default_path())
    assert by_default.startswith(str(tmp_path))
    assert by_path == str(tmp_path / "other.sqlite3")
    assert by_url.name == "postgresql://db.test:5433/kandev"
    assert "hunter2" not in repr(by_url)


@pytest.mark.req("SA-1")
@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("mysql://root:hunter2secret@host/db", "cannot be kept in mysql"),
        ("postgresql://me:hunter2secret@host:port/db", "cannot be read"),
        ("sqlite://", "would keep nothing"),
        ("://", "cannot be read"),
    ],
)
def test_what_is_no_place_of_a_store_is_refused(where: str, message: str) -> None:
    with pytest.raises(StoreError, match=message) as refused:
        Store(where)

    assert refused.value.reason_code == ReasonCode.INVALID_STORE
    assert "hunter2" not in str(refused.value)


@pytest.mark.req("SA-1")
def test_a_missing_driver_is_named_with_the_way_to_install_it(tmp_path: Path) -> None:
    # An interpreter that finds everything but the drivers.
    script = """
        import importlib.util, sys
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *rest: (
            None if name in ("psycopg", "pyarrow") else find(name, *rest))
        from kandev_nb import StoreError
        from kandev_nb.store import Store
        for call in (lambda: Store("postgresql://me:hunter2secret@host/db"),
                     lambda: Store(sys.argv[1]).export("x.parquet")):
            try:
                call()
            except StoreError as error:
                print(error.reason_code, error)
        """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "a.sqlite3")],
        capture_output=True,
        text=True,
        check=True,
    )

    first, second = run.stdout.splitlines()
    assert first.startswith("driver_missing PostgreSQL needs psycopg")
    assert first.endswith("pip install 'kandev-nb[postgres]'")
    assert second.endswith("pip install 'kandev-nb[parquet]'")


@pytest.mark.req("SA-1")
@pytest.mark.parametrize("secret", ["hunter2secret", "p@ss/wörd&1"])
def test_no_password_is_in_an_error_or_a_log(
    postgres: PostgresServer, caplog: pytest.LogCaptureFixture, secret: str
) -> None:
    address = f"127.0.0.1:{postgres.port}/postgres"
    refused = [
        f"kandev:{quote(secret, safe='')}@{address}",
        f"kandev@{address}?password={quote(secret)}",
    ]
    refused.append(f"kandev:{quote(secret, safe='')}@127.0.0.1:1/postgres")
    told = []
    with caplog.at_level(logging.DEBUG):
        for url in refused:
            store = Store(f"postgresql://{url}")
            writer = StoreWriter(store)
            writer.offer(record(), story().history)
            assert not writer.flush(1)
            with pytest.raises(StoreError, match="cannot be used") as error:
                store.sessions()
            told += [
                str(error.value),
                repr(store),
                writer.problem,
                "".join(traceback.format_exception(error.value)),
            ]
            writer.close(0)

    assert writer.problem
    for text in (*told, *caplog.messages, caplog.text):
        assert secret not in text
        assert quote(secret) not in text
        assert quote(secret, safe="") not in text


@pytest.mark.req("EV-11")
def test_every_migration_goes_up_and_down_and_makes_the_tables_that_are_written(
    store: Store,
) -> None:
    made = tables(store)
    with store._database.writing() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSIONS})
        assert compare_metadata(context, METADATA) == []
    steps = versions()

    for step in (*reversed(["base", *steps[:-1]]), *steps):
        with store._database.writing() as connection:
            migrate(connection, step)
            context = MigrationContext.configure(connection, opts={"version_table": VERSIONS})
            assert (context.get_current_revision() or "base") == step
        if step == "base":
            assert tables(store) == set()

    assert steps[-1] == HEAD
    assert tables(store) == made == set(METADATA.tables)


@pytest.mark.req("EV-11")
def test_a_database_of_a_later_version_is_refused_and_not_changed(
    database: str, store: Store, sql: Sql
) -> None:
    assert len(store.sessions()) == 0
    store.close()
    sql(f"UPDATE {VERSIONS} SET version_num = '9999'")
    content = Path(database).read_bytes() if "://" not in database else b""

    with pytest.raises(StoreError, match=r"newer kandev-nb.*Update kandev-nb") as refused:
        store.sessions()

    assert refused.value.reason_code == ReasonCode.STORE_TOO_NEW
    assert sql(f"SELECT version_num FROM {VERSIONS}") == [("9999",)]
    assert content == (Path(database).read_bytes() if content else b"")


@pytest.mark.req("SA-5")
def test_a_file_of_another_program_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite3"
    run_sql(str(path), "CREATE TABLE tasks (id INTEGER)")
    path.chmod(0o644)
    text = tmp_path / "notes.txt"
    text.write_text("no database at all, but a long enough text to look like one" * 20)
    before = path.read_bytes(), text.read_text()

    with pytest.raises(StoreError, match="another program") as refused:
        Store(path).sessions()
    with pytest.raises(StoreError, match="not a database"):
        Store(text).sessions()

    assert refused.value.reason_code == ReasonCode.INVALID_STORE
    assert (path.read_bytes(), text.read_text()) == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.req("EV-11")
def test_a_postgresql_database_can_be_shared_with_another_program(
    postgres: PostgresServer,
) -> None:
    url = postgres.database()
    run_sql(url, "CREATE TABLE tasks (id INTEGER)")
    store = Store(url)

    assert len(store.sessions()) == 0

    store.close()


@pytest.mark.req("SE-5")
def test_a_migration_waits_for_one_that_another_process_has_begun(
    postgres: PostgresServer,
) -> None:
    url = postgres.database()
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with contextlib.closing(Store(url)) as store:
        opener = threading.Thread(target=store.sessions)
        with psycopg.connect(url) as other:
            other.execute("SELECT pg_advisory_xact_lock(%s)", [opening._MIGRATION_LOCK])
            opener.start()
            assert eventually(lambda: run_sql(postgres.url(), waits) == [(1,)], 60)
        opener.join(60)

        assert len(store.sessions()) == 0


OPEN = """
import sys
from kandev_nb.store import Store
print("ready", flush=True)
sys.stdin.readline()
store = Store(sys.argv[1])
print(len(store.sessions()), flush=True)
store.close()
"""


@pytest.mark.req("SE-5")
def test_several_processes_open_a_new_database_at_once(database: str) -> None:
    with contextlib.ExitStack() as running:
        openers = [
            running.enter_context(
                subprocess.Popen(
                    [sys.executable, "-W", "error", "-c", OPEN, database],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(6)
        ]
        for opener in openers:
            assert opener.stdout
            assert opener.stdout.readline() == "ready\n"
        for opener in openers:
            assert opener.stdin
            opener.stdin.write("\n")
            opener.stdin.flush()
        results = [opener.communicate() for opener in openers]

    assert results == [("0\n", "")] * 6


@pytest.mark.req("SE-5")
def test_importing_kandev_nb_loads_no_database() -> None:
    script = "import kandev_nb, kandev_nb.controller, sys; print('sqlalchemy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert run.stdout == "False\n"


@pytest.mark.req("SE-5")
def test_opening_a_database_that_is_up_to_date_loads_no_alembic(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite3"
    with contextlib.closing(Store(path)) as store:
        assert len(store.sessions()) == 0
    script = (
        "from kandev_nb.store import Store; import sys; s = Store(sys.argv[1]); s.sessions();"
        "s.close(); print('alembic' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)

    assert run.stdout == "False\n"


@pytest.mark.req("SE-5")
def test_side_files_of_a_deleted_database_do_not_get_into_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite3"
    store = Store(path)
    writer = StoreWriter(store)
    writer.offer(record("session-1"), story().history)
    assert writer.flush(10)
    left = path.with_name(f"{path.name}-wal").read_bytes()
    assert writer.close(10)
    store.close()
    path.unlink()
    path.with_name(f"{path.name}-wal").write_bytes(left)

    assert len(store.sessions()) == 0

    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()
