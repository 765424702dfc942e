"""The explorer: the servers of one or several sessions, live, as an anywidget.

Three things travel to the page. The rows are state, which a notebook may save. The details of the
selected server come in messages, and only to a page that asked to be told. A catalog, and whatever
else a page asks for, is a reply to its request.
"""

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import anywidget
import traitlets

from kandev_nb import runtime
from kandev_nb.attachment import History, View, display, explored
from kandev_nb.attachment.model import NOTHING_STARTED
from kandev_nb.widgets.operations import perform, said
from kandev_nb.widgets.pace import Pace
from kandev_nb.widgets.status import INTERVAL, bundle
from kandev_nb.widgets.subjects import Explored, Subject, Subjects, chosen, subjects_of

_log = logging.getLogger("kandev_nb.widgets")


class Explorer(anywidget.AnyWidget):
    """A live view of a session, or of those of a task or controller, with a switcher.

    ``session`` and ``server`` are what is selected, by ID and by name, on every page that shows
    this explorer; both can be set, linked and observed. The other traits go to the page only.
    Nothing is drawn before somebody looks: until the explorer is displayed or observed, its rows
    are those of its making. An update then comes while a cell runs, too, at most every
    :data:`~kandev_nb.widgets.status.INTERVAL` seconds. :meth:`close` ends all of it.
    """

    _esm = bundle()
    view = traitlets.Unicode("explorer", read_only=True).tag(sync=True)
    rows = traitlets.Dict().tag(sync=True)
    sessions: traitlets.List[Any] = traitlets.List().tag(sync=True)
    session = traitlets.Unicode().tag(sync=True)
    server = traitlets.Unicode().tag(sync=True)
    actions: traitlets.List[Any] = traitlets.List().tag(sync=True)
    saved = traitlets.Bool().tag(sync=True)

    _is_made = False

    def __init__(self, of: Explored) -> None:
        """Make an explorer of a session, a task, a controller or a stored session.

        Raises ``ConfigError`` for anything else.
        """
        self._pace = Pace(self._draw, INTERVAL)
        # The page and a drawing change the same traits, on two threads.
        self._changing = threading.RLock()
        self._subscriptions = ExitStack()
        self._left: Callable[[], None] = lambda: None
        self._followed = ""
        self._is_followed = self._is_watched = self._is_closed = False
        self._told: tuple[str, explored.Detail] | None = None
        self._choices = 0
        self._subjects: Subjects = subjects_of(of)
        subject = self._chosen()
        super().__init__(**self._state(subject, *_shown(subject)))
        self.on_msg(self._hear)
        self._take_requests_while_busy()
        self.comm.on_close(lambda _: self.close())
        self._is_made = True

    def observe(self, handler: Any, names: Any = traitlets.All, type: str = "change") -> None:  # noqa: A002
        """Call ``handler`` when a trait changes, as every widget does."""
        super().observe(handler, names, type)
        # The traits of the base classes are observed while they are made.
        if self._is_made:
            self._follow()

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Called with what the page has set."""
        with self._changing:
            if "session" in sync_data:
                self._choices += 1
            super().set_state(sync_data)
        # Also when it is the same: the page waits for rows.
        self._pace.changed()

    def close(self) -> None:
        """Take the explorer off every page and let go of its sessions."""
        self._pace.close()
        with self._changing:
            self._is_closed = True
            self._subscriptions.close()
            self._left()
            self._left = lambda: None
        super().close()

    def __repr__(self) -> str:
        return "Explorer()"

    def _repr_mimebundle_(self, **more: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        self._follow()
        shown = super()._repr_mimebundle_(**more)
        if shown is None:
            return None
        _, view = _shown(self._chosen())
        return {**shown[0], "text/plain": str(view)}, shown[1]

    def _take_requests_while_busy(self) -> None:
        """Have what the page sends handled while a cell runs, where ipykernel has subshells.

        By itself it hands a message on to the shell that wrote to this widget last, and so behind
        the cell in which the widget was made. The attribute is not public: where it is missing,
        requests wait until the cell has ended.
        """
        if hasattr(self.comm, "_reply_subshell_for"):
            self.comm._reply_subshell_for = None

    def _follow(self) -> None:
        """Keep up with the sessions from now on."""
        with self._changing:
            if self._is_followed or self._is_closed:
                return
            self._is_followed = True
            self._subscriptions.callback(self._subjects.changes.watch(self._pace.changed))
        self._pace.changed()

    @traitlets.observe("session", "server")
    def _selected(self, _: object) -> None:
        if self._is_followed:
            self._pace.changed()

    def _draw(self) -> None:
        with self._changing:
            if self._is_closed:
                return
            subject = self._chosen()
            self._listen_to(subject)
            history, view = _shown(subject)
            with self.hold_sync():
                for trait, value in self._state(subject, history, view).items():
                    setattr(self, trait, value)
            if self._is_watched:
                self._tell(explored.detail(history, view, self.server))

    def _chosen(self) -> Subject | None:
        return chosen(self._subjects.listed(), self.session)

    def _listen_to(self, subject: Subject | None) -> None:
        """Subscribe to the session that is shown, and to no other."""
        session_id = subject.whose.session_id if subject else ""
        if session_id == self._followed:
            return
        self._left()
        self._followed, self._left = session_id, lambda: None
        if subject is not None:
            self._left = subject.subscribe(lambda _: self._pace.changed())

    def _state(self, subject: Subject | None, history: History, view: View) -> dict[str, Any]:
        # A page may choose what is chosen already, and waits for rows that are new all the same.
        rows = explored.rows(history, view) | {"choices": self._choices}
        if subject is None:
            return {"rows": rows, "sessions": [], "session": "", "actions": []}
        return {
            "rows": rows,
            "sessions": self._switcher(subject),
            "session": subject.whose.session_id,
            "actions": list(subject.actions),
            "saved": subject.is_saved,
        }

    def _switcher(self, shown: Subject) -> list[dict[str, Any]]:
        """Return the sessions to choose from: closed ones have left, but for the one shown."""
        listed = self._subjects.listed()
        several = len({each.whose.task for each in listed}) > 1
        return [
            {
                "id": each.whose.session_id,
                "label": each.label(with_task=several).model_dump(),
                "state": each.state,
            }
            for each in listed
            if each.state != "closed" or each.whose.session_id == shown.whose.session_id
        ]

    def _tell(self, detail: explored.Detail | None) -> None:
        if detail is None or (self.session, detail) == self._told:
            return
        self._told = self.session, detail
        shown = detail.model_dump(mode="json")
        self.send({"channel": "detail", "session": self.session, "detail": shown})

    def _hear(self, _: object, request: Any, __: object) -> None:
        """Take a request of the page, on the main thread or a subshell's."""
        if not isinstance(request, dict) or not isinstance(request.get("id"), str):
            return
        if request.get("op") == "watch":
            self._watch(request["id"])
        else:
            runtime.start_soon(lambda: self._answer(request))

    def _watch(self, request: str) -> None:
        """Tell the details again: a page has come that does not know them."""
        with self._changing:
            self._is_watched, self._told = True, None
        self._follow()
        self._pace.changed()
        self.send({"id": request, "reply": {}})

    async def _answer(self, request: dict[str, Any]) -> None:
        args = request.get("args")
        args = args if isinstance(args, dict) else {}
        known = {each.whose.session_id: each for each in self._subjects.listed()}
        subject = known.get(str(args.get("session", "")))
        try:
            answer = {"reply": await perform(subject, str(request.get("op", "")), args)}
        except Exception as error:  # noqa: BLE001 - the page is told, whatever it is
            _log.info("a request of a page failed: %s", type(error).__name__)
            answer = {"error": said(error).model_dump()}
        self.send({"id": request["id"], **answer})


def _shown(subject: Subject | None) -> tuple[History, View]:
    return subject.shown() if subject else (NOTHING_STARTED, display(NOTHING_STARTED))
