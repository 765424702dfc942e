"""One execution of a session: one generation of its agent's process, and what lives as long as it.

Endpoints of superseded attempts are among that: some agents go on using a first connection after a
reset, and so its URL goes on serving (EV-7).
"""

import asyncio
import logging
from dataclasses import replace
from typing import Final, Literal

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

LEAVE_SECONDS: Final = 2.0
"""How long an agent may take to close one of its sessions, before it goes on without."""

_log = logging.getLogger("kandev_nb.session")


class Execution:
    """A running agent, the ACP session that prompts go to, and the endpoints of its attempts."""

    def __init__(
        self, launch: Launch, server: EndpointServer, tools: ToolSet, ledger: Ledger
    ) -> None:
        self.id = new_id("execution")
        self.agent: AgentConnection | None = None
        self.opened: Opened | None = None
        self.left: set[str] = set()
        """IDs of the agent's sessions that were given up: what is said of them is past."""

        self.launch = launch
        self._server = server
        self._tools = tools
        self._ledger = ledger
        self._endpoints: list[AttemptEndpoint] = []

    def check_offers(self, way: Way) -> None:
        """Raise ``Unsupported`` when the agent does not advertise that way of opening a session."""
        if self.agent is None or not self.agent.offers(way):
            raise not_offered(f"session/{way}")

    async def serve(self, attempt_id: str) -> tuple[Decision, ...]:
        """Open the endpoint of an attempt; return the built-in server over each transport."""
        endpoint = await self._server.open(attempt_id, self._tools, self._ledger)
        self._endpoints.append(endpoint)
        self._ledger.protect((endpoint.secret,))
        return built_in(
            self._server.url(endpoint),
            self._server.sse_url(endpoint),
            bridge.command(),
            {
                bridge.URL_VARIABLE: f"{self._server.origin}/mcp",
                bridge.SECRET_VARIABLE: endpoint.secret,
            },
        )

    async def start(self, name: str, events: AgentEvents, recent_output: RecentOutput) -> None:
        """Start the agent and shake hands with it; the session's ``name`` is for its questions."""
        launch = self.launch
        client = Client.in_directory(
            launch.cwd, session=name, env=launch.env, **launch.offers._asdict()
        )
        self.agent = await AgentConnection.open(
            launch.command,
            env=launch.env,
            cwd=launch.cwd,
            events=events,
            recent_output=recent_output,
            secrets=launch.secrets,
            client=client,
        )

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
        assert self.agent is not None, "it was started"
        before, self.opened = self.opened, None
        transports = Transports(self.agent.mcp_capabilities.offered, self.launch.agent.takes)
        servers = [decision for decision in self.launch.servers if decision.delivers]
        decisions = (deliver_built_in(own, transports), *deliver(servers, transports))
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

    def chose(self, what: Literal["mode", "model"], wanted: str) -> None:
        """Remember what was chosen."""
        if self.opened is not None and (choice := getattr(self.opened, what)) is not None:
            self.opened = replace(self.opened, **{what: replace(choice, current=wanted)})

    async def end(self) -> None:
        """End the agent, then its endpoints; closes that this causes are no evidence (EV-5)."""
        for endpoint in self._endpoints:
            endpoint.expect_end()
        if self.agent is not None:
            await self.agent.close()
        await self.end_endpoints()

    async def end_endpoints(self) -> None:
        """Answer the URLs of every attempt of this execution with 410 from now on."""
        endpoints, self._endpoints = self._endpoints, []
        await asyncio.gather(*(self._server.end(endpoint) for endpoint in endpoints))

    async def _leave(self, opened: Opened) -> None:
        """Close a session of the agent's that nobody prompts any more, where it offers that."""
        assert self.agent is not None
        self.left.add(opened.session_id)
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await self.agent.close_session(opened.session_id)
        except (TimeoutError, KandevError) as error:
            _log.warning(
                "an earlier session was not closed by its agent (%s)", type(error).__name__
            )
