"""One session, as a notebook works with it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self

from kandev_nb import runtime
from kandev_nb.agents.opened import Way
from kandev_nb.agents.output import RecentOutput
from kandev_nb.agents.permission import PermissionCounts
from kandev_nb.agents.turn import PromptResult
from kandev_nb.attachment import History, ServerAttachment, View
from kandev_nb.controller.bounds import CLOSE_TIMEOUT, PROMPT_TIMEOUT, START_TIMEOUT, WAIT_TIMEOUT
from kandev_nb.controller.hearing import Hearing
from kandev_nb.endpoint import Tool
from kandev_nb.servers import Servers
from kandev_nb.session.core import SessionCore
from kandev_nb.session.launch import (
    Launch,
    Policies,
    seconds,
    text,
    with_servers,
    wrong,
)
from kandev_nb.session.offering import OffersTools
from kandev_nb.session.waiting import wait_for
from kandev_nb.shown import Background, ShowsReport, Whose

if TYPE_CHECKING:
    from kandev_nb.controller.task import Task
    from kandev_nb.diagnose.endpoint import EndpointTest

Unsubscribe = Callable[[], None]

TEST_TIMEOUT: Final = 10.0
"""Seconds for all phases of an endpoint test."""


class Session(OffersTools, ShowsReport):
    """One conversation with one agent, and what it attached. Made by :meth:`Task.start`.

    As the last line of a cell it shows its servers, live.
    """

    def __init__(self, task: "Task", core: SessionCore) -> None:
        super().__init__(core.tools)
        self._core = core
        self.task = task
        self.aio = AsyncSession(core)

    @property
    def name(self) -> str:
        """The name that the user gave, or the session's number in its task."""
        return self._core.name

    @property
    def session_id(self) -> str:
        """The session's ID."""
        return self._core.session_id

    @property
    def state(self) -> str:
        """``starting``, ``running``, ``failed``, ``ended`` (by the agent) or ``closed``."""
        return self._core.state

    @property
    def report(self) -> History:
        """The report: the current attempt and the two before it, with all that is known now."""
        return self._core.ledger.drain()

    @property
    def view(self) -> View:
        """What a person is shown of the report."""
        return self._core.view(self.report)

    @property
    def whose(self) -> Whose:
        """What tells the session from others, as frames of many sessions say it."""
        return self._core.whose

    @property
    def background(self) -> Background:
        """What diagnostics say of the session beside its report."""
        return self._core.background

    def wait_for(
        self, name: str, status: str = "active", *, timeout: float | None = WAIT_TIMEOUT
    ) -> ServerAttachment:
        """Return the row of server ``name`` once it is at ``status`` or above.

        The order is delivered, connected, active; the newest attempt counts.

        Raises:
            AttachmentFailed: the server is failed, filtered or unavailable.
            WaitTimeout: not reached within ``timeout`` seconds; the message explains what is
                proven. Absence is no failure.
            AgentError: the session is over.
            ConfigError: there is no such server or status.
        """
        return runtime.call(
            lambda: wait_for(self._core, name, status, seconds(timeout)),
            timeout=None,
            what="wait_for",
        )

    def prompt(
        self,
        text: str,
        *,
        on_text: Callable[[str], None] | None = None,
        echo: bool = False,
        timeout: float | None = PROMPT_TIMEOUT,
    ) -> PromptResult:
        """Send a prompt and return how its turn ended.

        Meanwhile a cell shows the agent's words and tool calls; nothing of that is saved, nor left
        when the turn has ended. To interrupt the cell is to cancel the turn; the session goes on.

        Args:
            text: what the agent is told.
            on_text: called with the agent's words as they come, on the loop's thread: it must
                return at once.
            echo: print the agent's words as they come, instead; a notebook saves them.
            timeout: seconds until the turn must have ended.

        Raises:
            AgentError: the agent refused the prompt or ended, or it is answering another one.
            WaitTimeout: no answer within ``timeout`` seconds; the turn is cancelled, the session
                goes on.
        """
        with Hearing(self._core.name, on_text, echo) as hearing:
            return runtime.call(
                lambda: hearing.of(self._core.prompt(text, hearing)),
                timeout=seconds(timeout),
                what="The prompt",
            )

    def reset(
        self,
        *,
        servers: Servers | None = None,
        policy: Policies | None = None,
        timeout: float | None = START_TIMEOUT,
    ) -> None:
        """Give the agent a new session in the same process: a new conversation, a new attempt.

        The attempt before it is history at once, whatever comes of the new one. An agent that is
        known to keep its first connections is restarted for it.

        Args:
            servers: other servers than before, as in :meth:`Task.start`.
            policy: another policy for them.
            timeout: seconds until the session must be open.

        Raises:
            AgentError: the agent refused or ended, or it is answering a prompt.
            ConfigError: the input cannot be used; nothing was sent.
            WaitTimeout: it took longer than ``timeout`` seconds.
        """
        self._reopen("new", "", with_servers(self._core.launch, servers, policy), timeout)

    def restart(
        self,
        *,
        servers: Servers | None = None,
        policy: Policies | None = None,
        timeout: float | None = START_TIMEOUT,
    ) -> None:
        """End the agent and start it anew, as a new execution; also one that has ended by itself.

        Arguments and errors are those of :meth:`reset`. A restart that fails ends the session.
        """
        launch = with_servers(self._core.launch, servers, policy)
        bound = seconds(timeout)
        runtime.call(lambda: self._core.restart(launch), timeout=bound, what="The restart")

    def load(
        self, acp_session_id: str | None = None, *, timeout: float | None = START_TIMEOUT
    ) -> None:
        """Have the agent load an earlier session of its own, the current one if none is named.

        Raises:
            Unsupported: the agent does not advertise it; nothing was sent.
            AgentError: as :meth:`reset`.
            WaitTimeout: it took longer than ``timeout`` seconds.
        """
        self._reopen("load", acp_id(acp_session_id), self._core.launch, timeout)

    def resume(
        self, acp_session_id: str | None = None, *, timeout: float | None = START_TIMEOUT
    ) -> None:
        """Have the agent resume an earlier session, as :meth:`load` but not told again."""
        self._reopen("resume", acp_id(acp_session_id), self._core.launch, timeout)

    def fork(self, *, timeout: float | None = START_TIMEOUT) -> None:
        """Go on in a copy of the conversation; errors are those of :meth:`load`."""
        self._reopen("fork", "", self._core.launch, timeout)

    def cancel(self, *, timeout: float | None = CLOSE_TIMEOUT) -> None:
        """Ask the agent to end the turn that another thread or cell prompted; none is fine."""
        runtime.call(self._core.cancel, timeout=seconds(timeout), what="cancel")

    @property
    def acp_session_id(self) -> str:
        """The agent's own ID of its current session; empty before it has one."""
        attempt = self.report.current
        return attempt.acp_session_id if attempt else ""

    @property
    def permission_counts(self) -> PermissionCounts | None:
        """How many permissions the running agent has asked for and got; ``None`` before it runs."""
        agent = self._core.agent
        return agent.permission_counts if agent else None

    @property
    def mode(self) -> str:
        """The agent's mode, as far as it says; set it with :meth:`set_mode`."""
        choice = self._core.choice("mode")
        return choice.current if choice else ""

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes that the agent offers, by ID."""
        choice = self._core.choice("mode")
        return choice.available if choice else ()

    @property
    def model(self) -> str:
        """The agent's model, as far as it says; set it with :meth:`set_model`."""
        choice = self._core.choice("model")
        return choice.current if choice else ""

    @property
    def models(self) -> tuple[str, ...]:
        """The models that the agent offers, by ID."""
        choice = self._core.choice("model")
        return choice.available if choice else ()

    def set_mode(self, mode: str, *, timeout: float | None = CLOSE_TIMEOUT) -> None:
        """Set the agent's mode, one of :attr:`modes`.

        Raises:
            Unsupported: the agent offers no modes.
            ConfigError: not one of them.
            AgentError: the agent refused.
        """
        bound = seconds(timeout)
        runtime.call(lambda: self._core.choose("mode", mode), timeout=bound, what="set_mode")

    def set_model(self, model: str, *, timeout: float | None = CLOSE_TIMEOUT) -> None:
        """Set the agent's model, one of :attr:`models`; errors are those of :meth:`set_mode`."""
        bound = seconds(timeout)
        runtime.call(lambda: self._core.choose("model", model), timeout=bound, what="set_model")

    def write(self, keys: str | bytes, *, timeout: float | None = CLOSE_TIMEOUT) -> None:
        """Type into the terminal of a passthrough session; ``"\\r"`` is the Enter key.

        Raises:
            Unsupported: the session is an agent over ACP.
            AgentError: the CLI has ended.
            WaitTimeout: it did not take the keys within ``timeout`` seconds.
        """
        typed = _keys(keys)
        bound = seconds(timeout)
        runtime.call(lambda: self._core.write(typed), timeout=bound, what="write")

    def resize(self, rows: int, cols: int) -> None:
        """Give the terminal of a passthrough session another size; at first it has 24 by 80.

        Raises:
            ConfigError: no terminal has that size.
            Unsupported: the session is an agent over ACP.
            AgentError: the CLI has ended.
        """
        work = self._core.resize
        runtime.call(lambda: work(rows, cols), timeout=CLOSE_TIMEOUT, what="resize")

    def subscribe(self, subscriber: Callable[[History], None]) -> Unsubscribe:
        """Call ``subscriber`` with each new report, on a thread of its own.

        A slow subscriber misses reports, never the last one; one that raises is logged. Returns
        the function that ends the subscription. A closed session has nothing more to tell.
        """
        if not callable(subscriber):
            raise wrong("The subscriber cannot be called. Give a function of one argument.")
        return self._core.ledger.subscribe(subscriber)

    def recent_output(self) -> RecentOutput:
        """Return what the agent wrote to its standard error lately: at most 50 lines and 16 KiB.

        It may hold prompts, file contents or credentials: a cell shows counts, ``.text`` the text.
        """
        return self._core.recent_output

    def test_endpoint(
        self, name: str, *, timeout: float = TEST_TIMEOUT, consent: bool = False
    ) -> "EndpointTest":
        """Reach server ``name`` as the agent would, and list its tools, beside the agent.

        The server of the session's own configuration is started or contacted, from the kernel, in
        the agent's folder and environment, and everything is closed again. It is no evidence: what
        the agent did with the server stays as it is. The outcome is kept on the server's row.

        Args:
            name: a server of the session, ``kandev`` included.
            timeout: seconds for all phases together.
            consent: agree that the command of a stdio server is started; asked once per command.

        Raises:
            ConfigError: no such server, one that a decision left out, or ``consent_needed``;
                nothing was contacted.
            Unsupported: the session is over (``not_live``).
        """
        wanted, bound = text(name, "The server's name"), _bound(timeout)
        return runtime.call(
            lambda: self._core.test_endpoint(wanted, bound, consent=consent),
            timeout=None,
            what="test_endpoint",
        )

    def close(self, *, timeout: float | None = CLOSE_TIMEOUT) -> None:
        """End the agent. The report stays readable; rows keep their status."""
        runtime.call(self._core.close, timeout=seconds(timeout), what="close")

    def _reopen(self, way: Way, acp_session_id: str, launch: Launch, timeout: float | None) -> None:
        runtime.call(
            lambda: self._core.reopen(launch, way, acp_session_id),
            timeout=seconds(timeout),
            what=f"session/{way}",
        )

    def _put(self, tool: Tool) -> None:
        if not self._core.is_open:
            raise self._core.over()
        super()._put(tool)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from kandev_nb.widgets import StatusWidget

        # The core, not this object: a displayed widget must not keep a dropped controller alive.
        view = StatusWidget(self._core)._repr_mimebundle_()
        return {**(view[0] if view else {}), "text/plain": repr(self)}


class AsyncSession:
    """The calls of :class:`Session`, to be awaited."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core

    async def wait_for(
        self, name: str, status: str = "active", *, timeout: float | None = WAIT_TIMEOUT
    ) -> ServerAttachment:
        """Return the row once it is at ``status`` or above, as :meth:`Session.wait_for` does."""
        return await runtime.call_async(
            lambda: wait_for(self._core, name, status, seconds(timeout))
        )

    async def prompt(
        self,
        text: str,
        *,
        on_text: Callable[[str], None] | None = None,
        echo: bool = False,
    ) -> PromptResult:
        """Send a prompt as :meth:`Session.prompt` does. Cancelling cancels the turn."""
        async with Hearing(self._core.name, on_text, echo) as hearing:
            return await runtime.call_async(lambda: hearing.of(self._core.prompt(text, hearing)))

    async def reset(
        self, *, servers: Servers | None = None, policy: Policies | None = None
    ) -> None:
        """Give the agent a new session, as :meth:`Session.reset` does."""
        launch = with_servers(self._core.launch, servers, policy)
        await runtime.call_async(lambda: self._core.reopen(launch, "new"))

    async def restart(
        self, *, servers: Servers | None = None, policy: Policies | None = None
    ) -> None:
        """End the agent and start it anew, as :meth:`Session.restart` does."""
        launch = with_servers(self._core.launch, servers, policy)
        await runtime.call_async(lambda: self._core.restart(launch))

    async def load(self, acp_session_id: str | None = None) -> None:
        """Have the agent load a session, as :meth:`Session.load` does."""
        earlier = acp_id(acp_session_id)
        await runtime.call_async(lambda: self._core.reopen(self._core.launch, "load", earlier))

    async def resume(self, acp_session_id: str | None = None) -> None:
        """Have the agent resume a session, as :meth:`Session.resume` does."""
        earlier = acp_id(acp_session_id)
        await runtime.call_async(lambda: self._core.reopen(self._core.launch, "resume", earlier))

    async def fork(self) -> None:
        """Go on in a copy of the conversation, as :meth:`Session.fork` does."""
        await runtime.call_async(lambda: self._core.reopen(self._core.launch, "fork"))

    async def cancel(self) -> None:
        """Ask the agent to end its turn, as :meth:`Session.cancel` does."""
        await runtime.call_async(self._core.cancel)

    async def set_mode(self, mode: str) -> None:
        """Set the agent's mode, as :meth:`Session.set_mode` does."""
        await runtime.call_async(lambda: self._core.choose("mode", mode))

    async def set_model(self, model: str) -> None:
        """Set the agent's model, as :meth:`Session.set_model` does."""
        await runtime.call_async(lambda: self._core.choose("model", model))

    async def write(self, keys: str | bytes) -> None:
        """Type into the terminal, as :meth:`Session.write` does."""
        typed = _keys(keys)
        await runtime.call_async(lambda: self._core.write(typed))

    async def resize(self, rows: int, cols: int) -> None:
        """Give the terminal another size, as :meth:`Session.resize` does."""
        await runtime.call_async(lambda: self._core.resize(rows, cols))

    async def test_endpoint(
        self, name: str, *, timeout: float = TEST_TIMEOUT, consent: bool = False
    ) -> "EndpointTest":
        """Reach a server and list its tools, as :meth:`Session.test_endpoint` does."""
        wanted, bound = text(name, "The server's name"), _bound(timeout)
        return await runtime.call_async(
            lambda: self._core.test_endpoint(wanted, bound, consent=consent)
        )

    async def close(self) -> None:
        """End the agent, as :meth:`Session.close` does."""
        await runtime.call_async(self._core.close)


def _keys(keys: str | bytes) -> bytes:
    """Return what is typed as bytes; the error names it."""
    return keys if isinstance(keys, bytes) else text(keys, "What to type").encode()


def _bound(timeout: float) -> float:
    """Return the seconds of a test, which has an end; the error names it."""
    if (bound := seconds(timeout)) is None:
        raise wrong("timeout= is no bound for a test. Give a number of seconds.")
    return bound


def acp_id(given: str | None) -> str:
    """Return the agent's ID of a session, empty for none; the error names it."""
    if given is None or text(given, "The session ID"):
        return given or ""
    raise wrong("The session ID is empty. Give the agent's own, such as session.acp_session_id.")
