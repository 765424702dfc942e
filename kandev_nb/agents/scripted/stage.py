"""Where a script interferes with the agent that plays it: pauses, crashes and noise.

The agent says which step it is about to take; the ACP library says which frame came or went.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Final

from acp.connection import StreamDirection, StreamEvent

from kandev_nb.agents.scripted.options import Point, Script

CRASH_EXIT_CODE: Final = 3

_POINTS: Final[dict[str, Point]] = {
    "initialize": "initialize",
    "session/new": "session-new",
    "session/load": "session-load",
    "session/resume": "session-resume",
    "session/fork": "session-fork",
    "session/prompt": "prompt",
}

NOISE: Final = b"".join(
    line + b"\n"
    for line in (
        b"starting up ...",
        b"",
        b"   ",
        b"42",
        b'"text"',
        b"null",
        b"[1, 2]",
        b"true",
        b'{"jsonrpc": "2.0", "id":',
        b"\xff\xfe\x00 not text",
        b"{}",
        b"x" * 100_000,
    )
)


class Stage:
    """One performance of a script. ``write`` puts bytes on the agent's standard output."""

    def __init__(self, script: Script, write: Callable[[bytes], None]) -> None:
        self._script = script
        self._write = write
        self._asked: dict[int | str, Point] = {}

    async def before(self, step: str) -> None:
        """Called before each step, those of :data:`Point` included."""
        if self._script.delay:
            await asyncio.sleep(self._script.delay)
        self._crash(step, after=False)

    def after(self, step: str) -> None:
        """Called when a step is over."""
        self._crash(step, after=True)

    def observe(self, event: StreamEvent) -> None:
        """Called by the ACP library for each frame; a step is over when its answer is written."""
        frame = event.message
        if event.direction is StreamDirection.OUTGOING:
            self.after(self._asked.pop(frame.get("id", ""), ""))
        elif frame.get("method") in _POINTS:
            self._asked[frame.get("id", "")] = _POINTS[frame["method"]]
        if self._script.scenario.noisy:
            self._write(NOISE)

    def _crash(self, step: str, *, after: bool) -> None:
        if step and step == self._script.crash_at and after is self._script.crash_after:
            # At once and without farewell: no answer, no DELETE, no cleaning up.
            os._exit(CRASH_EXIT_CODE)
