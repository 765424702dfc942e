"""One agent's process: started in its own process group, spoken to line by line, always ended.

A command comes in. Lines go to its standard input and come from its standard output; its standard
error is drained all the time into :class:`~kandev_nb.agents.output.RecentOutput`, so that a
talkative agent never blocks. The process group is registered with the watchdog as long as one of
its members may live, and ends with its leader: an agent's children are of no use without it.
A forked child of the kernel gives its copies of the pipes up at once: an agent would wait for the
end of its input as long as one is open.
"""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Self, cast
from weakref import WeakSet

from kandev_nb.agents.output import RecentOutput
from kandev_nb.agents.watchdog import watchdog
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import AgentError, ConfigError, KandevError

_log = logging.getLogger(__name__)

LINE_BYTES: Final = 64 * 1024 * 1024
"""The longest line that an agent may send."""

GRACE: Final = 1.0
"""Seconds that an agent gets to end by itself once its standard input is closed."""

_ESCALATION: Final = 0.7
"""Seconds between SIGTERM and SIGKILL, and for the kernel to report the end after that."""

_REMAINDER: Final = 0.4
"""Seconds that the children of an agent get to end after it."""


class LineTooLongError(Exception):
    """The agent sent a line of more than :data:`LINE_BYTES`; the stream cannot go on."""


class _Pipes(asyncio.SubprocessProtocol):
    """The three pipes and the end of one process, as the event loop reports them."""

    def __init__(self, recent: RecentOutput) -> None:
        self.output = asyncio.StreamReader(limit=LINE_BYTES)
        self.recent = recent
        self.exited = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()
        self.writable_ends = False
        self.output_ends = False
        self.input_is_lost = False
        self.on_input_lost: Callable[[], None] | None = None
        self.on_exit: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        process = cast(asyncio.SubprocessTransport, transport)
        reader = process.get_pipe_transport(1)
        if reader is not None:
            self.output.set_transport(reader)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.recent.feed(data)
        elif not self.output_ends:
            self.output.feed_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self.lose_input()
        elif fd == 1:
            self.output.feed_eof()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def lose_input(self) -> None:
        self.stop_writing()
        self.input_is_lost = True
        if self.on_input_lost is not None:
            self.on_input_lost()

    def stop_writing(self) -> None:
        self.writable_ends = True
        self.writable.set()

    def drop_output(self) -> None:
        self.output_ends = True
        self.output.feed_eof()
        self.output = asyncio.StreamReader()
        self.output.feed_eof()

    def process_exited(self) -> None:
        self.exited.set()
        if self.on_exit is not None:
            self.on_exit()


class AgentProcess:
    """An agent's process and what is left of its process group. Made by :meth:`start`."""

    def __init__(self, transport: asyncio.SubprocessTransport, pipes: _Pipes) -> None:
        self._transport = transport
        self._pipes = pipes
        self._stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
        # With a high-water mark of zero "writable" means: nothing is left in our buffer.
        self._stdin.set_write_buffer_limits(high=0)
        self._released = False
        self.was_ended = False
        """Whether it had to be: it did not end with its input, or its output could not go on."""
        self.pid: Final = transport.get_pid()
        _live.add(self)
        watchdog.add(self.pid)
        _log.debug("the agent's process has started: %d", self.pid)
        pipes.on_exit = self._leader_ended
        if pipes.exited.is_set():
            self._leader_ended()

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path,
        recent_output: RecentOutput | None = None,
    ) -> Self:
        """Start ``command`` in ``cwd``, with ``env`` laid over this process's environment.

        ``recent_output`` is filled with what it writes to its standard error.

        Raises:
            ConfigError: ``cwd`` is no directory that can be entered (``invalid_workdir``).
            AgentError: the command cannot be started (``command_not_found``, ``spawn_failed``).
        """
        watchdog.start()
        try:
            transport, pipes = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Pipes(recent_output or RecentOutput()),
                *command,
                env={**os.environ, **(env or {})},
                cwd=cwd,
                start_new_session=True,
            )
        except (OSError, ValueError, TypeError) as error:
            raise _not_started(command, cwd, error) from None
        return cls(transport, pipes)

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal, or None while the process runs."""
        return self._transport.get_returncode()

    @property
    def recent_output(self) -> RecentOutput:
        """What the process wrote to its standard error lately."""
        return self._pipes.recent

    async def write(self, line: bytes) -> None:
        """Write to standard input; returns when the operating system has taken every byte.

        Raises:
            ConnectionError: the process no longer reads, or ended.
        """
        if not self._pipes.writable_ends:
            self._stdin.write(line)
            await self._pipes.writable.wait()
        if self._pipes.writable_ends:
            raise ConnectionError("the agent's standard input is closed")

    def stop_writing(self) -> None:
        """End the writes that are under way and refuse new ones."""
        self._pipes.stop_writing()

    def when_input_is_lost(self, call: Callable[[], None]) -> None:
        """Call ``call`` when standard input is closed, by the process or by us."""
        self._pipes.on_input_lost = call
        if self._pipes.input_is_lost:
            call()

    def drop_output(self) -> None:
        """Let go of what nobody read of standard output, and of what still comes."""
        self._pipes.drop_output()

    async def read_line(self) -> bytes | None:
        """Return the next line of standard output, or None at its end.

        Raises:
            LineTooLongError: the line exceeds :data:`LINE_BYTES`.
        """
        try:
            return await self._pipes.output.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            return end.partial or None
        except asyncio.LimitOverrunError:
            self.was_ended = True
            self.drop_output()
            raise LineTooLongError from None

    async def close(self, grace: float = GRACE) -> None:
        """End the process and its group: end of input, SIGTERM, SIGKILL; about 3 s at most."""
        if self._released:
            return
        self._end_input()
        if not await self._exits_within(grace):
            self.was_ended = True
            self._signal_group(signal.SIGTERM)
        if not await self._exits_within(_ESCALATION):
            self._signal_group(signal.SIGKILL)
        await self._exits_within(_ESCALATION)
        await self._group_ends_within(_REMAINDER)
        self._release()

    def _end_input(self) -> None:
        if self._stdin.get_write_buffer_size():
            self._stdin.abort()
        else:
            self._stdin.close()

    async def _exits_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._pipes.exited.wait()
        return self._pipes.exited.is_set()

    async def _group_ends_within(self, seconds: float) -> None:
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        # The loop reports the end of the leader only, so its children have to be asked about.
        while self._signal_group(0) and clock() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    def _leader_ended(self) -> None:
        """Called by the event loop: the agent ended, by itself or because we ended it."""
        status = self._transport.get_returncode()
        _log.debug("the agent's process has ended: %d with status %s", self.pid, status)
        self._pipes.stop_writing()
        self._signal_group(signal.SIGTERM)
        # What a child that escaped the group holds open must not keep readers waiting.
        asyncio.get_running_loop().call_later(_REMAINDER, self._release)

    def _release(self) -> None:
        if self._released:
            return
        self._signal_group(signal.SIGKILL)
        # From here on the group's number may belong to somebody else.
        self._released = True
        watchdog.discard(self.pid)
        if not self._stdin.is_closing():
            self._stdin.abort()
        self._transport.close()

    def _disown(self) -> None:
        """In a forked child: close what is the kernel's, and leave the process alone."""
        for number in range(3):
            if pipe := self._transport.get_pipe_transport(number):
                pipe.get_extra_info("pipe").close()

    def _signal_group(self, number: int) -> bool:
        """Signal the process group; False when nobody is left in it."""
        if self._released:
            return False
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True


_live: Final[WeakSet[AgentProcess]] = WeakSet()


def _disown_after_fork() -> None:
    for process in _live:
        process._disown()


os.register_at_fork(after_in_child=_disown_after_fork)


def _not_started(command: Sequence[str], cwd: Path, error: Exception) -> KandevError:
    name = Path(command[0]).name if command else ""
    cause = getattr(error, "strerror", None) or type(error).__name__
    if getattr(error, "filename", None) == cwd:
        return ConfigError(
            f"The working directory {cwd} cannot be used ({cause}). Create it, or pass another.",
            reason_code=ReasonCode.INVALID_WORKDIR,
        )
    if isinstance(error, FileNotFoundError) and not Path(command[0]).is_file():
        return AgentError(
            f"The command {name!r} was not found. Install it, or give its full path.",
            reason_code=ReasonCode.COMMAND_NOT_FOUND,
        )
    return AgentError(
        f"The command {name!r} could not be started ({cause}). "
        "Check that it is an executable file and that its arguments are text.",
        reason_code=ReasonCode.SPAWN_FAILED,
    )
