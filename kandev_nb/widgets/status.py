"""The status table of one session, as an anywidget."""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Protocol

import anywidget
import traitlets

from kandev_nb.widgets.pace import Pace

INTERVAL: Final = 0.1
"""Seconds between two updates of one widget, at least."""

_log = logging.getLogger("kandev_nb.widgets")


class RowsSource(Protocol):
    """What a widget shows; a session is one.

    A widget is kept by ipywidgets until it is closed, and it keeps its source.
    """

    def rows(self) -> dict[str, Any]:
        """Called by the widget, from any thread, for what there is to show: new, plain JSON."""

    def subscribe(self, callback: Callable[[object], None], /) -> Callable[[], None]:
        """Called once by the widget; returns the function that ends the subscription.

        ``callback`` is to be called after each change, from any thread. It returns at once and
        does not raise. Its argument is ignored.
        """


def bundle() -> str:
    """Return the page's part of every widget; raises ``ImportError`` where it was not built.

    The text and not its path: anywidget keeps every widget that was made from a file.
    """
    built = Path(__file__).parent.parent / "static" / "widget.js"
    if built.exists():
        return built.read_text(encoding="utf-8")
    raise ImportError(
        f"{built} is missing: the widgets of kandev-nb have not been built. "
        "Run `pip install .` (or `pip install -e .`) in the source tree; it builds them."
    )


class StatusWidget(anywidget.AnyWidget):
    """A live table of a session's MCP servers: dot, name, label, details.

    ``rows`` travels to the page only. An update reaches it while a cell runs, at most every
    :data:`INTERVAL` seconds, and the last one always does. :meth:`close` ends the updates.
    """

    _esm = bundle()
    rows = traitlets.Dict().tag(sync=True)

    def __init__(self, source: RowsSource) -> None:
        pace = self._pace = Pace(lambda: self._show(source.rows()), INTERVAL)
        self._subscription = ExitStack()
        super().__init__(rows=source.rows())
        self._subscription.callback(source.subscribe(lambda _: pace.changed()))
        pace.changed()

    def close(self) -> None:
        """Take the table off the page and let go of the source."""
        self._pace.close()
        try:
            self._subscription.close()
        except Exception as error:  # noqa: BLE001 - a broken source must not keep a widget open
            _log.warning("a source could not be left: %s", type(error).__name__)
        super().close()

    def __repr__(self) -> str:
        return "StatusWidget()"

    def _show(self, rows: dict[str, Any]) -> None:
        self.rows = rows
