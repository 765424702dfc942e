"""The rows of one schema, within bounds.

Room is counted in characters. Rows come before what is inside of them, and each row's inside gets
its share of the room and the steps that are left: one that would never end cannot take the place
of the others.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kandev_nb.attachment import words
from kandev_nb.attachment.arguments import _texts
from kandev_nb.attachment.arguments._entries import Entry, branches, entries, has_inside, names
from kandev_nb.attachment.arguments._models import Argument, Arguments, Branch
from kandev_nb.attachment.arguments._shapes import Reader, Shape
from kandev_nb.attachment.arguments._types import type_of
from kandev_nb.attachment.words import Message

ROOM: Final = 256 * 1024
"""Characters of a table."""
DEPTH: Final = 64
"""How deep rows nest: no schema of :data:`limits.SCHEMA_DEPTH` has more without a reference."""
_JSON_LENGTH: Final = 128 * 1024
"""Characters of the JSON."""

_ROW: Final = 64
"""What a row takes beside its texts."""
_ROW_STEPS: Final = 2_000
_CONSTRAINTS: Final = 32
_DETAIL_DEPTH: Final = 3
_KEYWORDS: Final = 8
"""Most keywords that a note names."""


class _Details(NamedTuple):
    values: list[str]
    constraints: list[str]
    description: str


class Table:
    """The table of one object; ``type`` is the type of its root in words."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._reader = Reader(schema)
        self._root = self._reader.root(schema)
        self.type = type_of(self._reader, self._root._replace(name=""))

    @property
    def takes_objects(self) -> bool:
        """Whether arguments, which are an object, can match the root at all."""
        types = self._root.schema.get("type", "object")
        return types == "object" or (isinstance(types, list) and "object" in types)

    def arguments(self) -> Arguments:
        """Return the rows, the branches, and what there is to say of them."""
        rows, room = self._rows(names(self._reader, self._root), ROOM, DEPTH)
        beside = self._branches(room)
        notes = self._notes(any_shown=bool(rows or beside))
        is_enough = self._reader.told and not self._reader.cut
        view, cut = (None, ()) if is_enough else as_json(self._schema)
        return Arguments(
            state=None if rows or beside else self._nothing(),
            rows=rows,
            branches=beside,
            notes=(*notes, *cut),
            json_text=view,
        )

    def _nothing(self) -> Message:
        """Return why there are no rows."""
        if self._root.note:
            return self._root.note
        return words.say("arguments.too_large" if self._reader.cut else "arguments.none")

    def _branches(self, room: int) -> tuple[Branch, ...]:
        made = []
        groups = list(branches(self._reader, self._root))
        for left, group in zip(range(len(groups), 0, -1), groups, strict=True):
            share = room // left
            inside = entries(self._reader, group.shape, group.outer)
            with self._reader.at_most(self._reader.steps // left):
                rows, rest = self._rows(inside, share, DEPTH)
            room -= share - rest
            if group.note:
                made.append(Branch(label=group.note, rows=rows))
        return tuple(made)

    def _notes(self, *, any_shown: bool) -> Iterator[Message]:
        if "type" not in self._schema:
            yield words.say("arguments.root_untyped")
        elif (root := self._schema["type"]) != "object":
            yield words.say("arguments.root", root=type_of(self._reader, Shape({"type": root})))
        if self._root.note and any_shown:
            yield self._root.note
        if (others := _others(self._root)) is not None and (others or any_shown):
            yield words.say("arguments.open" if others else "arguments.closed")
        if only := list(self._reader.only_json)[:_KEYWORDS]:
            yield words.say("arguments.only_json", keywords=", ".join(only))
        if self._reader.cut:
            yield words.say("arguments.cut")

    def _rows(
        self, found: Iterable[Entry], room: int, depth: int
    ) -> tuple[tuple[Argument, ...], int]:
        """Return as many rows as there is room for, and the room that is left."""
        flat: list[tuple[Entry, Argument]] = []
        for entry in found:
            with self._reader.at_most(_ROW_STEPS):
                row = self._row(entry)
            room -= _size(row)
            if room < 0:
                self._reader.cut, room = True, max(room, 0)
                break
            flat.append((entry, row))
        rows = []
        for left, (entry, row) in zip(range(len(flat), 0, -1), flat, strict=True):
            share = room // left
            with self._reader.at_most(self._reader.steps // left):
                opened, rest = self._opened(entry, row, share, depth)
            room -= share - rest
            rows.append(opened)
        return tuple(rows), room

    def _opened(self, entry: Entry, row: Argument, room: int, depth: int) -> tuple[Argument, int]:
        """Return the row with what is inside of it."""
        inner = self._reader.items(entry.shape)
        if not has_inside(self._reader, inner):
            return row, room
        if depth == 0:
            self._reader.cut = True
            return _closed(row), room
        children, rest = self._rows(entries(self._reader, inner, entry.outer), room, depth - 1)
        if not children:
            return _closed(row), rest
        return row.model_copy(update={"children": children}), rest

    def _row(self, entry: Entry) -> Argument:
        schema = entry.shape.schema
        values, constraints, description = self._details(entry.shape, entry.name)
        if entry.needs:
            constraints.append(_texts.line("needs " + ", ".join(entry.needs)))
        if _others(self._reader.items(entry.shape)) is False:
            constraints.append("no other names")
        row = Argument(
            name=entry.name,
            type=type_of(self._reader, entry.shape),
            required=entry.required,
            default=_texts.value(schema["default"]) if "default" in schema else None,
            values=tuple(dict.fromkeys(values))[: _texts.VALUES],
            constraints=tuple(dict.fromkeys(constraints))[:_CONSTRAINTS],
            description=description,
            note=entry.note or entry.shape.note,
        )
        is_long = len(values) > _texts.VALUES or len(constraints) > _CONSTRAINTS
        if is_long or any(text.endswith("…") for text in _texts_of(row)):
            self._reader.told = False
        return row

    def _details(self, shape: Shape, name: str, depth: int = _DETAIL_DEPTH) -> _Details:
        """Return what is said of the values, of the items and alternatives too."""
        found = _Details(
            [*_texts.values(shape.schema)],
            [*_texts.constraints(shape.schema)],
            _texts.description(shape.schema, name),
        )
        for kind, inner in self._inner(shape) if depth and self._reader.spend(1) else ():
            values, constraints, description = self._details(inner, name, depth - 1)
            found.values.extend(values)
            found.constraints.extend(f"{kind}: {each}" if kind else each for each in constraints)
            found = found._replace(description=found.description or description)
        return found

    def _inner(self, shape: Shape) -> Iterator[tuple[str, Shape]]:
        """Yield the items and alternatives of ``shape``, each with the word for it."""
        if (items := self._reader.items(shape)) is not shape:
            yield "each", items
        for option in self._reader.options(shape):
            kind = "" if self._reader.options(option) else type_of(self._reader, option)
            yield "" if kind == "any" else kind, option


def as_json(schema: Any) -> tuple[str, tuple[Message, ...]]:
    """Return the JSON of ``schema``, and what there is to say of it."""
    text, cut = _texts.pretty(schema, _JSON_LENGTH)
    return text, (words.say("arguments.json_cut", count=_JSON_LENGTH),) if cut else ()


def _closed(row: Argument) -> Argument:
    return row.model_copy(update={"note": row.note or words.say("arguments.more_inside")})


def _others(shape: Shape) -> bool | None:
    """Return whether names that are not declared are taken; ``None`` where that is not said."""
    said = shape.schema.get("additionalProperties", shape.schema.get("unevaluatedProperties"))
    return said if isinstance(said, bool) else None


def _size(row: Argument) -> int:
    return _ROW + sum(map(len, _texts_of(row)))


def _texts_of(row: Argument) -> tuple[str, ...]:
    return (
        row.name,
        row.type,
        row.default or "",
        row.description,
        *row.values,
        *row.constraints,
    )
