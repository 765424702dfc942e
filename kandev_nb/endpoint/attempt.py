"""The endpoint of one attempt: an MCP server of its own behind a secret of its own.

It lives while its execution lives, also when the attempt was superseded: some agents go on using
a first connection after a reset. What it sees is told to the ledger as evidence of its attempt.
"""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from time import time_ns
from typing import Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from kandev_nb.endpoint.announce import Announcer
from kandev_nb.endpoint.body import ID_UNDER_WAY, admitted_body, replay
from kandev_nb.endpoint.connections import Admission, Connection, Connections
from kandev_nb.endpoint.mcp_server import McpServer
from kandev_nb.endpoint.observe import Book, Observer
from kandev_nb.endpoint.reading import ADMISSION
from kandev_nb.endpoint.sse import MESSAGES, SseStream
from kandev_nb.endpoint.tools import ToolSet

CLOSE_GRACE: Final = 0.5
"""Seconds between the end of an SSE stream and the evidence of it: the stream of a process that
died ends a moment before its execution does, and then it is no evidence (EV-5)."""

_SECRET_BYTES: Final = 24
_SESSION_HEADER: Final = b"mcp-session-id"
_NOT_FOUND: Final = 404
_METHOD_NOT_ALLOWED: Final = 405
_GONE: Final = 410
_UNAVAILABLE: Final = 503


class AttemptEndpoint:
    """Serves one attempt's tools: over streamable HTTP, in both protocol eras, and over SSE."""

    def __init__(self, attachment_attempt_id: str, tools: ToolSet, book: Book) -> None:
        self.secret = secrets.token_urlsafe(_SECRET_BYTES)
        self._tools = tools
        self._observer = Observer(attachment_attempt_id, book, tools)
        self._connections = Connections()
        subscriptions = InMemorySubscriptionBus()
        self._announcer = Announcer(self._connections, subscriptions)
        self._server = McpServer(tools, self._observer, subscriptions)
        self._sessions = StreamableHTTPSessionManager(
            self._server, session_idle_timeout=None, max_sessions=None
        )
        self._started = asyncio.Event()
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stop_watching: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Make ready to serve."""
        self._task = asyncio.create_task(self._run())
        await self._started.wait()
        loop = asyncio.get_running_loop()

        def changed() -> None:
            self._observer.tools_changed()
            with suppress(RuntimeError):  # The loop ends with the interpreter.
                loop.call_soon_threadsafe(self._announcer.announce)

        self._stop_watching = self._tools.watch(changed)

    async def end(self) -> None:
        """End every connection; this is our own doing and so no evidence (EV-5)."""
        self._stop_watching()
        self._ended.set()
        self._announcer.end()
        self._connections.end_streams()
        if self._task:
            await self._task

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request that was let in. Its path begins behind the secret."""
        path: str = scope["path"]
        if path == "/mcp":
            await self._serve_http(scope, receive, send)
        elif path == "/sse" and scope["method"] == "GET":
            await self._serve_stream(scope, receive, send)
        elif path.startswith(MESSAGES) and (
            opened := self._connections.stream(path.removeprefix(MESSAGES))
        ):
            await self._serve_message(*opened, scope, receive, send)
        else:
            status = _METHOD_NOT_ALLOWED if path == "/sse" else _NOT_FOUND
            await Response(status_code=status)(scope, receive, send)

    async def _serve_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve streamable HTTP.

        A session ID that this attempt did not give, another attempt's for example, is unknown.
        """
        body = await admitted_body(scope, receive)
        if isinstance(body, Response):
            await body(scope, receive, send)
            return
        session = dict(scope["headers"]).get(_SESSION_HEADER)
        connection = self._connections.of_session(session) if session else self._connections.admit()
        if connection is None or (session is None and self._has_no_room(scope)):
            status = _NOT_FOUND if session else _UNAVAILABLE
            await Response(status_code=status)(scope, receive, send)
            return
        if body.request_id in connection.request_ids:
            await ID_UNDER_WAY.response()(scope, receive, send)
            return
        answered = False
        # It goes out when the SDK has forgotten the request: until then it would take the next one
        # of the same ID for this one.
        last: Message | None = None

        async def noting(message: Message) -> None:
            nonlocal answered, last
            if message["type"] == "http.response.start":
                answered = True
                await self._note_response(scope, session, connection, message)
            elif not message.get("more_body", False):
                last = message
                return
            await send(message)

        connection.requests += 1
        if body.request_id is not None:
            connection.request_ids.add(body.request_id)
        try:
            await self._sessions.handle_request(
                _admitted(scope, connection), replay(body, receive), noting
            )
        except RuntimeError:
            if answered or not self._ended.is_set():
                raise
            await Response(status_code=_GONE)(scope, receive, send)
        finally:
            connection.requests -= 1
            connection.request_ids.discard(body.request_id)
        if last is not None:
            await send(last)

    def _has_no_room(self, scope: Scope) -> bool:
        """Tell whether the request would open a connection that has no room (EV-9)."""
        version = Headers(scope=scope).get("mcp-protocol-version")
        return version not in MODERN_PROTOCOL_VERSIONS and self._connections.is_full

    async def _note_response(
        self, scope: Scope, session: bytes | None, connection: Connection, message: Message
    ) -> None:
        if message["status"] >= 300:
            return
        if scope["method"] == "DELETE" and session is not None:
            self._connections.close_session(session)
            self._observer.closed(connection, time_ns())
        opened = dict(message["headers"]).get(_SESSION_HEADER)
        if session is not None or opened is None:
            return
        await self._end_surplus(self._connections.open_session(opened, connection))

    async def _serve_stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one SSE stream, and tell of its end unless that is our own doing."""
        if self._connections.is_full:
            await Response(status_code=_UNAVAILABLE)(scope, receive, send)
            return
        connection = self._connections.admit()
        stream = SseStream(connection.id)
        await self._end_surplus(self._connections.open_stream(connection, stream))
        try:
            await stream.serve(self._server, scope, receive, send)
        finally:
            self._connections.close_stream(connection)
            await self._note_end(connection, time_ns())

    async def _note_end(self, connection: Connection, closed_at: int) -> None:
        """Tell of the end of a stream, unless its execution ends with it."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), CLOSE_GRACE)
        if not self._ended.is_set():
            self._observer.closed(connection, closed_at)

    async def _end_surplus(self, session_id: bytes | None) -> None:
        """End the connection that must go for another one; silently (EV-9)."""
        if session_id is not None:
            await self._sessions.handle_request(_deletion(session_id), _no_body, _no_answer)

    async def _serve_message(
        self,
        connection: Connection,
        stream: SseStream,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Serve one message of a client over SSE."""
        body = await admitted_body(scope, receive)
        if isinstance(body, Response):
            await body(scope, receive, send)
        else:
            await stream.post(_admitted(scope, connection), replay(body, receive), send)

    async def _run(self) -> None:
        async with self._sessions.run():
            self._started.set()
            await self._ended.wait()


def _admitted(scope: Scope, connection: Connection) -> Scope:
    # Asked to resume a stream, the SDK does not answer at all, for it kept none of it.
    headers = [header for header in scope["headers"] if header[0] != b"last-event-id"]
    return {**scope, "headers": headers, ADMISSION: Admission(connection, time_ns())}


def _deletion(session: bytes) -> Scope:
    """Return the request that ends a session of the SDK's, as its client would send it."""
    return {
        "type": "http",
        "method": "DELETE",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(_SESSION_HEADER, session)],
    }


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _no_answer(_: Message) -> None:
    return
