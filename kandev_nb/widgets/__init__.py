"""The widgets that show a session live, for hosts that know anywidget.

A cell or an explicit composition comes in with a session, a task or any source of rows, a prompt
with a turn; what leaves is an ipywidget. The rows are those of :mod:`kandev_nb.attachment.display`:
nothing here decides a word or a colour. Importing this room loads ipywidgets, so nothing imports it
before a widget is asked for.
"""

from typing import TYPE_CHECKING, Any

from kandev_nb.widgets.status import RowsSource, StatusWidget
from kandev_nb.widgets.turn import TurnView

if TYPE_CHECKING:
    from kandev_nb.widgets.explorer import Explorer

__all__ = ["Explorer", "RowsSource", "StatusWidget", "TurnView"]


def __getattr__(name: str) -> Any:
    # It loads what is behind a session, which the table of a source needs not.
    if name != "Explorer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kandev_nb.widgets.explorer import Explorer

    return Explorer
