"""HTTP with a server that is tested: nothing is decompressed, nothing is read without a cap, and
no redirect leads to another origin.
"""

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, cast
from urllib.parse import urljoin, urlsplit

import httpcore2
import httpx2
from anyio import CancelScope, move_on_after, to_thread

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.diagnose.endpoint import messages
from kandev_nb.diagnose.endpoint.course import RECEIVED_BYTES, Course, Phase
from kandev_nb.diagnose.endpoint.faults import Fault, from_status, refused
from kandev_nb.diagnose.endpoint.messages import Message

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

_REDIRECTS: Final = 5
_KEEPING_THE_METHOD: Final = (307, 308)
_TO_A_GET: Final = (301, 302, 303)
_SAID: Final = 4096
"""Bytes of an error's answer that are looked at."""

_SAID_WITHIN: Final = 1.0
"""Seconds that they are waited for: the status says most of it."""


class Web:
    """The HTTP client of one test of one server. Made by :func:`web`."""

    def __init__(self, client: httpx2.AsyncClient, course: Course, connected: Phase) -> None:
        self._client = client
        self._course = course
        self._connected = connected
        self._streams: list[httpcore2.AsyncNetworkStream] = []
        self.in_session = False
        """Whether the server has given a session, which it may forget."""

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Message | None = None,
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request and open its answer. Raises ``Fault`` for a status that is no success."""
        content = json.dumps(body).encode() if body is not None else None
        for _ in range(_REDIRECTS + 1):
            async with self._client.stream(
                method,
                url,
                content=content,
                headers=dict(headers),
                extensions={"trace": self._trace},
            ) as response:
                onward = _onward(method, url, response)
                if onward is None:
                    await self._check(method, response)
                    yield response
                    return
            url = onward
        raise Fault(ReasonCode.HTTP_ERROR, "it redirects again and again")

    async def messages(self, response: httpx2.Response) -> AsyncGenerator[Message, None]:
        """Yield the messages of an answer that is JSON or an event stream."""
        kind = kind_of(response)
        if kind == EVENTS:
            async with events(response) as stream:
                async for event in stream:
                    self._course.take(len(event.data))
                    if message := messages.read(event.data):
                        yield message
        elif kind == JSON:
            message = messages.read(await self._whole(response))
            if message is None:
                raise Fault(ReasonCode.MALFORMED_RESPONSE, "its answer is no JSON-RPC message")
            yield message
        elif response.status_code not in (202, 204):
            raise Fault(ReasonCode.BAD_CONTENT_TYPE)

    async def _check(self, method: str, response: httpx2.Response) -> None:
        if not response.is_success:
            raise _refusal(method, response, await self._start(response), self.in_session)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise Fault(ReasonCode.MALFORMED_RESPONSE, "compressed though that was not asked for")

    async def _whole(self, response: httpx2.Response) -> bytes:
        content = bytearray()
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                self._course.take(len(chunk))
                content += chunk
        return bytes(content)

    @staticmethod
    async def _start(response: httpx2.Response) -> bytes:
        content = b""
        with move_on_after(_SAID_WITHIN):
            async with aclosing(response.aiter_raw()) as chunks:
                async for chunk in chunks:
                    content += chunk
                    if len(content) >= _SAID:
                        break
        return content[:_SAID]

    async def close(self) -> None:
        """Close every connection, also one whose TLS handshake was given up."""
        for stream in self._streams:
            with suppress(Exception):
                await stream.aclose()

    async def _trace(self, event: str, details: Mapping[str, Any]) -> None:
        """Called by the HTTP client: the first byte of a request is the end of connecting."""
        if event == "connection.connect_tcp.complete":
            self._streams.append(details["return_value"])
        if self._course.phase == "connect" and event.endswith("send_request_headers.started"):
            self._course.phase = self._connected


@asynccontextmanager
async def web(
    url: str, headers: Mapping[str, str], course: Course, *, connected: Phase = "initialize"
) -> AsyncIterator[Web]:
    """Open the HTTP client for a server at ``url``; afterwards no socket is left.

    ``connected`` is the phase that follows ``connect``.
    """
    verify = await _verifying(url)
    async with httpx2.AsyncClient(
        # As bytes: a value may hold what is not ASCII.
        headers=[(name.encode(), value.strip().encode()) for name, value in headers.items()],
        timeout=None,
        trust_env=False,
        verify=verify,
    ) as client:
        client.headers["accept-encoding"] = "identity"
        opened = Web(client, course, connected)
        try:
            yield opened
        finally:
            with CancelScope(shield=True):
                await opened.close()


async def _verifying(url: str) -> ssl.SSLContext:
    """Return what checks the server's certificate; to read those that are trusted takes a while."""
    if urlsplit(url).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return await to_thread.run_sync(partial(httpx2.create_ssl_context, trust_env=False))


def kind_of(response: httpx2.Response) -> str:
    """Return the media type of an answer."""
    kind: str = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind


def events(response: httpx2.Response) -> aclosing[AsyncGenerator[httpx2.ServerSentEvent, None]]:
    """Open the events of a stream for a block, none larger than a test reads.

    They are closed with it: what is left to the collector is closed while it still runs.
    """
    stream = aiter(httpx2.EventSource(response, max_event_size=RECEIVED_BYTES))
    return aclosing(cast("AsyncGenerator[httpx2.ServerSentEvent, None]", stream))


def within_origin(url: str, reference: str, what: str) -> str:
    """Return what a reference in an answer leads to (RFC 3986).

    Raises ``Fault``, which says ``what`` it is, unless scheme, host and port stay (RFC 6454).
    """
    try:
        onward = urljoin(url, reference)
        if _origin(url) == _origin(onward):
            return onward
    except ValueError:
        pass
    raise Fault(ReasonCode.OTHER_ORIGIN, what)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, port


def _onward(method: str, url: str, response: httpx2.Response) -> str | None:
    """Return where a redirect leads, ``None`` for an answer that is none."""
    status, location = response.status_code, response.headers.get("location")
    if status not in (*_KEEPING_THE_METHOD, *_TO_A_GET) or location is None:
        return None
    onward = within_origin(url, location, f"HTTP {status}")
    if status in _TO_A_GET and method != "GET":
        # What follows is a GET, and no client's message arrives with it.
        raise Fault(ReasonCode.HTTP_ERROR, f"HTTP {status}: it redirects a POST", status=status)
    return onward


def _refusal(method: str, response: httpx2.Response, said: bytes, in_session: bool) -> Fault:
    status = response.status_code
    fault = from_status(status, said, in_session=in_session, method=method)
    if kind_of(response) == JSON and (message := messages.read(said)):
        error = message.get("error")
        fault.error = error if isinstance(error, dict) else None
    if fault.code == ReasonCode.HTTP_ERROR and fault.number is not None:
        fault.detail = refused(fault.code, fault.error, status=status).detail
    return fault
