"""Streamable HTTP: both protocol eras on one URL, on the SDK's session manager
(MCP 2025-11-25 and 2026-07-28, "Streamable HTTP").

A client with sessions is let in, counted and ended here; a stateless one passes through.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from time import time_ns
from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from kandev_nb.endpoint.body import ID_UNDER_WAY, admitted_body, replay
from kandev_nb.endpoint.connections import Connection, Connections
from kandev_nb.endpoint.lifeline import bridge_of
from kandev_nb.endpoint.observe import Observer
from kandev_nb.endpoint.reading import admitted

_SESSION_HEADER: Final = b"mcp-session-id"
_NOT_FOUND: Final = 404
_GONE: Final = 410
_UNAVAILABLE: Final = 503


class StreamableHttp:
    """Serves the streamable HTTP of one attempt."""

    def __init__(self, server: Server[Any], connections: Connections, observer: Observer) -> None:
        # Nothing expires, and the bound on connections is ours (EV-5, EV-9).
        self._manager = StreamableHTTPSessionManager(
            server, session_idle_timeout=None, max_sessions=None
        )
        self._connections = connections
        self._observer = observer
        self._is_over = False

    async def run(self, started: asyncio.Event, ended: asyncio.Event) -> None:
        """Be ready to serve until ``ended``."""
        async with self._manager.run():
            started.set()
            await ended.wait()
            self._is_over = True

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        body = await admitted_body(scope, receive)
        if isinstance(body, Response):
            await body(scope, receive, send)
            return
        session_id = dict(scope["headers"]).get(_SESSION_HEADER)
        connection = self._connection(session_id, scope)
        if isinstance(connection, int):
            await Response(status_code=connection)(scope, receive, send)
            return
        if body.request_id in connection.request_ids:
            await ID_UNDER_WAY.response()(scope, receive, send)
            return
        answer = _Answer(send, partial(self._answered, scope, session_id, connection))
        with connection.request(body.request_id):
            try:
                given = replay(body, receive)
                await self._manager.handle_request(admitted(scope, connection), given, answer)
            except RuntimeError:
                # The manager refuses what comes once it has ended, with the execution.
                if answer.has_begun or not self._is_over:
                    raise
                await Response(status_code=_GONE)(scope, receive, send)
        await answer.finish()

    async def end_session(self, session_id: bytes | None) -> None:
        """End a session as its client would, silently: it must go for another one (EV-9)."""
        if session_id is not None:
            await self._manager.handle_request(_deletion(session_id), _no_body, _no_answer)

    def _connection(self, session_id: bytes | None, scope: Scope) -> Connection | int:
        """Return the connection of a request, or the status that refuses it.

        A session ID that this attempt did not give, another attempt's for example, is unknown.
        """
        if session_id is not None:
            return self._connections.of_session(session_id) or _NOT_FOUND
        version = Headers(scope=scope).get("mcp-protocol-version")
        if version not in MODERN_PROTOCOL_VERSIONS and self._connections.is_full:
            return _UNAVAILABLE
        return self._connections.admit(bridge_of(scope))

    async def _answered(
        self, scope: Scope, session_id: bytes | None, connection: Connection, message: Message
    ) -> None:
        """Open or close the session that an answer, which begins now, opens or closes."""
        if message["status"] >= 300:
            return
        if session_id is None:
            if opened := dict(message["headers"]).get(_SESSION_HEADER):
                await self.end_session(self._connections.open_session(opened, connection))
        elif scope["method"] == "DELETE" and not connection.bridge:
            # A bridge also leaves when its agent has died; the end of its lifeline tells which.
            self._connections.close_session(session_id)
            self._observer.closed(connection, time_ns())


class _Answer:
    """Sends an answer, its last piece not before :meth:`finish`.

    That is when the SDK has forgotten the request: until then it would take the next one of the
    same ID for this one.
    """

    def __init__(self, send: Send, begins: Callable[[Message], Awaitable[None]]) -> None:
        self.has_begun = False
        self._send = send
        self._begins = begins
        self._last: Message | None = None

    async def __call__(self, message: Message) -> None:
        """Take what the SDK sends."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            await self._begins(message)
        elif not message.get("more_body", False):
            self._last = message
            return
        await self._send(message)

    async def finish(self) -> None:
        """Send the last piece."""
        if self._last is not None:
            await self._send(self._last)


def _deletion(session_id: bytes) -> Scope:
    """Return the request that ends a session of the SDK's, as its client would send it."""
    return {
        "type": "http",
        "method": "DELETE",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(_SESSION_HEADER, session_id)],
    }


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _no_answer(_: Message) -> None:
    return
