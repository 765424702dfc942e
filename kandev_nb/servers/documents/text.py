"""The syntax of configuration documents: text comes in, plain values leave.

Nothing here knows what a document means. A fault names the place in lines and characters, says in
words what is wrong there, and never shows what the document holds.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from rapidjson import (
    NM_NATIVE,
    PM_COMMENTS,
    PM_NONE,
    PM_TRAILING_COMMAS,
    Decoder,
)

JsonSyntax = Literal["json", "commented", "jsonc"]

BOM: Final = "\ufeff"

FORBIDDEN: Final = re.compile("[\0\ud800-\udfff]")
"""What no UTF-8 file holds, and NUL, which no argument or environment variable can hold."""

COMMENT: Final = "comments are not allowed"
TRAILING_COMMA: Final = "a comma before the closing bracket is not allowed"

_TOO_DEEP: Final = "it is nested too deeply"
_DEPTH: Final = 500
# What is not closed goes on to the end, so that no text is searched twice.
_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|//[^\n]*+|/\*.*?(?:\*/|\Z)|[\[{\]}]', re.DOTALL)

_WORDS: Final = {
    "Invalid encoding in string": "a line break or another control character inside a string: "
    "the closing quote is missing, or it must be escaped",
    "Invalid escape character in string": "a backslash in a string must be doubled, or begin one "
    "of the escapes of JSON",
    "Invalid value": "this is no JSON value",
    "Miss fraction part in number": "digits are missing after the decimal point",
    "Miss exponent in number": "digits are missing in the exponent",
    "Missing a name for object member": "a key in double quotes is expected here",
    "The document root must not be followed by other values": "the document has ended before this",
    "Unspecific syntax error": "a comment is not closed",
}


class SyntaxFault(ValueError):  # noqa: N818 - a fault of the text, not of the program
    """A document cannot be parsed: what is wrong, and where (both from 1, in characters)."""

    def __init__(self, words: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {words}")
        self.words = words
        self.line = line
        self.column = column


class Pairs(dict[str, Any]):
    """An object of JSON in which a key stands more than once; as a dict, the last one counts."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        self.pairs = tuple(pairs)
        super().__init__(self.pairs)


def pairs(mapping: Mapping[Any, Any]) -> tuple[tuple[Any, Any], ...]:
    """Return the members of an object in their order, with those whose key is repeated."""
    return mapping.pairs if isinstance(mapping, Pairs) else tuple(mapping.items())


def repeated(mapping: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return the keys that stand more than once in an object, in order."""
    if not isinstance(mapping, Pairs):
        return ()
    times = Counter(name for name, _ in mapping.pairs)
    return tuple(name for name, count in times.items() if count > 1)


def parse_json(text: str, syntax: JsonSyntax = "jsonc") -> Any:
    """Return the value of a JSON text (RFC 8259), with what the syntax admits beyond it.

    ``commented`` admits comments (``//`` and ``/* */``), ``jsonc`` also a comma before a closing
    bracket. A byte order mark is passed over. An object with repeated keys is a :class:`Pairs`.
    Numbers are as exact as 64 bits are.

    Raises :class:`SyntaxFault`.
    """
    text = text.removeprefix(BOM)
    _refuse_unencodable(text)
    _refuse_deep(text)
    try:
        return _DECODERS[syntax](text)
    except (ValueError, RecursionError) as error:
        raise _json_fault(text, error) from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML document (TOML 1.0); a byte order mark is passed over.

    Raises :class:`SyntaxFault`.
    """
    text = text.removeprefix(BOM)
    _refuse_unencodable(text)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SyntaxFault(_TOO_DEEP, 1, 1) from None
    except tomllib.TOMLDecodeError as error:
        raise _toml_fault(text, str(error)) from None
    except ValueError:
        raise SyntaxFault("a number in it has too many digits", 1, 1) from None


class _Decoder(Decoder):
    """Sees the members of an object one by one, so that a repeated key is not lost."""

    def start_object(self) -> list[tuple[str, Any]]:
        return []

    def end_object(self, members: list[tuple[str, Any]]) -> dict[str, Any]:
        plain = dict(members)
        return plain if len(plain) == len(members) else Pairs(members)


# Numbers are native because rapidjson passes over PM_TRAILING_COMMAS in its exact mode.
_DECODERS: Final[Mapping[JsonSyntax, _Decoder]] = {
    "json": _Decoder(number_mode=NM_NATIVE, parse_mode=PM_NONE),
    "commented": _Decoder(number_mode=NM_NATIVE, parse_mode=PM_COMMENTS),
    "jsonc": _Decoder(number_mode=NM_NATIVE, parse_mode=PM_COMMENTS | PM_TRAILING_COMMAS),
}


def _refuse_unencodable(text: str) -> None:
    """Refuse what rapidjson cannot be given; at a NUL it would end without a word."""
    if found := FORBIDDEN.search(text):
        raise _fault_at(text, found.start(), "a character that no text may hold")


def _refuse_deep(text: str) -> None:
    """Refuse what may overflow the stack: rapidjson stops only at Python's limit, however high."""
    if text.count("[") + text.count("{") <= _DEPTH:
        return
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += found[0] in ("[", "{")
        depth -= found[0] in ("]", "}")
        if depth > _DEPTH:
            raise _fault_at(text, found.start(), _TOO_DEEP)


def _json_fault(text: str, error: Exception) -> SyntaxFault:
    found = re.match(r"Parse error at offset (\d+): (.*?)[.!]?$", str(error))
    if found is None:
        return SyntaxFault("it cannot be parsed", 1, 1)
    at = len(text.encode()[: int(found[1])].decode("utf-8", "ignore"))
    if isinstance(error, RecursionError):
        return _fault_at(text, at, _TOO_DEEP)
    if text.startswith(("//", "/*"), at):
        return _fault_at(text, at, COMMENT)
    before = text[:at].rstrip()
    if before.endswith(",") and text.startswith(("}", "]"), at):
        return _fault_at(text, len(before) - 1, TRAILING_COMMA)
    return _fault_at(text, at, _WORDS.get(found[2], _lower(found[2])))


def _toml_fault(text: str, message: str) -> SyntaxFault:
    message = re.sub(r"\([^()]*'[^()]*\)", "a key", message)
    found = re.match(r"(.*) \(at line (\d+), column (\d+)\)$", message, re.DOTALL)
    if found:
        return SyntaxFault(_lower(found[1]), int(found[2]), int(found[3]))
    return _fault_at(text, len(text), _lower(message.removesuffix(" (at end of document)")))


def _fault_at(text: str, at: int, words: str) -> SyntaxFault:
    line_start = text.rfind("\n", 0, at) + 1
    return SyntaxFault(words, text.count("\n", 0, at) + 1, at - line_start + 1)


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:]
