"""Members put into a JSON text, and taken out again, by position: every other byte stays.

Nothing is formatted anew, so comments and layout of the user's file survive. Each edit is checked:
the text has to parse to exactly what was meant, else :class:`Unsafe` is raised and nothing is used.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kandev_nb.servers.documents.text import BOM, JsonSyntax, SyntaxFault, parse_json, repeated
from kandev_nb.servers.passthrough.positions import Object, object_under, root

_REST_OF_LINE: Final = re.compile(r"(?:[ \t]|/\*[^\n]*?\*/)*(?://[^\r\n]*)?(?=\r?\n)")


class Unsafe(ValueError):  # noqa: N818 - a fault of the text, not of the program
    """A text cannot be edited by position; the words say why, and never what it holds."""


def put_in(text: str, key: str, entries: Mapping[str, Any], syntax: JsonSyntax) -> str:
    """Return a text whose object under ``key`` has these entries, each in place of its namesake.

    A text that holds nothing becomes an object. Raises :class:`Unsafe`.
    """
    text = text if text.removeprefix(BOM).strip() else "{}\n"
    before = _document(text, key, entries, syntax)
    if key not in before:
        text, new = _inserted(text, root(text), key, {}), dict(entries)
    else:
        new = {**before[key], **entries}
    for name, value in entries.items():
        text = _set(text, key, name, value)
    return _checked(text, {**before, key: new}, syntax)


def take_out(
    text: str,
    key: str,
    ours: Mapping[str, Sequence[Any]],
    before: str,
    syntax: JsonSyntax,
) -> tuple[str, tuple[str, ...]]:
    """Return the text without our entries, and the names of those that are no longer ours.

    ``ours`` has every value that was put in under a name. An entry is still ours with members that
    somebody added, but not with one that was changed. What stood under its name in ``before``
    stands there again. Raises :class:`Unsafe`.
    """
    servers = _document(text, key, ours, syntax).get(key, {})
    present = [name for name in ours if name in servers]
    kept = tuple(n for n in present if not any(_holds(servers[n], o) for o in ours[n]))
    meant = _document(text, key, ours, syntax)
    for name in present:
        if name in kept:
            continue
        value = _source(before, key, name)
        if value is None:
            text = _without(text, object_under(text, key), name)
            del meant[key][name]
        else:
            text = _replaced(text, object_under(text, key), name, value)
            meant[key][name] = parse_json(value, syntax)
    if meant.get(key) == {} and present and _source(before, key) is None:
        text = _without(text, root(text), key)
        del meant[key]
    return _checked(text, meant, syntax), kept


def _holds(found: Any, ours: Any) -> bool:
    if not isinstance(found, Mapping) or not isinstance(ours, Mapping):
        return bool(found == ours)
    return all(name in found and found[name] == value for name, value in ours.items())


def _document(text: str, key: str, names: Mapping[str, Any], syntax: JsonSyntax) -> dict[str, Any]:
    try:
        document = parse_json(text, syntax)
    except SyntaxFault as fault:
        raise Unsafe(f"it cannot be read: {fault}") from None
    if not isinstance(document, dict):
        raise Unsafe("it holds no object")
    servers = document.get(key, {})
    if not isinstance(servers, dict):
        raise Unsafe(f"its {key!r} is no object")
    if key in repeated(document) or set(repeated(servers)) & set(names):
        raise Unsafe(f"a key stands in it twice, {key!r} or one below it")
    return document


def _checked(text: str, meant: Mapping[str, Any], syntax: JsonSyntax) -> str:
    """Return the text when it says what was meant, however it came about."""
    try:
        is_sound = parse_json(text, syntax) == meant
    except SyntaxFault:
        is_sound = False
    if not is_sound:
        raise Unsafe("its layout does not let one entry be edited by itself")
    return text


def _source(text: str, key: str, name: str | None = None) -> str | None:
    """Return how a value was written, under the key or below it; None where there is none."""
    if not text.removeprefix(BOM).strip() or (member := root(text).member(key)) is None:
        return None
    if name is not None and (member := object_under(text, key).member(name)) is None:
        return None
    return text[member.value : member.end]


def _set(text: str, key: str, name: str, value: Any) -> str:
    servers = object_under(text, key)
    member = servers.member(name)
    if member is None:
        return _inserted(text, servers, name, value)
    return _replaced(text, servers, name, _laid_out(text, value, _indentation(text, member.start)))


def _replaced(text: str, where: Object, name: str, source: str) -> str:
    member = where.member(name)
    assert member is not None, "the caller has looked"
    return text[: member.value] + source + text[member.end :]


def _inserted(text: str, where: Object, name: str, value: Any) -> str:
    """Put a member behind the last one, laid out as its neighbours are."""
    newline = _newline(text)
    if not where.members:
        outer = _indentation(text, where.start)
        indent = outer + _unit(text)
        member = f"{json.dumps(name)}: {_laid_out(text, value, indent)}"
        rest = text[where.start + 1 :]
        rest = rest.lstrip(" \t\r\n") if text[where.start + 1 : where.end].isspace() else rest
        return f"{text[: where.start + 1]}{newline}{indent}{member}{newline}{outer}{rest}"
    last = where.members[-1]
    beside = _own_line(text, last.start)
    if beside is None:
        member = f"{json.dumps(name)}: {json.dumps(value)}"
        return f"{text[: last.end]}, {member}{text[last.end :]}"
    member = f"{newline}{beside}{json.dumps(name)}: {_laid_out(text, value, beside)}"
    # A comma that stands behind the last member keeps standing behind the last one.
    trailing = next((at for at in where.commas if at >= last.end), None)
    at = _line_end(text, last.end if trailing is None else trailing + 1)
    if trailing is not None:
        return f"{text[:at]}{member},{text[at:]}"
    return f"{text[: last.end]},{text[last.end : at]}{member}{text[at:]}"


def _line_end(text: str, at: int) -> int:
    """Return the end of a line that goes on with nothing but comments, else the position."""
    found = _REST_OF_LINE.match(text, at)
    return found.end() if found else at


def _without(text: str, where: Object, name: str) -> str:
    """Cut a member out, with one comma and the line that it leaves empty."""
    member = where.member(name)
    assert member is not None, "the caller has looked"
    start, end = member.start, member.end
    comma = next((at for at in where.commas if at >= end), None)
    if comma is None:
        comma = where.commas[-1] if where.commas else None
    elif not text[end:comma].strip():
        end, comma = comma + 1, None
    start = _line_start(text, start, end)
    if comma is None:
        return text[:start] + text[end:]
    first, second = sorted(((comma, comma + 1), (start, end)))
    return text[: first[0]] + text[first[1] : second[0]] + text[second[1] :]


def _line_start(text: str, start: int, end: int) -> int:
    """Return where to cut so that no blank line stays behind, and no comment swallows a line."""
    before = text[:start].rstrip(" \t")
    rest = text[end:].split("\n", 1)[0].strip()
    if not rest and before.endswith("\n"):
        return len(before.removesuffix("\n").removesuffix("\r"))
    return start if before.endswith("\n") else len(before)


def _laid_out(text: str, value: Any, indent: str) -> str:
    lines = json.dumps(value, indent=_unit(text)).split("\n")
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """Return what one level is indented by: as the first member of the root is."""
    members = root(text).members
    return (_own_line(text, members[0].start) if members else "") or "  "


def _own_line(text: str, at: int) -> str | None:
    """Return the white space before a position when nothing else is on its line."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return before if not before.strip() and "\n" in text[:at] else None


def _indentation(text: str, at: int) -> str:
    """Return the white space that the line of a position begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
