"""A source of rows whose state a test, or a notebook of the browser tests, sets."""

import threading
from collections.abc import Callable
from typing import Any, Final

from kandev_nb.attachment.display import Dot, Row, View
from kandev_nb.attachment.words import Message, count, say

_DOTS: Final[dict[str, Dot]] = {"active": "green", "delivered": "amber", "failed": "red"}


def row(name: str, status: str = "delivered", summary: str = "") -> Row:
    """Return one server as a kernel shows it; an active one has six tools.

    Unlike a kernel, this escapes nothing: a page trusts no text, whoever sent it.
    """
    return Row(
        name=name,
        status=status,
        label=say(f"status.{status}"),
        dot=_DOTS.get(status, "gray"),
        details=(count("detail.tools", 6),) if status == "active" else (),
        summary=Message(key="verbatim", text=summary) if summary else None,
    )


def report(*rows: Row) -> dict[str, Any]:
    """Return the rows of a session as plain JSON values."""
    view = View(
        heading=say("heading.agent", session='session "triage"', agent="opencode"),
        rows=rows,
    )
    return view.to_rows()


class FakeSource:
    """Keeps a report; :meth:`show` replaces it and tells those who subscribed, on a thread."""

    def __init__(self, *rows: Row) -> None:
        self.reads = 0
        self.subscribers: list[Callable[[object], None]] = []
        self._report = report(*rows)

    def rows(self) -> dict[str, Any]:
        self.reads += 1
        return self._report

    def subscribe(self, callback: Callable[[object], None], /) -> Callable[[], None]:
        self.subscribers.append(callback)
        return lambda: self.subscribers.remove(callback)

    def show(self, *rows: Row) -> None:
        """Replace the report and tell of it from another thread; return when all are told."""
        self._report = report(*rows)
        telling = threading.Thread(target=self._tell)
        telling.start()
        telling.join()

    def _tell(self) -> None:
        for subscriber in tuple(self.subscribers):
            subscriber(self._report)
