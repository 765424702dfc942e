"""Frames between an agent's process and the ACP library: the library's ``Transport``, our way.

The library takes requests and answers. Notifications do not go through it: its models drop what
they do not know, and it logs, with the content, what they do not accept. They leave through
``on_notification`` as they came, in the order they came, before any later answer is seen.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from kandev_nb.agents import frames
from kandev_nb.agents.process import LINE_BYTES, AgentProcess, LineTooLongError

_log = logging.getLogger(__name__)

_on_sent: ContextVar[Callable[[], None] | None] = ContextVar("kandev_nb_on_sent", default=None)

Direction = Literal["sent", "received", "stderr"]


class Tap(Protocol):
    """Who is shown what goes to an agent and comes from it, as it is. Only a probe has one.

    The methods are called on the event loop and return at once.
    """

    def frame(self, direction: Direction, line: bytes, /) -> None:
        """A line that was written to the agent, or that it wrote, also what is no frame."""

    def conceal(self, secret: str, /) -> None:
        """A secret of our own that will be in the frames, before it is."""

    def exited(self, returncode: int | None, /) -> None:
        """The agent's process is gone; ``returncode`` as in ``AgentEvents.exited``."""


def show(tap: Tap | None, direction: Direction, line: bytes) -> None:
    """Show a line to the tap, if there is one; what it raises stays there (SE-5)."""
    if tap is not None:
        try:
            tap.frame(direction, line)
        except Exception as error:  # noqa: BLE001 - the agent goes on, whoever listens
            _log.warning("a frame could not be shown (%s)", type(error).__name__)


@contextmanager
def announcing(on_sent: Callable[[], None]) -> Iterator[None]:
    """Call ``on_sent`` when the request that is sent inside has been written to the agent (CF-6).

    Written means that the operating system has taken its last byte. The request must be sent by
    the task that entered this context.
    """
    token = _on_sent.set(on_sent)
    try:
        yield
    finally:
        _on_sent.reset(token)


@dataclass
class Oddities:
    """How often an agent strayed from the protocol, by count alone (SE-4)."""

    lines: int = 0
    """Lines that are no frame: not JSON, no object, or beyond repair."""

    notifications: int = 0
    """Notifications that are no ``session/update``."""

    requests: int = 0
    """Requests for what was not offered, answered with "method not found"."""


class AgentTransport:
    """The ACP library's ``Transport`` over one agent process.

    ``send`` and ``receive`` are called by the library, ``close`` when its connection is closed.
    """

    def __init__(
        self,
        process: AgentProcess,
        on_notification: Callable[[str, dict[str, Any]], None],
        tap: Tap | None = None,
    ) -> None:
        self._process = process
        self._on_notification = on_notification
        self._tap = tap
        self.oddities = Oddities()
        self.ended = asyncio.Event()
        self.cause = ""
        """What the agent did to have to be ended; empty when it is we who closed it."""
        # It can be asked nothing any more. What it still answers in its grace counts.
        process.when_input_is_lost(lambda: self.end("closed its input"))

    async def send(self, message: frames.Frame) -> None:
        """Write one frame; a request that cannot be written raises ``ConnectionError``."""
        line = frames.encode(message)
        try:
            await self._process.write(line)
        except ConnectionError:
            # Nobody waits for the fate of an answer, and the library would log it.
            if "method" in message:
                raise
        else:
            show(self._tap, "sent", line)
            if on_sent := _on_sent.get():
                on_sent()

    async def receive(self) -> frames.Frame | None:
        """Return the next request or answer of the agent, or None when there will be no more."""
        while (line := await self._next_line()) is not None:
            show(self._tap, "received", line)
            frame = frames.decode(line)
            if frame is not None and not frames.is_notification(frame):
                return frame
            self._take_aside(line, frame)
            # A flood of such lines must not keep the loop from everybody else.
            await asyncio.sleep(0)
        self.end("closed its output")
        self._process.stop_writing()
        # Writes end before the library ends its requests: each request fails once.
        await asyncio.sleep(0)
        return None

    def end(self, cause: str) -> None:
        """Say that nothing more will come of the agent, and why; the first cause counts."""
        if not self.ended.is_set():
            self.cause = cause
            self.ended.set()

    async def close(self) -> None:
        """End the process, and let go of what it wrote."""
        await self._process.close()
        self._process.drop_output()

    async def _next_line(self) -> bytes | None:
        try:
            return await self._process.read_line()
        except LineTooLongError:
            self.end(f"sent a line of more than {LINE_BYTES // 2**20} MiB")
            return None

    def _take_aside(self, line: bytes, frame: frames.Frame | None) -> None:
        if frame is not None:
            params = frame.get("params")
            self._on_notification(frame["method"], params if isinstance(params, dict) else {})
        elif line.strip():
            self.oddities.lines += 1
