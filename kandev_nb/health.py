"""What a process carries and what is amiss with it, for :meth:`Controller.health`."""

from collections import Counter
from collections.abc import Iterable

import anyio.to_thread
from pydantic import BaseModel, ConfigDict

from kandev_nb import tokens
from kandev_nb.endpoint import workers
from kandev_nb.store.keeping import StoreState


class Health(BaseModel):
    """The state of one process. Its repr is a line for each fact.

    ``tools_overdue`` names the tool of each call that ran over its time, or that its client gave
    up, and whose thread has not ended: Python cannot end a thread. Tools are counted over every
    controller of the process.
    """

    model_config = ConfigDict(frozen=True)

    open_sessions: int
    tools_running: tuple[str, ...] = ()
    tools_overdue: tuple[str, ...] = ()
    tokenizer_problem: str = ""
    """Why there are no token estimates; empty when there are."""
    store: str = ""
    """What the controller's store is called; empty for none, and before it is opened."""
    store_problem: str = ""
    """Why reports cannot be stored now; empty when they can."""
    store_waiting: int = 0
    """How many sessions have something that is not on disk yet."""

    @property
    def is_well(self) -> bool:
        """Whether nothing is amiss."""
        return not (self.tools_overdue or self.tokenizer_problem or self.store_problem)

    def __repr__(self) -> str:
        return "\n".join(
            (
                f"open sessions: {self.open_sessions}",
                f"tool calls under way: {_counted(self.tools_running)}",
                f"tool calls over their time: {_counted(self.tools_overdue)}",
                f"token estimates: {self.tokenizer_problem or 'yes'}",
                f"store: {self._store_words}",
            )
        )

    __str__ = __repr__

    @property
    def _store_words(self) -> str:
        if not self.store_problem:
            return "no problem"
        return f"{self.store_problem} Sessions that are kept in memory: {self.store_waiting}"


async def examine(open_sessions: int, kept: StoreState) -> Health:
    """Return the health of this process. It belongs on the loop thread."""
    problem = await anyio.to_thread.run_sync(tokens.problem)
    return Health(
        open_sessions=open_sessions,
        tools_running=workers().running,
        tools_overdue=workers().overdue,
        tokenizer_problem=problem or "",
        store=kept.name,
        store_problem=kept.problem,
        store_waiting=kept.waiting,
    )


def _counted(tools: Iterable[str]) -> str:
    times = Counter(tools)
    return ", ".join(f"{tool} × {count}" for tool, count in sorted(times.items())) or "none"
