"""One session: one agent, one endpoint and one ledger, tied together.

Everything here runs on the loop thread. A session starts with an execution of the agent and an
attempt inside it; it ends when it is closed or when the agent does.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal
from weakref import WeakSet

from anyio import CancelScope, to_thread

from kandev_nb.agents.connection import AgentConnection
from kandev_nb.agents.faults import exit_words
from kandev_nb.agents.output import RecentOutput
from kandev_nb.agents.turn import PromptResult
from kandev_nb.attachment import Attempt, History, Provenance, ReasonCode
from kandev_nb.attachment.display import BUILT_IN, View, display
from kandev_nb.attachment.model import utc_now
from kandev_nb.endpoint import (
    AttemptEndpoint,
    EndpointServer,
    ToolRegistry,
    ToolSet,
    built_in_tools,
)
from kandev_nb.errors import AgentError, KandevError
from kandev_nb.ledger import Ledger, Subscriber
from kandev_nb.servers import (
    ServerEntry,
    Transports,
    acp_server,
    built_in_entries,
    decide,
    decide_built_in,
    row_names,
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
        self.ledger.protect(_known_secrets(launch))
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
        built_in = built_in_entries(
            self._endpoints.url(self._endpoint), self._endpoints.sse_url(self._endpoint)
        )
        recorder.configured(BUILT_IN, built_in[0], "kandev")
        servers = self.launch.servers
        for row, entry in zip(row_names(servers), servers, strict=True):
            recorder.configured(row, entry, "profile")
        launch = self.launch
        self._agent = await AgentConnection.open(
            launch.command,
            env=launch.env,
            cwd=launch.cwd,
            events=self,
            recent_output=self.recent_output,
            secrets=_known_secrets(launch),
        )
        await self._open_acp_session(recorder, built_in)

    async def _open_acp_session(
        self, recorder: AttemptRecorder, built_in: tuple[ServerEntry, ...]
    ) -> None:
        assert self._agent is not None
        offered = self._agent.mcp_capabilities
        transports = Transports(http=offered.http, sse=offered.sse)
        decisions = (
            decide_built_in(built_in, transports),
            *decide(self.launch.servers, transports),
        )
        for decision in decisions:
            if not decision.delivers:
                recorder.left_out(decision)
        self._acp_session_id = await self._agent.new_session(
            cwd=self.launch.cwd,
            servers=[acp_server(d.entry) for d in decisions if d.delivers],
            on_sent=lambda: recorder.delivered_all(decisions),
        )
        recorder.accepted(self._acp_session_id)

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


def _known_secrets(launch: Launch) -> Iterator[str]:
    """Yield what must not be shown; the names of the session's own servers always may be."""
    names = {entry.name for entry in launch.servers}
    for values in (launch.env.values(), *(entry.secrets() for entry in launch.servers)):
        yield from (value for value in values if value not in names)
