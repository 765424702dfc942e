"""The configuration documents that people have, each read as its own client reads it.

A file, a text or a parsed mapping comes in; a :class:`~kandev_nb.servers.entry.Profile` leaves.
Only a document that is unusable as a whole raises; what is wrong with one entry is its fault.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from kandev_nb.servers.documents.assemble import profile
from kandev_nb.servers.documents.client import Unusable
from kandev_nb.servers.documents.clients import CLIENTS
from kandev_nb.servers.documents.detect import by_path
from kandev_nb.servers.documents.fields import kind, shown
from kandev_nb.servers.documents.source import UNNAMED, Source, invalid, open_source
from kandev_nb.servers.documents.text import (
    COMMENT,
    TRAILING_COMMA,
    SyntaxFault,
    parse_json,
    parse_toml,
)
from kandev_nb.servers.entry import Profile

__all__ = ["FORMATS", "read_document"]

FORMATS: Final[Mapping[str, str]] = MappingProxyType(
    {name: client.title for name, client in CLIENTS.items()}
)
"""The formats that can be read, each with the client whose documents they are."""

_TOML: Final = re.compile(r"""^[ \t]*+(?:\[++[\w."' -]++\]|[\w."'-]++[ \t]*+=)""", re.MULTILINE)


def read_document(
    source: str | Path | Mapping[str, Any],
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
) -> Profile:
    """Return the servers that a client's configuration document names, in its order.

    ``source`` is a file (a ``Path``, or text without a line break that does not begin with a
    bracket; ``~`` is the home folder), the text of a document, or what it holds, parsed. ``format``
    is one of :data:`FORMATS`, for documents that cannot be told by their path or content.

    Raises :class:`~kandev_nb.errors.ConfigError` when the document as a whole cannot be used; the
    message names it, the place in it, and the way out, and holds no value of it.
    """
    if format is not None and format not in FORMATS:
        known = ", ".join(sorted(FORMATS))
        raise invalid(f"there is no format {shown(format)!r}; format= must be one of {known}")
    if isinstance(source, Mapping):
        return _profile(source, format, Source(""), asked=format is not None)
    if not isinstance(source, str | Path):
        raise invalid(f"{UNNAMED} must be a path, text or a dict, is {kind(source)}")
    opened = open_source(source)
    told = format or by_path(opened.path)
    return _profile(_parsed(opened, told), told, opened, asked=format is not None)


def _profile(document: object, told: str | None, source: Source, *, asked: bool) -> Profile:
    try:
        return profile(document, told, source.path, asked=asked)
    except Unusable as fault:
        raise invalid(f"{source.name}: {fault}") from None


def _parsed(source: Source, told: str | None) -> Any:
    syntax = CLIENTS[told].syntax if told else _guessed_syntax(source)
    try:
        if syntax == "toml":
            return parse_toml(source.text)
        return parse_json(source.text, syntax)
    except SyntaxFault as fault:
        words = f"{fault.words}; correct it there"
        if told and fault.words in (COMMENT, TRAILING_COMMA):
            what = "plain JSON" if syntax == "json" else "JSON with comments"
            words = f"{FORMATS[told]} reads {what}: {fault.words}; take it out"
        raise invalid(f"{source.name}:{fault.line}:{fault.column}: {words}") from None


def _guessed_syntax(source: Source) -> Literal["jsonc", "toml"]:
    """Return how a document of an unknown client is to be parsed."""
    suffix = source.path.suffix if source.path else ""
    if suffix in (".toml", ".json", ".jsonc"):
        return "toml" if suffix == ".toml" else "jsonc"
    begins = source.text.lstrip("\ufeff \t\r\n")[:1]
    return "toml" if begins not in ("{", "/") and _TOML.search(source.text) else "jsonc"
