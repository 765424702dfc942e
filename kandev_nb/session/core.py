"""One session: one agent, one endpoint and one ledger, tied together.

Everything here runs on the loop thread. A session starts with an execution of the agent and an
attempt inside it; it ends when it is closed or when the agent does.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Any, Final, Literal
from weakref import WeakSet

from anyio import CancelScope, to_thread

from kandev_nb.agents.connection import AgentConnection
from kandev_nb.agents.faults import exit_words
from kandev_nb.agents.output import RecentOutput
from kandev_nb.agents.turn import PromptResult
from kandev_nb.attachment import Attempt, History, Provenance, ReasonCode
from kandev_nb.attachment.display import View, display
from kandev_nb.attachment.model import utc_now
from kandev_nb.endpoint import (
    AttemptEndpoint,
    EndpointServer,
    ToolRegistry,
    ToolSet,
    bridge,
    built_in_tools,
)
from kandev_nb.errors import AgentError, KandevError
from kandev_nb.ledger import Ledger, Subscriber
from kandev_nb.servers import (
    Decision,
    Transports,
    acp_server,
    built_in,
    deliver,
    deliver_built_in,
)
from kandev_nb.session.attempt import AttemptRecorder
from kandev_nb.session.attribution import from_error, from_update
from kandev_nb.session.identity import new_id
from kandev_nb.session.launch import Launch, text
from kandev_nb.session.task import SessionDesk, TaskCore

State = Literal["starting", "running", "failed", "ended", "closed"]
_OVER: Final[dict[State, str]] = {
    "failed": "could not be started",
    "ended": "has ended with its agent",
    "closed": "is closed",
}


class SessionCore:
    """A session on the loop thread. The public face is :class:`kandev_nb.controller.Session`."""

    def __init__(
        self, name: str, launch: Launch, endpoints: EndpointServer, task: TaskCore
    ) -> None:
        self.name = name
        self.launch = launch
        self.task = task
        self.session_id = new_id("session")
        self.agent_profile_id = new_id("profile")
        self.started_at = utc_now()
        self.state: State = "starting"
        self.recent_output = RecentOutput()
        self._starting = CancelScope()
        self._over = asyncio.Event()
        _live.add(self)
        self.ledger = Ledger()
        self.ledger.protect(launch.secrets)
        self.tools = ToolRegistry()
        self._tool_set = ToolSet(built_in_tools(SessionDesk(self)), task.tools, self.tools)
        self._endpoints = endpoints
        self._endpoint: AttemptEndpoint | None = None
        self._recorder: AttemptRecorder | None = None
        self._agent: AgentConnection | None = None
        self._acp_session_id = ""
        self._is_prompting = False
        self._executions = self._attempts = 0

    @property
    def is_open(self) -> bool:
        """Whether the session can still be prompted, now or soon."""
        return self.state not in _OVER

    async def start(self) -> None:
        """Start the agent and open its session. Whatever was spawned is ended on failure."""
        with self._starting:
            try:
                await self._attach(new_id("execution"))
            except KandevError as error:
                self._record_failure(error)
                await self._end("failed", "the session could not be started")
                error.add_note(str(self.view(self.ledger.history)))
                raise
            except BaseException:
                if self._starting.cancel_called:
                    await self._end("closed", "closed")
                else:
                    await self._end("failed", "the start was interrupted")
                raise
            self.state = "running"
        if self._starting.cancelled_caught:
            raise self.over()

    async def prompt(self, words: str) -> PromptResult:
        """Send a prompt and return how its turn ended."""
        text(words, "The prompt")
        if self._agent is None or self.state != "running":
            raise self.over()
        if self._is_prompting:
            raise AgentError(
                f'Session "{self.name}" is answering a prompt. Wait for it or interrupt it, or '
                "prompt another session.",
                reason_code=ReasonCode.PROMPT_UNDER_WAY,
            )
        self._is_prompting = True
        try:
            return await self._agent.prompt(self._acp_session_id, words)
        finally:
            self._is_prompting = False

    async def close(self) -> None:
        """End the agent and everything of this session, or wait until that is done."""
        if self.state == "starting":
            self._starting.cancel()
        elif self.state in ("running", "ended"):
            await self._end("closed", "closed")
        await self._over.wait()

    def view(self, history: History) -> View:
        """Return what a person is shown of that report of this session."""
        name = f'session "{self.name}"'
        return display(
            history,
            session=name,
            agent=self.launch.agent.id,
            execution=self._executions,
            number=self._attempts,
        )

    def rows(self) -> dict[str, Any]:
        """Return what the page shows of the session, as plain JSON values."""
        return self.view(self.ledger.history).to_rows()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call ``subscriber`` with each new report, on a thread of its own."""
        return self.ledger.subscribe(subscriber)

    def over(self) -> AgentError:
        """Return the error for a call that needs a running agent."""
        what = _OVER.get(self.state, "is still starting")
        ended = self.state == "ended"
        return AgentError(
            f'Session "{self.name}" {what}. Start a new one with task.start(…).',
            reason_code=ReasonCode.AGENT_EXITED if ended else ReasonCode.CLOSED,
        )

    def exited(self, returncode: int | None) -> None:
        """Called by the connection when the agent process is gone."""
        if self.state != "running" or self._recorder is None:
            return
        self.state = "ended"
        words = exit_words(returncode)
        self._recorder.failed(ReasonCode.AGENT_EXITED, f"The agent {words}", Provenance.OBSERVED)
        self._recorder.ended(f"the agent {words}")
        self.task.spawn(self._end_endpoint())

    def session_update(self, acp_session_id: str, update: dict[str, Any]) -> None:
        """Called by the connection for each update that the agent sends."""
        if self._recorder and (refusal := from_update(update, self._recorder.delivered)):
            self._recorder.refused(refusal)

    async def _attach(self, execution_id: str) -> None:
        self._executions += 1
        recorder = self._recorder = self._new_attempt(execution_id)
        self._endpoint = await self._endpoints.open(
            recorder.attempt_id, self._tool_set, self.ledger
        )
        self.ledger.protect((self._endpoint.secret,))
        launch, own = self.launch, self._built_in(self._endpoint)
        recorder.configured(own[0], "kandev")
        for decision in launch.servers:
            recorder.configured(decision, "profile")
            if not decision.delivers:
                recorder.left_out(decision)
        self._agent = await AgentConnection.open(
            launch.command,
            env=launch.env,
            cwd=launch.cwd,
            events=self,
            recent_output=self.recent_output,
            secrets=launch.secrets,
        )
        await self._open_acp_session(recorder, own)

    async def _open_acp_session(self, recorder: AttemptRecorder, own: tuple[Decision, ...]) -> None:
        assert self._agent is not None
        transports = Transports(self._agent.mcp_capabilities.offered, self.launch.agent.takes)
        meant = [decision for decision in self.launch.servers if decision.delivers]
        decisions = (deliver_built_in(own, transports), *deliver(meant, transports))
        for decision in decisions:
            if not decision.delivers:
                recorder.left_out(decision)
        self._acp_session_id = await self._agent.new_session(
            cwd=self.launch.cwd,
            servers=[acp_server(decision) for decision in decisions if decision.delivers],
            on_sent=lambda: recorder.delivered_all(decisions),
        )
        recorder.accepted(self._acp_session_id)

    def _built_in(self, endpoint: AttemptEndpoint) -> tuple[Decision, ...]:
        endpoints = self._endpoints
        return built_in(
            endpoints.url(endpoint),
            endpoints.sse_url(endpoint),
            bridge.command(),
            {
                bridge.URL_VARIABLE: f"{endpoints.origin}/mcp",
                bridge.SECRET_VARIABLE: endpoint.secret,
            },
        )

    def _new_attempt(self, execution_id: str) -> AttemptRecorder:
        self._attempts += 1
        attempt = Attempt(
            attachment_attempt_id=new_id("attempt"),
            task_id=self.task.task_id,
            session_id=self.session_id,
            execution_id=execution_id,
            agent_id=self.launch.agent.id,
            agent_profile_id=self.agent_profile_id,
            started_at=utc_now(),
            kind="new",
        )
        return AttemptRecorder(self.ledger, attempt)

    def _record_failure(self, error: KandevError) -> None:
        recorder = self._recorder
        if recorder is None:
            return
        if isinstance(error, AgentError) and error.code is not None:
            if refusal := from_error(error, recorder.delivered):
                recorder.refused(refusal)
            else:
                recorder.failed(error.reason_code, str(error), Provenance.AGENT_REPORTED)
        else:
            recorder.failed(error.reason_code, str(error), Provenance.OBSERVED)

    async def _end(self, state: State, reason: str) -> None:
        """End everything, also when the call that asks for it has been cancelled."""
        self.state = state
        if self._endpoint is not None:
            self._endpoint.expect_end()
        with CancelScope(shield=True):
            if self._agent is not None:
                await self._agent.close()
            await self._end_endpoint()
            if self._recorder is not None:
                self._recorder.ended(reason)
            await to_thread.run_sync(self.ledger.close)
        self._over.set()

    def _disown(self) -> None:
        """In a forked child: the session is the parent's, and nothing here may end it (SE-6)."""
        self.state = "closed"
        self.task.is_open = False
        self.ledger.disown()
        self._over.set()

    async def _end_endpoint(self) -> None:
        if self._endpoint is not None:
            await self._endpoints.end(self._endpoint)


_live: WeakSet[SessionCore] = WeakSet()
_of_the_parent: list[SessionCore] = []


def _disown_after_fork() -> None:
    # They are kept for ever: freeing an agent's transport would kill the parent's agent.
    _of_the_parent.extend(_live)
    for session in _of_the_parent:
        session._disown()


os.register_at_fork(after_in_child=_disown_after_fork)
