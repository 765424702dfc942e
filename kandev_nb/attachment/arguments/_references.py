"""Where the references of one schema lead (JSON Schema 2020-12, section 8), inside it only.

A pointer, an anchor or an ``$id`` is looked up in the schema itself; nothing is ever fetched. The
libraries that do this expect a valid schema, and a tool may serve any JSON.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote, urljoin

KEYWORDS: Final = ("$ref", "$dynamicRef", "$recursiveRef")

_ANCHORS: Final = ("$anchor", "$dynamicAnchor")
_VALUES: Final = ("enum", "const", "default", "examples")
_NODES: Final = 100_000
"""Most objects and lists that are searched for identifiers."""
_INDEX: Final = re.compile(r"[0-9]{1,6}")


class NotFollowedError(LookupError):
    """The reference leads out of the schema."""


class References:
    """Every place of ``root`` that a reference can name."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._places: dict[str, Any] = {"": root}
        self._bases: dict[int, str] = {}
        self._search(root)

    def find(self, reference: str, node: Mapping[str, Any]) -> Any:
        """Return what ``reference`` names, which stands in ``node``.

        Raises :class:`NotFollowedError` for another document, and ``LookupError`` for a place that
        the schema does not have.
        """
        address, _, fragment = reference.partition("#")
        base = _joined(self._bases.get(id(node), ""), address)
        if base not in self._places:
            raise NotFollowedError(reference)
        pointer = unquote(fragment)
        if pointer and not pointer.startswith("/"):
            return self._places[f"{base}#{pointer}"]
        return _pointed(self._places[base], pointer)

    def _search(self, root: Mapping[str, Any]) -> None:
        nodes: list[tuple[Any, str]] = [(root, "")]
        for node, base in nodes:
            if isinstance(node, dict):
                base = self._enter(node, base)
            room = _NODES - len(nodes)
            nodes += [(inner, base) for inner, _ in zip(_inside(node), range(room), strict=False)]

    def _enter(self, node: Mapping[str, Any], base: str) -> str:
        """Note the identifiers of ``node`` and return the base of what is in it."""
        identifier = node.get("$id")
        if isinstance(identifier, str):
            address, _, fragment = identifier.partition("#")
            base = _joined(base, address)
            self._places.setdefault(f"{base}#{fragment}" if fragment else base, node)
        self._bases[id(node)] = base
        for keyword in _ANCHORS:
            if isinstance(anchor := node.get(keyword), str):
                self._places.setdefault(f"{base}#{anchor}", node)
        return base


def last_word(reference: str) -> str:
    """Return what a person would call the place: the last part, empty for the whole schema."""
    path = unquote(reference).rstrip("/#")
    return _unescaped(re.split(r"[/#]", path)[-1])


def _inside(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        values = (value for keyword, value in node.items() if keyword not in _VALUES)
    else:
        values = iter(node)
    return (value for value in values if isinstance(value, (dict, list)))


def _joined(base: str, address: str) -> str:
    if not address:
        return base
    try:
        return urljoin(base, address)
    except ValueError:
        return address


def _pointed(node: Any, pointer: str) -> Any:
    """Return what an RFC 6901 pointer names in ``node``; raises ``LookupError``."""
    for part in pointer.split("/")[1:]:
        if isinstance(node, list) and _INDEX.fullmatch(part):
            node = node[int(part)]
        elif isinstance(node, dict):
            node = node[_unescaped(part)]
        else:
            raise LookupError(pointer)
    return node


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
