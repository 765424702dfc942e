"""A task on the loop thread: its sessions and its plan, and a session's view of them."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from kandev_nb import runtime
from kandev_nb.attachment import History
from kandev_nb.endpoint import Plan, ToolRegistry
from kandev_nb.endpoint.builtin import Answers, Questions
from kandev_nb.session.identity import new_id

if TYPE_CHECKING:
    from kandev_nb.session.core import SessionCore
    from kandev_nb.store.records import SessionRecord


_log = logging.getLogger("kandev_nb.session")


class Changes:
    """Tells views that a session has come, or is in another state. Several tasks may share one."""

    def __init__(self) -> None:
        self._watchers: list[Callable[[], None]] = []

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` after each change, from any thread; it must return at once.

        Returns the function that ends it.
        """
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed)

    def tell(self) -> None:
        """Something has changed."""
        for changed in tuple(self._watchers):
            try:
                changed()
            except Exception as error:  # noqa: BLE001 - a watcher never changes a session (SE-5)
                _log.warning("a watcher raised %s", type(error).__name__)


class Keeper(Protocol):
    """Where reports outlive their kernel."""

    def offer(self, record: "SessionRecord", history: History) -> None:
        """Take a session's newest report. Returns at once and never raises (SE-5)."""


class TaskCore:
    """What the user wants done. It owns its sessions, the ended ones too."""

    def __init__(
        self,
        title: str,
        tools: ToolRegistry,
        keeper: Keeper | None = None,
        changes: Changes | None = None,
    ) -> None:
        self.title = title
        self.tools = tools
        self.keeper = keeper
        self.changes = changes or Changes()
        self.task_id = new_id("task")
        self.plan = Plan()
        self.sessions: list[SessionCore] = []
        self.is_open = True
        self._chores: set[asyncio.Task[None]] = set()

    def add(self, session: "SessionCore") -> None:
        """Take a session, which may still be starting."""
        self.sessions.append(session)
        self.changes.tell()

    def open_session(self, name: str) -> "SessionCore | None":
        """Return the open session of that name, if there is one."""
        return next((s for s in self.sessions if s.name == name and s.is_open), None)

    def next_name(self) -> str:
        """Return the number that an unnamed session gets: the first that no session had."""
        taken = {session.name for session in self.sessions}
        return next(str(n) for n in range(1, len(taken) + 2) if str(n) not in taken)

    def spawn(self, chore: Coroutine[Any, Any, None]) -> None:
        """Run a chore that nobody waits for."""
        task = asyncio.get_running_loop().create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)

    async def close(self) -> None:
        """Close every session."""
        self.is_open = False
        await asyncio.gather(*(session.close() for session in self.sessions))


class SessionDesk:
    """What the built-in tools of one session reach: its own task and its own report."""

    def __init__(self, session: "SessionCore") -> None:
        self._session = session

    @property
    def task_id(self) -> str:
        """The session's own task."""
        return self._session.task.task_id

    @property
    def plan(self) -> Plan:
        """The plan of that task."""
        return self._session.task.plan

    def sessions(self) -> list[dict[str, Any]]:
        """The task's sessions, newest first, as JSON objects."""
        listed = [self._entry(session) for session in self._session.task.sessions]
        return list(reversed(listed))

    async def report(self) -> History:
        """The session's own report, with what was recorded so far."""
        return await runtime.in_thread(self._session.ledger.drain)

    async def ask(self, questions: Questions, context: str) -> Answers:
        """Put questions to the user."""
        return await self._session.person.ask(questions, context)

    def _entry(self, session: "SessionCore") -> dict[str, Any]:
        return {
            "session_id": session.session_id,
            "name": session.name,
            "state": session.state,
            "is_primary": session is self._session.task.sessions[0],
            "is_current": session is self._session,
            "agent_profile_id": session.agent_profile_id,
            "started_at": session.started_at,
        }
