"""What an agent wants to be allowed, and who decides (ACP, "Requesting Permission").

A request of the agent comes in; the outcome that it is answered with leaves. A user's function
runs among the tools (:mod:`kandev_nb.endpoint.workshop`), never on the loop, and has a bound. No
answer is a no. Nothing of a request is kept or logged here but counts.
"""

import asyncio
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, get_args

from anyio import CancelScope

from kandev_nb.attachment.limits import NAME_BYTES, TOOL_NAME_BYTES, cut_utf8
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import sanitize_summary
from kandev_nb.endpoint.workshop import Job, workers
from kandev_nb.errors import ConfigError

_log = logging.getLogger(__name__)

ASK_TIMEOUT: Final = 60.0
"""Seconds that a user's function has for its answer, unless told otherwise."""

OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]
"""What an option means; its ID and its words differ from agent to agent."""

Choice = OptionKind | bool
"""``True`` allows once and ``False`` rejects once."""

Outcome = dict[str, str]

_KINDS: Final[tuple[OptionKind, ...]] = get_args(OptionKind)
_ALLOWING: Final = ("allow_once", "allow_always")
_OTHER_OF_ITS_SIDE: Final[Mapping[OptionKind, OptionKind]] = {
    "allow_once": "allow_always",
    "allow_always": "allow_once",
    "reject_once": "reject_always",
    "reject_always": "reject_once",
}


@dataclass(frozen=True, repr=False)
class PermissionRequest:
    """What an agent asks permission for; texts are the agent's own.

    ``tool`` is the tool's name where the agent gives one, else the title; ``kind`` is one of
    ACP's kinds of tools (``read``, ``edit``, ``execute``, …); ``options`` are the kinds of options
    that it offers. ``arguments`` is what the tool would be called with, as far as the agent tells.
    A cell shows the tool and title sanitized, and never the arguments.
    """

    session: str
    title: str
    tool: str
    kind: str
    tool_call_id: str
    options: tuple[OptionKind, ...]
    arguments: Any = field(default=None, compare=False)

    def __repr__(self) -> str:
        names = dict.fromkeys(sanitize_summary(name) for name in (self.tool, self.title))
        return (
            f"<PermissionRequest: session {sanitize_summary(self.session)!r}; "
            f"{': '.join(filter(None, names)) or 'no title'} ({sanitize_summary(self.kind)}); "
            f"offers {', '.join(self.options) or 'nothing'}; .arguments has what it is called with>"
        )


Ask = Callable[[PermissionRequest], Choice | Awaitable[Choice | None] | None]
"""A user's function or coroutine function that decides. ``None`` is a no."""

Permissions = Literal["ask", "allow", "deny"] | Ask
"""Who decides. ``"ask"`` is a no as long as there is nobody to ask."""


class Person(Protocol):
    """Somebody who looks at the session and can be asked."""

    @property
    def is_there(self) -> bool:
        """Called by the desk for each request."""

    async def permit(self, request: PermissionRequest, /) -> OptionKind | None:
        """Called by the desk when somebody is there; ``None`` is a no."""


@dataclass
class PermissionCounts:
    """How many permissions an agent asked for, and what it got. A cancelled turn gets neither."""

    asked: int = 0
    allowed: int = 0
    denied: int = 0


class PermissionDesk:
    """Decides about the permissions that one session's agent asks for. Belongs to one loop."""

    def __init__(
        self,
        permissions: Permissions = "ask",
        person: Person | None = None,
        *,
        session: str = "",
        ask_timeout: float = ASK_TIMEOUT,
    ) -> None:
        """Take who decides, who is asked for ``"ask"``, the session's name, and the bound of an
        answer in seconds.

        Raises:
            ConfigError: ``permissions`` is neither a word that is known nor a function
                (``wrong_argument``).
        """
        if not callable(permissions) and permissions not in ("ask", "allow", "deny"):
            raise ConfigError(
                'permissions= must be "ask", "allow", "deny" or a function that takes a '
                "PermissionRequest.",
                reason_code=ReasonCode.WRONG_ARGUMENT,
            )
        self._permissions = permissions
        self._person = person
        self._session = session
        self._ask_timeout = ask_timeout
        self._asking: dict[CancelScope, str] = {}
        self.counts = PermissionCounts()

    async def decide(
        self, acp_session_id: str, tool_call: Mapping[str, Any], options: Iterable[object]
    ) -> Outcome:
        """Return the outcome for a ``ToolCallUpdate`` and a list of ``PermissionOption``."""
        self.counts.asked += 1
        option_ids = _option_ids(options)
        wanted: OptionKind | None = None
        with CancelScope() as scope:
            self._asking[scope] = acp_session_id
            try:
                wanted = await self._wanted(self._request(tool_call, tuple(option_ids)))
            finally:
                del self._asking[scope]
        return self._outcome(wanted, option_ids)

    def cancelled(self, acp_session_id: str) -> None:
        """Give up what is asked for that session: its turn is cancelled."""
        for scope, asking in tuple(self._asking.items()):
            if asking == acp_session_id:
                scope.cancel()

    def end(self) -> None:
        """Give up everything that is asked: the agent is gone."""
        for scope in tuple(self._asking):
            scope.cancel()

    def _outcome(self, wanted: OptionKind | None, option_ids: Mapping[OptionKind, str]) -> Outcome:
        if wanted is None:
            return {"outcome": "cancelled"}
        kinds = (wanted, _OTHER_OF_ITS_SIDE[wanted])
        chosen = next((option_ids[kind] for kind in kinds if kind in option_ids), None)
        if wanted in _ALLOWING and chosen is not None:
            self.counts.allowed += 1
        else:
            self.counts.denied += 1
        if chosen is None:
            return {"outcome": "cancelled"}
        return {"outcome": "selected", "optionId": chosen}

    async def _wanted(self, request: PermissionRequest) -> OptionKind:
        if callable(self._permissions):
            return await self._answered(self._permissions, request)
        if self._permissions == "allow":
            return "allow_once"
        if self._permissions == "ask" and self._person is not None and self._person.is_there:
            return await self._answered(self._person.permit, request)
        if self._permissions == "ask":
            _log.info("a permission was denied, for there is nobody to ask; see permissions=")
        return "reject_once"

    async def _answered(self, ask: Ask, request: PermissionRequest) -> OptionKind:
        try:
            async with asyncio.timeout(self._ask_timeout):
                answer = await _call(ask, request)
        except TimeoutError:
            seconds = self._ask_timeout
            _log.warning("a permission was denied: permissions= took more than %g s", seconds)
            return "reject_once"
        if isinstance(answer, bool):
            return "allow_once" if answer else "reject_once"
        if isinstance(answer, str) and answer in _KINDS:
            return answer
        what = "raised" if isinstance(answer, BaseException) else "answered with"
        _log.warning("a permission was denied: permissions= %s %s", what, type(answer).__name__)
        return "reject_once"

    def _request(
        self, tool_call: Mapping[str, Any], options: tuple[OptionKind, ...]
    ) -> PermissionRequest:
        title = _text(tool_call.get("title"), TOOL_NAME_BYTES)
        return PermissionRequest(
            session=self._session,
            title=title,
            tool=_tool_name(tool_call.get("_meta")) or title,
            kind=_text(tool_call.get("kind"), NAME_BYTES) or "other",
            tool_call_id=_text(tool_call.get("toolCallId"), NAME_BYTES),
            options=options,
            arguments=tool_call.get("rawInput"),
        )


async def _call(ask: Ask, request: PermissionRequest) -> object:
    """Return what the user's function answers, or what it raised."""
    is_async = inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(
        getattr(ask, "__call__", None)  # noqa: B004 - the method, not whether there is one
    )
    answer = await _run(functools.partial(ask, request), is_async)
    return await _run(lambda: answer, is_async=True) if inspect.isawaitable(answer) else answer


async def _run(function: Callable[[], Any], is_async: bool) -> object:
    answers: list[object] = []

    def call() -> None:
        answers.append(function())

    async def call_async() -> None:
        answers.append(await function())

    work = call_async if is_async else call
    outcome = await workers().run(Job("permissions=", work, is_async, timeout=None))
    return outcome if isinstance(outcome, BaseException) else answers[0]


def _option_ids(options: Iterable[object]) -> dict[OptionKind, str]:
    """Return the ID of the first option of each kind; what is no option is passed over."""
    found: dict[OptionKind, str] = {}
    for option in options:
        kind, option_id = _member(option, "kind"), _member(option, "optionId")
        if isinstance(option_id, str) and isinstance(kind, str) and kind in _KINDS:
            found.setdefault(kind, option_id)
    return found


def _tool_name(meta: object) -> str:
    """Some agents give the name, next to a title made for people, under a key of their own."""
    for own in meta.values() if isinstance(meta, Mapping) else ():
        if name := _text(_member(own, "toolName"), TOOL_NAME_BYTES):
            return name
    return ""


def _member(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def _text(value: object, limit: int) -> str:
    return cut_utf8(value, limit) if isinstance(value, str) else ""
