"""A task, as a notebook works with it: its sessions are started here."""

import logging
from collections.abc import Mapping
from pathlib import Path

from kandev_nb import runtime
from kandev_nb.agents.opened import Way
from kandev_nb.agents.permission import ASK_TIMEOUT, Permissions
from kandev_nb.attachment import ReasonCode
from kandev_nb.controller.bounds import (
    CLOSE_TIMEOUT,
    START_TIMEOUT,
)
from kandev_nb.controller.session import Session, acp_id
from kandev_nb.endpoint import endpoint_server
from kandev_nb.errors import ConfigError
from kandev_nb.servers import Servers
from kandev_nb.session.core import SessionCore
from kandev_nb.session.launch import (
    Command,
    Launch,
    Offers,
    Passthrough,
    Policies,
    read_launch,
    seconds,
    text,
    wrong,
)
from kandev_nb.session.task import TaskCore

_log = logging.getLogger("kandev_nb")


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
    def sessions(self) -> tuple[Session, ...]:
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
        npx: bool = False,
        permissions: Permissions = "ask",
        ask_timeout: float = ASK_TIMEOUT,
        files: bool = True,
        terminal: bool = False,
        name: str | None = None,
        load: str | None = None,
        resume: str | None = None,
        passthrough: Command | None = None,
        strategy: str | None = None,
        strict: bool = False,
        timeout: float | None = START_TIMEOUT,
    ) -> Session:
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
            npx: whether npx may download and run a registered agent that is neither on PATH nor in
                a ``node_modules`` of ``cwd`` or above; the first time may take longer than an agent
                gets to answer.
            permissions: who decides what the agent asks permission for: ``"allow"``, ``"deny"``,
                ``"ask"`` (a no, as long as there is nobody to ask), or a function of one
                :class:`kandev_nb.PermissionRequest`, which may be a coroutine function.
            ask_timeout: seconds that such a function has; no answer is a no.
            files: whether the agent may read and write files by way of its client, in ``cwd``.
            terminal: whether it may run commands by way of its client.
            name: what the session is called. An open session of that name is closed first.
                Without it the session gets a number.
            load: the agent's own ID of an earlier session, to be loaded instead of a new one.
            resume: the same, to be resumed: without the conversation being told again.
            passthrough: instead of an agent over ACP, the command line of its own CLI, which runs
                in a terminal: :meth:`Session.write` types into it, and
                :meth:`Session.recent_output` has what it wrote last. It finds the servers in its
                own configuration, which is put back as it was when the session ends.
            strategy: how that CLI takes its servers: ``"claude"``, ``"codex"``, ``"cursor"``,
                ``"gemini"``, ``"opencode"`` or ``"pi"``. It is needed for a CLI behind a wrapper;
                otherwise the agent or the command's name says it.
            strict: have the CLI load these servers and none that the user has configured.
            timeout: seconds until the session must be open.

        Raises:
            ConfigError: the input cannot be used; nothing was started.
            Unsupported: the agent does not load or resume sessions; it was ended again.
            AgentError: the agent did not start or refused the session. The session stays in
                :attr:`sessions` with its report.
            WaitTimeout: it took longer than ``timeout``; what was spawned is ended.
        """
        launch = read_launch(
            agent,
            exec,
            args,
            servers,
            policy,
            env,
            cwd,
            npx,
            Offers(permissions, ask_timeout, files, terminal),
            Passthrough(passthrough, strategy, strict),
        )
        way, earlier = _way(load, resume, passthrough)
        return runtime.call(
            lambda: self.aio._start(launch, name, way, earlier),
            timeout=seconds(timeout),
            what="Starting the session",
        )

    def close(self, *, timeout: float | None = CLOSE_TIMEOUT) -> None:
        """Close every session of the task."""
        runtime.call(self._core.close, timeout=seconds(timeout), what="close")

    def _session(self, core: SessionCore) -> Session:
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
        npx: bool = False,
        permissions: Permissions = "ask",
        ask_timeout: float = ASK_TIMEOUT,
        files: bool = True,
        terminal: bool = False,
        name: str | None = None,
        load: str | None = None,
        resume: str | None = None,
        passthrough: Command | None = None,
        strategy: str | None = None,
        strict: bool = False,
    ) -> Session:
        """Start an agent as :meth:`Task.start` does. Cancelling ends what was spawned."""
        launch = read_launch(
            agent,
            exec,
            args,
            servers,
            policy,
            env,
            cwd,
            npx,
            Offers(permissions, ask_timeout, files, terminal),
            Passthrough(passthrough, strategy, strict),
        )
        way, earlier = _way(load, resume, passthrough)
        return await runtime.call_async(lambda: self._start(launch, name, way, earlier))

    async def close(self) -> None:
        """Close every session of the task."""
        await runtime.call_async(self._task._core.close)

    async def _start(
        self, launch: Launch, name: str | None, way: Way, acp_session_id: str
    ) -> Session:
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
        core.add(session)
        await session.start(way, acp_session_id)
        return self._task._session(session)


def _way(load: str | None, resume: str | None, passthrough: Command | None) -> tuple[Way, str]:
    """Return how a start opens its session, and the agent's ID of the one that it names."""
    if passthrough is not None and (load, resume) != (None, None):
        raise wrong("load= and resume= are for an agent over ACP. Leave them out.")
    if load is not None and resume is not None:
        raise wrong("Give load= or resume=, not both.")
    if load is not None:
        return "load", acp_id(load)
    return ("new", "") if resume is None else ("resume", acp_id(resume))
