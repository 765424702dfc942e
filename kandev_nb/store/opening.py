"""A database opened: for its owner only, of our version, migrated by one process at a time."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import StoreError
from kandev_nb.store.migrations import HEAD, VERSIONS
from kandev_nb.store.place import Place

BUSY_SECONDS: Final = 5.0
"""How long another writer is waited for."""

OPENING_SECONDS: Final = 50
"""How long another process is waited for that makes a database or brings it up."""

WRITES: Final = "kandev_nb_writes"
"""The execution option of a connection that is going to write."""

_MIGRATION_LOCK: Final = 0x6B616E6465766E62
_TURN: Final = 0.02
_SIDE_FILES: Final = ("-wal", "-shm")
_POSTGRES: Final[dict[str, Any]] = {
    "application_name": "kandev-nb",
    "connect_timeout": 5,
    "options": "-c lock_timeout=5000 -c statement_timeout=60000",
    "tcp_user_timeout": 10_000,
}
"""Nothing waits for ever, also not for a server that is gone."""


def open_engine(place: Place) -> Engine:
    """Return an engine on the database, which is made or migrated where that is needed.

    Raises:
        StoreError: the database is of a later version, or of another program.
    """
    if place.path is None:
        given = place.url.query
        arguments = {name: value for name, value in _POSTGRES.items() if name not in given}
        engine = create_engine(
            place.url, connect_args=arguments, pool_pre_ping=True, hide_parameters=True
        )
        return _migrated(engine, place)
    place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(place.path.parent):
        os.close(os.open(place.path, os.O_CREAT | os.O_RDWR, 0o600))
        engine = _migrated(_sqlite_engine(place), place)
        # Only now it is known to be ours.
        _make_private(place.path)
        with engine.connect() as connection:
            _write_ahead(connection)
        return engine


def _make_private(path: Path) -> None:
    """Make the file its owner's alone; SQLite gives the files beside it the same mode."""
    for each in (path, *(Path(f"{path}{side}") for side in _SIDE_FILES)):
        with suppress(PermissionError, FileNotFoundError):
            if each.stat().st_mode & 0o077:
                each.chmod(0o600)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process at a time make a file in the folder and switch it to its log."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + OPENING_SECONDS
        while not _locked(handle):
            if time.monotonic() > deadline:
                raise TimeoutError(None, "another process is opening it and does not end")
            time.sleep(_TURN)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without such locks: then SQLite's own have to do.
        return True
    return True


def _sqlite_engine(place: Place) -> Engine:
    engine = create_engine(
        place.url,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
        hide_parameters=True,
    )
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def _configure(connection: Any, _record: object) -> None:
    # Python's driver begins transactions by itself, and not where a reader needs one.
    connection.isolation_level = None
    # SQLite holds any bytes as text: one such row must not keep the others from being read.
    connection.text_factory = _decoded
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _decoded(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _write_ahead(connection: Connection) -> None:
    """Let readers and a writer work at the same time; the file remembers it."""
    driver: Any = connection.connection.driver_connection
    driver.execute("PRAGMA journal_mode = WAL")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    # A reader that turns into a writer would be refused instead of waiting.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _migrated(engine: Engine, place: Place) -> Engine:
    try:
        with engine.connect() as connection:
            version = _version(connection)
        if version != HEAD:
            _migrate(engine, place)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _migrate(engine: Engine, place: Place) -> None:
    with engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        if place.path is None:
            # Another kernel may be bringing a large database up.
            connection.execute(text(f"SET LOCAL lock_timeout = '{OPENING_SECONDS}s'"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:k)"), {"k": _MIGRATION_LOCK})
        version = _version(connection)
        if version == HEAD:
            return
        _refuse_foreign(connection, place, version)
        migrate(connection, HEAD)


def migrate(connection: Connection, version: str) -> None:
    """Bring the database to that version, up or down, in the transaction of the connection."""
    # Half of what the store imports, and needed once in the life of a database.
    from alembic import command

    config = _configuration(connection)
    if _is_below(config, version, _version(connection)):
        command.downgrade(config, version)
    else:
        command.upgrade(config, version)


def _configuration(connection: Connection | None = None) -> Any:
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    folder = Path(__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    return config


def versions() -> list[str]:
    """Return the versions that are known, the oldest first."""
    from alembic.script import ScriptDirectory

    steps = ScriptDirectory.from_config(_configuration()).walk_revisions()
    return [step.revision for step in steps][::-1]


def _is_below(config: Any, version: str, current: str | None) -> bool:
    known = ["base", *versions()]
    return current is not None and known.index(version) < known.index(current)


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSIONS):
        return None
    found: str | None = connection.execute(text(f"SELECT version_num FROM {VERSIONS}")).scalar()  # noqa: S608 - our own name
    return found


def _refuse_foreign(connection: Connection, place: Place, version: str | None) -> None:
    """Refuse a database that we would damage, before anything in it is changed."""
    if version is not None and version not in versions():
        raise StoreError(
            f"The store {place.name} was written by a newer kandev-nb: its version is {version}, "
            f"this one knows {HEAD}. Nothing was changed. Update kandev-nb, or name another store.",
            reason_code=ReasonCode.STORE_TOO_NEW,
        )
    if version is None and place.path is not None and inspect(connection).get_table_names():
        raise StoreError(
            f"{place.name} is a database of another program. Nothing was changed: name a file of "
            "its own for the store.",
            reason_code=ReasonCode.INVALID_STORE,
        )
