"""Reading the keys of one entry, whichever client wrote it.

A reader asks for each key that its client knows; what cannot be read becomes a fault with its key
path, and what nobody asked for is unused. Nothing here raises, and no fault holds a value.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date, time
from typing import Any, Final, NamedTuple

from kandev_nb.servers.documents.text import FORBIDDEN, repeated

NETWORK: Final = ("http", "sse", "streamable_http")

_SHOWN: Final = 128
_BEHIND_A_NAME: Final = re.compile(r"[=:\s]")

MISSING: Final = object()
"""What stands for a value that is not there, where null would be one."""

_KINDS: Final = (
    (bool, "true or false"),
    (int | float, "a number"),
    (str, "text"),
    (list | tuple, "a list"),
    (Mapping, "an object"),
    (None.__class__, "null"),
    (date | time, "a date or a time"),
)


def kind(value: object) -> str:
    """Return what a value is, in words, without the value."""
    if value is MISSING:
        return "missing"
    words = (words for types, words in _KINDS if isinstance(value, types))
    return next(words, f"of the type {type(value).__name__}")


def shown(name: object) -> str:
    """Return a key or a name as a message can hold it, on one line and not too long."""
    text = safe(str(name))
    text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return text if text.isprintable() else repr(text)[1:-1]


def shown_member(name: object) -> str:
    """Return the name of a variable or header, without a value that is written behind it."""
    return shown(_BEHIND_A_NAME.split(str(name), maxsplit=1)[0])


def safe(text: str) -> str:
    """Return text that UTF-8 can hold: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def text_fault(value: object) -> str:
    """Return why a value is not usable text, or nothing."""
    if not isinstance(value, str):
        return f"must be text, is {kind(value)}"
    return "holds a character that no text may hold" if FORBIDDEN.search(value) else ""


class Fields:
    """One entry while it is read."""

    def __init__(self, entry: Mapping[Any, Any]) -> None:
        self.faults = [f"key '{shown(key)}' is given more than once" for key in repeated(entry)]
        self._entry = entry
        self._read: set[str] = set()

    def has(self, key: str) -> bool:
        """Whether the key is there and not empty; it does not count as read."""
        return bool(self._entry.get(key))

    def first(self, *keys: str) -> str:
        """Return the first of the keys that is there and not empty, else the first of all."""
        return next(filter(self.has, keys), keys[0])

    def value(self, key: str) -> Any:
        """Return what stands under a key, ``None`` if it is not there."""
        self._read.add(key)
        return self._entry.get(key)

    def text(self, key: str) -> str:
        """Return the text under a key, empty if there is none."""
        found = self.value(key)
        return "" if found is None else self._text(key, found)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the list of texts under a key."""
        return tuple(self._text(path, item) for path, item in self._items(key))

    def by_name(self, key: str, *, numbers: bool = False) -> dict[str, str]:
        """Return the texts by name under a key.

        With ``numbers`` a number stands for its digits, and null leaves the name out.
        """
        found = self.value(key)
        if found is None:
            return {}
        if not isinstance(found, Mapping):
            self.fault(key, f"must be an object, is {kind(found)}")
            return {}
        for name in repeated(found):
            self.fault(key, f"'{shown_member(name)}' is given more than once")
        return {
            name: self._text(f"{key}.{shown_member(name)}", _digits(value) if numbers else value)
            for name, value in found.items()
            if self._is_name(key, name) and not (numbers and value is None)
        }

    def listed(self, key: str) -> dict[str, str]:
        """Return the texts by name of a list of ``{name, value}`` (ACP, "Session Setup")."""
        values: dict[str, str] = {}
        for path, item in self._items(key):
            if not isinstance(item, Mapping):
                self.fault(path, f"must be an object, is {kind(item)}")
                continue
            name = self._text(f"{path}.name", item.get("name", MISSING))
            if name in values:
                self.fault(key, f"'{shown(name)}' is given more than once")
            if name:
                values[name] = self._text(f"{path}.value", item.get("value", MISSING))
        return values

    def flag(self, key: str, *, default: bool) -> bool:
        """Return the truth value under a key."""
        found = self.value(key)
        if found is None or isinstance(found, bool):
            return default if found is None else found
        self.fault(key, f"must be true or false, is {kind(found)}")
        return default

    def fault(self, path: str, words: str) -> None:
        """Note what is wrong at a key path."""
        self.faults.append(f"{path}: {words}")

    def unused(self) -> dict[str, Any]:
        """Return what nobody has asked for, without what says nothing anyway."""
        left = {key: value for key, value in self._entry.items() if key not in self._read}
        said = {key: value for key, value in left.items() if value is not None}
        empty = {key for key, value in said.items() if isinstance(value, str) and not value}
        return {safe(str(key)): value for key, value in said.items() if key not in empty}

    def _items(self, key: str) -> Iterator[tuple[str, Any]]:
        found = self.value(key)
        if isinstance(found, list | tuple):
            yield from ((f"{key}[{index}]", item) for index, item in enumerate(found))
        elif found is not None:
            self.fault(key, f"must be a list, is {kind(found)}")

    def _text(self, path: str, value: object) -> str:
        if fault := text_fault(value):
            self.fault(path, fault)
            return ""
        return str(value)

    def _is_name(self, key: str, name: object) -> bool:
        if fault := text_fault(name):
            self.fault(key, f"a name in it {fault}")
        return not fault


class Shape(NamedTuple):
    """The keys under which a client keeps what a server has."""

    url: str = "url"
    headers: str = "headers"
    env: str = "env"
    numbers: bool = False
    """Whether an environment variable may be a number, or null, which removes it."""


PLAIN: Final = Shape()


def found_by_type(fields: Fields, type_: str, shape: Shape = PLAIN) -> dict[str, Any]:
    """Return what a server of that type has, as fields of an ``Entry``.

    Keys of the other kind of server stay unused; with a type that tells nothing, all are read.
    """
    found: dict[str, Any] = {"type": type_}
    if type_ not in NETWORK:
        found |= {
            "command": fields.text("command"),
            "args": fields.texts("args"),
            "env": fields.by_name(shape.env, numbers=shape.numbers),
        }
    if type_ != "stdio":
        found |= {"url": fields.text(shape.url), "headers": fields.by_name(shape.headers)}
    return found


def inferred_type(fields: Fields, url: str = "url") -> str:
    """Return the type where none is given: a command makes a server stdio, else a URL HTTP."""
    if fields.has("command"):
        return "stdio"
    return "http" if fields.has(url) else ""


def _digits(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
