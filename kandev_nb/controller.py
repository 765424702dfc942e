"""The kernel-side controller: what a notebook works with.

:class:`Controller` → :class:`Task` → :class:`Session`. Calls wait for their result and take a
timeout in seconds; ``.aio`` has those that wait for an agent as coroutines, for a cell that awaits
and bounds them with :func:`asyncio.timeout`. Everything
they do happens on the loop thread of :mod:`kandev_nb.runtime`.
"""

import asyncio
import logging
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from kandev_nb import logs, runtime
from kandev_nb.agents.output import RecentOutput
from kandev_nb.agents.turn import PromptResult
from kandev_nb.attachment import History, ReasonCode, ServerAttachment, View
from kandev_nb.attachment.words import visible
from kandev_nb.endpoint import Tool, ToolRegistry, endpoint_server
from kandev_nb.errors import ConfigError
from kandev_nb.health import Health, examine
from kandev_nb.servers import Servers
from kandev_nb.session.core import SessionCore
from kandev_nb.session.launch import Command, Launch, Policies, read_launch, seconds, text, wrong
from kandev_nb.session.offering import OffersTools
from kandev_nb.session.task import TaskCore
from kandev_nb.session.waiting import wait_for

if TYPE_CHECKING:
    import pandas as pd

_log = logging.getLogger("kandev_nb")

START_TIMEOUT: Final = 60.0
PROMPT_TIMEOUT: Final = 300.0
WAIT_TIMEOUT: Final = 30.0
CLOSE_TIMEOUT: Final = 15.0
HEALTH_TIMEOUT: Final = 10.0

Unsubscribe = Callable[[], None]


class Controller(OffersTools):
    """Runs agents for this kernel and keeps what each session attached.

    Use it as a context manager, or keep it in a variable: a controller that nothing refers to any
    more closes its sessions. Its tasks and sessions do not count, for a notebook remembers every
    session that a cell has shown, also those of an earlier run of the cell.
    """

    def __init__(self) -> None:
        logs.restrain()
        super().__init__(ToolRegistry())
        self._tasks: dict[str, Task] = {}
        self._cores: list[TaskCore] = []
        self.aio = AsyncController(self._cores)
        self._closer = weakref.finalize(self, _close_tasks, self._cores)

    @property
    def tasks(self) -> tuple["Task", ...]:
        """The open tasks."""
        return tuple(task for task in self._tasks.values() if task._core.is_open)

    def task(self, title: str) -> "Task":
        """Return the open task of that title; a new one when there is none."""
        task = self._tasks.get(text(title, "The title"))
        if task is None or not task._core.is_open:
            task = self._tasks[title] = Task(TaskCore(title, self._tools))
            self._cores.append(task._core)
        return task

    def health(self) -> Health:
        """Return what this process carries now, and what is amiss with it."""
        sessions = sum(session.is_open for core in self._cores for session in core.sessions)
        return runtime.call(lambda: examine(sessions), timeout=HEALTH_TIMEOUT, what="health")

    def close(self, *, timeout: float | None = CLOSE_TIMEOUT) -> None:
        """Close every task and its sessions. The controller itself can be used again."""
        runtime.call(lambda: _close_all(self._cores), timeout=seconds(timeout), what="close")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.tasks)) or "No open tasks."


class AsyncController:
    """The calls of :class:`Controller`, to be awaited."""

    def __init__(self, cores: list[TaskCore]) -> None:
        self._cores = cores

    async def close(self) -> None:
        """Close every session of every task."""
        await runtime.call_async(lambda: _close_all(self._cores))


class Task:
    """What the user wants done. Made by :meth:`Controller.task`."""

    def __init__(self, core: TaskCore) -> None:
        self._core = core
        self._sessions: dict[str, Session] = {}
        self.aio = AsyncTask(self)

    @property
    def title(self) -> str:
        """The title that the user gave."""
        return self._core.title

    @property
    def task_id(self) -> str:
        """The task's ID."""
        return self._core.task_id

    @property
    def sessions(self) -> tuple["Session", ...]:
        """Every session of the task, the ended and failed ones too, oldest first."""
        return tuple(self._session(core) for core in self._core.sessions)

    def start(
        self,
        agent: str | None = None,
        *,
        exec: Command | None = None,  # noqa: A002 - the word that the field uses
        args: Command = (),
        servers: Servers | None = None,
        policy: Policies | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        name: str | None = None,
        timeout: float | None = START_TIMEOUT,
    ) -> "Session":
        """Start an agent, hand it its servers, and return the session.

        Args:
            agent: a registered agent's ID, such as ``"scripted"``.
            exec: instead, any command line that speaks ACP on its standard input and output.
            args: more arguments for the command, as a list or a command line.
            servers: the configuration that you have: a document of Claude, Cursor, Gemini, VS Code,
                Windsurf, opencode, Codex, Zed, Jupyter AI or Kandev, as a path, as text or as a
                dict; a dict of name to entry; or models of :mod:`kandev_nb.servers`.
            policy: what of it is admitted: a :class:`kandev_nb.Policy`, the name of a preset
                (``"local"``, ``"deny_all"``), a path, or the text or dict of one.
            env: laid over the kernel's environment for the agent process.
            cwd: the session's working directory; the kernel's own when left out.
            name: what the session is called. An open session of that name is closed first.
                Without it the session gets a number.
            timeout: seconds until the session must be open.

        Raises:
            ConfigError: the input cannot be used; nothing was started.
            AgentError: the agent did not start or refused the session. The session stays in
                :attr:`sessions` with its report.
            WaitTimeout: it took longer than ``timeout``; what was spawned is ended.
        """
        launch = read_launch(agent, exec, args, servers, policy, env, cwd)
        return runtime.call(
            lambda: self.aio._start(launch, name),
            timeout=seconds(timeout),
            what="Starting the session",
        )

    def close(self, *, timeout: float | None = CLOSE_TIMEOUT) -> None:
        """Close every session of the task."""
        runtime.call(self._core.close, timeout=seconds(timeout), what="close")

    def _session(self, core: SessionCore) -> "Session":
        return self._sessions.setdefault(core.session_id, Session(self, core))

    def __repr__(self) -> str:
        lines = [
            f'  session "{c.name}" · {c.launch.agent.id} · {c.state}' for c in self._core.sessions
        ]
        return "\n".join([f"Task {self.title!r}", *(lines or ["  no sessions yet"])])


class AsyncTask:
    """The calls of :class:`Task`, to be awaited."""

    def __init__(self, task: Task) -> None:
        self._task = task

    async def start(
        self,
        agent: str | None = None,
        *,
        exec: Command | None = None,  # noqa: A002 - as in Task.start
        args: Command = (),
        servers: Servers | None = None,
        policy: Policies | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        name: str | None = None,
    ) -> "Session":
        """Start an agent as :meth:`Task.start` does. Cancelling ends what was spawned."""
        launch = read_launch(agent, exec, args, servers, policy, env, cwd)
        return await runtime.call_async(lambda: self._start(launch, name))

    async def close(self) -> None:
        """Close every session of the task."""
        await runtime.call_async(self._task._core.close)

    async def _start(self, launch: Launch, name: str | None) -> "Session":
        core = self._task._core
        if name is not None:
            text(name, "name=")
        if not core.is_open:
            raise ConfigError(
                f"The task {core.title!r} is closed, or nothing refers to its controller any more. "
                "Keep the controller in a variable, and get a new task from it.",
                reason_code=ReasonCode.CLOSED,
            )
        while name and (earlier := core.open_session(name)):
            _log.warning('Session "%s" was open and is closed first.', name)
            await earlier.close()
        session = SessionCore(name or core.next_name(), launch, endpoint_server(), core)
        core.sessions.append(session)
        await session.start()
        return self._task._session(session)


class Session(OffersTools):
    """One conversation with one agent, and what it attached. Made by :meth:`Task.start`.

    As the last line of a cell it shows its servers, live.
    """

    def __init__(self, task: Task, core: SessionCore) -> None:
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

    def status(self, name: str) -> str:
        """Return the wire status of server ``name``. Raises ``ConfigError`` for an unknown one."""
        return self._row(name).status

    def explain(self, name: str) -> str:
        """Return what is proven of server ``name``, what is not, and what would settle it."""
        self._row(name)
        row = self.view.row(name)
        return row.explanation if row else ""

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

    def prompt(self, text: str, *, timeout: float | None = PROMPT_TIMEOUT) -> PromptResult:
        """Send a prompt and return how its turn ended.

        Raises:
            AgentError: the agent refused the prompt or ended, or it is answering another one.
            WaitTimeout: no answer within ``timeout`` seconds; the turn is cancelled, the session
                goes on.
        """
        return runtime.call(
            lambda: self._core.prompt(text), timeout=seconds(timeout), what="The prompt"
        )

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

    def servers(self) -> "pd.DataFrame":
        """Return the current attempt's servers, one a row (:func:`kandev_nb.frames.servers`)."""
        from kandev_nb import frames

        return frames.servers(self.report)

    def timeline(self) -> "pd.DataFrame":
        """Return the evidence of all kept attempts (:func:`kandev_nb.frames.timeline`)."""
        from kandev_nb import frames

        return frames.timeline(self.report)

    def close(self, *, timeout: float | None = CLOSE_TIMEOUT) -> None:
        """End the agent. The report stays readable; rows keep their status."""
        runtime.call(self._core.close, timeout=seconds(timeout), what="close")

    def _put(self, tool: Tool) -> None:
        if not self._core.is_open:
            raise self._core.over()
        super()._put(tool)

    def _row(self, name: str) -> ServerAttachment:
        attempt = self.report.current
        row = attempt.server(name) if attempt else None
        if row is None:
            known = ", ".join(visible(row.name) for row in attempt.servers) if attempt else ""
            raise ConfigError(
                f"This session has no server {name!r}. It has: {known or 'none'}.",
                reason_code=ReasonCode.SERVER_UNKNOWN,
            )
        return row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return str(self.view)

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

    async def prompt(self, text: str) -> PromptResult:
        """Send a prompt as :meth:`Session.prompt` does. Cancelling cancels the turn."""
        return await runtime.call_async(lambda: self._core.prompt(text))

    async def close(self) -> None:
        """End the agent, as :meth:`Session.close` does."""
        await runtime.call_async(self._core.close)


async def _close_all(cores: list[TaskCore]) -> None:
    await asyncio.gather(*(core.close() for core in cores))


def _close_tasks(cores: list[TaskCore]) -> None:
    for core in cores:
        core.is_open = False
    # At the interpreter's end there may be no loop yet, and none can be started then.
    if any(session.is_open for core in cores for session in core.sessions):
        runtime.start_soon(lambda: _close_all(cores))
