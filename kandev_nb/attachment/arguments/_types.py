"""The type of a place in words: ``string[]``, ``A | B``, ``Color (string)``, ``↻ Node``."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

from kandev_nb.attachment.arguments import _texts
from kandev_nb.attachment.arguments._shapes import OPTIONS, Reader, Shape

_DEPTH: Final = 12
"""How deep a type nests; an array counts as one level."""
_UNION: Final = 4
"""The levels of a union: each has many."""
_KINDS: Final = {str: "string", int: "integer", float: "number", dict: "object", list: "array"}


def type_of(reader: Reader, shape: Shape, depth: int = _DEPTH) -> str:
    """Return the type of ``shape``; ``any`` where nothing tells it."""
    text = f"↻ {shape.name}" if shape.repeats else _named(reader, shape, depth)
    return _texts.line(_union([text, "null"]) if shape.nullable else text)


def kind(value: Any) -> str:
    """Return the JSON type of ``value``."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    return _KINDS.get(type(value), "any")


def positions(schema: Mapping[str, Any]) -> list[Any]:
    """Return the schemas of an array with fixed places; ``items`` is their older keyword."""
    found = (schema.get(keyword) for keyword in ("prefixItems", "items"))
    return next((each for each in found if isinstance(each, list) and each), [])[:OPTIONS]


def _named(reader: Reader, shape: Shape, depth: int) -> str:
    # In a union, or an array, the name of a reference is enough.
    if shape.name and depth < _DEPTH:
        return shape.name
    text = _plain(reader, shape, depth)
    if not shape.name:
        return text
    return shape.name if text in ("object", "any") else f"{shape.name} ({text})"


def _plain(reader: Reader, shape: Shape, depth: int) -> str:
    schema = shape.schema
    if schema.get("not") is True or schema.get("not") == {}:
        return "never"
    if depth <= 0 or not reader.spend(1):
        reader.cut = True
        return "…"
    if "type" in schema:
        listed = schema["type"] if isinstance(schema["type"], list) else []
        types = listed[:OPTIONS] or [schema["type"]]
        return _union(
            _array(reader, shape, depth) if each == "array" else _declared(each) for each in types
        )
    if options := reader.options(shape):
        return _union(type_of(reader, option, depth - _UNION) for option in options)
    return _implied(reader, shape, depth)


def _declared(word: Any) -> str:
    return _texts.line(word) if isinstance(word, str) else _texts.value(word)


def _implied(reader: Reader, shape: Shape, depth: int) -> str:
    """Return the type that values or keywords imply where none is given."""
    schema, listed = shape.schema, shape.schema.get("enum")
    if "const" in schema:
        return kind(schema["const"])
    if isinstance(listed, list) and listed:
        return _union(map(kind, listed[: _texts.VALUES]))
    if any(isinstance(schema.get(word), dict) for word in ("properties", "patternProperties")):
        return "object"
    return _array(reader, shape, depth) if {"items", "prefixItems"} & schema.keys() else "any"


def _array(reader: Reader, shape: Shape, depth: int) -> str:
    if fixed := positions(shape.schema):
        shapes = (reader.look(each, shape.path) for each in fixed)
        return f"[{', '.join(type_of(reader, each, depth - 1) for each in shapes)}]"
    items = shape.schema.get("items")
    if not isinstance(items, dict):
        return "array"
    text = type_of(reader, reader.look(items, shape.path), depth - 1)
    return "array" if text == "any" else f"({text})[]" if " | " in text else f"{text}[]"


def _union(texts: Iterable[str]) -> str:
    each = dict.fromkeys(chain.from_iterable(map(_members, texts)))
    return " | ".join(islice(each, OPTIONS)) or "any"


def _members(text: str) -> Iterator[str]:
    """Yield the types of a union that stands in another, where they can be told apart."""
    yield from [text] if "(" in text or "[" in text else text.split(" | ")
