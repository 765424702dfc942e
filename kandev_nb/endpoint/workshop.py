"""Where the tools of users run: apart from the endpoint's loop, so that a blocking one stalls
nothing (SE-7).

Ordinary functions get a thread each, a bounded number at a time. Coroutine functions share a tool
loop of their own; one that blocks it is left to itself and the next call gets a new loop. A thread
cannot be ended from outside: a call that runs over its time is answered, and counted until it ends.
"""

import asyncio
import functools
import logging
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from kandev_nb.endpoint.results import Content, content_of
from kandev_nb.endpoint.tools import ToolError
from kandev_nb.runtime import LoopThread

_log = logging.getLogger("kandev_nb.endpoint")

THREADS: Final = 16
"""Ordinary functions that run at one time, those that ran over their time included."""

LOOP_PATIENCE: Final = 0.5
"""Seconds after which a tool loop that does not answer is taken for blocked."""

_FAREWELL: Final = 0.2

Outcome = Content | BaseException
_Ended = Callable[[Outcome], None]
_Cancel = Callable[[], object]


class Job(NamedTuple):
    """One call of a user's tool; ``timeout`` is in seconds, ``None`` for no bound."""

    tool: str
    function: Callable[[], Any]
    is_async: bool
    timeout: float | None


class Workers:
    """Runs jobs. All methods belong on the loop thread."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(THREADS)
        self._tool_loop: _ToolLoop | None = None
        self._running: dict[object, str] = {}
        self._overdue: dict[object, str] = {}

    @property
    def running(self) -> tuple[str, ...]:
        """The tool of each call that has begun and is waited for."""
        return tuple(self._running.values())

    @property
    def overdue(self) -> tuple[str, ...]:
        """The tool of each call that nobody waits for any more and that has not ended."""
        return tuple(self._overdue.values())

    async def run(self, job: Job) -> Outcome:
        """Run a job and return its content, or what it raised.

        Raises :class:`~kandev_nb.endpoint.tools.ToolError` when it does not end in time. A call
        that is cancelled or late leaves a coroutine cancelled and a thread to itself.
        """
        call, outcome = object(), asyncio.get_running_loop().create_future()

        def ended(result: Outcome) -> None:
            self._running.pop(call, None)
            self._overdue.pop(call, None)
            if not outcome.done():
                outcome.set_result(result)

        tool_loop = await self._answering_loop() if job.is_async else None
        cancel: _Cancel | None = None
        try:
            async with asyncio.timeout(job.timeout):
                if tool_loop is None:
                    await self._in_thread(job, _on_this_loop(ended))
                else:
                    cancel = tool_loop.start(job.function, _on_this_loop(ended))
                self._running[call] = job.tool
                result: Outcome = await outcome
                return result
        except TimeoutError:
            raise ToolError(self._too_late(job)) from None
        finally:
            if call in self._running:
                self._overdue[call] = self._running.pop(call)
            if cancel:
                cancel()

    async def _in_thread(self, job: Job, ended: _Ended) -> None:
        await self._free.acquire()
        release = _on_this_loop(self._free.release)

        def work() -> None:
            ended(_attempt(job.function))
            release()

        try:
            threading.Thread(target=work, name=f"kandev-nb tool {job.tool}", daemon=True).start()
        except BaseException:
            release()
            raise

    async def _answering_loop(self) -> "_ToolLoop":
        tool_loop = self._tool_loop
        if tool_loop is not None and not await tool_loop.answers() and tool_loop is self._tool_loop:
            _log.warning("an async tool blocks the tool loop; later calls get a new one")
            tool_loop.retire()
            self._tool_loop = None
        if self._tool_loop is None:
            self._tool_loop = _ToolLoop()
        return self._tool_loop

    def _too_late(self, job: Job) -> str:
        said = f"The tool did not end within {job.timeout:g} s"
        if not job.is_async and self._free.locked():
            return f"{said}: every tool thread is held by a call that has not ended."
        return f"{said}. What it began may still go on."


class _ToolLoop:
    """A loop thread for coroutine functions."""

    def __init__(self) -> None:
        self._thread = LoopThread("kandev-nb-tools")
        weakref.finalize(self, _stop, self._thread, os.getpid())

    def start(self, function: Callable[[], Any], ended: _Ended) -> _Cancel:
        async def work() -> None:
            ended(await _attempt_async(function))

        return asyncio.run_coroutine_threadsafe(work(), self._thread.loop).cancel

    async def answers(self) -> bool:
        """Tell whether the loop does anything at all."""
        answered = asyncio.Event()
        self._thread.loop.call_soon_threadsafe(_on_this_loop(answered.set))
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOP_PATIENCE):
                await answered.wait()
        return answered.is_set()

    def retire(self) -> None:
        """End the thread as soon as what runs in it has ended."""
        self._thread.start_soon(self._wind_up)

    async def _wind_up(self) -> None:
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
        self._thread.stop(wait=0)


def _stop(thread: LoopThread, process: int) -> None:
    """End the loop with the interpreter, or with its workers; a fork leaves its parent's alone."""
    if os.getpid() == process:
        thread.stop(_FAREWELL)


_workers: WeakKeyDictionary[asyncio.AbstractEventLoop, Workers] = WeakKeyDictionary()


def workers() -> Workers:
    """Return the workers of the running loop; a forked child has a loop of its own."""
    loop = asyncio.get_running_loop()
    if loop not in _workers:
        _workers[loop] = Workers()
    return _workers[loop]


def _attempt(function: Callable[[], Any]) -> Outcome:
    try:
        return content_of(function())
    except BaseException as error:  # noqa: BLE001 - SystemExit, panics (SE-7)
        return error


async def _attempt_async(function: Callable[[], Any]) -> Outcome:
    try:
        return content_of(await function())
    except BaseException as error:  # noqa: BLE001 - as above
        return error


def _on_this_loop(function: Callable[..., Any]) -> Callable[..., None]:
    """Return what calls ``function`` on the running loop, from any thread."""
    loop = asyncio.get_running_loop()

    def call(*values: Any) -> None:
        with suppress(RuntimeError):  # The loop may be closed: nobody waits any more.
            loop.call_soon_threadsafe(functools.partial(function, *values))

    return call
