"""The widgets that show a session live, for hosts that know anywidget.

A cell or an explicit composition comes in with a source of rows, a prompt with a turn; what leaves
is an ipywidget. The rows are those of :mod:`kandev_nb.attachment.display`: nothing here decides a
word or a colour. Importing this room loads ipywidgets, so nothing imports it before a widget is
asked for.
"""

from kandev_nb.widgets.status import RowsSource, StatusWidget
from kandev_nb.widgets.turn import TurnView

__all__ = ["RowsSource", "StatusWidget", "TurnView"]
