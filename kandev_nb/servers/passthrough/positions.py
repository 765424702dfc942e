"""Where the members of an object stand in a JSON text that is known to parse.

Comments are passed over, and so is a byte order mark.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kandev_nb.servers.documents.text import BOM

_TOKEN: Final = re.compile(
    r'"(?:[^"\\]|\\.)*+"|//[^\n]*+|/\*.*?\*/|[{}\[\],:]|[^\s"{}\[\],:/]++', re.DOTALL
)
_OPENS: Final = ("{", "[")
_CLOSES: Final = ("}", "]")


class _Token(NamedTuple):
    text: str
    start: int
    end: int


class Member(NamedTuple):
    """One member: its name, and where it, its value and its end are."""

    name: str
    start: int
    value: int
    end: int


class Object(NamedTuple):
    """An object in a text: where its brackets, members and commas are."""

    start: int
    end: int
    members: list[Member]
    commas: list[int]

    def member(self, name: str) -> Member | None:
        """Return the member of that name."""
        return next((each for each in self.members if each.name == name), None)


def _tokens(text: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(text, len(BOM) if text.startswith(BOM) else 0):
        if not found[0].startswith(("//", "/*")):
            yield _Token(found[0], found.start(), found.end())


def root(text: str) -> Object:
    """Return the object that the text is."""
    return _object(list(_tokens(text)), 0)


def object_under(text: str, key: str) -> Object:
    """Return the object that stands under a key of the root; the key is known to be there."""
    tokens = list(_tokens(text))
    member = _object(tokens, 0).member(key)
    assert member is not None, "the caller has looked"
    return _object(tokens, next(n for n, token in enumerate(tokens) if token.start == member.value))


def _object(tokens: Sequence[_Token], opening: int) -> Object:
    """Return the object whose opening bracket is that token; the text is known to parse."""
    members, commas, at = list[Member](), list[int](), opening + 1
    while tokens[at].text != "}":
        if tokens[at].text == ",":
            commas.append(tokens[at].start)
            at += 1
            continue
        end = _value_end(tokens, at + 2)
        name = json.loads(tokens[at].text)
        members.append(Member(name, tokens[at].start, tokens[at + 2].start, tokens[end].end))
        at = end + 1
    return Object(tokens[opening].start, tokens[at].start, members, commas)


def _value_end(tokens: Sequence[_Token], at: int) -> int:
    """Return the last token of the value that begins at a token."""
    depth = 0
    while True:
        depth += (tokens[at].text in _OPENS) - (tokens[at].text in _CLOSES)
        if depth == 0:
            return at
        at += 1
