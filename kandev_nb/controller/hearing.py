"""Who hears a prompt's turn: the caller's function, the cell's saved output, or a passing view.

The agent's words and tool calls come in on the loop thread. By default a cell shows them while the
turn goes on, and a notebook saves none of them; with ``echo`` it prints and so saves the words.
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import wait
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from kandev_nb.agents.turn import Listener, PromptResult, ToolCall
from kandev_nb.session.launch import wrong

if TYPE_CHECKING:
    from kandev_nb.widgets import TurnView

_GOING: Final = 2.0
"""Seconds that the end of a turn waits for its view to be gone."""

_log = logging.getLogger("kandev_nb.widgets")


class Hearing(Listener):
    """Hears one turn. A call is made inside its ``with`` block, or its ``async with`` block."""

    def __init__(self, session: str, on_text: Callable[[str], None] | None, echo: bool) -> None:
        if on_text is not None and not callable(on_text):
            raise wrong("on_text= cannot be called. Give a function of one argument.")
        self._on_text = on_text
        # The thread of the loop has no cell of its own: what is printed belongs to the caller's.
        self._out = sys.stdout if echo else None
        self._view = None if echo else _view(session)

    def __call__(self, words: str, /) -> None:
        """Hand the agent's words on; the caller's function is last, for it may raise."""
        if self._out is not None:
            self._out.write(words)
        if self._view is not None:
            self._view(words)
        if self._on_text is not None:
            self._on_text(words)

    def tool_call(self, call: ToolCall, /) -> None:
        """Show a tool call."""
        if self._view is not None:
            self._view.tool_call(call)

    async def of(self, turn: Awaitable[PromptResult]) -> PromptResult:
        """Return the turn's result. Its end is the view's, whatever becomes of the caller."""
        try:
            return await turn
        except asyncio.CancelledError:
            self._end(interrupted=True)
            raise
        finally:
            self._end(interrupted=False)

    def __enter__(self) -> Self:
        try:
            if self._view is not None:
                self._view.start()
        except BaseException:
            self._end(interrupted=True)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if going := self._going(kind):
            wait((going.gone,), _GOING)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        if going := self._going(kind):
            await asyncio.wait((asyncio.wrap_future(going.gone),), timeout=_GOING)

    def _going(self, kind: type[BaseException] | None) -> "TurnView | None":
        """Return the view that is about to be gone; one that says why it ends takes its time."""
        self._end(interrupted=kind is not None and not issubclass(kind, Exception))
        return self._view if self._view and not self._view.was_interrupted else None

    def _end(self, *, interrupted: bool) -> None:
        if self._view is not None:
            self._view.end(interrupted=interrupted)


def _view(session: str) -> "TurnView | None":
    """Return a view below the cell that runs, if somebody can see it."""
    if not _is_watched():
        return None
    try:
        from kandev_nb.widgets import TurnView
    except ImportError as error:  # the prompt itself needs no widget (SE-5)
        _log.warning("a turn could not be shown: %s", type(error).__name__)
        return None
    return TurnView(session)


def _is_watched() -> bool:
    """Say whether the code that runs is a cell with a person before it.

    What runs notebooks by itself, as nbclient and papermill do, takes no input either, and it
    would keep the view's place in its result.
    """
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    kernel = getattr(shell, "kernel", None)
    request = kernel.get_parent() if kernel else {}
    return bool(request.get("content", {}).get("allow_stdin"))
