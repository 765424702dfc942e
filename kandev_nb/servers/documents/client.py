"""What there is to know about one client's configuration document.

Each client is one file in :mod:`kandev_nb.servers.documents.clients`; the rest of the package asks
these questions and knows no client by name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from kandev_nb.servers.documents.fields import Fields, shown
from kandev_nb.servers.documents.text import JsonSyntax
from kandev_nb.servers.entry import Entry
from kandev_nb.servers.spelling import meant

Document = Mapping[str, Any]
KeyPath = tuple[str, ...]


def _never(document: Document) -> bool:
    del document
    return False


def _nothing_more(document: Document, entries: Sequence[Entry]) -> dict[str, Any]:
    del document, entries
    return {}


class Unusable(ValueError):  # noqa: N818 - a fault of the document, not of the program
    """A document as a whole cannot be used; the words begin with the key path."""


class Client(NamedTuple):
    """One client.

    ``read`` is called for each entry and returns fields of its ``Entry``; ``whole`` is called once,
    after it, and returns fields of the ``Profile`` that the document as a whole decides; it may
    raise :class:`Unusable`.
    """

    title: str
    read: Callable[[Fields], dict[str, Any]]
    servers: tuple[KeyPath, ...] = (("mcpServers",),)
    """Where the servers may stand; the first that is there and not empty counts."""
    listed: bool = False
    """Whether they are a list, in which each has its name, not an object of name to entry."""
    paths: tuple[str, ...] = ()
    """The files that are this client's, each by the end of its path."""
    recognizes: Callable[[Document], bool] = _never
    """Whether a document of unknown origin is this client's; asked in the order of the clients."""
    syntax: JsonSyntax | Literal["toml"] = "json"
    whole: Callable[[Document, Sequence[Entry]], dict[str, Any]] = _nothing_more


def not_used(document: Document, *used: str) -> tuple[str, ...]:
    """Return a note for each key of a document that is wholly about MCP and has no such key."""
    keys = (key for key in document if key not in (*used, "$schema"))
    return tuple(f"key '{shown(key)}' is not used{_question(key, used)}" for key in keys)


def _question(key: object, known: Iterable[str]) -> str:
    found = meant(str(key), known)
    return f" (meant as {found}?)" if found else ""


def noting_unused(*used: str) -> Callable[[Document, Iterable[Entry]], dict[str, Any]]:
    """Return a ``whole`` for documents in which every key but these is a mistake."""

    def whole(document: Document, entries: Iterable[Entry]) -> dict[str, Any]:
        del entries
        return {"notes": not_used(document, *used)}

    return whole
