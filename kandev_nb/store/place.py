"""Which database: a file or a URL, and how it is named in a message, without its password."""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from jupyter_core.paths import jupyter_data_dir
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import KnownSecrets, sanitize_summary
from kandev_nb.errors import StoreError
from kandev_nb.store.records import VARIABLE

_PASSWORDS: Final = ("password", "passfile", "sslpassword")
_DRIVERS: Final = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg"}
_FORMS: Final = "Give the path of a file, or postgresql://user@host/database."


class Place(NamedTuple):
    """``path`` is the file of a SQLite database, ``None`` for PostgreSQL."""

    url: URL
    path: Path | None

    @property
    def name(self) -> str:
        """The path, or host and database: what a message may hold."""
        if self.path is not None:
            return str(self.path)
        port = f":{self.url.port}" if self.url.port else ""
        return f"postgresql://{self.url.host or 'localhost'}{port}/{self.url.database or ''}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may hold."""
        query = (self.url.query.get(name) for name in _PASSWORDS)
        words = [self.url.password, *(word for word in query if isinstance(word, str))]
        return tuple(str(word) for word in words if word)


def default_path() -> Path:
    """Return the file that is used where nothing else is said."""
    return Path(jupyter_data_dir()) / "kandev-nb" / "store" / "kandev-nb.sqlite3"


def find_place(where: str | Path | None) -> Place:
    """Return the place of a path or a URL; by default what the environment says.

    Raises:
        StoreError: it is no place of a store (``invalid_store``), or its driver is not installed
            (``driver_missing``).
    """
    where = where or os.environ.get(VARIABLE) or default_path()
    if isinstance(where, Path) or "://" not in where:
        path = Path(where).expanduser().absolute()
        return Place(URL.create(_DRIVERS["sqlite"], database=str(path)), path)
    url = _read_url(where)
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise _invalid("A store in memory would keep nothing.")
        return find_place(Path(url.database))
    require("psycopg", "PostgreSQL", "postgres")
    return Place(url, None)


def _read_url(where: str) -> URL:
    try:
        url = make_url(where)
        backend = url.get_backend_name().replace("postgres", "postgresql", 1)
    except (SQLAlchemyError, ValueError):
        raise _invalid("The URL of the store cannot be read.") from None
    backend = "postgresql" if backend.startswith("postgresql") else backend
    if backend not in _DRIVERS:
        raise _invalid(f"A store cannot be kept in {backend}.")
    return url.set(drivername=_DRIVERS[backend])


def _invalid(what: str) -> StoreError:
    return StoreError(f"{what} {_FORMS}", reason_code=ReasonCode.INVALID_STORE)


def require(module: str, what: str, extra: str) -> None:
    """Raise a :class:`StoreError` that says how to install it, where ``module`` is missing."""
    if importlib.util.find_spec(module) is None:
        raise StoreError(
            f"{what} needs {module}, which is not installed: pip install 'kandev-nb[{extra}]'",
            reason_code=ReasonCode.DRIVER_MISSING,
        )


@contextmanager
def naming(place: Place) -> Iterator[None]:
    """Turn an error of the database or of its file into one of ours, which names the place."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        raise StoreError(
            f"The store {place.name} cannot be used: {_told(place, error)}",
            reason_code=ReasonCode.STORE_FAILED,
        ) from None


def _told(place: Place, error: Exception) -> str:
    """Return what the database says, in one line; its details could hold values of rows."""
    said = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(said, OSError):
        words = said.strerror or type(said).__name__
    else:
        lines = str(said).strip().splitlines()
        words = lines[0] if lines else type(said).__name__
    return sanitize_summary(words, KnownSecrets(place.secrets)).rstrip(".") + "."
