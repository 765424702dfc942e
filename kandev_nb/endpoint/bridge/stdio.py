"""The bridge's side of the agent: a message a line on stdin and stdout
(MCP 2025-11-25 and 2026-07-28, "Transports", stdio).
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final, Self

LINE_BYTES: Final = 64 * 1024 * 1024
"""The longest line that is read whole; of a longer one there is a byte more, and no rest."""

_CHUNK: Final = 256 * 1024
_FAREWELL: Final = 1.0
"""Seconds that the last answers have to be read."""


class Stdio:
    """The two pipes to the agent."""

    def __init__(
        self,
        incoming: asyncio.StreamReader,
        outgoing: asyncio.StreamWriter,
        left: asyncio.StreamReader,
    ) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._left = left

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Self]:
        """Take stdin and stdout; give them up when the bridge ends, the last answers sent."""
        loop = asyncio.get_running_loop()
        incoming, left = asyncio.StreamReader(), asyncio.StreamReader()
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(incoming), sys.stdin
        )
        # What reads here is told when nobody reads stdout any more.
        protocol = asyncio.StreamReaderProtocol(left)
        writing, _ = await loop.connect_write_pipe(lambda: protocol, sys.stdout)
        outgoing = asyncio.StreamWriter(writing, protocol, None, loop)
        try:
            yield cls(incoming, outgoing, left)
        finally:
            reading.close()
            outgoing.close()
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(_FAREWELL):
                    await outgoing.wait_closed()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield each line without its end, until the agent closes stdin."""
        line = bytearray()
        while chunk := await self._incoming.read(_CHUNK):
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                _extend(line, end)
                yield bytes(line)
                line.clear()
            _extend(line, rest)

    async def write(self, message: str) -> None:
        """Send one JSON text as a line of its own, and wait while the agent does not read."""
        if self._outgoing.is_closing():
            return
        # Line breaks of JSON are space between values: a string has none.
        line = message.replace("\r", " ").replace("\n", " ")
        self._outgoing.write(line.encode("utf-8", "replace") + b"\n")
        with suppress(ConnectionError):
            await self._outgoing.drain()

    async def until_left(self) -> None:
        """Wait until nobody reads stdout any more."""
        await self._left.read()


def _extend(line: bytearray, piece: bytes) -> None:
    line += piece[: LINE_BYTES + 1 - len(line)]
