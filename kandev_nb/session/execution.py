"""One execution of a session: one generation of its agent's process, and what lives as long as it.

Endpoints of superseded attempts are among that: some agents go on using a first connection after a
reset, and so its URL goes on serving (EV-7). An :class:`AgentExecution` is an agent over ACP; that
of a CLI in a terminal is in :mod:`kandev_nb.session.passthrough`.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Final, Literal, Protocol

from kandev_nb.agents.connection import AgentConnection, AgentEvents
from kandev_nb.agents.faults import not_offered
from kandev_nb.agents.opened import Opened, Way
from kandev_nb.agents.output import RecentOutput
from kandev_nb.agents.requests import Client
from kandev_nb.endpoint import AttemptEndpoint, EndpointServer, ToolSet, bridge
from kandev_nb.errors import KandevError
from kandev_nb.ledger import Ledger
from kandev_nb.servers import (
    Decision,
    Transports,
    acp_server,
    built_in,
    deliver,
    deliver_built_in,
)
from kandev_nb.session.attempt import AttemptRecorder
from kandev_nb.session.identity import new_id
from kandev_nb.session.launch import Launch
from kandev_nb.session.person import Person

LEAVE_SECONDS: Final = 2.0
"""How long an agent may take to close one of its sessions, before it goes on without."""

_log = logging.getLogger("kandev_nb.session")


class Owner(AgentEvents, Protocol):
    """What an execution needs of its session."""

    name: str
    ledger: Ledger
    recent_output: RecentOutput
    person: Person


class Execution(ABC):
    """A running process, and the endpoints of its attempts."""

    agent: AgentConnection | None = None
    """The agent over ACP, once it has shaken hands."""
    opened: Opened | None = None
    """The agent's session that prompts go to."""

    def __init__(
        self, launch: Launch, server: EndpointServer, tools: ToolSet, owner: Owner
    ) -> None:
        self.id = new_id("execution")
        self.left: set[str] = set()
        """IDs of the agent's sessions that were given up: what is said of them is past."""

        self.launch = launch
        self._server = server
        self._tools = tools
        self._owner = owner
        self._endpoints: list[AttemptEndpoint] = []

    def check_offers(self, way: Way) -> None:
        """Raise ``Unsupported`` when the agent does not advertise that way of opening a session."""
        if self.agent is None or not self.agent.offers(way):
            raise not_offered(f"session/{way}")

    @abstractmethod
    async def serve(self, attempt_id: str) -> tuple[Decision, ...]:
        """Open the endpoint of an attempt; return the ways to reach it, the preferred one first."""

    @abstractmethod
    async def open(
        self,
        recorder: AttemptRecorder,
        own: tuple[Decision, ...],
        way: Way,
        acp_session_id: str,
    ) -> None:
        """Hand over the servers of an attempt, the built-in one by ``own``; record what becomes of
        it. The process is started first where it does not run.
        """

    def chose(self, what: Literal["mode", "model"], wanted: str) -> None:
        """Remember what was chosen."""
        if self.opened is not None and (choice := getattr(self.opened, what)) is not None:
            self.opened = replace(self.opened, **{what: replace(choice, current=wanted)})

    async def end(self) -> None:
        """End the process, then its endpoints; closes that this causes are no evidence (EV-5)."""
        for endpoint in self._endpoints:
            endpoint.expect_end()
        await self._end_process()
        await self.free()

    async def free(self) -> None:
        """Free what the process leaves, ended by us or by itself.

        The URLs of every attempt of this execution are answered with 410 from now on.
        """
        endpoints, self._endpoints = self._endpoints, []
        await asyncio.gather(*(self._server.end(endpoint) for endpoint in endpoints))

    @abstractmethod
    async def _end_process(self) -> None: ...

    async def _new_endpoint(self, attempt_id: str) -> AttemptEndpoint:
        ledger = self._owner.ledger
        endpoint = await self._server.open(attempt_id, self._tools, ledger)
        self._endpoints.append(endpoint)
        ledger.protect((endpoint.secret,))
        if self.launch.probed:
            self.launch.probed.tap.conceal(endpoint.secret)
        return endpoint


class AgentExecution(Execution):
    """A running agent over ACP, and its session that prompts go to."""

    async def serve(self, attempt_id: str) -> tuple[Decision, ...]:
        """Open the endpoint of an attempt; return the built-in server over each transport."""
        endpoint = await self._new_endpoint(attempt_id)
        own = built_in(
            self._server.url(endpoint),
            self._server.sse_url(endpoint),
            bridge.command(),
            {
                bridge.URL_VARIABLE: f"{self._server.origin}/mcp",
                bridge.SECRET_VARIABLE: endpoint.secret,
            },
        )
        if (probed := self.launch.probed) is None or not probed.over:
            return own
        return tuple(decision for decision in own if decision.wire_transport == probed.over)

    async def open(
        self,
        recorder: AttemptRecorder,
        own: tuple[Decision, ...],
        way: Way,
        acp_session_id: str,
    ) -> None:
        """Open an ACP session with these servers, and record what is delivered and accepted.

        The one before it is open until then, and no more after a failure.
        """
        if self.agent is None:
            self.agent = await self._started()
        before, self.opened = self.opened, None
        if before is not None:
            # What the agent says of it from now on is of the attempt before (EV-7).
            self.left.add(before.session_id)
        if way in ("load", "resume"):
            self.left.discard(acp_session_id)
        transports = Transports(self.agent.mcp_capabilities.offered, self.launch.agent.takes)
        servers = [decision for decision in self.launch.servers if decision.delivers]
        decisions = (*self._own(own, transports), *deliver(servers, transports))
        for decision in decisions:
            if not decision.delivers:
                recorder.left_out(decision)
        self.opened = await self.agent.open_session(
            way,
            cwd=self.launch.cwd,
            servers=[acp_server(decision) for decision in decisions if decision.delivers],
            on_sent=lambda: recorder.delivered_all(decisions),
            session_id=acp_session_id,
        )
        self.left.discard(self.opened.session_id)
        recorder.accepted(self.opened.session_id)
        if before is not None and before.session_id != self.opened.session_id and way != "fork":
            await self._leave(before)

    def _own(self, own: tuple[Decision, ...], transports: Transports) -> tuple[Decision, ...]:
        """Return the built-in server as it is delivered; a probe may want it another way."""
        if self.launch.probed and self.launch.probed.over:
            return own
        return (deliver_built_in(own, transports),)

    async def _started(self) -> AgentConnection:
        """Start the agent and shake hands with it."""
        launch, owner = self.launch, self._owner
        # The session's name is for what it asks its user.
        client = Client.in_directory(
            launch.cwd,
            session=owner.name,
            person=owner.person,
            env=launch.env,
            **launch.offers._asdict(),
        )
        return await AgentConnection.open(
            launch.command,
            env=launch.env,
            cwd=launch.cwd,
            events=owner,
            recent_output=owner.recent_output,
            secrets=launch.secrets,
            client=client,
            tap=launch.probed.tap if launch.probed else None,
        )

    async def _end_process(self) -> None:
        if self.agent is not None:
            await self.agent.close()

    async def _leave(self, opened: Opened) -> None:
        """Close a session of the agent's that nobody prompts any more, where it offers that."""
        assert self.agent is not None
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await self.agent.close_session(opened.session_id)
        except (TimeoutError, KandevError) as error:
            _log.warning(
                "an earlier session was not closed by its agent (%s)", type(error).__name__
            )
