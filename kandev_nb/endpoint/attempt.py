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

from mcp.server.subscriptions import InMemorySubscriptionBus
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kandev_nb.endpoint.announce import Announcer
from kandev_nb.endpoint.body import admitted_body, replay
from kandev_nb.endpoint.bridge import LIFELINE
from kandev_nb.endpoint.connections import Connection, Connections
from kandev_nb.endpoint.lifeline import Lifelines
from kandev_nb.endpoint.mcp_server import McpServer
from kandev_nb.endpoint.observe import Book, Observer
from kandev_nb.endpoint.reading import admitted
from kandev_nb.endpoint.sse import MESSAGES, SseStream
from kandev_nb.endpoint.streamable import StreamableHttp
from kandev_nb.endpoint.tools import ToolSet

CLOSE_GRACE: Final = 0.5
"""Seconds between the end of an SSE stream, or of a bridge, and the evidence of it: what a process
held ends a moment before its execution does, and then it is no evidence (EV-5)."""

_SECRET_BYTES: Final = 24
_NOT_FOUND: Final = 404
_METHOD_NOT_ALLOWED: Final = 405
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
        self._http = StreamableHttp(self._server, self._connections, self._observer)
        self._started = asyncio.Event()
        self._ended = asyncio.Event()
        self._lifelines = Lifelines(self._ended)
        self._task: asyncio.Task[None] | None = None
        self._stop_watching: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Make ready to serve."""
        self._task = asyncio.create_task(self._http.run(self._started, self._ended))
        await self._started.wait()
        loop = asyncio.get_running_loop()

        def changed() -> None:
            self._observer.tools_changed()
            with suppress(RuntimeError):  # The loop ends with the interpreter.
                loop.call_soon_threadsafe(self._announcer.announce)

        self._stop_watching = self._tools.watch(changed)

    def expect_end(self) -> None:
        """Take the closes that follow for what our own ending of the session causes (EV-5)."""
        self._observer.sees_closes = False

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
            await self._http.serve(scope, receive, send)
        elif path == "/sse" and scope["method"] == "GET":
            await self._serve_stream(scope, receive, send)
        elif path.startswith(MESSAGES) and (
            opened := self._connections.stream(path.removeprefix(MESSAGES))
        ):
            await self._serve_message(*opened, scope, receive, send)
        elif path == LIFELINE and scope["method"] == "GET":
            await self._serve_bridge(scope, receive, send)
        else:
            status = _METHOD_NOT_ALLOWED if path in ("/sse", LIFELINE) else _NOT_FOUND
            await Response(status_code=status)(scope, receive, send)

    async def _serve_stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one SSE stream, and tell of its end unless that is our own doing."""
        if self._connections.is_full:
            await Response(status_code=_UNAVAILABLE)(scope, receive, send)
            return
        connection = self._connections.admit()
        stream = SseStream(connection.id)
        await self._http.end_session(self._connections.open_stream(connection, stream))
        try:
            await stream.serve(self._server, scope, receive, send)
        finally:
            self._connections.close_stream(connection)
            closed_at = time_ns()
            if await self._goes_on():
                self._observer.closed(connection, closed_at)

    async def _serve_bridge(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hold the lifeline of a bridge, and end in its place what it left open."""
        bridge = await self._lifelines.hold(scope, receive, send)
        closed_at = time_ns()
        if bridge and await self._goes_on():
            for session_id, connection in self._connections.of_bridge(bridge):
                self._connections.close_session(session_id)
                await self._http.end_session(session_id)
                self._observer.closed(connection, closed_at)

    async def _goes_on(self) -> bool:
        """Wait a moment; tell whether the execution has not ended by then."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), CLOSE_GRACE)
        return not self._ended.is_set()

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
            await stream.post(admitted(scope, connection), replay(body, receive), send)
