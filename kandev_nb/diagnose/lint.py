"""What is wrong with a list of tools, read as it was served and before any SDK refuses it.

=====================  ============================================================================
code                   what is noted
=====================  ============================================================================
``malformed_entry``    an entry that is no ``Tool`` (MCP, "Tool"): clients refuse it, or the list
``no_object_root``     an input schema whose root is no object: clients and providers refuse it
``invalid_schema``     an input schema that JSON Schema does not allow
``duplicate_name``     a name that an earlier entry has
``name_characters``    a name with characters that model providers refuse
``name_too_long``      a name that is too long for model providers, with a client's prefix
``many_tools``         more than 40 tools, of which Cursor hands on the first 40
``too_many_tools``     more than 128 tools, which OpenAI's API refuses
``long_description``   a description of more than 1,024 bytes, the bound of OpenAI's API
``external_reference`` a ``$ref`` to another document, which no client fetches
=====================  ============================================================================

Entries with one of the first two are not usable. These are notes: none of them moves a status.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, NamedTuple

from jsonschema_rs import meta

from kandev_nb.attachment.words import visible

_PROVIDER_NAME: Final = re.compile("[A-Za-z0-9_-]+")
_PROVIDER_NAME_LENGTH: Final = 64
_DIALECT: Final = re.compile(
    r"https?://json-schema\.org/(draft-0[467]|draft/20(19-09|20-12))/schema#?"
)
_CURSOR_TOOLS: Final = 40
_OPENAI_TOOLS: Final = 128
_DESCRIPTION_BYTES: Final = 1024

_NOTES_A_CODE: Final = 20
_NAME_SHOWN: Final = 80
_PATH_KEPT: Final = 1024
"""Characters of a path, of which fewer are shown: a schema may have names of any length."""

_NODES: Final = 20_000
"""Parts of one schema that are looked through for references."""

_UNUSABLE: Final = ("malformed_entry", "no_object_root")
_VALUES: Final = ("const", "default", "enum", "example", "examples")
"""Keywords that hold values, not schemas: a ``$ref`` in them is none."""

_BY_NAME: Final = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
"""Keywords that hold schemas by names which may be those of keywords."""


@dataclass(frozen=True)
class LintNote:
    """One thing that is wrong. ``path`` is the field, such as ``inputSchema.type``.

    ``index`` counts the entries from 0 and is ``None`` for what concerns the whole list.
    """

    code: str
    index: int | None
    tool: str
    path: str
    text: str


class Linted(NamedTuple):
    """How many entries were served, how many of them can be used, and what is wrong."""

    served: int
    usable: int
    notes: tuple[LintNote, ...]


Conceal = Callable[[str], str]


def lint(tools: Sequence[Any], server: str = "", conceal: Conceal = str) -> Linted:
    """Return what is wrong with the entries of a ``tools/list``, which may be any JSON values.

    ``server`` is the name that clients put before the names of its tools, and ``conceal`` takes
    secrets out of what the server said. At most 20 notes of a code are returned, the last of them
    with the number that is left out.
    """
    notes = _Notes(conceal)
    for fault in _of_the_list(tools):
        notes.add(None, "", fault)
    unusable = 0
    for index, tool in enumerate(tools):
        is_unusable, name = False, _name(tool)
        for fault in _of_the_entry(tool, server):
            notes.add(index, name, fault)
            is_unusable |= fault.code in _UNUSABLE
        unusable += is_unusable
    for index, name, fault in _duplicates(tools):
        notes.add(index, name, fault)
    return Linted(len(tools), len(tools) - unusable, notes.ended())


class _Fault(NamedTuple):
    """``text`` is ours and stands behind the tool's name; ``{}`` in it is the server's ``word``."""

    code: str
    path: str
    text: str
    word: str = ""


class _Notes:
    """What is wrong, as whole sentences: a list may be so bad that there is no room for all."""

    def __init__(self, conceal: Conceal) -> None:
        self._conceal = conceal
        self._notes: list[LintNote] = []
        self._counts = Counter[str]()

    def add(self, index: int | None, tool: str, fault: _Fault) -> None:
        """Note a fault of that entry, or count it where enough of its code are noted."""
        self._counts[fault.code] += 1
        if self._counts[fault.code] > _NOTES_A_CODE:
            return
        name, text = self._shown(tool), fault.text.replace("{}", self._shown(fault.word))
        if index is not None:
            who = f"{name} (entry {index})" if tool else f"Entry {index}"
            text = f"{who} {text}."
        self._notes.append(LintNote(fault.code, index, name, self._shown(fault.path), text))

    def ended(self) -> tuple[LintNote, ...]:
        """Return the notes, the last of each code with the number that is left out."""
        last = {note.code: place for place, note in enumerate(self._notes)}
        for code, place in last.items():
            if (more := self._counts[code] - _NOTES_A_CODE) > 0:
                note = self._notes[place]
                text = f"{note.text} So {'is 1 more' if more == 1 else f'are {more} more'}."
                self._notes[place] = replace(note, text=text)
        return tuple(self._notes)

    def _shown(self, text: str) -> str:
        # Before it is cut: half of a secret is one too.
        text = self._conceal(text)
        return visible(text if len(text) <= _NAME_SHOWN else f"{text[: _NAME_SHOWN - 1]}…")


def _of_the_list(tools: Sequence[Any]) -> Iterator[_Fault]:
    count = len(tools)
    if count > _OPENAI_TOOLS:
        text = f"{count} tools: OpenAI's API refuses more than {_OPENAI_TOOLS}."
        yield _Fault("too_many_tools", "", text)
    elif count > _CURSOR_TOOLS:
        text = f"{count} tools: Cursor hands on the first {_CURSOR_TOOLS} of all servers together."
        yield _Fault("many_tools", "", text)


def _of_the_entry(tool: Any, server: str) -> Iterator[_Fault]:
    if not isinstance(tool, Mapping):
        yield _Fault("malformed_entry", "", f"is {_kind(tool)} where an object is needed")
        return
    yield from _name_faults(tool.get("name"), server)
    yield from _field_faults(tool)
    if "inputSchema" in tool:
        yield from _schema_faults(tool["inputSchema"])
    else:
        yield _Fault("malformed_entry", "inputSchema", "has no inputSchema")


def _name_faults(name: Any, server: str) -> Iterator[_Fault]:
    if not isinstance(name, str) or not name:
        said = "is empty" if name == "" else f"is {_kind(name)} where text is needed"
        yield _Fault("malformed_entry", "name", f"has no name: it {said}")
        return
    if not _PROVIDER_NAME.fullmatch(name):
        text = "has characters that model providers refuse: they take A-Z, a-z, 0-9, _ and -"
        yield _Fault("name_characters", "name", text)
    length = len(f"mcp__{server}__{name}" if server else name)
    if length > _PROVIDER_NAME_LENGTH:
        behind = " behind a client's prefix" if server else ""
        text = f"has {length} characters{behind}; some providers take {_PROVIDER_NAME_LENGTH}"
        yield _Fault("name_too_long", "name", text)


def _field_faults(tool: Mapping[str, Any]) -> Iterator[_Fault]:
    description = tool.get("description")
    if isinstance(description, str):
        size = len(description.encode("utf-8", "surrogatepass"))
        if size > _DESCRIPTION_BYTES:
            text = f"has a description of {size:,} bytes; OpenAI's API takes {_DESCRIPTION_BYTES:,}"
            yield _Fault("long_description", "description", text)
    for field, wanted, needed in _FIELDS:
        if field in tool and not isinstance(tool[field], wanted):
            given = _kind(tool[field])
            text = f"has {given} as {field} where {needed} is needed"
            yield _Fault("malformed_entry", field, text)


_FIELDS: Final[tuple[tuple[str, type[Any], str], ...]] = (
    ("title", str, "text"),
    ("description", str, "text"),
    ("annotations", Mapping, "an object"),
    ("outputSchema", Mapping, "an object"),
    ("_meta", Mapping, "an object"),
)


_UNTYPED: Final = "without the type object"


def _schema_faults(schema: Any) -> Iterator[_Fault]:
    if not isinstance(schema, Mapping):
        text = f"has {_kind(schema)} as its input schema where an object is needed"
        yield _Fault("malformed_entry", "inputSchema", text)
        return
    if schema.get("type") != "object":
        given = schema.get("type")
        word, root = (given, "of type {}") if isinstance(given, str) else ("", _UNTYPED)
        yield _Fault("no_object_root", "inputSchema.type", f"has an input schema {root}", word)
    yield from _member_faults(schema)
    if not _is_json_schema(schema):
        text = "has an input schema that is no JSON Schema"
        yield _Fault("invalid_schema", "inputSchema", text)
    for path in _external_references(schema):
        text = "refers to another document at {}; no client fetches it"
        yield _Fault("external_reference", path, text, path)


def _is_json_schema(schema: Mapping[str, Any]) -> bool:
    # A dialect that the library does not know it would fetch.
    known = {key: value for key, value in schema.items() if key != "$schema"}
    if isinstance(dialect := schema.get("$schema"), str) and _DIALECT.fullmatch(dialect):
        known["$schema"] = dialect
    try:
        return meta.is_valid(known)
    except (ValueError, RecursionError):
        return False


def _member_faults(schema: Mapping[str, Any]) -> Iterator[_Fault]:
    """Yield what the MCP schema of a tool does not allow inside an input schema."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping):
        text = f"has {_kind(properties)} as properties where an object is needed"
        yield _Fault("malformed_entry", "inputSchema.properties", text)
    else:
        for name, value in properties.items():
            if not isinstance(value, Mapping):
                text = f"has {_kind(value)} as the schema of {{}}"
                yield _Fault("malformed_entry", f"inputSchema.properties.{name}", text, name)
    if not (isinstance(required, list) and all(isinstance(name, str) for name in required)):
        text = "does not list what is required by name"
        yield _Fault("malformed_entry", "inputSchema.required", text)


_Part = tuple[str, Any, bool]
"""Where a part of a schema is, the part, and whether its keys are names that somebody chose."""


def _external_references(schema: Mapping[str, Any]) -> Iterator[str]:
    waiting: list[_Part] = [("inputSchema", schema, False)]
    for _ in range(_NODES):
        if not waiting:
            return
        path, part, by_name = waiting.pop()
        reference = part.get("$ref") if isinstance(part, Mapping) and not by_name else None
        if isinstance(reference, str) and not reference.startswith("#"):
            yield f"{path}.$ref"
        waiting += islice(_parts(path, part, by_name), _NODES - len(waiting))


def _parts(path: str, part: Any, by_name: bool) -> Iterator[_Part]:
    if isinstance(part, list):
        yield from ((_below(path, f"[{n}]"), item, False) for n, item in enumerate(part))
    elif isinstance(part, Mapping):
        for key, value in part.items():
            if by_name or key not in _VALUES:
                yield _below(path, f".{key}"), value, not by_name and key in _BY_NAME


def _below(path: str, step: str) -> str:
    return f"{path}{step}"[:_PATH_KEPT]


def _duplicates(tools: Iterable[Any]) -> Iterator[tuple[int, str, _Fault]]:
    first: dict[str, int] = {}
    for index, tool in enumerate(tools):
        if not (name := _name(tool)):
            continue
        if name in first:
            text = f"has the name of entry {first[name]}: clients take one of them"
            yield index, name, _Fault("duplicate_name", "name", text)
        else:
            first[name] = index


def _name(tool: Any) -> str:
    name = tool.get("name") if isinstance(tool, Mapping) else None
    return name if isinstance(name, str) else ""


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list) else "an object"
