"""One TCP connection of the HTTP server: uvicorn's own, with its loose ends tied.

As uvicorn leaves it, a chunk that is malformed after an early answer raises into the event loop,
which logs a traceback, and a client may take any time to send a request's header, or the rest of a
body that was refused.
"""

import asyncio
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

IDLE_SECONDS = 15.0
"""How long a client may take from its first byte, or none, to the end of a request's header."""

_CAN_ANSWER: Final = (h11.IDLE, h11.SEND_RESPONSE)


class Wire(H11Protocol):
    """Serves HTTP/1.1 on one connection. uvicorn makes it, the loop calls it."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request, for a bounded time."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what the client sent; bytes that complete no header win no time."""
        super().data_received(data)
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, unless an answer is on its way; then there is no room for one."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in _CAN_ANSWER:
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _watch(self) -> None:
        is_serving = self.cycle is not None and not self.cycle.response_complete
        if is_serving and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif not is_serving and self._deadline is None:
            self._deadline = self.loop.call_later(IDLE_SECONDS, self.transport.close)
