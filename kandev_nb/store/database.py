"""One database of this process, and its transactions.

It is opened on first use. No connection is open across a fork: the child of a process with an open
SQLite file would believe in locks that it does not hold. A file that was deleted or replaced is
opened, and so made, anew.
"""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine

from kandev_nb.store.opening import WRITES, open_engine
from kandev_nb.store.place import Place, naming

_FORK_SECONDS: Final = 5.0
"""How long a fork waits for a transaction that is under way."""


class Database:
    """The connections of one process to one place. Its methods may be called from any thread."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._gate = _Gate()
        self._opening = threading.Lock()
        self._engine: Engine | None = None
        self._closer: weakref.finalize[..., Database]
        self._file: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None
        _databases.add(self)

    @property
    def is_postgres(self) -> bool:
        """Whether it is a server, with a clock of its own."""
        return self.place.path is None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes, alone on SQLite; it is committed at the end of the block.

        Raises :class:`~kandev_nb.errors.StoreError` for everything that the database refuses.
        """
        with self._connected() as connection:
            connection.execution_options(**{WRITES: True})
            with connection.begin():
                yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database and delays no writer."""
        with self._connected() as connection:
            if self.is_postgres:
                connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            with connection.begin():
                yield connection

    def vacuum(self) -> None:
        """Give the room of deleted rows back."""
        with self._connected() as connection:
            if self.is_postgres:
                connection.execution_options(isolation_level="AUTOCOMMIT")
                connection.exec_driver_sql("VACUUM")
            else:
                driver = connection.connection.driver_connection
                assert driver is not None
                driver.execute("VACUUM")
                driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close what is open; the next use opens it again."""
        with self._opening:
            self._drop()

    def _drop(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
            self._closer.detach()
            self._engine = None

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        with self._gate.inside(), naming(self.place), self._opened().connect() as connection:
            yield connection
            self._log = _identity(self._log_path)

    def _opened(self) -> Engine:
        with self._opening:
            if self._engine is not None and self._file != _identity(self.place.path):
                self._drop()
                self._forget_log()
            if self._engine is None:
                self._engine = open_engine(self.place)
                self._closer = weakref.finalize(self, self._engine.dispose)
                self._file = _identity(self.place.path)
            return self._engine

    @property
    def _log_path(self) -> Path | None:
        path = self.place.path
        return path and path.with_name(f"{path.name}-wal")

    def _forget_log(self) -> None:
        """Remove the log of a file that was replaced: it would be laid over the new one."""
        if self._log_path is not None and self._log and self._log == _identity(self._log_path):
            self._log_path.unlink(missing_ok=True)

    def _before_fork(self) -> None:
        if self._gate.close(_FORK_SECONDS) and self._engine is not None:
            self._engine.dispose()

    def _after_fork_in_child(self) -> None:
        self._gate, self._opening = _Gate(), threading.Lock()
        if self._engine is not None:
            self._engine.dispose(close=False)


def _identity(path: Path | None) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; ``None`` where there is none."""
    if path is None or not path.exists():
        return None
    found = path.stat()
    return found.st_dev, found.st_ino


class _Gate:
    """Lets transactions in, and none while a fork is under way."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = self._forks = 0

    @contextmanager
    def inside(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._forks)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def close(self, timeout: float) -> bool:
        """Let nobody in, and tell whether all who were have left."""
        with self._changed:
            self._forks += 1
            return self._changed.wait_for(lambda: not self._inside, timeout)

    def open(self) -> None:
        with self._changed:
            self._forks -= 1
            self._changed.notify_all()


_databases: Final[weakref.WeakSet[Database]] = weakref.WeakSet()
_forking: Final = threading.local()
"""The databases that the fork of this thread has closed."""


def _before_fork() -> None:
    _forking.databases = tuple(_databases)
    for database in _forking.databases:
        with suppress(Exception):
            database._before_fork()


def _after_fork_in_child() -> None:
    for database in tuple(_databases):
        database._after_fork_in_child()


def _after_fork_in_parent() -> None:
    for database in _forking.databases:
        database._gate.open()
    _forking.databases = ()


os.register_at_fork(
    before=_before_fork,
    after_in_child=_after_fork_in_child,
    after_in_parent=_after_fork_in_parent,
)
