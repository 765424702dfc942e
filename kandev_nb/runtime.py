"""The one event loop of kandev-nb in this process, in one daemon thread.

It carries agents, the endpoint and tests, so that a busy notebook cell stops none of them. The
public API comes in through :func:`call`, which waits, or :func:`call_async`, which can be awaited
in any loop. A forked child gets a runtime of its own when it asks for one.
"""

import asyncio
import atexit
import contextvars
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from anyio import CancelScope, to_thread

from kandev_nb import logs
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import KandevError, Unsupported, WaitTimeout

T = TypeVar("T")

CANCEL_GRACE: Final = 2.0
"""Seconds that an interrupted call waits for its coroutine to clean up (SE-7)."""

_EXIT_GRACE: Final = 4.0
"""Seconds that the end of the loop waits for its tasks: more than ending an agent takes."""

_TURN: Final = 0.2
"""Seconds of waiting after which Python gets to see a signal that did not wake the wait."""


class LoopThread:
    """A loop in a daemon thread, which no exception of a task ends.

    It is no anyio portal: a portal that a fork copied waits for its thread when it is freed, and
    an interrupt can come between its scheduling a call and telling of it.
    """

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._chores: set[asyncio.Task[None]] = set()
        self._last_chores: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Whether the code that asks runs on it."""
        return self._thread is threading.current_thread()

    def start_soon(
        self, work: Callable[[], Coroutine[Any, Any, None]], *, is_last: bool = False
    ) -> None:
        """Run ``work`` as a task, from any thread, and do not wait for it.

        The end of the loop waits for a task that ``is_last``, and cancels any other.
        """
        chores = self._last_chores if is_last else self._chores

        def start() -> None:
            chore = self.loop.create_task(work())
            chores.add(chore)
            chore.add_done_callback(chores.discard)

        # Not in the context of the cell that starts it: a task prints where the kernel is now.
        self.loop.call_soon_threadsafe(start, context=contextvars.Context())

    def stop(self, wait: float) -> None:
        """Cancel what still runs and end the thread; wait for that at most ``wait`` seconds."""
        self._stopping = True
        with suppress(RuntimeError):  # It has ended already.
            self.loop.call_soon_threadsafe(self.loop.stop)
        if wait and not self.is_current:
            self._thread.join(wait)

    def _run(self) -> None:
        while not self._stopping:
            try:
                self.loop.run_forever()
            except BaseException as error:  # noqa: BLE001 - a SystemExit of one task ends no other
                _log.warning("a task ended with %s", type(error).__name__)
        self.loop.run_until_complete(self._wind_down())
        self.loop.close()

    async def _wind_down(self) -> None:
        """Cancel the calls that wait, let what ends sessions come to its end, cancel the rest."""
        for chore in tuple(self._chores):
            chore.cancel()
        if self._last_chores:
            await asyncio.wait(self._last_chores, timeout=_EXIT_GRACE)
        await _cancel_all()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_EXIT_GRACE)


_log = logging.getLogger("kandev_nb.runtime")
_lock = threading.Lock()
_runtime: LoopThread | None = None
_of_the_parent: list[LoopThread | None] = []
_exiting = False
_last_of_all: list[Callable[[], None]] = []


def start_soon(work: Callable[[], Coroutine[Any, Any, None]], *, is_last: bool = False) -> None:
    """Run ``work`` on the loop, which is started on first use, and do not wait for it.

    The end of the interpreter waits for work that ``is_last``, and cancels any other. May be called
    from any thread. Raises :class:`~kandev_nb.errors.Unsupported` on Windows.
    """
    _running().start_soon(work, is_last=is_last)


def _running() -> LoopThread:
    global _runtime
    if sys.platform == "win32":
        raise Unsupported(
            "kandev-nb runs on Linux and macOS. On Windows, run it in WSL 2.",
            reason_code=ReasonCode.PLATFORM_UNSUPPORTED,
        )
    with _lock:
        if _runtime is None:
            _runtime = LoopThread(logs.LOOP_THREAD)
        return _runtime


def call(work: Callable[[], Awaitable[T]], *, timeout: float | None, what: str) -> T:
    """Run ``work`` on the loop and wait for its result.

    ``timeout`` is in seconds, ``None`` for no bound. On a time-out or an interrupt the coroutine
    is cancelled and given :data:`CANCEL_GRACE` seconds to clean up. Raises
    :class:`~kandev_nb.errors.WaitTimeout`, which says ``what`` did not end, and
    :class:`~kandev_nb.errors.Unsupported` on the loop itself, which would wait for itself.
    """
    if _running().is_current:
        raise Unsupported(
            f"{what} was called on the loop's thread, which would wait for itself and stop every "
            "session. Await its twin in .aio there, or call it on a thread of its own.",
            reason_code=ReasonCode.NOT_OFFERED,
        )
    # Made before anything is scheduled: an interrupt may come at any bytecode.
    future: Future[T] = Future()
    ended: SimpleQueue[None] = SimpleQueue()
    try:
        start_soon(lambda: _settle(work, future, ended))
        _wait(ended, timeout)
        return future.result(0)
    except BaseException as error:
        # First of all: an impatient user interrupts again.
        future.cancel()
        if isinstance(error, KandevError):
            # Our own errors say all in their message; the loop's frames would bury it.
            raise error.with_traceback(None) from error.__cause__
        if not future.cancelled() and future.done() and future.exception() is error:
            raise
        _wait(ended, CANCEL_GRACE)
        if isinstance(error, TimeoutError):
            raise WaitTimeout(
                f"{what} did not end within {timeout:g} s. Call again with a longer timeout.",
                reason_code=ReasonCode.CALL_TIMEOUT,
            ) from None
        raise


def _wait(ended: SimpleQueue[None], timeout: float | None) -> None:
    """Wait in turns: a signal that another thread took, or that came just before, wakes no wait.

    It is no event: an interrupt can leave the lock of one taken, and the loop would wait for it.
    """
    deadline = math.inf if timeout is None else time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0:
        with suppress(Empty):
            ended.get(timeout=min(_TURN, left))
            return


async def call_async(work: Callable[[], Awaitable[T]]) -> T:
    """Run ``work`` on the loop and await its result in the caller's own loop."""
    future: Future[T] = Future()
    start_soon(lambda: _settle(work, future, SimpleQueue()))
    called = asyncio.wrap_future(future)
    try:
        # In turns: an interrupted kernel cancels a cell only when its loop wakes.
        while not called.done():
            await asyncio.wait((called,), timeout=_TURN)
    except asyncio.CancelledError:
        called.cancel()
        raise
    return called.result()


async def in_thread(work: Callable[[], T]) -> T:
    """Run ``work``, which blocks, on a thread beside the loop and return its result.

    At the end of the interpreter no thread can be started any more, and ``work`` runs here.
    """
    if threading.main_thread().is_alive():
        return await to_thread.run_sync(work)
    return work()


def at_end(work: Callable[[], None]) -> None:
    """Call ``work`` at the end of the interpreter, once the loop has ended every session."""
    _last_of_all.append(work)


async def _settle(
    work: Callable[[], Awaitable[T]], future: Future[T], ended: SimpleQueue[None]
) -> None:
    """Run ``work`` and put what comes of it into ``future``; a cancelled future cancels it."""
    loop = asyncio.get_running_loop()
    try:
        with CancelScope() as scope:
            future.add_done_callback(lambda _: loop.call_soon_threadsafe(scope.cancel))
            result = await work()
    except BaseException as error:  # noqa: BLE001 - it would end the loop thread for every session
        _put(future, error=_for_the_caller(error))
    else:
        if not scope.cancelled_caught:
            _put(future, result=result)
    finally:
        # Twice, for an interrupted caller waits twice. At the interpreter's end only daemon threads
        # wait, and one that was woken would end with a traceback.
        if not _exiting:
            ended.put(None)
            ended.put(None)


def _for_the_caller(error: BaseException) -> BaseException:
    if isinstance(error, Exception | asyncio.CancelledError):
        return error
    ours = KandevError(
        f"The call ended with {type(error).__name__}; other sessions go on.",
        reason_code=ReasonCode.TASK_FAILED,
    )
    ours.__cause__ = error
    return ours


def _put(future: Future[T], *, result: Any = None, error: BaseException | None = None) -> None:
    if isinstance(error, asyncio.CancelledError):
        future.cancel()
    if not future.set_running_or_notify_cancel():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _stop_at_exit() -> None:
    global _exiting
    _exiting = True
    if _runtime is not None:
        _runtime.stop(2 * _EXIT_GRACE)
    for work in _last_of_all:
        work()


def _forget_after_fork() -> None:
    """Keep the parent's runtime untouched: freeing it would wait for a thread that is not here."""
    global _runtime, _lock
    _of_the_parent.append(_runtime)
    _runtime, _lock = None, threading.Lock()


atexit.register(_stop_at_exit)
os.register_at_fork(after_in_child=_forget_after_fork)
