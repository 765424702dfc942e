"""Telling the clients of one attempt that the tools have changed.

A client with a session gets ``notifications/tools/list_changed`` (MCP, "List Changed
Notification"), a stateless one what it asked for with ``subscriptions/listen`` (MCP 2026-07-28).
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Final

import anyio
import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ToolsListChanged

from kandev_nb.endpoint.connections import Connection

_log = logging.getLogger("kandev_nb.endpoint")

GATHERING: Final = 0.05
"""Seconds in which changes become one notification: a cell often registers several tools."""


class Announcer:
    """Sends the notifications of one attempt. All methods belong on the loop thread."""

    def __init__(
        self, connections: Iterable[Connection], subscriptions: InMemorySubscriptionBus
    ) -> None:
        self._connections = connections
        self._subscriptions = subscriptions
        self._gathering: asyncio.Task[None] | None = None
        self._untold: set[Connection] = set()
        self._telling: dict[Connection, asyncio.Task[None]] = {}

    def announce(self) -> None:
        """Tell of a change, soon and together with the ones that follow at once."""
        if self._gathering is None:
            self._gathering = asyncio.create_task(self._gather())

    def end(self) -> None:
        """Send nothing more."""
        for task in (self._gathering, *self._telling.values()):
            if task:
                task.cancel()

    async def _gather(self) -> None:
        await asyncio.sleep(GATHERING)
        self._gathering = None
        await self._subscriptions.publish(ToolsListChanged())
        for connection in self._connections:
            self._untold.add(connection)
            if connection.session and connection not in self._telling:
                telling = self._tell(connection, connection.session)
                self._telling[connection] = asyncio.create_task(telling)

    async def _tell(self, connection: Connection, session: ServerSession) -> None:
        """Tell one client, which may take its time: it is told once of all that came meanwhile."""
        try:
            while connection in self._untold:
                self._untold.remove(connection)
                await session.send_notification(types.ToolListChangedNotification())
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            _log.debug("%s left before it could be told of changed tools", connection.id)
        finally:
            self._untold.discard(connection)
            del self._telling[connection]
