"""The kernel-side controller: what a notebook works with.

:class:`Controller` → :class:`Task` → :class:`Session`. Calls wait for their result and take a
timeout in seconds; ``.aio`` has those that wait for an agent as coroutines, for a cell that awaits
and bounds them with :func:`asyncio.timeout`. Everything
they do happens on the loop thread of :mod:`kandev_nb.runtime`.
"""

import asyncio
import weakref
from typing import TYPE_CHECKING, Self

from kandev_nb import logs, runtime
from kandev_nb.controller.bounds import CLOSE_TIMEOUT, FLUSH_TIMEOUT, HEALTH_TIMEOUT
from kandev_nb.controller.listing import Sessions
from kandev_nb.controller.session import Session
from kandev_nb.controller.task import Task
from kandev_nb.endpoint import ToolRegistry
from kandev_nb.errors import StoreError
from kandev_nb.health import Health, examine
from kandev_nb.servers.passthrough import recover_soon
from kandev_nb.session.launch import seconds, text
from kandev_nb.session.offering import OffersTools
from kandev_nb.session.task import Changes, TaskCore
from kandev_nb.store.keeping import StorePlace, StoreState, keeping

if TYPE_CHECKING:
    import pandas as pd

    from kandev_nb.store import Store

__all__ = ["Controller", "Session", "Sessions", "Task"]


class Controller(OffersTools):
    """Runs agents for this kernel and keeps what each session attached.

    Use it as a context manager, or keep it in a variable: a controller that nothing refers to any
    more closes its sessions. Its tasks and sessions do not count, for a notebook remembers every
    session that a cell has shown, also those of an earlier run of the cell. What passthrough
    sessions of a kernel that was killed have left in projects is put back.
    """

    def __init__(self, *, store: StorePlace = None) -> None:
        """Make a controller.

        Args:
            store: where reports outlive this kernel: the path of a SQLite file, a
                ``postgresql://`` URL, a :class:`kandev_nb.Store`, or ``False`` for nowhere. By
                default what the environment variable ``KANDEV_NB_STORE`` names, else a file below
                Jupyter's data directory. A store that fails never touches a session:
                :meth:`health` says so.
        """
        logs.restrain()
        recover_soon()
        super().__init__(ToolRegistry())
        self._keeping = keeping(store)
        self._changes = Changes()
        self._tasks: list[Task] = []
        self._cores: list[TaskCore] = []
        self.aio = AsyncController(self._cores)
        self._closer = weakref.finalize(self, _close_tasks, self._cores)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The open tasks."""
        return tuple(task for task in self._tasks if task._core.is_open)

    def task(self, title: str) -> Task:
        """Return the open task of that title; a new one when there is none."""
        text(title, "The title")
        for task in self.tasks:
            if task.title == title:
                return task
        task = Task(TaskCore(title, self._tools, self._keeping, self._changes))
        self._tasks.append(task)
        self._cores.append(task._core)
        return task

    def sessions(self) -> Sessions:
        """Return every session that is known: those of this controller, and the stored ones.

        A store that cannot be read leaves out what it has; ``.problem`` says why.
        """
        live = [session for task in self._tasks for session in task.sessions]
        if self._keeping is None:
            return Sessions(live)
        try:
            stored = self._keeping.store.sessions()
        except StoreError as error:
            return Sessions(live, problem=str(error))
        return Sessions(live, stored, stored.skipped)

    def timeline(self) -> "pd.DataFrame":
        """Return the evidence of every known session (:func:`kandev_nb.frames.all_timelines`)."""
        return self.sessions().timeline()

    def servers(self) -> "pd.DataFrame":
        """Return the servers of every known session (:func:`kandev_nb.frames.all_servers`)."""
        return self.sessions().servers()

    @property
    def store(self) -> "Store | None":
        """The store, to prune, export or delete from; ``None`` for a controller without one."""
        return self._keeping.store if self._keeping else None

    def health(self) -> Health:
        """Return what this process carries now, and what is amiss with it."""
        sessions = sum(session.is_open for core in self._cores for session in core.sessions)
        kept = self._keeping.state if self._keeping else StoreState()
        return runtime.call(lambda: examine(sessions, kept), timeout=HEALTH_TIMEOUT, what="health")

    def close(self, *, timeout: float | None = CLOSE_TIMEOUT) -> None:
        """Close every task and its sessions, and wait for the store at most 2 s.

        The controller itself can be used again.
        """
        runtime.call(lambda: _close_all(self._cores), timeout=seconds(timeout), what="close")
        if self._keeping is not None:
            self._keeping.flush(FLUSH_TIMEOUT)

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


async def _close_all(cores: list[TaskCore]) -> None:
    await asyncio.gather(*(core.close() for core in cores))


def _close_tasks(cores: list[TaskCore]) -> None:
    for core in cores:
        core.is_open = False
    # At the interpreter's end there may be no loop yet, and none can be started then.
    if any(session.is_open for core in cores for session in core.sessions):
        runtime.start_soon(lambda: _close_all(cores), is_last=True)
