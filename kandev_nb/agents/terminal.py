"""One CLI in a terminal of its own (a PTY): started, typed into, resized, always ended.

For passthrough: the CLI is its own user interface, so nothing here interprets what it writes. Only
the end of that is kept, in :class:`~kandev_nb.agents.output.RecentOutput`. The process leads a
session and a process group, which is registered with the watchdog and ends with it. A forked child
of the kernel gives its copy of the terminal up at once: the CLI would miss the end of it as long as
one is open.

This rests on the standard library: the packages around it fork the kernel with all its threads, and
block a thread for each terminal.
"""

import asyncio
import contextlib
import logging
import os
import signal
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self
from weakref import WeakSet

from anyio import CancelScope

from kandev_nb.agents._terminal_start import runs, started
from kandev_nb.agents.output import RecentOutput
from kandev_nb.agents.process import _not_started
from kandev_nb.agents.watchdog import watchdog
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError

_log = logging.getLogger(__name__)

GRACE: Final = 1.0
"""Seconds that a CLI gets to end by itself once its terminal hangs up."""

_ESCALATION: Final = 0.7
"""Seconds between SIGTERM and SIGKILL, and for the kernel to report the end after that."""

_REMAINDER: Final = 0.4
"""Seconds that the children of a CLI get to end after it."""

_CHUNK: Final = 64 * 1024
_LAST_CHUNKS: Final = 64
"""How often to read what is left at the end: more than a terminal holds."""


class _End(asyncio.SubprocessProtocol):
    """Sees the end of the process; its output comes over the terminal."""

    terminal: "Terminal | None" = None
    has_come = False

    def process_exited(self) -> None:
        self.has_come = True
        if self.terminal is not None:
            self.terminal._leader_ended()


class Terminal:
    """A CLI's process, its terminal, and what is left of its group. Made by :meth:`start`."""

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        end: _End,
        number: int,
        recent_output: RecentOutput | None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._number = number
        self._released = False
        self._room = asyncio.Event()
        self._writing = asyncio.Lock()
        self.recent_output: Final = recent_output or RecentOutput()
        """What the CLI wrote lately."""
        self.ended: Final = asyncio.Event()
        """Set when the CLI has ended and what it wrote last was read."""
        self.pid: Final = transport.get_pid()
        self._loop.add_reader(number, self._read)
        _live.add(self)
        watchdog.add(self.pid)
        _log.debug("the process of a terminal has started: %d", self.pid)
        end.terminal = self
        if end.has_come:
            self._leader_ended()

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path,
        rows: int = 24,
        cols: int = 80,
        recent_output: RecentOutput | None = None,
    ) -> Self:
        """Start ``command`` in ``cwd``, with ``env`` laid over this process's environment.

        What it writes goes to ``recent_output``; by default to one of its own.

        Raises:
            ConfigError: ``cwd`` is no directory that can be entered (``invalid_workdir``), or no
                terminal has that size (``wrong_argument``).
            AgentError: the command cannot be started (``command_not_found``, ``spawn_failed``).
        """
        _check_size(rows, cols)
        watchdog.start()
        end = _End()
        try:
            made = await started(command, env or {}, cwd, (rows, cols), lambda: end)
        except (OSError, ValueError, TypeError) as error:
            raise _not_started(command, cwd, error) from None
        terminal = cls(made.transport, end, made.number, recent_output)
        try:
            await runs(made.told)
        except BaseException as error:
            with CancelScope(shield=True):
                await terminal.close()
            if isinstance(error, OSError):
                raise _not_started(command, cwd, error) from None
            raise
        return terminal

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal, or None while the process runs."""
        return self._transport.get_returncode()

    async def write(self, keys: bytes) -> None:
        """Type into the terminal; returns when it has taken every byte.

        Raises:
            ConnectionError: the CLI ended.
        """
        async with self._writing:
            left = memoryview(keys)
            while left:
                left = left[await self._written(left) :]

    def resize(self, rows: int, cols: int) -> None:
        """Give the terminal another size; the CLI is told by SIGWINCH.

        Raises:
            ConfigError: no terminal has that size (``wrong_argument``).
        """
        _check_size(rows, cols)
        if not self._released:
            termios.tcsetwinsize(self._number, (rows, cols))

    async def close(self, grace: float = GRACE) -> None:
        """End the process and its group: SIGHUP, SIGTERM, SIGKILL; about 3 s at most."""
        if self._released:
            return
        self._signal_group(signal.SIGHUP)
        # What is stopped gets a hang-up only when it goes on.
        self._signal_group(signal.SIGCONT)
        if not await self._ends_within(grace):
            self._signal_group(signal.SIGTERM)
        if not await self._ends_within(_ESCALATION):
            self._signal_group(signal.SIGKILL)
        await self._ends_within(_ESCALATION)
        await self._group_ends_within(_REMAINDER)
        self._release()

    async def _ends_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.ended.wait()
        return self.ended.is_set()

    async def _group_ends_within(self, seconds: float) -> None:
        deadline = self._loop.time() + seconds
        # The loop reports the end of the leader only, so its children have to be asked about.
        while self._signal_group(0) and self._loop.time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    async def _written(self, keys: memoryview) -> int:
        if self._released or self.ended.is_set():
            raise ConnectionError("the CLI has ended")
        try:
            return os.write(self._number, keys)
        except BlockingIOError:
            await self._has_room()
            return 0
        except OSError:
            raise ConnectionError("the CLI has closed its terminal") from None

    async def _has_room(self) -> None:
        self._room.clear()
        self._loop.add_writer(self._number, self._room.set)
        try:
            await self._room.wait()
        finally:
            if not self._released:
                self._loop.remove_writer(self._number)

    def _read(self) -> bool:
        """Called by the event loop: take what was written; False when there is no more."""
        try:
            chunk = os.read(self._number, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            # On Linux this is how the end is told: nobody has the other end open.
            chunk = b""
        if chunk:
            self.recent_output.feed(chunk)
        else:
            self._loop.remove_reader(self._number)
        return bool(chunk)

    def _leader_ended(self) -> None:
        """Called by the event loop: the CLI ended, by itself or because we ended it."""
        _log.debug("the process of a terminal has ended: %d, %s", self.pid, self.returncode)
        for _ in range(_LAST_CHUNKS):
            if self._released or not self._read():
                break
        self.ended.set()
        self._room.set()
        self._signal_group(signal.SIGTERM)
        # What a child that escaped the group holds open must not keep the terminal.
        self._loop.call_later(_REMAINDER, self._release)

    def _release(self) -> None:
        if self._released:
            return
        self._signal_group(signal.SIGKILL)
        # From here on the group's number may belong to somebody else.
        self._released = True
        watchdog.discard(self.pid)
        self._loop.remove_reader(self._number)
        self._loop.remove_writer(self._number)
        self._room.set()
        os.close(self._number)
        self._transport.close()

    def _disown(self) -> None:
        """In a forked child: close what is the kernel's, and leave the process alone.

        The loop is not told: it shares what it watches with the kernel's.
        """
        if not self._released:
            self._released = True
            os.close(self._number)

    def _signal_group(self, number: int) -> bool:
        """Signal the process group; False when nobody is left in it."""
        if self._released:
            return False
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True


_live: Final[WeakSet[Terminal]] = WeakSet()


def _disown_after_fork() -> None:
    for terminal in _live:
        terminal._disown()


os.register_at_fork(after_in_child=_disown_after_fork)


def _check_size(rows: int, cols: int) -> None:
    if not all(isinstance(given, int) and 0 < given < 2**16 for given in (rows, cols)):
        raise ConfigError(
            f"No terminal has {rows} rows and {cols} columns. Pass 1 to 65535 of each.",
            reason_code=ReasonCode.WRONG_ARGUMENT,
        )
