"""HTTP with the endpoint: requests that all belong to one bridge, and what their answers hold
(MCP 2025-11-25 and 2026-07-28, "Streamable HTTP").
"""

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from secrets import token_urlsafe
from typing import Any, Final, NamedTuple

import httpx2

from kandev_nb.endpoint.bridge import BRIDGE_HEADER

ANSWER_BYTES: Final = 64 * 1024 * 1024
"""The largest message that is carried to the agent."""

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

_CONNECT_SECONDS: Final = 5.0
_KEEP_ALIVE_SECONDS: Final = 2.0
"""Less than the server's own, which may close a connection just when a message is sent on it."""


class TooLargeError(Exception):
    """A message of the endpoint is larger than :data:`ANSWER_BYTES`."""


class Answer(NamedTuple):
    """One JSON-RPC message of the endpoint, and the JSON text that it came as."""

    text: str
    body: dict[str, Any]


@asynccontextmanager
async def http_client(secret: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Open the HTTP client of one bridge."""
    async with httpx2.AsyncClient(
        headers={
            "authorization": f"Bearer {secret}",
            "accept": f"{JSON}, {EVENTS}",
            "accept-encoding": "identity",
            BRIDGE_HEADER: token_urlsafe(16),
        },
        timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
        limits=httpx2.Limits(keepalive_expiry=_KEEP_ALIVE_SECONDS),
        trust_env=False,
        # Plain HTTP needs none of the certificates that the default would read.
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
    ) as http:
        yield http


async def answers(response: httpx2.Response) -> AsyncIterator[Answer]:
    """Yield each message as soon as it has come. Raises :class:`TooLargeError`."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == EVENTS:
        try:
            async for event in httpx2.EventSource(response, max_event_size=ANSWER_BYTES):
                if answer := _answer(event.data):
                    yield answer
        except httpx2.SSEError:
            raise TooLargeError from None
    elif kind == JSON:
        content = await whole(response)
        if answer := _answer(content.decode("utf-8", "replace")):
            yield answer


async def whole(response: httpx2.Response) -> bytes:
    """Return a body when it has ended. Raises :class:`TooLargeError`."""
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > ANSWER_BYTES:
            raise TooLargeError
    return bytes(content)


def _answer(text: str) -> Answer | None:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return Answer(text, body) if isinstance(body, dict) else None
