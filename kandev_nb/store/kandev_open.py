"""Somebody else's database, opened so that reading changes nothing in it.

:func:`reading` gets a path or a URL and the work to do on a connection. A file is opened read-only
and, where no write-ahead log lies beside it, without the files that SQLite would make there; a
PostgreSQL server gets one read-only transaction. What goes wrong is a ``StoreError``::

    database_url_invalid     no URL that can be read, or of another kind of database
    database_not_found       there is no such file
    database_unreadable      this user may not read it, or there is no way to
    database_locked          another program keeps it locked
    not_a_database           the file is no SQLite database, or it is encrypted
    not_a_kandev_database    it has no sessions of Kandev's (:mod:`kandev_rows` looks)
    database_corrupt         the file is damaged
    driver_missing           psycopg is not installed
    database_unreachable     the server did not let us in, or went away
    database_failed          the database refused a query

No message quotes a driver: that may tell what was asked, and what was found.
"""

import logging
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.words import visible
from kandev_nb.errors import StoreError

T = TypeVar("T")
Work = Callable[[Connection, str], T]
"""Called with a connection and with what the database is called."""

CONNECT_TIMEOUT: Final = 10
"""Seconds to wait for a server, where the URL does not say ``connect_timeout``."""

WITHOUT_LOG: Final = (
    "The write-ahead log beside the file could not be read: what was written last is missing. "
    "Copy the file together with its -wal file to a folder that you can write to, and read that."
)

_LOGGED_AS: Final = "kandev"
# At debug level SQLAlchemy logs each row as it is, and metadata holds more than reports (SA-1).
logging.getLogger(f"sqlalchemy.engine.Engine.{_LOGGED_AS}").setLevel(logging.WARNING)

_READ_ONLY: Final = "mode=ro"
_IMMUTABLE: Final = "mode=ro&immutable=1"
_POSTGRES: Final = ("postgres", "postgresql", "postgresql+psycopg")
_READ_VERSION: Final = 19
_WAL_MODE: Final = 2


class Read(NamedTuple, Generic[T]):
    """What the work returned, what the database is called, and what is to say of it."""

    result: T
    name: str
    notes: tuple[str, ...] = ()


def reading(path_or_url: str | os.PathLike[str], work: Work[T]) -> Read[T]:
    """Return what ``work`` returns for a connection that cannot write.

    ``work`` may be called twice: a file that is written to while nobody seemed to have it open is
    read again. Raises ``StoreError`` as the module says.
    """
    text = os.fspath(path_or_url)
    if "://" not in text:
        return _read_file(text, work)
    url = _url(text)
    if url.drivername == "sqlite":
        return _read_file(url.database or "", work)
    return _read_server(url, work)


def _url(text: str) -> URL:
    try:
        url = make_url(text)
    except (SQLAlchemyError, ValueError):
        url = None
    if url is None or url.drivername not in ("sqlite", *_POSTGRES):
        raise StoreError(
            "This is no URL of a database that Kandev uses. Give the path of a file, or "
            "postgresql://USER:PASSWORD@HOST:PORT/NAME with special characters percent-encoded.",
            reason_code=ReasonCode.DATABASE_URL_INVALID,
        )
    return url


def _read_server(url: URL, work: Work[T]) -> Read[T]:
    name = f"{url.host or 'localhost'}{f':{url.port}' if url.port else ''}/{url.database or ''}"
    with _connected(url, name) as connection:
        # Asked for by transaction: a pooler on the way drops what is set for a whole connection.
        transaction = connection.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        try:
            return Read(work(transaction, name), name)
        except DBAPIError as error:
            if error.connection_invalidated:
                raise _unreachable(name) from None
            state = getattr(error.orig, "sqlstate", None) or "unknown"
            raise StoreError(
                f"PostgreSQL at {name} refused a query (SQLSTATE {state}). Look it up in "
                "PostgreSQL's documentation; 42501 means that this user may not read the tables.",
                reason_code=ReasonCode.DATABASE_FAILED,
            ) from None


def _connected(url: URL, name: str) -> Connection:
    wait = {} if "connect_timeout" in url.query else {"connect_timeout": CONNECT_TIMEOUT}
    try:
        return create_engine(
            url.set(drivername="postgresql+psycopg"),
            connect_args=wait,
            poolclass=NullPool,
            logging_name=_LOGGED_AS,
        ).connect()
    except ImportError:
        raise StoreError(
            'PostgreSQL needs a driver. Run `pip install "kandev-nb[postgres]"`.',
            reason_code=ReasonCode.DRIVER_MISSING,
        ) from None
    except SQLAlchemyError:
        raise _unreachable(name) from None


def _unreachable(name: str) -> StoreError:
    return StoreError(
        f"No connection to PostgreSQL at {visible(name)}. See that it runs and listens there, that "
        "the database exists, and that user and password are right.",
        reason_code=ReasonCode.DATABASE_UNREACHABLE,
    )


def _read_file(path: str, work: Work[T]) -> Read[T]:
    file = Path(os.path.realpath(os.path.expanduser(path.replace("\0", "\ufffd"))))
    if not os.path.exists(file):  # unlike Path's, it does not raise for a forbidden folder
        raise StoreError(
            f"There is no file {visible(path)}, or this user may not enter its folder. Kandev "
            "keeps kandev.db in the folder data of its home, or where KANDEV_DATABASE_PATH says.",
            reason_code=ReasonCode.DATABASE_NOT_FOUND,
        )
    try:
        return _read_settled(file, work) or _read(file, _READ_ONLY, work)
    except DBAPIError as error:
        if _code(error) == "SQLITE_CANTOPEN" and os.path.exists(_log(file)):
            return _read_without_log(file, work)
        raise _file_error(error, visible(file.name)) from None


def _read_settled(file: Path, work: Work[T]) -> Read[T] | None:
    """Return what is read of a file that nobody has open, or ``None`` if that cannot be relied on.

    Even a reader makes SQLite put a log and its index beside a file in WAL mode. A file that has
    none is opened as one that does not change, and then it has to be shown that it did not.
    """
    before = _signature(file)
    if not before.is_settled:
        return None
    try:
        result = _read(file, _IMMUTABLE, work)
    except DBAPIError:
        if _signature(file) == before:
            raise
        return None
    return result if _signature(file) == before else None


class _Signature(NamedTuple):
    changed: int
    size: int
    is_settled: bool


def _signature(file: Path) -> _Signature:
    try:
        stat = file.stat()
        with file.open("rb") as opened:
            header = opened.read(_READ_VERSION + 1)
    except OSError:
        return _Signature(0, 0, is_settled=False)
    in_wal_mode = len(header) > _READ_VERSION and header[_READ_VERSION] == _WAL_MODE
    return _Signature(
        stat.st_mtime_ns, stat.st_size, in_wal_mode and not os.path.exists(_log(file))
    )


def _log(file: Path) -> Path:
    return file.with_name(f"{file.name}-wal")


def _read_without_log(file: Path, work: Work[T]) -> Read[T]:
    """Read what the file itself holds: the index of its log is missing and cannot be made."""
    try:
        return _read(file, _IMMUTABLE, work)._replace(notes=(WITHOUT_LOG,))
    except DBAPIError as error:
        raise _file_error(error, visible(file.name)) from None


def _read(file: Path, mode: str, work: Work[T]) -> Read[T]:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"{file.as_uri()}?{mode}", uri=True)
        # SQLite holds any bytes as text: one such row must not keep the others from being read.
        connection.text_factory = lambda raw: raw.decode(errors="replace")
        return connection

    name = visible(file.name)
    engine = create_engine(
        "sqlite://", creator=connect, poolclass=NullPool, logging_name=_LOGGED_AS
    )
    with engine.connect() as connection:
        return Read(work(connection, name), name)


def _code(error: DBAPIError) -> str:
    name = str(getattr(error.orig, "sqlite_errorname", ""))
    return "_".join(name.split("_")[:2])


def _file_error(error: DBAPIError, name: str) -> StoreError:
    reason, message = _FILE_ERRORS.get(_code(error), _UNREADABLE)
    return StoreError(message.format(name=name), reason_code=reason)


_UNREADABLE: Final = (
    ReasonCode.DATABASE_UNREADABLE,
    "{name} cannot be read. See that this user may read the file and its folder, and that "
    "Kandev, if it was killed, has been started once since.",
)
_FILE_ERRORS: Final = {
    "SQLITE_NOTADB": (
        ReasonCode.NOT_A_DATABASE,
        "{name} is no SQLite database, or it is encrypted. Give the path of Kandev's kandev.db.",
    ),
    "SQLITE_CORRUPT": (
        ReasonCode.DATABASE_CORRUPT,
        "{name} is damaged. Kandev keeps earlier copies in the folder backups beside it.",
    ),
    "SQLITE_BUSY": (
        ReasonCode.DATABASE_LOCKED,
        "{name} is locked by another program. Read it again when that has finished.",
    ),
    "SQLITE_ERROR": (
        ReasonCode.DATABASE_FAILED,
        "{name} refused a query: its tables are not as Kandev makes them.",
    ),
}
