"""What an agent answers when it opens a session: its ID, and what can be chosen in it.

Read member by member from the answer to ``session/new``, ``load``, ``resume`` or ``fork`` (ACP,
"Session Setup", "Session Modes", "Session Config Options"); what is missing or odd is not offered.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Way = Literal["new", "load", "resume", "fork"]
"""How a session is opened; each is a method of ACP's, ``session/…``."""


@dataclass(frozen=True)
class Choice:
    """One thing that can be chosen in a session: its mode, or its model.

    ``option`` is the ID of the configuration option that sets it; empty where ACP has a method of
    its own for it.
    """

    current: str
    available: tuple[str, ...]
    option: str = ""


@dataclass(frozen=True)
class Opened:
    """A session that the agent has opened; ``None`` for what cannot be chosen in it."""

    session_id: str
    mode: Choice | None = None
    model: Choice | None = None

    @classmethod
    def read(cls, answer: object, session_id: str) -> "Opened | None":
        """Return what ``answer`` opens; ``session_id`` is that of a session that was asked for.

        ``None`` when the answer has no ID and needs one.
        """
        members = answer if isinstance(answer, Mapping) else {}
        given = members.get("sessionId")
        opened = given if isinstance(given, str) else session_id
        if not opened:
            return None
        options = [*_options(members.get("configOptions"))]
        return cls(
            session_id=opened,
            mode=_among(options, "mode") or _own(members.get("modes"), "Mode"),
            model=_among(options, "model") or _own(members.get("models"), "Model"),
        )


def _own(state: object, what: str) -> Choice | None:
    """Return a choice that has members of its own, such as ``currentModeId``."""
    if not isinstance(state, Mapping):
        return None
    key = "id" if what == "Mode" else "modelId"
    available = tuple(_texts(state.get(f"available{what}s"), key))
    current = state.get(f"current{what}Id")
    return Choice(current if isinstance(current, str) else "", available) if available else None


def _among(options: list[Mapping[str, Any]], category: str) -> Choice | None:
    """Return the configuration option of that category."""
    for option in options:
        name, current = option.get("id"), option.get("currentValue")
        if option.get("category") == category and isinstance(name, str):
            chosen = current if isinstance(current, str) else ""
            return Choice(chosen, tuple(_values(option.get("options"))), name)
    return None


def _options(found: object) -> Iterator[Mapping[str, Any]]:
    for option in found if isinstance(found, list) else ():
        if isinstance(option, Mapping) and option.get("type") == "select":
            yield option


def _values(found: object) -> Iterator[str]:
    """Yield the values of a select, also those that stand in groups."""
    for option in found if isinstance(found, list) else ():
        if isinstance(option, Mapping) and isinstance(option.get("options"), list):
            yield from _texts(option["options"], "value")
        else:
            yield from _texts([option], "value")


def _texts(found: object, key: str) -> Iterator[str]:
    for item in found if isinstance(found, list) else ():
        if isinstance(item, Mapping) and isinstance(text := item.get(key), str):
            yield text
