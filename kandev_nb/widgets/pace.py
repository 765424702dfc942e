"""A pace for views: many changes in, few drawings out, and never without the last one."""

import logging
import threading
import time
from collections.abc import Callable

_log = logging.getLogger("kandev_nb.widgets")


class Pace:
    """Runs ``draw`` after changes, on a thread of its own, at most once in ``interval`` seconds.

    :meth:`changed` may be called from any thread; it returns at once and never raises. Drawings do
    not overlap, and each change is followed by a drawing that starts after it. Nothing runs and
    nothing waits while nothing changes.
    """

    def __init__(self, draw: Callable[[], None], interval: float) -> None:
        self._draw = draw
        self._interval = interval
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._stale = False
        self._closed = False
        self._last = -interval

    def changed(self) -> None:
        """Have what changed be drawn, now or when the interval is over."""
        with self._lock:
            self._stale = True
            if self._timer is None:
                self._schedule()

    def close(self) -> None:
        """Draw no more, and let go of ``draw``. A drawing that already runs is not waited for."""
        with self._lock:
            self._closed = True
            self._draw = lambda: None
            if self._timer is not None:
                self._timer.cancel()

    def _schedule(self) -> None:
        if self._closed:
            return
        wait = max(0.0, self._last + self._interval - time.monotonic())
        self._timer = threading.Timer(wait, self._run)
        self._timer.daemon = True
        try:
            self._timer.start()
        except RuntimeError:  # no thread can be started: the interpreter ends, and nobody looks
            self._closed = True

    def _run(self) -> None:
        with self._lock:
            if self._closed:
                return
            draw, self._stale = self._draw, False
            self._last = time.monotonic()
        try:
            draw()
        except Exception as error:  # noqa: BLE001 - a view never changes what it shows (SE-5)
            _log.warning("a view could not be drawn: %s", type(error).__name__)
        with self._lock:
            self._timer = None
            if self._stale:
                self._schedule()
