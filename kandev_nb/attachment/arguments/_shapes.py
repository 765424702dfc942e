"""One place of a schema as it applies: references followed, parts that all apply put together.

Every reading costs steps, so that a schema that refers to itself over and over ends in time.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from kandev_nb.attachment import words
from kandev_nb.attachment.arguments import _texts
from kandev_nb.attachment.arguments._references import (
    KEYWORDS,
    NotFollowedError,
    References,
    last_word,
)
from kandev_nb.attachment.words import Message

OPTIONS: Final = 32
"""Most alternatives, or parts, of one place that are read."""

_STEPS: Final = 100_000
_ARRAYS: Final = 12
"""Most arrays, one in the other, that are entered at once."""
_NEVER: Final[Mapping[str, Any]] = {"not": {}}
_NULLS: Final = ({"const": None}, {"enum": [None]})
_CHOICES: Final = ("anyOf", "oneOf")
_TITLES: Final = frozenset(("title", "$schema", "$id", "$comment", "$defs", "definitions"))
_TOLD: Final = _texts.TOLD | _TITLES | {"type", "description", "items"}
_TOLD_AT_ROOT: Final = _TOLD | {"properties", "required", "additionalProperties"}
_ONLY_JSON: Final = ("not", "contains", "propertyNames", "unevaluatedItems", "additionalItems")
_MERGED: Final = ("properties", "patternProperties", "required")
_ANNOTATIONS: Final = _TITLES | {"description", "default", "examples", *KEYWORDS, "allOf"}


class Shape(NamedTuple):
    """What applies at one place. ``path`` holds the places that lead to it."""

    schema: Mapping[str, Any]
    path: frozenset[int] = frozenset()
    name: str = ""
    """What a reference calls it."""
    nullable: bool = False
    repeats: bool = False
    """It refers to a place that leads to it, and is not read again."""
    note: Message | None = None


class Reader:
    """Reads the places of one schema and remembers what its table does not tell."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._references = References(root)
        self.steps = _STEPS
        """How much may still be read."""
        self.cut = False
        """Something was too large or too deep to be read."""
        self.told = True
        """A flat table tells everything of what was read."""
        self.only_json: dict[str, None] = {}
        """Keywords that no table tells."""

    def root(self, schema: Mapping[str, Any]) -> Shape:
        """Return the root, its alternatives and parts left as they are: they are branches."""
        return _Reading(self, frozenset(), whole=False).read(schema)

    def look(self, node: Any, path: frozenset[int]) -> Shape:
        """Return what applies at ``node``, to which ``path`` leads."""
        return _Reading(self, path, whole=True).read(node)

    def items(self, shape: Shape) -> Shape:
        """Return what the items of an array are, of arrays in it too; else ``shape``."""
        for _ in range(_ARRAYS):
            items = shape.schema.get("items")
            if shape.repeats or not isinstance(items, dict):
                break
            shape = self.look(items, shape.path)
        return shape

    def choices(self, shape: Shape, keyword: str) -> list[Shape]:
        """Return the alternatives, or parts, that stand under ``keyword``."""
        listed = shape.schema.get(keyword)
        if shape.repeats or not isinstance(listed, list):
            return []
        self.cut |= len(listed) > OPTIONS
        return [self.look(each, shape.path) for each in listed[:OPTIONS]]

    def options(self, shape: Shape) -> list[Shape]:
        """Return the alternatives of ``shape``."""
        return next((found for key in _CHOICES if (found := self.choices(shape, key))), [])

    @contextmanager
    def at_most(self, steps: int) -> Iterator[None]:
        """Leave the rest of the steps to others."""
        before, given = self.steps, min(self.steps, steps)
        self.steps = given
        yield
        self.steps = before - (given - self.steps)

    def spend(self, steps: int) -> bool:
        """Return whether there are that many steps left, and take them."""
        is_enough = steps <= self.steps
        self.steps -= steps if is_enough else self.steps
        self.cut |= not is_enough
        return is_enough


class _Reading:
    """One place while it is put together; what stands nearest to it wins."""

    def __init__(self, reader: Reader, path: frozenset[int], *, whole: bool) -> None:
        self._reader = reader
        self._path = path
        self._whole = whole
        self._merged: dict[str, Any] = {}
        self._seen: set[int] = set()
        self._shape = Shape({})

    def read(self, node: Any) -> Shape:
        parts = [node]
        for part in parts:
            if isinstance(part, dict) and id(part) in self._seen:
                continue
            size = len(part) if isinstance(part, dict) else 0
            if not self._reader.spend(1 + size) or len(parts) > 2 * OPTIONS:
                self._reader.cut = True
                break
            parts += self._read_part(part)
        return self._shape._replace(schema=self._merged, path=self._path | self._seen)

    def _read_part(self, part: Any) -> list[Any]:
        """Take over the keywords of ``part`` and return what applies beside them."""
        if part is False:
            self._merge(_NEVER)
            self._note(words.say("arguments.never"))
            return []
        if not isinstance(part, dict):
            if part is not True:
                self._note(words.say("arguments.malformed"))
            return []
        self._seen.add(id(part))
        self._remember(part)
        beside = [*self._referred(part), *self._all_of(part)]
        keyword, option = self._only_option(part) or ("", None)
        if keyword:
            nullable = self._shape.nullable or len(part[keyword]) > 1
            self._shape = self._shape._replace(nullable=nullable)
            beside.append(option)
        self._merge(part, without=keyword)
        return beside

    def _remember(self, part: Mapping[str, Any]) -> None:
        told = _TOLD if self._whole else _TOLD_AT_ROOT
        reader = self._reader
        reader.told &= part.keys() <= told and not isinstance(part.get("items"), list)
        trivial = part.get("propertyNames") == {"type": "string"}
        found = (word for word in _ONLY_JSON if word in part)
        reader.only_json |= dict.fromkeys(w for w in found if w != "propertyNames" or not trivial)

    def _referred(self, part: Mapping[str, Any]) -> Iterator[Any]:
        reference = next((r for k in KEYWORDS if isinstance(r := part.get(k), str)), None)
        if reference is None:
            return
        try:
            target = self._reader._references.find(reference, part)
        except NotFollowedError:
            self._note(words.say("arguments.external", reference=_texts.line(reference)))
        except LookupError:
            self._note(words.say("arguments.not_there", reference=_texts.line(reference)))
        else:
            name = _texts.line(last_word(reference) or _title(target))
            self._shape = self._shape._replace(name=self._shape.name or name)
            if id(target) in self._path:
                self._shape = self._shape._replace(repeats=True)
            else:
                yield target

    def _all_of(self, part: Mapping[str, Any]) -> list[Any]:
        parts = part.get("allOf")
        if not self._whole or not isinstance(parts, list):
            return []
        self._reader.cut |= len(parts) > OPTIONS
        return parts[:OPTIONS]

    def _only_option(self, part: Mapping[str, Any]) -> tuple[str, Any] | None:
        """Return the one alternative beside null, as in ``anyOf: [X, null]``, and its keyword."""
        for keyword in _CHOICES if self._whole else ():
            options = part.get(keyword)
            if not isinstance(options, list) or len(options) > OPTIONS:
                continue
            real = [option for option in options if not _is_null(option)]
            if len(real) == 1:
                return keyword, real[0]
        return None

    def _merge(self, part: Mapping[str, Any], without: str = "") -> None:
        for keyword, value in part.items():
            if keyword == without:
                continue
            held = self._merged.setdefault(keyword, value)
            if held is value or keyword in _ANNOTATIONS:
                continue
            if keyword in _MERGED and type(held) is type(value) in (dict, list):
                if self._reader.spend(len(held) + len(value)):
                    both = {**held, **value, **held} if isinstance(value, dict) else [*held, *value]
                    self._merged[keyword] = both
            elif isinstance(value, (dict, list)) or held != value:
                self._reader.only_json[_texts.line(keyword)] = None

    def _note(self, note: Message) -> None:
        self._shape = self._shape._replace(note=self._shape.note or note)


def _title(schema: Any) -> str:
    title = schema.get("title") if isinstance(schema, dict) else None
    return title if isinstance(title, str) and title else "#"


def _is_null(option: Any) -> bool:
    return isinstance(option, dict) and (option.get("type") == "null" or option in _NULLS)
