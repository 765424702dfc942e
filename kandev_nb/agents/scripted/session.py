"""One session of the reference agent: its servers, its connections to them, its turn.

The servers of ``session/new`` come in; the scenario decides what becomes of them.
"""

import asyncio
import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kandev_nb.agents.scripted.scenarios import Script
from kandev_nb.agents.scripted.stage import Stage

if TYPE_CHECKING:
    # Loading the MCP library takes a second, and ``initialize`` does not wait for it.
    from kandev_nb.agents.scripted.attachment import Attachment, Server


class ScriptedSession:
    """Servers by name, and the connections that are open to them."""

    def __init__(self, session_id: str, cwd: str, servers: "Iterable[Server]") -> None:
        self.id = session_id
        self.turn: asyncio.Task[str] | None = None
        self.unreached: list[str] = []
        self._cwd = cwd
        self._servers = {server.name: server for server in servers}
        self._attachments: dict[str, list[Attachment]] = {}

    def attachment(self, name: str) -> "Attachment":
        """Return the newest open connection to a server, or raise ``LookupError``."""
        if not self._attachments.get(name):
            raise LookupError(f"{name} is not connected")
        return self._attachments[name][-1]

    async def attach_all(self, script: Script, stage: Stage) -> None:
        """Do with all servers at once what the scenario does when a session is opened."""
        if script.scenario.connects:
            names = [name for name in self._servers if name != script.server]
            await asyncio.gather(*(self._attach(name, script, stage) for name in names))
        if script.server in self._servers:
            self.unreached.append(script.server)

    async def connect(self, name: str, script: Script, stage: Stage) -> None:
        """Connect to a server, and list its tools if the scenario does."""
        from kandev_nb.agents.scripted.attachment import Attachment

        if name not in self._servers:
            raise LookupError(f"{name} is no server of this session")
        await stage.before("connect")
        attachment = Attachment(self._servers[name], script.scenario.mode, self._cwd)
        await attachment.open()
        self._attachments.setdefault(name, []).append(attachment)
        stage.after("connect")
        if script.scenario.lists:
            await stage.before("list")
            await attachment.list_tools()

    async def close(self, name: str) -> None:
        """End the newest connection to a server."""
        await self.attachment(name).close()
        self._attachments[name].pop()

    async def end_processes(self) -> None:
        """End the servers that are processes; who connected over HTTP just goes away."""
        attachments = itertools.chain.from_iterable(self._attachments.values())
        await asyncio.gather(*(each.close() for each in attachments if each.is_process))

    async def _attach(self, name: str, script: Script, stage: Stage) -> None:
        try:
            await self.connect(name, script, stage)
            if script.scenario.then != "stay":
                await self.close(name)
            if script.scenario.then == "reconnect":
                await self.connect(name, script, stage)
        except Exception:  # noqa: BLE001 - the library raises groups of anything
            self.unreached.append(name)
