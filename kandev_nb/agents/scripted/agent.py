"""The reference agent itself: the agent side of ACP, played by a script.

Frames come in through the ACP library. Sessions connect to their servers as the scenario says, and
prompts are performed command by command.
"""

import asyncio
import importlib
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final

from acp import Client, RequestError
from acp.schema import (
    AgentCapabilities,
    AgentMessageChunk,
    AuthMethodAgent,
    Implementation,
    InitializeResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptResponse,
    TextContentBlock,
)

from kandev_nb.agents.scripted.performance import Performance
from kandev_nb.agents.scripted.scenarios import Script
from kandev_nb.agents.scripted.session import ScriptedSession
from kandev_nb.agents.scripted.stage import Stage

if TYPE_CHECKING:
    from kandev_nb.agents.scripted.attachment import Server

AGENT_NAME: Final = "kandev-nb-scripted"
AGENT_VERSION: Final = "1"

_LOGIN: Final = AuthMethodAgent(id="scripted-login", name="Log in")


class ScriptedAgent:
    """Called by the ACP library: one method for each request that it serves."""

    _client: Client

    def __init__(self, script: Script, stage: Stage) -> None:
        self._script = script
        self._stage = stage
        self._sessions: dict[str, ScriptedSession] = {}
        self._background: set[asyncio.Task[Any]] = set()

    def on_connect(self, client: Client) -> None:
        """Take the client's side of the connection; called before any request."""
        self._client = client

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Answer the handshake, and load the MCP library meanwhile."""
        await self._stage.before("initialize")
        if self._script.scenario.connects:
            self._start(asyncio.to_thread(importlib.import_module, f"{__package__}.attachment"))
        http, sse = ("http" in self._script.transports, "sse" in self._script.transports)
        return InitializeResponse(
            protocol_version=1,
            agent_capabilities=AgentCapabilities(
                mcp_capabilities=McpCapabilities(http=http, sse=sse)
            ),
            agent_info=Implementation(name=AGENT_NAME, version=AGENT_VERSION),
            auth_methods=[_LOGIN] if self._script.scenario.needs_login else [],
        )

    async def new_session(
        self, cwd: str, mcp_servers: "list[Server] | None" = None, **_: Any
    ) -> NewSessionResponse:
        """Open a session, and do with its servers what the scenario says."""
        await self._stage.before("session-new")
        if self._script.scenario.needs_login:
            raise RequestError.auth_required({"authMethods": [{"id": _LOGIN.id}]})
        session = ScriptedSession(f"scripted-{len(self._sessions) + 1}", cwd, mcp_servers or [])
        self._sessions[session.id] = session
        attaching = self._start(session.attach_all(self._script, self._stage))
        if self._script.connect_before:
            await attaching
            self._refuse_if_told(session)
        return NewSessionResponse(session_id=session.id)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        """Perform a prompt's commands; ``session/cancel`` ends them."""
        session = self._session(session_id)
        await self._stage.before("prompt")
        await self._report_if_told(session)
        text = "\n".join(block.text for block in prompt if isinstance(block, TextContentBlock))
        performance = Performance(self._client, session, self._script, self._stage)
        session.turn = self._start(performance.perform(text))
        await asyncio.wait([session.turn])
        if session.turn.cancelled():
            return PromptResponse(stop_reason="cancelled")
        session.turn.result()
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        """End the session's turn."""
        if (turn := self._session(session_id).turn) is not None:
            turn.cancel()

    async def end(self) -> None:
        """End the servers that are processes of this agent."""
        await asyncio.gather(*(session.end_processes() for session in self._sessions.values()))

    def _session(self, session_id: str) -> ScriptedSession:
        if session_id not in self._sessions:
            raise RequestError.resource_not_found(session_id)
        return self._sessions[session_id]

    def _refuse_if_told(self, session: ScriptedSession) -> None:
        if self._script.scenario.tells_failures == "at-session-new" and session.unreached:
            name = session.unreached[0]
            details = f"MCP Server: '{name}': Failed to initialize MCP server"
            raise RequestError.internal_error({"details": details})

    async def _report_if_told(self, session: ScriptedSession) -> None:
        if self._script.scenario.tells_failures != "at-prompt":
            return
        while session.unreached:
            name = session.unreached.pop(0)
            status = {"kind": "mcpServerStatus", "server": name, "status": "failed"}
            chunk = AgentMessageChunk(
                session_update="agent_message_chunk",
                content=TextContentBlock(type="text", text=f"MCP server {name}: failed\n"),
                field_meta={"claudeCode": status},
            )
            await self._client.session_update(session.id, chunk)

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task
