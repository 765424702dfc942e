"""The sessions that an explorer shows: those that live here, and those that were stored.

What the user holds comes in; :class:`Subject` leaves. A subject refers to the core of a session,
never to a controller, so that an explorer on a page keeps no dropped controller alive.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from kandev_nb.attachment import History, View, words
from kandev_nb.attachment.words import Message
from kandev_nb.controller import Controller, Session, Task
from kandev_nb.session.core import SessionCore
from kandev_nb.session.launch import wrong
from kandev_nb.session.task import Changes
from kandev_nb.shown import ShowsStored, Whose
from kandev_nb.store.records import OPEN, StoredSession

Explored = Session | Task | Controller | ShowsStored
"""What an explorer can be of."""

_ACTIONS: Final = {
    "starting": ("recent_output", "diagnostics"),
    "running": ("test_endpoint", "recent_output", "diagnostics", "reset", "restart"),
    "ended": ("recent_output", "diagnostics", "restart"),
    "failed": ("recent_output", "diagnostics"),
    "closed": ("diagnostics",),
}


class Subject(ABC):
    """One session, as an explorer needs it."""

    core: SessionCore | None = None
    """The session itself, where it lives here."""

    @property
    @abstractmethod
    def whose(self) -> Whose:
        """What tells the session from others."""

    @property
    @abstractmethod
    def state(self) -> str:
        """The session's state, as it is now."""

    @property
    @abstractmethod
    def started_at(self) -> str:
        """When the session was started."""

    @property
    def is_saved(self) -> bool:
        """Whether nothing of it is live anywhere."""
        return False

    @property
    def actions(self) -> Sequence[str]:
        """The operations that can be asked for now."""
        return ()

    @abstractmethod
    def shown(self) -> tuple[History, View]:
        """Return the report and what is shown of it."""

    @abstractmethod
    def subscribe(self, changed: Callable[[object], None]) -> Callable[[], None]:
        """Call ``changed`` with each new report, from any thread; return what ends that."""

    def label(self, *, with_task: bool) -> Message:
        """Return what the session is called among others."""
        session_id, name, task, agent = self.whose
        facts = {"session": name or session_id, "agent": agent}
        if with_task:
            return words.say("session.label.task", task=task, **facts)
        return words.say("session.label", **facts)


class Live(Subject):
    """A session of this kernel, also one that is over."""

    def __init__(self, core: SessionCore) -> None:
        self.core: SessionCore = core

    @property
    def whose(self) -> Whose:
        """What tells the session from others."""
        return self.core.whose

    @property
    def state(self) -> str:
        """The session's state, as it is now."""
        return self.core.state

    @property
    def started_at(self) -> str:
        """When the session was started."""
        return self.core.started_at

    @property
    def actions(self) -> Sequence[str]:
        """The operations that can be asked for now."""
        offered = _ACTIONS[self.core.state]
        # A CLI is given no new conversation but by a restart, which is offered too.
        absent = "reset" if self.core.launch.passthrough else ""
        return tuple(action for action in offered if action != absent)

    def shown(self) -> tuple[History, View]:
        """Return the report and what is shown of it."""
        history = self.core.ledger.history
        return history, self.core.view(history)

    def subscribe(self, changed: Callable[[object], None]) -> Callable[[], None]:
        """Call ``changed`` with each new report, from any thread; return what ends that."""
        return self.core.subscribe(changed)


class Stored(Subject):
    """A session out of a store. One that is live in another kernel is followed there."""

    def __init__(self, session: ShowsStored) -> None:
        self._session = session
        self._followed = None
        if isinstance(session, StoredSession) and session.is_live_elsewhere and session._followed:
            self._followed = session._followed()

    @property
    def whose(self) -> Whose:
        """What tells the session from others."""
        return self._session.whose

    @property
    def state(self) -> str:
        """The session's state, as it was stored."""
        return self._now.state

    @property
    def started_at(self) -> str:
        """When the session was started."""
        return str(getattr(self._session, "started_at", ""))

    @property
    def is_saved(self) -> bool:
        """Whether nothing of it is live anywhere."""
        return not getattr(self._now, "is_live_elsewhere", False)

    def shown(self) -> tuple[History, View]:
        """Return the report and what is shown of it."""
        session = self._now
        return session.report, session.view

    def subscribe(self, changed: Callable[[object], None]) -> Callable[[], None]:
        """Call ``changed`` with each new report, from any thread; return what ends that."""
        return self._followed.subscribe(changed) if self._followed else lambda: None

    @property
    def _now(self) -> ShowsStored:
        return self._followed._session if self._followed else self._session


class Subjects(NamedTuple):
    """The sessions of an explorer: ``listed`` returns them, ``changes`` tells when to ask again."""

    listed: Callable[[], Sequence[Subject]]
    changes: Changes


def subjects_of(explored: Explored) -> Subjects:
    """Return the sessions of what the user holds. Raises ``ConfigError`` for anything else."""
    if isinstance(explored, Session):
        core = explored._core
        return Subjects(lambda: (Live(core),), core.task.changes)
    if isinstance(explored, Task):
        task = explored._core
        return Subjects(lambda: _live(task.sessions), task.changes)
    if isinstance(explored, Controller):
        tasks = explored._cores
        return Subjects(
            lambda: _live(core for task in tasks for core in task.sessions), explored._changes
        )
    if isinstance(explored, ShowsStored):
        stored = (Stored(explored),)
        return Subjects(lambda: stored, Changes())
    raise wrong(
        f"An explorer shows no {type(explored).__name__}. Give a session, a task, a controller, or "
        "a stored session."
    )


def chosen(subjects: Sequence[Subject], wanted: str) -> Subject | None:
    """Return the session of that ID; when it is closed, the newest open one, if there is one.

    Without a session of that ID it is the newest one; the open ones go before the others.
    """
    held = next((each for each in subjects if each.whose.session_id == wanted), None)
    if held is not None and held.state != "closed":
        return held
    is_open = [each for each in subjects if each.state in OPEN]
    newest = max(is_open or subjects, key=lambda each: each.started_at, default=None)
    return newest if is_open or held is None else held


def _live(cores: Iterable[SessionCore]) -> tuple[Live, ...]:
    return tuple(Live(core) for core in sorted(cores, key=lambda core: core.started_at))
