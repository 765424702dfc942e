"""What a cell shows of the turn that it prompted, while it goes on, and of which nothing stays.

The agent's words come in on the loop thread; what leaves are custom messages to a page. These are
never part of a widget's state nor of an output, so that no notebook can save them (SA-1). When the
turn ends, so do the view and its place below the cell.
"""

import logging
import threading
import time
from concurrent.futures import Future
from contextlib import closing, suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, Final

import anywidget
import traitlets
from IPython.display import publish_display_data

from kandev_nb.agents.turn import Listener, ToolCall
from kandev_nb.attachment.sanitize import sanitize_summary
from kandev_nb.widgets.status import INTERVAL, bundle

PATIENCE: Final = 0.3
"""Seconds that a turn may take without being shown."""

HEARTBEAT: Final = 1.0
"""Seconds after which a page that came late is told, though nothing changed."""

LINGER: Final = 2.0
"""Seconds that an interrupted turn says so."""

TEXT_BYTES: Final = 16 * 1024
"""UTF-8 bytes of the last words, which are shown."""

TOOL_CALLS: Final = 20
"""The last tool calls, which are shown."""

_log = logging.getLogger("kandev_nb.widgets")
_publish: Any = publish_display_data


class TurnWidget(anywidget.AnyWidget):
    """The place of a turn on the page. What it shows comes in messages, never in its state."""

    _esm = bundle()
    view = traitlets.Unicode("turn", read_only=True).tag(sync=True)

    def show(self) -> None:
        """Show it below the cell; only to who knows widgets, for it has nothing else to say."""
        shown = self._repr_mimebundle_()
        data, metadata = shown if shown else ({}, {})
        data.pop("text/plain", None)
        _publish(data, metadata, transient={"display_id": self.model_id})

    def close(self) -> None:
        """Empty its place below the cell and free it, with the layout that each widget makes."""
        # Whatever is freed is closed once more.
        if self.comm is None:
            return
        layout = self.layout
        _publish({}, transient={"display_id": self.model_id}, update=True)
        super().close()
        layout.close()

    def __repr__(self) -> str:
        return "TurnWidget()"


class TurnView(Listener):
    """Shows one turn, from :meth:`start` to :meth:`end`, on a thread of its own.

    It holds no lock: an interrupt can come at any bytecode, and the loop waits for nothing here.
    """

    def __init__(self, session: str) -> None:
        self.gone: Future[None] = Future()
        self.was_interrupted = False
        self._session = session
        self._since = time.monotonic()
        self._tail = ("", 0)
        self._calls: dict[int, ToolCall] = {}
        self._is_stale = False
        self._is_over = False
        self._changed: SimpleQueue[None] = SimpleQueue()
        self._over: SimpleQueue[None] = SimpleQueue()

    def start(self) -> None:
        """Show the turn below the cell that runs, once it takes longer than :data:`PATIENCE`."""
        run = copy_context().run
        try:
            threading.Thread(
                target=run, args=(self._run,), name="kandev-nb turn", daemon=True
            ).start()
        except RuntimeError:  # no thread can be started, and the turn goes on unseen
            self.gone.set_result(None)

    def end(self, *, interrupted: bool = False) -> None:
        """Take the view away; ``gone`` says when that is done. The first call counts."""
        if not self._is_over:
            self.was_interrupted = interrupted
            self._is_over = True
            self._over.put(None)
            self._changed.put(None)

    def __call__(self, words: str, /) -> None:
        """Show the agent's words."""
        text, first = self._tail
        text += words
        kept = text.encode("utf-8", "replace")[-TEXT_BYTES:].decode("utf-8", "ignore")
        self._tail = kept, first + text.count("\n", 0, len(text) - len(kept))
        self._change()

    def tool_call(self, call: ToolCall, /) -> None:
        """Show a tool call, or how it goes."""
        calls = {**self._calls, call.number: call}
        self._calls = {n: calls[n] for n in sorted(calls)[-TOOL_CALLS:]}
        self._change()

    def _change(self) -> None:
        if not self._is_stale:
            self._is_stale = True
            self._changed.put(None)

    def _run(self) -> None:
        try:
            if not _comes(self._over, PATIENCE):
                with closing(TurnWidget()) as widget:
                    widget.show()
                    self._tell(widget)
        except Exception as error:  # noqa: BLE001 - a view never changes what it shows (SE-5)
            _log.warning("a turn could not be shown: %s", type(error).__name__)
        finally:
            self.gone.set_result(None)

    def _tell(self, widget: TurnWidget) -> None:
        while not self._is_over:
            self._is_stale = False
            widget.send(self._progress("running"))
            if not _comes(self._over, INTERVAL):
                _comes(self._changed, HEARTBEAT)
        if self.was_interrupted:
            widget.send(self._progress("interrupted"))
            time.sleep(LINGER)

    def _progress(self, state: str) -> dict[str, Any]:
        calls = self._calls
        text, first = self._tail
        return {
            "session": self._session,
            "state": state,
            "seconds": int(time.monotonic() - self._since),
            "text": text,
            "first_line": first,
            "tool_call_count": max(calls, default=0),
            "tool_calls": [_row(call) for call in calls.values()],
        }


def _row(call: ToolCall) -> dict[str, Any]:
    # Sanitized, for some agents put arguments into it.
    return {"number": call.number, "name": sanitize_summary(call.name), "status": call.status}


def _comes(queue: SimpleQueue[None], within: float) -> bool:
    with suppress(Empty):
        queue.get(timeout=within)
        return True
    return False
