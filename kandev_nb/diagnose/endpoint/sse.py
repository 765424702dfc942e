"""A server over HTTP with SSE: one GET whose answer is the stream, and POSTs that feed it
(MCP 2024-11-05, "HTTP with SSE").
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.diagnose.endpoint import messages
from kandev_nb.diagnose.endpoint.channel import Channel
from kandev_nb.diagnose.endpoint.course import Course
from kandev_nb.diagnose.endpoint.faults import Fault
from kandev_nb.diagnose.endpoint.messages import Message
from kandev_nb.diagnose.endpoint.web import EVENTS, JSON, Web, events, kind_of, web, within_origin
from kandev_nb.servers.server import SseServer


@asynccontextmanager
async def sse(server: SseServer, course: Course) -> AsyncIterator[Channel]:
    """Open the stream for the block and wait until it has said where messages go."""
    async with (
        web(server.url, server.headers, course, connected="await_endpoint") as http,
        http.request("GET", server.url, {"accept": EVENTS}) as response,
        events(response) as stream,
    ):
        if kind_of(response) != EVENTS:
            raise Fault(ReasonCode.BAD_CONTENT_TYPE)
        url = await _endpoint(str(response.url), stream, course)
        course.phase, http.in_session = "initialize", True
        try:
            yield _Sse(url, stream, http, course)
        finally:
            course.stop()


class _Sse(Channel):
    def __init__(
        self, url: str, stream: AsyncIterator[httpx2.ServerSentEvent], http: Web, course: Course
    ) -> None:
        super().__init__(course)
        self._url = url
        self._stream = stream
        self._http = http

    async def tell(self, message: Message) -> None:
        headers = {"content-type": JSON}
        if self.version:
            headers["mcp-protocol-version"] = self.version
        async with self._http.request("POST", self._url, headers, message):
            pass

    async def _exchange(self, asked: Message) -> AsyncGenerator[Message, None]:
        await self.tell(asked)
        async for event in self._stream:
            self.course.take(len(event.data))
            if event.event == "message" and (message := messages.read(event.data)):
                yield message


async def _endpoint(url: str, stream: AsyncIterator[httpx2.ServerSentEvent], course: Course) -> str:
    """Return where the server takes messages, which must be at its own origin."""
    async for event in stream:
        course.take(len(event.data))
        if event.event == "endpoint":
            return within_origin(url, event.data.strip(), "the address for its messages")
    raise Fault(ReasonCode.NO_PROTOCOL_OUTPUT, "its stream ended before the endpoint event")
