"""A server over streamable HTTP, in either protocol era
(MCP 2025-11-25 and 2026-07-28, "Streamable HTTP").
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final

from anyio import move_on_after

from kandev_nb.diagnose.endpoint.channel import Channel
from kandev_nb.diagnose.endpoint.course import Course
from kandev_nb.diagnose.endpoint.faults import HTTP_ERRORS, Fault
from kandev_nb.diagnose.endpoint.messages import Message
from kandev_nb.diagnose.endpoint.web import EVENTS, JSON, Web, web
from kandev_nb.servers.server import HttpServer, StreamableHttpServer

_SESSION: Final = "mcp-session-id"
_FAREWELL: Final = 1.0
"""Seconds that a server has to end the session that it gave."""


@asynccontextmanager
async def streamable(
    server: HttpServer | StreamableHttpServer, course: Course
) -> AsyncIterator[Channel]:
    """Reach the server for the block; the session that it gave is ended afterwards."""
    async with web(server.url, server.headers, course) as http:
        channel = _Streamable(server.url, http, course)
        try:
            yield channel
        finally:
            course.stop()
            with move_on_after(_FAREWELL, shield=True):
                await channel.leave()


class _Streamable(Channel):
    stateless_first = True

    def __init__(self, url: str, http: Web, course: Course) -> None:
        super().__init__(course)
        self._url = url
        self._http = http
        self._session = ""

    async def tell(self, message: Message) -> None:
        async with self._http.request("POST", self._url, self._headers(message), message):
            pass

    async def leave(self) -> None:
        """End the session, as far as the server lets us."""
        if self._session:
            with suppress(Fault, *HTTP_ERRORS):
                async with self._http.request("DELETE", self._url, self._headers({})):
                    pass

    async def _exchange(self, asked: Message) -> AsyncGenerator[Message, None]:
        headers = self._headers(asked)
        async with self._http.request("POST", self._url, headers, asked) as response:
            self._session = response.headers.get(_SESSION, self._session)
            self._http.in_session = bool(self._session)
            async with aclosing(self._http.messages(response)) as incoming:
                async for message in incoming:
                    yield message

    def _headers(self, message: Message) -> dict[str, str]:
        given = {
            "accept": f"{JSON}, {EVENTS}",
            "content-type": JSON,
            "mcp-method": message.get("method", ""),
            "mcp-protocol-version": self.version,
            _SESSION: self._session,
        }
        return {name: value for name, value in given.items() if value}
