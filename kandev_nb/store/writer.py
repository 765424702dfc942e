"""The thread that writes what sessions offer, so that no session ever waits for a database.

What is offered is written within :data:`WITHIN` seconds, the newest report of each session, many
sessions in one transaction. A store that fails keeps nobody: the reports stay in memory, and are
written when it works again.
"""

import logging
import os
import random
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from kandev_nb import runtime
from kandev_nb.attachment import History, newer
from kandev_nb.errors import StoreError
from kandev_nb.store.records import Offer, SessionRecord
from kandev_nb.store.split import split

if TYPE_CHECKING:
    from kandev_nb.store.referred import Prepared
    from kandev_nb.store.store import Store

WITHIN: Final = 0.25
"""Seconds after which what was offered is on disk, where the store works."""

_PACE: Final = 0.05
"""Seconds for which offers are collected."""
_AT_ONCE: Final = 256
"""Sessions of one transaction: another process does not wait long."""
_RENEW: Final = 5.0
"""Seconds between two renewals of the leases: a third of one."""
_FIRST_RETRY: Final = 0.25
_LAST_RETRY: Final = 30.0
_EXIT_SECONDS: Final = 2.0

_log = logging.getLogger("kandev_nb.store")


class StoreWriter:
    """Writes the sessions of this process into a store. Every method may be called anywhere.

    ``store`` may be a function that returns it, which is called when there is something to write.
    ``problem`` is why nothing can be written now, empty when all is well; ``refused`` are the
    sessions that another process writes, which this one no longer does.
    """

    def __init__(self, store: "Store | Callable[[], Store]") -> None:
        self.problem = ""
        self._opened = store if callable(store) else lambda: store
        self._changed, self._turn = threading.Condition(), threading.Lock()
        self._waiting: dict[str, Offer] = {}
        self._taken: dict[str, Offer] = {}
        self._open: dict[str, Offer] = {}
        self._terms: dict[str, int] = {}
        self._refused: dict[str, None] = {}
        self._offered = self._saved = self._failures = 0
        self._renew_at = 0.0
        self._thread: threading.Thread | None = None
        self._hurries = self._closing = self._over = False
        _writers.add(self)

    @property
    def waiting(self) -> int:
        """How many sessions have something that is not on disk yet."""
        with self._changed:
            return len(self._waiting.keys() | self._taken.keys())

    @property
    def refused(self) -> tuple[str, ...]:
        """The sessions that are not written from here any more."""
        return tuple(self._refused)

    def offer(self, record: SessionRecord, history: History) -> None:
        """Take a session's newest report. Returns at once and never raises."""
        try:
            self._offer(Offer(record, history))
        except Exception as error:  # noqa: BLE001 - a store never changes a session (SE-5)
            _log.warning("a report could not be kept: %s", type(error).__name__)

    def flush(self, timeout: float) -> bool:
        """Wait until what was offered is on disk; tell whether it is, after ``timeout`` seconds."""
        with self._changed:
            wanted, self._hurries = self._offered, True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._saved >= wanted, timeout)

    def close(self, timeout: float) -> bool:
        """Flush, give up the leases and end the thread. A later offer starts another one."""
        deadline = monotonic() + timeout
        flushed = self.flush(timeout)
        with self._changed:
            self._closing, thread = True, self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join(max(deadline - monotonic(), 0))
        return flushed

    def _offer(self, offer: Offer) -> None:
        with self._changed:
            if self._over or offer.session_id in self._refused:
                return
            before = self._waiting.get(offer.session_id)
            if before is not None:
                offer = Offer(offer.record, newer(offer.history, before.history))
            self._waiting[offer.session_id] = offer
            self._offered += 1
            if self._thread is None or self._closing:
                self._start()
            self._changed.notify_all()

    def _start(self) -> None:
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="kandev-nb-store", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        me = threading.current_thread()
        while self._rest(me):
            # An earlier thread may be in the middle of what it was closed in.
            with self._turn:
                self._take_turn()
        if self._thread is me:
            self._release()

    def _take_turn(self) -> None:
        try:
            self._write_all()
            self._renew()
        except Exception as error:  # noqa: BLE001 - the thread goes on until it is closed
            self._failed(str(error) if isinstance(error, StoreError) else type(error).__name__)
        else:
            self._works()

    def _rest(self, me: threading.Thread) -> bool:
        """Wait until there is something to do; tell whether this thread goes on."""

        def is_over() -> bool:
            return self._closing or self._thread is not me

        with self._changed:
            if not self._failures:
                left = self._renew_at - monotonic() if self._open else None
                self._changed.wait_for(lambda: self._waiting or self._hurries or is_over(), left)
            pause = self._pause()
            self._changed.wait_for(lambda: self._hurries or is_over(), pause)
            self._hurries = False
            return not is_over()

    def _pause(self) -> float:
        if not self._failures:
            return _PACE if self._waiting else 0.0
        longest = min(_FIRST_RETRY * 2.0 ** (self._failures - 1), _LAST_RETRY)
        return longest * random.uniform(0.5, 1)  # noqa: S311 - many processes, not all at once

    def _write_all(self) -> None:
        with self._changed:
            mark, self._taken, self._waiting = self._offered, self._waiting, {}
        self._write_each(self._taken.values())
        with self._changed:
            self._taken = {}
            self._saved = mark
            self._changed.notify_all()

    def _write_each(self, offers: Iterable[Offer]) -> None:
        left = iter(offers)
        while chunk := list(islice(left, _AT_ONCE)):
            if prepared := [each for offer in chunk if (each := self._prepared(offer))]:
                self._write(prepared)

    def _write(self, batch: "list[Prepared]") -> None:
        written = self._opened().write(batch, self._terms)
        self._terms.update(written.terms)
        if not self._open:
            self._renew_at = monotonic() + _RENEW
        for offer, _ in batch:
            self._open.pop(offer.session_id, None)
            if offer.record.is_open:
                self._open[offer.session_id] = offer
        for session_id in written.refused:
            self._refuse(session_id, "another process writes it now")

    def _prepared(self, offer: Offer) -> "Prepared | None":
        try:
            return offer, split(offer)
        except Exception as error:  # noqa: BLE001 - one report must not keep the others
            self._refuse(offer.session_id, f"its report cannot be written: {type(error).__name__}")
            return None

    def _refuse(self, session_id: str, why: str) -> None:
        with self._changed:
            self._refused[session_id] = None
            for known in (self._waiting, self._open, self._terms):
                known.pop(session_id, None)
        _log.warning("session %s is not stored from here any more: %s", session_id, why)

    def _renew(self) -> None:
        if not self._open or monotonic() < self._renew_at:
            return
        lost = self._opened().renew({name: self._terms[name] for name in self._open})
        with self._changed:
            # Taken over, or the database was made anew: to write them again tells which.
            self._waiting = {**{name: self._open[name] for name in lost}, **self._waiting}
        self._renew_at = monotonic() + _RENEW

    def _failed(self, why: str) -> None:
        self._failures += 1
        with self._changed:
            # What was offered meanwhile is newer.
            self._waiting, self._taken = {**self._taken, **self._waiting}, {}
        if not self.problem:
            _log.warning("reports are kept in memory for now: %s", why)
        self.problem = why
        # Whatever is wrong with it: it is opened anew, and made where it is gone.
        self._close_store()

    def _works(self) -> None:
        if self.problem:
            _log.info("the store works again")
        self._failures, self.problem = 0, ""

    def _release(self) -> None:
        try:
            if self._terms:
                self._opened().release()
        except StoreError:
            return  # They expire.
        self._open.clear()

    def _exit(self) -> None:
        if not self._over:
            self._over = True
            self.close(_EXIT_SECONDS)
            if self._thread is not None:
                self._close_store()

    def _close_store(self) -> None:
        with suppress(Exception):
            self._opened().close()

    def _disown(self) -> None:
        """In a forked child: the sessions are the parent's, and so is the thread."""
        self._changed, self._turn = threading.Condition(), threading.Lock()
        self._waiting, self._taken, self._open = {}, {}, {}
        self._saved, self._thread, self._over = self._offered, None, True


_writers: Final[WeakSet[StoreWriter]] = WeakSet()


def _exit_all() -> None:
    for writer in tuple(_writers):
        writer._exit()


def _disown_all() -> None:
    for writer in tuple(_writers):
        writer._disown()


runtime.at_end(_exit_all)
os.register_at_fork(after_in_child=_disown_all)
