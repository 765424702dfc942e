"""The endpoint of one attempt: an MCP server of its own behind a secret of its own.

It lives while its execution lives, also when the attempt was superseded: some agents go on using
a first connection after a reset. What it sees is told to the ledger as evidence of its attempt.
"""

import asyncio
import secrets
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from kandev_nb._version import __version__
from kandev_nb.attachment import limits
from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.attachment.model import utc_now
from kandev_nb.endpoint.observe import ADMISSION, Admission, Observer, Record
from kandev_nb.endpoint.tools import ToolSet

_SECRET_BYTES: Final = 24
_SESSION_HEADER: Final = b"mcp-session-id"


@dataclass
class _Connection:
    """One client with a session: our ID for it, and its HTTP requests that are under way."""

    id: str
    streams: int = 0


class AttemptEndpoint:
    """Serves one attempt's tools over streamable HTTP, in both protocol eras on one URL."""

    def __init__(self, attachment_attempt_id: str, tools: ToolSet, record: Record) -> None:
        self.secret = secrets.token_urlsafe(_SECRET_BYTES)
        self._observer = Observer(attachment_attempt_id, record)
        self._sessions = StreamableHTTPSessionManager(
            _mcp_server(tools, self._observer),
            session_idle_timeout=None,
            max_sessions=None,
        )
        self._numbers = count(1)
        self._connections: dict[bytes, _Connection] = {}
        self._started = asyncio.Event()
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Make ready to serve."""
        self._task = asyncio.create_task(self._run())
        await self._started.wait()

    async def end(self) -> None:
        """End every connection; this is our own doing and so no evidence (EV-5)."""
        self._ended.set()
        if self._task:
            await self._task

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request that was let in.

        A session ID that this attempt did not give, another attempt's for example, is unknown.
        """
        session = dict(scope["headers"]).get(_SESSION_HEADER)
        if session is not None and session not in self._connections:
            await Response(status_code=404)(scope, receive, send)
            return
        if session is None:
            connection = _Connection(f"mcp-{next(self._numbers)}")
        else:
            connection = self._connections[session]
        scope = {**scope, ADMISSION: Admission(connection.id, utc_now())}
        answered = False

        async def noting(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                await self._note_response(scope, session, connection, message)
            await send(message)

        connection.streams += 1
        try:
            await self._sessions.handle_request(scope, receive, noting)
        except RuntimeError:
            if answered or not self._ended.is_set():
                raise
            await Response(status_code=410)(scope, receive, send)
        finally:
            connection.streams -= 1

    async def _note_response(
        self, scope: Scope, session: bytes | None, connection: _Connection, message: Message
    ) -> None:
        if message["status"] >= 300:
            return
        if scope["method"] == "DELETE" and session in self._connections:
            self._observer.closed(self._connections.pop(session).id)
        elif session is None and (opened := dict(message["headers"]).get(_SESSION_HEADER)):
            self._connections[opened] = connection
            await self._end_surplus()

    async def _end_surplus(self) -> None:
        """Beyond the bound, end the oldest connection without an open stream (EV-9)."""
        if len(self._connections) <= limits.OPEN_CONNECTIONS:
            return
        idle = (session for session, c in self._connections.items() if not c.streams)
        if oldest := next(idle, None):
            del self._connections[oldest]
            await self._sessions.handle_request(_deletion(oldest), _no_body, _no_answer)

    async def _run(self) -> None:
        async with self._sessions.run():
            self._started.set()
            await self._ended.wait()


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


def _mcp_server(tools: ToolSet, observer: Observer) -> Server[Any]:
    async def list_tools(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools.definitions())

    async def call_tool(
        _: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return await tools.call(params.name, params.arguments or {})

    server: Server[Any] = Server(
        BUILT_IN,
        version=__version__,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=tools.schema,
    )
    server.middleware[:] = [observer]
    return server
