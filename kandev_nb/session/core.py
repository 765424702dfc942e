"""One session: one agent, one endpoint and one ledger, tied together.

Everything here runs on the loop thread. A session goes on through executions of its agent and
attempts inside them; it ends when it is closed or when the agent does.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakSet

from anyio import CancelScope
from anyio.lowlevel import checkpoint_if_cancelled

from kandev_nb import runtime
from kandev_nb.agents.connection import AgentConnection
from kandev_nb.agents.faults import exit_words
from kandev_nb.agents.opened import Choice, Way
from kandev_nb.agents.output import RecentOutput
from kandev_nb.agents.terminal import Terminal
from kandev_nb.agents.transport import show
from kandev_nb.agents.turn import Listener, PromptResult
from kandev_nb.attachment import Attempt, History, Provenance, ReasonCode
from kandev_nb.attachment.display import View, display
from kandev_nb.attachment.model import utc_now
from kandev_nb.attachment.steps import Situation
from kandev_nb.endpoint import EndpointServer, ToolRegistry, ToolSet, built_in_tools
from kandev_nb.errors import AgentError, KandevError
from kandev_nb.ledger import Ledger, Subscriber
from kandev_nb.session.attempt import AttemptRecorder
from kandev_nb.session.attribution import from_error, from_line, from_update
from kandev_nb.session.execution import AgentExecution, Execution
from kandev_nb.session.identity import new_id
from kandev_nb.session.launch import Launch, text
from kandev_nb.session.passthrough import TerminalExecution, no_conversation, no_terminal
from kandev_nb.session.person import PATIENCE, Person
from kandev_nb.session.task import SessionDesk, TaskCore
from kandev_nb.shown import Background, Whose
from kandev_nb.store.records import SessionRecord

if TYPE_CHECKING:
    from kandev_nb.diagnose.endpoint import EndpointTest

State = Literal["starting", "running", "failed", "ended", "closed"]
_OVER: Final[dict[State, str]] = {
    "failed": "could not be started",
    "ended": "has ended with its agent",
    "closed": "is closed",
}
_ADVISED_AS: Final[dict[State, Literal["live", "ended", "failed", "over"]]] = {
    "starting": "live",
    "running": "live",
    "failed": "failed",
    "ended": "ended",
    "closed": "over",
}
_KINDS: Final[dict[Way, tuple[str, str]]] = {
    "new": ("reset", ""),
    "load": ("load", ""),
    "resume": ("resume", ""),
    "fork": ("new", "fork of the session before it"),
}
"""Kind and cause of the attempt that opening a session in that way begins."""


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
        self._state: State = "starting"
        # Nobody listens to an agent of which no wording is known, nor to what a CLI paints.
        listens = (launch.agent.failure_lines and not launch.passthrough) or launch.probed
        place = "its terminal" if launch.passthrough else "its standard error"
        self.recent_output = RecentOutput(self._said if listens else None, place)
        self.person = Person(PATIENCE)
        self._starting = CancelScope()
        self._over = asyncio.Event()
        self._ending: asyncio.Future[None] | None = None
        _live.add(self)
        self.ledger = Ledger()
        self.ledger.protect(launch.secrets)
        self.ledger.watch(self._keep)
        self.tools = ToolRegistry()
        self._tool_set = (
            launch.probed.tools
            if launch.probed
            else ToolSet(built_in_tools(SessionDesk(self)), task.tools, self.tools)
        )
        self._endpoints = endpoints
        self._execution: Execution | None = None
        self._recorder: AttemptRecorder | None = None
        self._changes = asyncio.Lock()
        self._is_prompting = False
        self._consents: set[Hashable] = set()
        self._executions = self._attempts = 0

    @property
    def state(self) -> State:
        """What the session is at; those who watch its task are told of each change."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state = state
        self.task.changes.tell()

    @property
    def is_open(self) -> bool:
        """Whether the session can still be prompted, now or soon."""
        return self.state not in _OVER

    @property
    def agent(self) -> AgentConnection | None:
        """The agent of the current execution, once it has shaken hands."""
        return self._execution.agent if self._execution else None

    async def start(self, way: Way = "new", acp_session_id: str = "") -> None:
        """Start the agent and open its session. Whatever was spawned is ended on failure."""
        kind, cause = ("new", "") if way == "new" else _KINDS[way]
        await self._begin(kind, cause, way, acp_session_id)

    async def restart(self, launch: Launch) -> None:
        """End the agent and start it anew (SE-2); also one that has ended by itself."""
        async with self._changing("restart it", "running", "ended"):
            self._use(launch)
            await self._begin("restart", "", "new", "")

    async def reopen(self, launch: Launch, way: Way, acp_session_id: str = "") -> None:
        """Open another ACP session in the same process, as a new attempt (EV-7).

        An agent that is known to go on with its first connection to a server of the same name is
        restarted for a reset, and so is a CLI.
        """
        async with self._changing("reset it"):
            execution = self._execution
            assert execution is not None, "it is running"
            execution.check_offers(way)
            self._use(launch)
            kind, cause = _KINDS[way]
            if way == "new" and (launch.passthrough or launch.agent.reset_by_restart):
                await self._begin(kind, "by restart, which this agent needs", way, "")
                return
            current = execution.opened.session_id if execution.opened else ""
            recorder = self._record_attempt(kind, cause, execution)
            try:
                await self._attach(execution, recorder, way, acp_session_id or current)
            except KandevError as error:
                self._record_failure(error)
                error.add_note(str(self.view(self.ledger.history)))
                raise
            except BaseException:
                words = "The call that opens a session was interrupted"
                recorder.failed(ReasonCode.CALL_TIMEOUT, words, Provenance.OBSERVED)
                raise

    async def prompt(self, words: str, listener: Listener | None = None) -> PromptResult:
        """Send a prompt and return how its turn ended."""
        text(words, "The prompt")
        agent, acp_session_id = self._conversation()
        self._refuse_if_prompting()
        self._is_prompting = True
        try:
            return await agent.prompt(acp_session_id, words, listener)
        finally:
            self._is_prompting = False

    async def cancel(self) -> None:
        """Ask the agent to end the turn that is under way; without one nothing happens."""
        if self._is_prompting:
            agent, acp_session_id = self._conversation()
            await agent.cancel(acp_session_id)

    async def write(self, keys: bytes) -> None:
        """Type into the terminal of a CLI."""
        try:
            await self._terminal().write(keys)
        except ConnectionError as error:
            raise AgentError(
                f'Session "{self.name}" takes no keys: {error}. Call its restart().',
                reason_code=ReasonCode.AGENT_EXITED,
            ) from None

    async def resize(self, rows: int, cols: int) -> None:
        """Give the terminal of a CLI another size."""
        self._terminal().resize(rows, cols)

    def choice(self, what: Literal["mode", "model"]) -> Choice | None:
        """Return what can be chosen in the session, and what is, as far as the agent says."""
        opened = self._execution.opened if self._execution else None
        return getattr(opened, what) if opened else None

    async def choose(self, what: Literal["mode", "model"], wanted: str) -> None:
        """Set the session's mode or model."""
        agent, acp_session_id = self._conversation()
        assert self._execution is not None
        await agent.choose(acp_session_id, what, self.choice(what), text(wanted, f"The {what}"))
        self._execution.chose(what, wanted)

    async def close(self) -> None:
        """End the agent and everything of this session, or wait until that is done."""
        if self.state == "starting":
            self._starting.cancel()
        elif self.state in ("running", "ended"):
            await self._end("closed", "closed")
        await self._over.wait()

    async def test_endpoint(self, name: str, timeout: float, *, consent: bool) -> "EndpointTest":
        """Reach a server of the configuration and list its tools; no status moves (DI-1)."""
        from kandev_nb.diagnose.endpoint import Subject, not_live, test_endpoint

        if not self.is_open or self._recorder is None:
            raise not_live(self.name)
        attempt_id = self._recorder.attempt_id
        subject = Subject(self.launch, self.ledger, self._endpoints, self._tool_set, self._consents)
        tested = await test_endpoint(subject, name, timeout, consent=consent)
        self.ledger.tested(attempt_id, name, tested.stored)
        return tested

    def view(self, history: History) -> View:
        """Return what a person is shown of that report of this session."""
        name = f'session "{self.name}"'
        return display(
            history,
            session=name,
            agent=self.launch.agent.id,
            execution=self._executions,
            number=self._attempts,
            situation=self._situation,
        )

    def rows(self) -> dict[str, Any]:
        """Return what the page shows of the session, as plain JSON values."""
        return self.view(self.ledger.history).to_rows()

    @property
    def _situation(self) -> Situation:
        agent, is_passthrough = self.launch.agent, bool(self.launch.passthrough)
        known = agent.id if self.launch.is_registered or is_passthrough else ""
        return Situation(known, _ADVISED_AS[self.state], is_passthrough, agent.notes)

    @property
    def whose(self) -> Whose:
        """What tells the session from others."""
        return Whose(self.session_id, self.name, self.task.title, self.launch.agent.id)

    @property
    def background(self) -> Background:
        """What diagnostics say of the session beside its report."""
        agent = self.agent
        name, version = (agent.agent_name, agent.agent_version) if agent else ("", "")
        return Background(self.ledger.redact, self.state, self.launch.agent.title, name, version)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call ``subscriber`` with each new report, on a thread of its own."""
        return self.ledger.subscribe(subscriber)

    def over(self) -> AgentError:
        """Return the error for a call that needs a running agent."""
        what = _OVER.get(self.state, "is still starting")
        ended = self.state == "ended"
        way_out = "Call its restart()." if ended else "Start a new one with task.start(…)."
        return AgentError(
            f'Session "{self.name}" {what}. {way_out}',
            reason_code=ReasonCode.AGENT_EXITED if ended else ReasonCode.CLOSED,
        )

    def exited(self, returncode: int | None) -> None:
        """Called by the connection when the agent process is gone."""
        if self.launch.probed:
            self.launch.probed.tap.exited(returncode)
        if self.state != "running" or self._recorder is None or self._execution is None:
            return
        self.state = "ended"
        agent = self._execution.agent
        words = agent.end_words if agent else exit_words(returncode)
        self._recorder.failed(ReasonCode.AGENT_EXITED, f"The agent {words}", Provenance.OBSERVED)
        self._recorder.ended(f"the agent {words}")
        self.task.spawn(self._execution.free())

    def session_update(self, acp_session_id: str, update: dict[str, Any]) -> None:
        """Called by the connection for each update that the agent sends."""
        if self._execution is None or acp_session_id in self._execution.left:
            return
        if self._recorder and (refusal := from_update(update, self._recorder.delivered)):
            self._recorder.refused(refusal)

    def _keep(self) -> None:
        """Hand the session to the store as it is now. Called on the ledger's worker too."""
        if (keeper := self.task.keeper) is None:
            return
        record = SessionRecord(
            session_id=self.session_id,
            task_id=self.task.task_id,
            task_title=self.task.title,
            name=self.name,
            agent_id=self.launch.agent.id,
            agent_title=self.launch.agent.title,
            agent_profile_id=self.agent_profile_id,
            started_at=self.started_at,
            state=self.state,
        )
        keeper.offer(record, self.ledger.history)

    def _said(self, line: str) -> None:
        """Called for each line that the agent writes to its standard error."""
        if self.launch.probed:
            show(self.launch.probed.tap, "stderr", line.encode())
        if (recorder := self._recorder) is None:
            return
        if refusal := from_line(line, self.launch.agent.failure_lines, recorder.delivered):
            recorder.refused(refusal)

    async def _begin(self, kind: str, cause: str, way: Way, acp_session_id: str) -> None:
        """Begin an execution, in place of the one before it; end everything on failure."""
        if self.launch.passthrough:
            kind, cause = "passthrough", "" if kind == "new" else kind
        self.state, self._starting = "starting", CancelScope()
        with self._starting:
            try:
                before, execution = self._execution, self._new_execution()
                recorder = self._record_attempt(kind, cause, execution)
                if before is not None:
                    # To its end: nothing names this execution any more.
                    with CancelScope(shield=True):
                        await before.end()
                await self._attach(execution, recorder, way, acp_session_id)
                # What was given up in the last moment is not left running.
                await checkpoint_if_cancelled()
            except KandevError as error:
                self._record_failure(error)
                await self._end("failed", "the session could not be started")
                error.add_note(str(self.view(self.ledger.history)))
                if error.reason_code == ReasonCode.AUTH_REQUIRED:
                    error.add_note(" ".join(self.launch.agent.needs))
                raise
            except BaseException:
                if self._starting.cancel_called:
                    await self._end("closed", "closed")
                else:
                    await self._end("failed", "the start was interrupted")
                raise
            self.state = "running"
            self._keep()
        if self._starting.cancelled_caught:
            raise self.over()

    async def _attach(
        self, execution: Execution, recorder: AttemptRecorder, way: Way, acp_session_id: str
    ) -> None:
        """Deliver the servers of a new attempt, in a session of the agent's that is opened."""
        own = await execution.serve(recorder.attempt_id)
        for decision in own[:1]:
            recorder.configured(decision, "kandev")
        for decision in self.launch.servers:
            recorder.configured(decision, "profile")
            if not decision.delivers:
                recorder.left_out(decision)
        await execution.open(recorder, own, way, acp_session_id)

    def _use(self, launch: Launch) -> None:
        self.launch = launch
        self.ledger.protect(launch.secrets)
        if self._execution is not None:
            self._execution.launch = launch

    def _new_execution(self) -> Execution:
        self._executions += 1
        made = TerminalExecution if self.launch.passthrough else AgentExecution
        self._execution = made(self.launch, self._endpoints, self._tool_set, self)
        return self._execution

    def _record_attempt(self, kind: str, cause: str, execution: Execution) -> AttemptRecorder:
        """Supersede the current attempt at once, before anything is delivered (EV-7)."""
        self._attempts += 1
        attempt = Attempt(
            attachment_attempt_id=new_id("attempt"),
            task_id=self.task.task_id,
            session_id=self.session_id,
            execution_id=execution.id,
            agent_id=self.launch.agent.id,
            agent_profile_id=self.agent_profile_id,
            started_at=utc_now(),
            kind=kind,
            cause=cause,
        )
        self._recorder = AttemptRecorder(self.ledger, attempt)
        return self._recorder

    @asynccontextmanager
    async def _changing(self, what: str, *states: State) -> AsyncIterator[None]:
        """Let one change of the session happen at a time, and none while it is prompted."""
        async with self._changes:
            if self.state not in (states or ("running",)):
                raise self.over()
            self._refuse_if_prompting(f", then {what}")
            yield

    def _conversation(self) -> tuple[AgentConnection, str]:
        """Return the agent and the ACP session that a prompt goes to."""
        execution = self._execution
        if self.state != "running" or execution is None:
            raise self.over()
        if execution.agent is None:
            raise no_conversation(self.name)
        if execution.opened is None:
            raise AgentError(
                f'Session "{self.name}" has no open session of its agent: the last one could not '
                "be opened. Call its reset() or restart().",
                reason_code=ReasonCode.SESSION_REQUEST_FAILED,
            )
        return execution.agent, execution.opened.session_id

    def _terminal(self) -> Terminal:
        execution = self._execution
        if not isinstance(execution, TerminalExecution):
            raise no_terminal(self.name)
        if self.state != "running" or execution.terminal is None:
            raise self.over()
        return execution.terminal

    def _refuse_if_prompting(self, then: str = ", or prompt another session") -> None:
        if self._is_prompting:
            raise AgentError(
                f'Session "{self.name}" is answering a prompt. Wait for it or interrupt it{then}.',
                reason_code=ReasonCode.PROMPT_UNDER_WAY,
            )

    def _record_failure(self, error: KandevError) -> None:
        recorder = self._recorder
        if recorder is None or self.state == "ended":
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
        # A scope does not keep out that a task is cancelled by itself, as those of a gather are.
        self._ending = asyncio.ensure_future(self._end_all(reason))
        with CancelScope(shield=True):
            await asyncio.shield(self._ending)

    async def _end_all(self, reason: str) -> None:
        if self._execution is not None:
            await self._execution.end()
        if self._recorder is not None:
            self._recorder.ended(reason)
        await runtime.in_thread(self.ledger.close)
        self._over.set()

    def _disown(self) -> None:
        """In a forked child: the session is the parent's, and nothing here may end it (SE-6)."""
        # Nobody is told: a watcher's lock that was held at the fork stays so.
        self._state = "closed"
        self.task.is_open = False
        self.ledger.disown()
        self._over.set()


_live: WeakSet[SessionCore] = WeakSet()
_of_the_parent: list[SessionCore] = []


def _disown_after_fork() -> None:
    # They are kept for ever: freeing an agent's transport would kill the parent's agent.
    _of_the_parent.extend(_live)
    for session in _of_the_parent:
        session._disown()


os.register_at_fork(after_in_child=_disown_after_fork)
