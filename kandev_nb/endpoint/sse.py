"""The older HTTP transport: one GET whose answer is the stream, and POSTs that feed it
(MCP 2024-11-05, "HTTP with SSE").

The SDK's transport serves one connection here, under a path of our own, so that our connection ID
and not its session ID says where a message belongs.
"""

from contextlib import suppress
from typing import Any, Final

import anyio
from mcp.server import sse
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from starlette.types import Receive, Scope, Send

from kandev_nb import logs

logs.name_loggers(sse)

MESSAGES: Final = "/messages/"
"""What the path of a connection's messages begins with; its ID follows."""

_FAREWELL: Final = 2.0
"""Seconds that a stream which we end has for its last bytes."""


class SseStream:
    """One client of the SSE transport, as long as its stream is open."""

    def __init__(self, connection_id: str) -> None:
        self._transport = SseServerTransport(f"{MESSAGES}{connection_id}")
        self._whole = anyio.CancelScope()
        self._serving = anyio.CancelScope()

    async def serve(self, server: Server[Any], scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the GET until the client leaves or :meth:`end` is called.

        The client is told to post to the path of its messages below the scope's ``root_path``.
        """
        with self._whole:
            async with self._transport.connect_sse(scope, receive, send) as (incoming, outgoing):
                with self._serving:
                    options = server.create_initialization_options()
                    await server.run(incoming, outgoing, options)

    async def post(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one message of the client."""
        # A client may leave between the answer to its message and the reading of it.
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self._transport.handle_post_message(scope, receive, send)

    def end(self) -> None:
        """End the stream: in order if the client reads it, else hard."""
        self._serving.cancel()
        self._whole.deadline = anyio.current_time() + _FAREWELL
