"""The kernel-side controller: what a notebook works with.

:class:`Controller` → :class:`Task` → :class:`Session`. Calls wait for their result and take a
timeout in seconds; ``.aio`` has those that wait for an agent as coroutines, for a cell that awaits
and bounds them with :func:`asyncio.timeout`. Everything
they do happens on the loop thread of :mod:`kandev_nb.runtime`.
"""

import asyncio
import weakref
from typing import Self

from kandev_nb import logs, runtime
from kandev_nb.controller.bounds import CLOSE_TIMEOUT, HEALTH_TIMEOUT
from kandev_nb.controller.session import Session
from kandev_nb.controller.task import Task
from kandev_nb.endpoint import ToolRegistry
from kandev_nb.health import Health, examine
from kandev_nb.servers.passthrough import recover_soon
from kandev_nb.session.launch import seconds, text
from kandev_nb.session.offering import OffersTools
from kandev_nb.session.task import TaskCore

__all__ = ["Controller", "Session", "Task"]


class Controller(OffersTools):
    """Runs agents for this kernel and keeps what each session attached.

    Use it as a context manager, or keep it in a variable: a controller that nothing refers to any
    more closes its sessions. Its tasks and sessions do not count, for a notebook remembers every
    session that a cell has shown, also those of an earlier run of the cell. What passthrough
    sessions of a kernel that was killed have left in projects is put back.
    """

    def __init__(self) -> None:
        logs.restrain()
        recover_soon()
        super().__init__(ToolRegistry())
        self._tasks: dict[str, Task] = {}
        self._cores: list[TaskCore] = []
        self.aio = AsyncController(self._cores)
        self._closer = weakref.finalize(self, _close_tasks, self._cores)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The open tasks."""
        return tuple(task for task in self._tasks.values() if task._core.is_open)

    def task(self, title: str) -> Task:
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


async def _close_all(cores: list[TaskCore]) -> None:
    await asyncio.gather(*(core.close() for core in cores))


def _close_tasks(cores: list[TaskCore]) -> None:
    for core in cores:
        core.is_open = False
    # At the interpreter's end there may be no loop yet, and none can be started then.
    if any(session.is_open for core in cores for session in core.sessions):
        runtime.start_soon(lambda: _close_all(cores))
