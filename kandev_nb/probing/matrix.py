"""Many agents over many transports, a few at a time.

Agents and transports come in; a :class:`Cell` for each pair leaves, in their order. An agent that
is not installed is a cell too, and nothing is started for it.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kandev_nb import runtime
from kandev_nb.agents.listing import listed
from kandev_nb.agents.registry import find_agent
from kandev_nb.errors import ConfigError
from kandev_nb.probing.asking import Place, Transport, prepare, workdir_of
from kandev_nb.probing.running import Course, Probe
from kandev_nb.probing.summary import ProbeResult, Requirement


class Cell(NamedTuple):
    """One agent over one transport. Without a result it was not probed."""

    agent: str
    transport: Transport
    result: ProbeResult | None = None
    problem: str = ""
    """Why it was not probed; empty also for an agent that is not installed."""
    seconds: float = 0.0

    @property
    def is_installed(self) -> bool:
        """Whether there was an agent to probe."""
        return self.result is not None or bool(self.problem)

    def fails(self, required: Requirement | None) -> bool:
        """Tell whether what is required was not observed, or the probe could not be begun.

        An agent that is not installed fails nothing.
        """
        if self.result is None:
            return bool(self.problem)
        return not self.result.meets(required)

    def to_json(self, required: Requirement | None) -> dict[str, Any]:
        """Return plain JSON values, always under the same keys."""
        return {
            "agent": self.agent,
            "transport": self.transport,
            "installed": self.is_installed,
            "failed": self.fails(required),
            "problem": self.problem,
            "seconds": round(self.seconds, 3),
            "result": self.result.to_json() if self.result else None,
        }


def cells(agents: Sequence[str], transports: Sequence[Transport]) -> tuple[Cell, ...]:
    """Return what is to be probed: the named agents, all that are registered when none is named.

    Raises:
        ConfigError: there is no such agent.
    """
    names = tuple(dict.fromkeys(find_agent(name).id for name in agents))
    names = names or tuple(row.spec.id for row in listed(os.environ, Path.cwd()))
    return tuple(Cell(name, over) for name in names for over in dict.fromkeys(transports))


def run_matrix(
    wanted: Sequence[Cell],
    course: Course,
    out: Path | None,
    jobs: int,
    done: Callable[[Cell], None],
) -> tuple[Cell, ...]:
    """Probe each cell, at most ``jobs`` at once; ``done`` is told each as it ends."""

    installed = {row.spec.id for row in listed(os.environ, Path.cwd()) if row.path}

    async def run() -> tuple[Cell, ...]:
        free = asyncio.Semaphore(jobs)

        async def one(cell: Cell) -> Cell:
            async with free:
                ended = await _probed(cell, course, out) if cell.agent in installed else cell
            done(ended)
            return ended

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(cell)) for cell in wanted]
        return tuple(task.result() for task in tasks)

    return runtime.call(run, timeout=None, what="The matrix")


def summary(ended: Sequence[Cell], required: Requirement | None) -> Iterator[str]:
    """Yield what is to be said below the table."""
    missing = dict.fromkeys(cell.agent for cell in ended if not cell.is_installed)
    if missing:
        yield f"Not installed: {', '.join(missing)}."
    for cell in ended:
        problem = cell.problem or (cell.result and cell.result.error and cell.result.error.summary)
        if problem:
            yield f"{cell.agent} over {cell.transport}: {problem}"
    if required:
        failed = sum(cell.fails(required) for cell in ended)
        probed = sum(cell.is_installed for cell in ended)
        yield f"{probed - failed} of {probed} probes observed what is required."


async def _probed(cell: Cell, course: Course, out: Path | None) -> Cell:
    clock = asyncio.get_running_loop().time
    began = clock()
    with workdir_of(None) as cwd:
        try:
            ready = await runtime.in_thread(
                lambda: prepare(cell.agent, None, (), None, cwd, cell.transport, Place(out))
            )
            result = await Probe(ready.launch, course, ready.recorder).run()
        except ConfigError as error:
            return cell._replace(problem=str(error), seconds=clock() - began)
    return cell._replace(result=result, seconds=clock() - began)
