"""The person before the views of one session, as far as its agent may ask them something.

Questions of ``ask_user_question_kandev`` and requests for permission come in and wait, each for a
bounded time; views show them and put the answers back. Where no view is open nobody is asked.
Nothing of it is kept: what was asked and answered is gone with its answer.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final, Literal, NamedTuple

from kandev_nb.agents.permission import OptionKind, PermissionRequest
from kandev_nb.attachment.sanitize import sanitize_summary
from kandev_nb.endpoint.builtin import Answers, Questions, Unanswered
from kandev_nb.session.identity import new_id

PATIENCE: Final = 300.0
"""Seconds that a person has for an answer."""

Asked = Literal["questions", "permissions"]

_PERMISSION_WORDS: Final[Mapping[OptionKind, str]] = {
    "allow_once": "Allow once",
    "allow_always": "Allow always",
    "reject_once": "Reject once",
    "reject_always": "Reject always",
}


class _Waiting(NamedTuple):
    shown: dict[str, Any]
    answer: "Future[Any]"


class Person:
    """Whoever looks at a session. Every method may be called from any thread."""

    def __init__(self, patience: float) -> None:
        """Take how many seconds an answer may take."""
        self._patience = patience
        self._lock = threading.Lock()
        self._views = 0
        self._asked: dict[Asked, dict[str, _Waiting]] = {"questions": {}, "permissions": {}}
        self._watchers: list[Callable[[], None]] = []

    @property
    def is_there(self) -> bool:
        """Whether a view is open that could ask."""
        return self._views > 0

    def attend(self) -> Callable[[], None]:
        """Say that a view is open; return what says that it is closed again."""
        with self._lock:
            self._views += 1
        return self._leaving()

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` when something is asked or settled, in any thread; return the end."""
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed)

    def asked(self, what: Asked) -> list[dict[str, Any]]:
        """Return what waits for an answer, the oldest first, as plain JSON values."""
        with self._lock:
            return [waiting.shown for waiting in self._asked[what].values()]

    def answer(self, what: Asked, asked_id: str, answer: Any) -> bool:
        """Settle one of them; tell whether it was still waiting."""
        with self._lock:
            waiting = self._asked[what].pop(asked_id, None)
        if waiting is None:
            return False
        if waiting.answer.set_running_or_notify_cancel():
            waiting.answer.set_result(answer)
        self._tell()
        return True

    async def ask(self, questions: Questions, context: str) -> Answers:
        """Ask the questions of one bundle and return the labels that were picked, by their IDs."""
        if not self.is_there:
            return Unanswered("No view of this session is open, so nobody could be asked.")
        try:
            shown = {"context": context, "questions": questions}
            answers: Answers | None = await self._answered("questions", shown)
        except TimeoutError:
            return Unanswered(f"Nobody answered within {self._patience:g} s.")
        return Unanswered("The user declined to answer.") if answers is None else answers

    async def permit(self, request: PermissionRequest) -> OptionKind | None:
        """Ask for a permission; ``None`` is a no."""
        shown = {
            "title": sanitize_summary(request.title),
            "tool": sanitize_summary(request.tool),
            "options": [
                {"id": kind, "label": _PERMISSION_WORDS[kind], "kind": kind}
                for kind in request.options
            ],
        }
        answer: OptionKind | None = await self._answered("permissions", shown)
        return answer

    async def _answered(self, what: Asked, shown: dict[str, Any]) -> Any:
        asked_id = new_id("asked")
        answer: Future[Any] = Future()
        with self._lock:
            self._asked[what][asked_id] = _Waiting({"id": asked_id, **shown}, answer)
        self._tell()
        try:
            async with asyncio.timeout(self._patience):
                return await asyncio.wrap_future(answer)
        finally:
            with self._lock:
                was_waiting = self._asked[what].pop(asked_id, None)
            if was_waiting is not None:
                self._tell()

    def _leaving(self) -> Callable[[], None]:
        left = False

        def leave() -> None:
            nonlocal left
            with self._lock:
                self._views -= not left
                left = True

        return leave

    def _tell(self) -> None:
        for changed in tuple(self._watchers):
            changed()
