"""The one HTTP server of a process, on 127.0.0.1 and a port that the system picks.

It lets requests in by Host, Origin and secret before the MCP SDK sees them (SA-4) and answers
others with a status and an empty body. The secret alone says which attempt a request belongs to.
"""

import asyncio
import hmac
import logging
import os
import socket
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Final
from weakref import WeakKeyDictionary

import uvicorn
from anyio import CancelScope
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kandev_nb import logs, tokens
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.endpoint.attempt import AttemptEndpoint
from kandev_nb.endpoint.observe import Book
from kandev_nb.endpoint.tools import ToolSet
from kandev_nb.endpoint.wire import Wire
from kandev_nb.errors import EndpointError

_log = logging.getLogger("kandev_nb.endpoint")

_BAD_REQUEST: Final = 400
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_GONE: Final = 410
_MISDIRECTED: Final = 421
_HEADER_TOO_LARGE: Final = 431
_HEADER_BYTES: Final = 64 * 1024
_SINGLE: Final = ("authorization", "last-event-id", "mcp-protocol-version", "mcp-session-id")
"""Headers of which the SDK reads the first, and says nothing of another."""

_REMEMBERED_ENDS: Final = 1024


class EndpointServer:
    """Serves the endpoints of every live attempt of this process.

    All methods belong on the loop thread. The server starts with the first attempt and lives as
    long as the process.
    """

    def __init__(self) -> None:
        self._attempts: dict[bytes, AttemptEndpoint] = {}
        self._ended: dict[bytes, None] = {}
        self._starting = asyncio.Lock()
        self._server: asyncio.Task[None] | None = None
        self._http: uvicorn.Server | None = None
        self._listening: socket.socket | None = None
        self._port = 0

    @property
    def origin(self) -> str:
        """Scheme, host and port that the server listens at."""
        return f"http://127.0.0.1:{self._port}"

    def url(self, endpoint: AttemptEndpoint) -> str:
        """Return the attempt's own URL. It holds the secret: never show or store it."""
        return f"{self.origin}/a/{endpoint.secret}/mcp"

    def sse_url(self, endpoint: AttemptEndpoint) -> str:
        """Return the attempt's own URL of the SSE transport, as secret as the other."""
        return f"{self.origin}/a/{endpoint.secret}/sse"

    async def open(self, attachment_attempt_id: str, tools: ToolSet, book: Book) -> AttemptEndpoint:
        """Serve a new attempt. Raises ``EndpointError`` when the server cannot listen."""
        async with self._starting:
            if self._server is None:
                await self._start()
        endpoint = AttemptEndpoint(attachment_attempt_id, tools, book)
        # A caller that is cancelled meanwhile still gets what it has to end.
        with CancelScope(shield=True):
            await endpoint.start()
        self._attempts[_digest(endpoint.secret)] = endpoint
        return endpoint

    @asynccontextmanager
    async def open_test(self, tools: ToolSet) -> AsyncIterator[AttemptEndpoint]:
        """Serve the tools for the block, behind a secret of no attempt: nothing is evidence."""
        endpoint = await self.open("", tools, _NoBook())
        try:
            yield endpoint
        finally:
            with CancelScope(shield=True):
                await self.end(endpoint)

    async def end(self, endpoint: AttemptEndpoint) -> None:
        """Answer this attempt's URL with 410 from now on."""
        digest = _digest(endpoint.secret)
        if self._attempts.pop(digest, None) is None:
            return
        self._ended[digest] = None
        while len(self._ended) > _REMEMBERED_ENDS:
            self._ended.pop(next(iter(self._ended)))
        await endpoint.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request in, or answer it with a bare status."""
        admitted = self._admit(scope)
        if isinstance(admitted, int):
            _log.debug("a %s request was refused with %d", scope["method"], admitted)
            await Response(status_code=admitted)(scope, receive, send)
            return
        endpoint, prefix = admitted
        path = scope["path"].removeprefix(prefix)
        await endpoint({**scope, "path": path, "root_path": prefix}, receive, send)

    def _admit(self, scope: Scope) -> tuple[AttemptEndpoint, str] | int:
        """Return the attempt that the request is for, and the prefix of its path."""
        headers = Headers(scope=scope)
        if not self._are(headers.getlist("host") or [""], self._hosts()):
            return _MISDIRECTED
        if not self._are(headers.getlist("origin"), [f"http://{host}" for host in self._hosts()]):
            return _FORBIDDEN
        secret, prefix = _credential(scope["path"], headers)
        # Found by digest and compared in constant time: the time taken tells nothing of a secret.
        digest = _digest(secret)
        endpoint = self._attempts.get(digest)
        if endpoint is None or not hmac.compare_digest(
            endpoint.secret.encode(), secret.encode("utf-8", "replace")
        ):
            return _GONE if digest in self._ended else _UNAUTHORIZED
        if any(len(headers.getlist(name)) > 1 for name in _SINGLE):
            return _BAD_REQUEST
        if sum(len(name) + len(value) for name, value in headers.raw) > _HEADER_BYTES:
            return _HEADER_TOO_LARGE
        return endpoint, prefix

    @staticmethod
    def _are(given: Iterable[str], allowed: Collection[str]) -> bool:
        return all(value.lower() in allowed for value in given)

    def _hosts(self) -> tuple[str, str]:
        return f"127.0.0.1:{self._port}", f"localhost:{self._port}"

    async def _start(self) -> None:
        try:
            listening = self._listening = _loopback_socket()
        except OSError as error:
            raise EndpointError(
                f"The Kandev MCP endpoint cannot listen on 127.0.0.1 ({error.strerror}). "
                "Check that this machine lets a program listen on loopback.",
                reason_code=ReasonCode.ENDPOINT_FAILED,
            ) from error
        self._port = listening.getsockname()[1]
        tokens.warm()
        self._http = uvicorn.Server(
            uvicorn.Config(
                self,
                interface="asgi3",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                http=Wire,
                ws="none",
                timeout_graceful_shutdown=1,
            )
        )
        logs.restrain()
        self._server = asyncio.create_task(self._http.serve(sockets=[listening]))

    def _disown(self) -> None:
        """In a forked child: give up its copies of our sockets, so that they end with the parent's.

        Something else takes their numbers, which other objects of the parent's remember.
        """
        sockets = [self._listening] if self._listening else []
        if self._http is not None:
            wires = self._http.server_state.connections
            sockets += [wire.transport.get_extra_info("socket") for wire in wires]
        with open(os.devnull) as nothing:
            for number in (one.fileno() for one in sockets if one is not None):
                if number >= 0:
                    os.dup2(nothing.fileno(), number, inheritable=False)


class _NoBook:
    """Where what an endpoint test does is noted: nowhere (DI-1)."""

    def record(self, fact: object) -> None:
        """Take one fact, and forget it."""


_servers: WeakKeyDictionary[asyncio.AbstractEventLoop, EndpointServer] = WeakKeyDictionary()


def endpoint_server() -> EndpointServer:
    """Return the one endpoint server of the running loop."""
    loop = asyncio.get_running_loop()
    if loop not in _servers:
        _servers[loop] = EndpointServer()
    return _servers[loop]


def _disown_after_fork() -> None:
    for server in _servers.values():
        server._disown()


os.register_at_fork(after_in_child=_disown_after_fork)


def _loopback_socket() -> socket.socket:
    # asyncio sets TCP_NODELAY only on a socket that names its protocol; without it every answer
    # waits for a delayed acknowledgement.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    return listening


def _credential(path: str, headers: Headers) -> tuple[str, str]:
    """Return the secret that a request carries, in its path or as bearer, and the path's prefix."""
    if path.startswith("/a/"):
        secret = path.removeprefix("/a/").partition("/")[0]
        return secret, f"/a/{secret}"
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return (token.strip() if scheme.lower() == "bearer" else ""), ""


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "replace")).digest()
