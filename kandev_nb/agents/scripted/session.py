"""One session of the reference agent: its servers, its connections to them, its turn.

The servers of the request that opened it come in; the scenario decides what becomes of them.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kandev_nb.agents.scripted.choices import Choices
from kandev_nb.agents.scripted.options import Script
from kandev_nb.agents.scripted.stage import Stage

if TYPE_CHECKING:
    # Loading the MCP library takes a second, and ``initialize`` does not wait for it.
    from kandev_nb.agents.scripted.attachment import Attachment, Server


class ScriptedSession:
    """Servers by name, and the connections that are open to them."""

    def __init__(
        self, session_id: str, cwd: str, servers: "Iterable[Server]", choices: Choices
    ) -> None:
        self.id = session_id
        self.cwd = cwd
        self.choices = choices
        self.is_open = True
        self.turn: asyncio.Task[None] | None = None
        self.permissions: dict[str, str] = {}
        self.unreached: list[str] = []
        self.refused: list[str] = []
        self._servers = {server.name: server for server in servers}
        self._attachments: dict[str, list[Attachment]] = {}
        self._opened: list[Attachment] = []

    @property
    def server_names(self) -> tuple[str, ...]:
        """The names of its servers, in the order in which they came."""
        return tuple(self._servers)

    def attachment(self, name: str) -> "Attachment":
        """Return the newest open connection to a server, or raise ``LookupError``."""
        if not self._attachments.get(name):
            raise LookupError(f"{name} is not connected")
        return self._attachments[name][-1]

    async def attach_all(
        self, script: Script, stage: Stage, earlier: "Sequence[ScriptedSession]"
    ) -> None:
        """Do with all servers at once what the script does when a session is opened.

        ``earlier`` are the sessions that were opened before in this process.
        """
        if script.scenario.connects:
            names = [name for name in self._servers if name != script.server]
            await asyncio.gather(*(self._admit(name, script, stage, earlier) for name in names))
        if script.server in self._servers:
            self.unreached.append(script.server)

    async def connect(self, name: str, script: Script, stage: Stage) -> None:
        """Connect to a server, and list its tools if the scenario does."""
        from kandev_nb.agents.scripted.attachment import Attachment

        if name not in self._servers:
            raise LookupError(f"{name} is no server of this session")
        await stage.before("connect")
        attachment = Attachment(self._servers[name], script.scenario.mode, self.cwd)
        await attachment.open()
        self._opened.append(attachment)
        self._attachments.setdefault(name, []).append(attachment)
        stage.after("connect")
        if script.scenario.lists:
            await stage.before("list")
            await attachment.list_tools()

    async def close(self, name: str) -> None:
        """End the newest connection to a server."""
        await self.attachment(name).close()
        self._attachments[name].pop()

    async def end_connections(self) -> None:
        """End all connections that this session has opened."""
        self._attachments.clear()
        await asyncio.gather(*(each.close() for each in self._opened))

    async def end_processes(self) -> None:
        """End the servers that are processes; who connected over HTTP just goes away."""
        await asyncio.gather(*(each.close() for each in self._opened if each.is_process))

    async def _admit(
        self, name: str, script: Script, stage: Stage, earlier: "Sequence[ScriptedSession]"
    ) -> None:
        """Attach a server, with regard to those who have one of that name."""
        holders = [session for session in earlier if session._attachments.get(name)]
        match script.after_reset:
            case "keeps-first" if holders:
                self._attachments[name] = [holders[0].attachment(name)]
            case "refuses-twice" if any(self._differs(name, holder) for holder in holders):
                self.refused.append(name)
            case "moves":
                await asyncio.gather(*(holder._lose(name) for holder in holders))
                await self._attach(name, script, stage)
            case _:
                await self._attach(name, script, stage)

    def _differs(self, name: str, other: "ScriptedSession") -> bool:
        return self._servers[name] != other.attachment(name).server

    async def _lose(self, name: str) -> None:
        for attachment in self._attachments.pop(name, []):
            await attachment.close()

    async def _attach(self, name: str, script: Script, stage: Stage) -> None:
        try:
            await self.connect(name, script, stage)
            if script.scenario.then != "stay":
                await self.close(name)
            if script.scenario.then == "reconnect":
                await self.connect(name, script, stage)
        except Exception:  # noqa: BLE001 - the library raises groups of anything
            self.unreached.append(name)
