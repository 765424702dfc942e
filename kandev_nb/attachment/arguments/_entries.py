"""What stands in one object of a schema: its names, and the groups that apply beside them."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final, NamedTuple

from kandev_nb.attachment import words
from kandev_nb.attachment.arguments import _texts
from kandev_nb.attachment.arguments._shapes import Reader, Shape
from kandev_nb.attachment.arguments._types import positions, type_of
from kandev_nb.attachment.words import Message

_DEPTH: Final = 3
"""How deep alternatives of alternatives are searched for names."""

_NAMES_A_STEP: Final = 16

_CHOICES: Final = (("anyOf", "arguments.any_of"), ("oneOf", "arguments.one_of"))
_CONDITION: Final = (
    ("if", "arguments.if"),
    ("then", "arguments.then"),
    ("else", "arguments.else"),
)


class Entry(NamedTuple):
    """One row before it is written. A group has no name; its note says what it is."""

    name: str
    shape: Shape
    required: bool = False
    note: Message | None = None
    needs: tuple[str, ...] = ()
    outer: Mapping[str, Any] | None = None
    """What is declared around a group: it may require a name of that."""


def entries(
    reader: Reader, shape: Shape, outer: Mapping[str, Any] | None, depth: int = _DEPTH
) -> Iterator[Entry]:
    """Yield everything inside of ``shape``, names first."""
    yield from names(reader, shape, outer)
    yield from _places(reader, shape, depth)
    yield from _alternatives(reader, shape, depth)
    yield from _conditions(reader, shape)


def names(reader: Reader, shape: Shape, outer: Mapping[str, Any] | None = None) -> Iterator[Entry]:
    """Yield the names of ``shape`` in their order, the required ones first."""
    declared = mapping(shape.schema, "properties")
    required = _listed(shape.schema.get("required"))
    needs = {**mapping(shape.schema, "dependencies"), **mapping(shape.schema, "dependentRequired")}
    reader.spend((len(declared) + len(required)) // _NAMES_A_STEP)
    undeclared = (name for name in required if name not in declared)
    optional = (name for name in declared if name not in required)
    for name in chain((name for name in declared if name in required), undeclared, optional):
        node = declared.get(name, (outer or {}).get(name, True))
        is_known = name in declared or name in (outer or {})
        yield Entry(
            name=_texts.name(name),
            shape=reader.look(node, shape.path),
            required=name in required,
            note=None if is_known else words.say("arguments.undeclared"),
            needs=tuple(_listed(needs.get(name))),
        )
    yield from _unnamed(reader, shape)


def branches(reader: Reader, root: Shape) -> Iterator[Entry]:
    """Yield every group of the root, those without names too."""
    for keyword, key in (*_CHOICES, ("allOf", "arguments.all_of")):
        yield from _numbered(reader, root, reader.choices(root, keyword), key)
    yield from _conditions(reader, root)


def has_inside(reader: Reader, shape: Shape, depth: int = _DEPTH) -> bool:
    """Return whether there is anything inside of ``shape``."""
    if depth <= 0 or shape.repeats:
        return False
    shape = reader.items(shape)
    found = chain(names(reader, shape), _conditions(reader, shape), _places(reader, shape, depth))
    return next(found, None) is not None or any(
        has_inside(reader, option, depth - 1) for option in reader.options(shape)
    )


def _alternatives(reader: Reader, shape: Shape, depth: int) -> Iterator[Entry]:
    """Yield the alternatives that have names; the names themselves where only one has."""
    for keyword, key in _CHOICES:
        numbered = list(_numbered(reader, shape, reader.choices(shape, keyword), key))
        found = [entry for entry in numbered if has_inside(reader, entry.shape, depth)]
        if len(found) == 1 and not mapping(shape.schema, "properties"):
            yield from entries(reader, reader.items(found[0].shape), None, depth - 1)
        else:
            yield from found


def _numbered(reader: Reader, shape: Shape, among: list[Shape], key: str) -> Iterator[Entry]:
    outer = mapping(shape.schema, "properties")
    for number, each in enumerate(among, start=1):
        name = _called(reader, each)
        facts = {"number": number, "count": len(among)}
        note = words.say(f"{key}.named", **facts, name=name) if name else words.say(key, **facts)
        yield Entry("", each, note=note, outer=outer)


def _called(reader: Reader, shape: Shape) -> str:
    """Return what an alternative is called: its reference, its title, or its type."""
    title, kind = shape.schema.get("title"), type_of(reader, shape)
    if isinstance(title, str) and not shape.name:
        return _texts.line(title)
    return "" if kind in ("object", "any") else kind


def _conditions(reader: Reader, shape: Shape) -> Iterator[Entry]:
    """Yield what applies under a condition."""
    schema, outer = shape.schema, mapping(shape.schema, "properties")
    is_conditional = "if" in schema and ("then" in schema or "else" in schema)
    for keyword, key in _CONDITION if is_conditional and not shape.repeats else ():
        if keyword in schema:
            inner = reader.look(schema[keyword], shape.path)
            yield Entry("", inner, note=words.say(key), outer=outer)
    given = {**mapping(schema, "dependencies"), **mapping(schema, "dependentSchemas")}
    for name, node in given.items():
        if isinstance(node, dict):
            note = words.say("arguments.given", name=_texts.name(name))
            yield Entry("", reader.look(node, shape.path), note=note, outer=outer)


def _unnamed(reader: Reader, shape: Shape) -> Iterator[Entry]:
    """Yield what applies to names that are not listed."""
    for pattern, node in mapping(shape.schema, "patternProperties").items():
        inner = reader.look(node, shape.path)
        yield Entry(_texts.name(pattern), inner, note=words.say("arguments.pattern_name"))
    rest = mapping(shape.schema, "additionalProperties")
    if rest := rest or mapping(shape.schema, "unevaluatedProperties"):
        inner = reader.look(rest, shape.path)
        yield Entry("*", inner, note=words.say("arguments.other_name"))


def _places(reader: Reader, shape: Shape, depth: int) -> Iterator[Entry]:
    """Yield the places of an array that have names in them."""
    for place, node in enumerate(positions(shape.schema)):
        inner = reader.look(node, shape.path)
        if has_inside(reader, inner, depth - 1):
            yield Entry(f"[{place}]", inner)


def mapping(schema: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
    """Return the object under ``keyword``, an empty one where there is none."""
    found = schema.get(keyword)
    return found if isinstance(found, dict) else {}


def _listed(found: Any) -> dict[str, None]:
    """Return the texts of a list in their order, each once."""
    texts = found if isinstance(found, list) else ()
    return dict.fromkeys(text for text in texts if isinstance(text, str))
