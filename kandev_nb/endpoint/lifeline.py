"""The lifelines of one attempt: the request that each stdio bridge holds open as long as it lives.

A bridge that is killed ends no session, as a client would; its lifeline breaks. One that outlives
the attempt learns of its end the same way.
"""

import asyncio
import re
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kandev_nb.attachment import limits
from kandev_nb.endpoint.bridge import BRIDGE_HEADER

_HEADER: Final = BRIDGE_HEADER.encode()
_ID: Final = re.compile(rb"[\w-]{1,64}", re.ASCII)
_BAD_REQUEST: Final = 400
_CONFLICT: Final = 409
_UNAVAILABLE: Final = 503


def bridge_of(scope: Scope) -> bytes:
    """Return the ID of the bridge that a request came over, empty if it came over none."""
    bridge: bytes = dict(scope["headers"]).get(_HEADER, b"")
    return bridge


class Lifelines:
    """The bridges of one attempt that live."""

    def __init__(self, ended: asyncio.Event) -> None:
        self._ended = ended
        self._bridges: set[bytes] = set()

    async def hold(self, scope: Scope, receive: Receive, send: Send) -> bytes:
        """Answer until the bridge leaves or the attempt ends; return its ID, empty if refused."""
        bridge = bridge_of(scope)
        if refusal := self._refusal(bridge):
            await Response(status_code=refusal)(scope, receive, send)
            return b""
        self._bridges.add(bridge)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await self._until_over(receive)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._bridges.discard(bridge)
        return bridge

    def _refusal(self, bridge: bytes) -> int:
        if not _ID.fullmatch(bridge):
            return _BAD_REQUEST
        if bridge in self._bridges:
            return _CONFLICT
        return _UNAVAILABLE if len(self._bridges) >= limits.OPEN_CONNECTIONS else 0

    async def _until_over(self, receive: Receive) -> None:
        left = asyncio.create_task(_until_left(receive))
        ended = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait((left, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            left.cancel()
            ended.cancel()


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
