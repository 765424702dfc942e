"""The reference agent itself: the agent side of ACP, played by a script.

Frames come in through the ACP library. Sessions connect to their servers as the scenario says, and
prompts are performed command by command.
"""

import asyncio
import importlib
import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from acp import Client, RequestError, update_agent_message_text, update_user_message_text
from acp.schema import (
    AuthMethodAgent,
    CloseSessionResponse,
    ForkSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    ResumeSessionResponse,
    SessionInfo,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    TextContentBlock,
)

from kandev_nb.agents.scripted import reports
from kandev_nb.agents.scripted.capabilities import capabilities
from kandev_nb.agents.scripted.choices import Choices
from kandev_nb.agents.scripted.failures import LOGIN_METHOD, Opening
from kandev_nb.agents.scripted.opening import Reception
from kandev_nb.agents.scripted.options import Script
from kandev_nb.agents.scripted.performance import Performance
from kandev_nb.agents.scripted.session import ScriptedSession
from kandev_nb.agents.scripted.stage import Stage

if TYPE_CHECKING:
    from kandev_nb.agents.scripted.attachment import Server

AGENT_NAME: Final = "kandev-nb-scripted"
AGENT_VERSION: Final = "1"

_OURS: Final = re.compile(r"scripted-\d+")


class ScriptedAgent:
    """Called by the ACP library: one method for each request that it serves."""

    _client: Client

    def __init__(self, script: Script, stage: Stage) -> None:
        self._script = script
        self._stage = stage
        self._reception = Reception(script, stage)
        self._sessions: dict[str, ScriptedSession] = {}
        self._numbers = itertools.count(1)

    def on_connect(self, client: Client) -> None:
        """Take the client's side of the connection; called before any request."""
        self._client = client

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Answer the handshake, and load the MCP library meanwhile."""
        await self._stage.before("initialize")
        if self._script.scenario.connects:
            library = f"{__package__}.attachment"
            self._reception.start(asyncio.to_thread(importlib.import_module, library))
        login = AuthMethodAgent(id=LOGIN_METHOD, name="Log in")
        return InitializeResponse(
            protocol_version=1,
            agent_capabilities=capabilities(self._script),
            agent_info=Implementation(name=AGENT_NAME, version=AGENT_VERSION),
            auth_methods=[login] if self._script.scenario.needs_login else [],
        )

    async def new_session(
        self, cwd: str, mcp_servers: "list[Server] | None" = None, **_: Any
    ) -> NewSessionResponse:
        """Open a session, and do with its servers what the scenario says."""
        session = ScriptedSession(self._new_id(), cwd, mcp_servers or [], Choices())
        await self._open(session, "new")
        return NewSessionResponse(session_id=session.id, **_offered(session))

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: "list[Server] | None" = None, **_: Any
    ) -> LoadSessionResponse:
        """Open a session again, and replay its conversation, of which nothing was kept."""
        self._require("load")
        session = ScriptedSession(session_id, cwd, mcp_servers or [], self._choices(session_id))
        await self._open(session, "load")
        for update in (
            update_user_message_text("an earlier prompt\n"),
            update_agent_message_text("an earlier answer\n"),
        ):
            await self._client.session_update(session_id, update)
        return LoadSessionResponse(**_offered(session))

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: "list[Server] | None" = None, **_: Any
    ) -> ResumeSessionResponse:
        """Open a session again without a replay."""
        self._require("resume")
        session = ScriptedSession(session_id, cwd, mcp_servers or [], self._choices(session_id))
        await self._open(session, "resume")
        return ResumeSessionResponse(**_offered(session))

    async def fork_session(
        self, session_id: str, cwd: str, mcp_servers: "list[Server] | None" = None, **_: Any
    ) -> ForkSessionResponse:
        """Open a new session with the choices of another, which goes on."""
        self._require("fork")
        choices = self._choices(session_id)
        session = ScriptedSession(self._new_id(), cwd, mcp_servers or [], choices)
        await self._open(session, "fork")
        return ForkSessionResponse(session_id=session.id, **_offered(session))

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """Close a session; it can be loaded and resumed."""
        self._require("close")
        session = self._session(session_id)
        await self._stage.before("session-close")
        await self._reception.close(session)
        return CloseSessionResponse()

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> ListSessionsResponse:
        """List the sessions of this process, closed ones included."""
        self._require("list")
        await self._stage.before("session-list")
        listed = (session for session in self._sessions.values() if cwd in (None, session.cwd))
        return ListSessionsResponse(sessions=[_listed(session) for session in listed])

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> SetSessionModeResponse:
        """Take another mode, which changes nothing but what a prompt's ``mode`` says."""
        self._session(session_id).choices.choose_mode(mode_id)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        """Take another model, which changes nothing but what a prompt's ``model`` says."""
        choices = self._session(session_id).choices
        choices.choose(config_id, value)
        return SetSessionConfigOptionResponse(config_options=choices.config_options())

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        """Perform a prompt's commands; ``session/cancel`` ends them."""
        session = self._session(session_id)
        await self._stage.before("prompt")
        if self._script.scenario.tells_failures == "at-prompt":
            await reports.at_prompt(self._client, session)
        text = "\n".join(block.text for block in prompt if isinstance(block, TextContentBlock))
        performance = Performance(self._client, session, self._script, self._stage)
        session.turn = self._reception.start(performance.perform(text))
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
        await self._reception.end()

    async def _open(self, session: ScriptedSession, opening: Opening) -> None:
        await self._stage.before(f"session-{opening}")
        await self._reception.open(self._client, session, opening)
        self._sessions[session.id] = session

    def _require(self, method: str) -> None:
        if method not in self._script.session_methods:
            raise RequestError.method_not_found(f"session/{method}")

    def _session(self, session_id: str) -> ScriptedSession:
        session = self._sessions.get(session_id)
        if session is None or not session.is_open:
            raise RequestError.resource_not_found(session_id)
        return session

    def _choices(self, session_id: str) -> Choices:
        """Return the choices of a session that was, here or in another process."""
        if session := self._sessions.get(session_id):
            return replace(session.choices)
        if not _OURS.fullmatch(session_id):
            raise RequestError.resource_not_found(session_id)
        return Choices()

    def _new_id(self) -> str:
        names = (f"scripted-{number}" for number in self._numbers)
        return next(name for name in names if name not in self._sessions)


def _offered(session: ScriptedSession) -> dict[str, Any]:
    choices = session.choices
    return {"modes": choices.modes(), "config_options": choices.config_options()}


def _listed(session: ScriptedSession) -> SessionInfo:
    return SessionInfo(session_id=session.id, cwd=session.cwd)
