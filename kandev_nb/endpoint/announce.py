"""Telling the clients of one attempt that the tools have changed.

A client with a session gets ``notifications/tools/list_changed`` (MCP, "List Changed
Notification"), a stateless one what it asked for with ``subscriptions/listen`` (MCP 2026-07-28).
"""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import anyio
import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ToolsListChanged

from kandev_nb.endpoint.connections import Connection

_log = logging.getLogger("kandev_nb.endpoint")

GATHERING: Final = 0.05
"""Seconds in which changes become one notification: a cell often registers several tools."""

_PATIENCE: Final = 5.0
"""Seconds that a client has for reading one notification."""


class Announcer:
    """Sends the notifications of one attempt. All methods belong on the loop thread."""

    def __init__(
        self, connections: Iterable[Connection], subscriptions: InMemorySubscriptionBus
    ) -> None:
        self._connections = connections
        self._subscriptions = subscriptions
        self._sending: asyncio.Task[None] | None = None
        self._pending = False

    def announce(self) -> None:
        """Tell of a change, soon and together with the ones that follow at once."""
        self._pending = True
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())

    def end(self) -> None:
        """Send nothing more."""
        if self._sending:
            self._sending.cancel()

    async def _send(self) -> None:
        while self._pending:
            await asyncio.sleep(GATHERING)
            self._pending = False
            await self._subscriptions.publish(ToolsListChanged())
            sessions = [c.session for c in self._connections if c.session]
            await asyncio.gather(*(_notify(session) for session in sessions))
        self._sending = None


async def _notify(session: ServerSession) -> None:
    with suppress(TimeoutError):
        try:
            async with asyncio.timeout(_PATIENCE):
                await session.send_notification(types.ToolListChangedNotification())
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            _log.debug("a client left before it could be told of changed tools")
