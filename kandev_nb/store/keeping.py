"""A controller's store, opened when there is something to write or to read.

Opening takes SQLAlchemy, which takes longer to import than an agent to start: no cell waits for it.
"""

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from jupyter_core.paths import jupyter_data_dir

from kandev_nb.attachment import History
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError
from kandev_nb.store.records import VARIABLE, SessionRecord
from kandev_nb.store.writer import StoreWriter

if TYPE_CHECKING:
    from kandev_nb.store.store import Store

StorePlace: TypeAlias = "Store | str | Path | Literal[False] | None"
"""A store, where it is, ``False`` for none, or ``None`` for the default."""


class StoreState(NamedTuple):
    """How it is with a store: what it is called, why it does not work, and what waits for it."""

    name: str = ""
    problem: str = ""
    waiting: int = 0


class Keeping:
    """One store of this process, and the writer of its sessions."""

    def __init__(self, where: "Store | str | Path | None") -> None:
        self._where = where
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._writer = StoreWriter(self._open)
        if where is not None:
            self._open()

    @property
    def store(self) -> "Store":
        """The store. Raises :class:`~kandev_nb.errors.StoreError` for what is no place for one."""
        return self._open()

    @property
    def state(self) -> StoreState:
        """How it is with the store now."""
        name = self._store.name if self._store else ""
        return StoreState(name, self._writer.problem, self._writer.waiting)

    def offer(self, record: SessionRecord, history: History) -> None:
        """Take a session's newest report. Returns at once and never raises (SE-5)."""
        self._writer.offer(record, history)

    def flush(self, timeout: float) -> bool:
        """Wait until what was offered is on disk; tell whether it is, after ``timeout`` seconds."""
        return self._writer.flush(timeout)

    def _open(self) -> "Store":
        from kandev_nb.store.store import Store

        with self._opening:
            if self._store is None:
                self._store = self._where if isinstance(self._where, Store) else Store(self._where)
            return self._store


def keeping(where: StorePlace) -> Keeping | None:
    """Return the keeping of that store, one a process; ``None`` for ``False``.

    Raises:
        ConfigError: ``where`` is nothing that names a store.
        StoreError: it names no place for one (``invalid_store``).
    """
    if where is False:
        return None
    if not (where is None or isinstance(where, str | Path) or hasattr(where, "sessions")):
        raise ConfigError(
            "store= is neither a path nor a URL, no Store and not False. Give one of them.",
            reason_code=ReasonCode.WRONG_ARGUMENT,
        )
    with _lock:
        name = id(where) if hasattr(where, "sessions") else where
        key = f"{name}\n{os.environ.get(VARIABLE, '')}\n{jupyter_data_dir()}"
        known = _known.get(key)
        if known is None:
            known = _known[key] = Keeping(where)
        return known


_known: Final[WeakValueDictionary[str, Keeping]] = WeakValueDictionary()
_lock: Final = threading.Lock()
