"""The texts of a schema table: names, values, constraints, JSON; all visible and bounded (CA-5)."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from kandev_nb.attachment import limits
from kandev_nb.attachment.words import visible

VALUES: Final = 64
"""Most values of one argument that are listed."""

_NAME: Final = limits.TOOL_NAME_BYTES
_TEXT: Final = limits.DESCRIPTION_BYTES
_VALUE: Final = 200
"""Characters of one value, type or constraint."""

_LINES: Final = re.compile(r"\r\n?|\n")
_UNUSUAL: Final = re.compile(r"[^\n -~]")
# Bare, each of these would read as another value, or as nothing.
_NEEDS_QUOTES: Final = re.compile(
    r"|\s.*|.*\s|[\[{\"].*|-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|null", re.DOTALL
)

_LIMITS: Final[Mapping[str, str]] = {
    "format": "format {}",
    "pattern": "pattern {}",
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "multipleOf": "multiple of {}",
    "minLength": "at least {} character",
    "maxLength": "at most {} character",
    "minItems": "at least {} item",
    "maxItems": "at most {} item",
    "minProperties": "at least {} name",
    "maxProperties": "at most {} name",
    "contentEncoding": "encoded as {}",
    "contentMediaType": "content {}",
}
_FLAGS: Final[Mapping[str, str]] = {
    "uniqueItems": "no item twice",
    "deprecated": "deprecated",
    "readOnly": "read only",
    "writeOnly": "write only",
}
TOLD: Final = frozenset((*_LIMITS, *_FLAGS, "examples", "enum", "const", "default"))
"""The keywords that these texts tell."""


class Json(NamedTuple):
    """JSON as text; ``cut`` when there is more."""

    text: str
    cut: bool


def line(text: str, limit: int = _VALUE) -> str:
    """Return one visible line of at most ``limit`` characters and an ellipsis."""
    return visible(text if len(text) <= limit else text[:limit] + "…")


def paragraphs(text: str) -> str:
    """Return a description: its line breaks stay."""
    kept = text[:_TEXT] + "…" if len(text) > _TEXT else text
    return "\n".join(visible(each.replace("\t", "    ")) for each in _LINES.split(kept.strip()))


def name(text: str) -> str:
    """Return a name as it is, in quotes where its ends would not be seen."""
    is_clear = text and text == text.strip() and not text.startswith('"')
    return line(text if is_clear else f'"{text}"', _NAME)


def value(of: Any) -> str:
    """Return a value: text as it is, unless it would read as another value; the rest as JSON."""
    if isinstance(of, str) and not _NEEDS_QUOTES.fullmatch(of[: _VALUE + 1]):
        return line(of)
    json_text, cut = _json(of, _VALUE)
    return line(json_text + "…" if cut else json_text, _VALUE + 1)


def pretty(schema: Any, limit: int) -> Json:
    """Return indented JSON in which invisible characters stand as JSON escapes."""
    text, cut = _json(schema, limit, indent=2)
    return Json(_UNUSUAL.sub(lambda found: _escape(found[0]), text) + ("…" if cut else ""), cut)


def values(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the allowed values, one more than :data:`VALUES` at most."""
    if "const" in schema:
        yield value(schema["const"])
    elif isinstance(listed := schema.get("enum"), list):
        yield from map(value, listed[: VALUES + 1])


def constraints(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield formats, ranges, patterns and the like, each as a few words."""
    for keyword, words in _LIMITS.items():
        given = schema.get(keyword)
        if isinstance(given, (str, int, float)) and not isinstance(given, bool):
            ends = "s" if words.startswith("at ") and given != 1 else ""
            yield words.format(line(given) if isinstance(given, str) else value(given)) + ends
        elif given is True and keyword.startswith("exclusive"):
            # Draft 4: the flag says that the limit itself is not allowed.
            yield "not " + value(schema.get(keyword.replace("exclusiveM", "m")))
    yield from (words for keyword, words in _FLAGS.items() if schema.get(keyword) is True)
    if isinstance(listed := schema.get("enum"), list) and len(listed) > VALUES:
        yield f"{len(listed) - VALUES:,} more values"
    if isinstance(examples := schema.get("examples"), list) and examples:
        yield "such as " + ", ".join(map(value, examples[:3]))


def description(schema: Mapping[str, Any], argument: str) -> str:
    """Return the description, or a title that says more than the argument's name does."""
    text, title = schema.get("description"), schema.get("title")
    if isinstance(text, str) and text.strip():
        return paragraphs(text)
    if isinstance(title, str) and _letters(title) != _letters(argument):
        return line(title)
    return ""


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text[:_NAME]).casefold()


def _json(of: Any, limit: int, indent: int | None = None) -> Json:
    encoder = json.JSONEncoder(ensure_ascii=False, indent=indent)
    text = ""
    try:
        # Piece by piece, so that what is nested or large beyond the limit is never reached.
        for piece in encoder.iterencode(of):
            text += piece
            if len(text) > limit:
                return Json(text[:limit], cut=True)
    except (ValueError, TypeError, RecursionError):
        return Json(text, cut=True)
    return Json(text, cut=False)


def _escape(character: str) -> str:
    return character if visible(character) == character else json.dumps(character)[1:-1]
