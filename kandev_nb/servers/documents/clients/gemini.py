"""Gemini CLI: ``.gemini/settings.json``.

Follows ``settingsSchema.ts``, ``mcp-client.ts`` and ``mcpServerEnablement.ts`` of
google-gemini/gemini-cli at 5411f113ca (2026-08): ``httpUrl`` wins over ``url``, which is HTTP
unless its ``type`` is ``sse``, and both win over a command. The file may hold comments, but no
commas before a closing bracket.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kandev_nb.servers.documents.client import Client, Document
from kandev_nb.servers.documents.fields import Fields, Shape, found_by_type, kind
from kandev_nb.servers.entry import Entry


def _read(fields: Fields) -> dict[str, Any]:
    url = fields.first("httpUrl", "url")
    return found_by_type(fields, _type(fields, url), Shape(url=url))


def _type(fields: Fields, url: str) -> str:
    named = fields.text("type")
    if fields.has(url):
        return "sse" if url == "url" and named == "sse" else "http"
    if fields.has("command"):
        return "stdio"
    return "tcp" if fields.has("tcp") else ""


def _whole(document: Document, entries: Sequence[Entry]) -> dict[str, Any]:
    settings = document.get("mcp")
    if not isinstance(settings, Mapping):
        return {}
    notes: list[str] = []
    allowed = _names(settings, "allowed", notes)
    excluded = _names(settings, "excluded", notes) or set()
    admitted = [_admitted(entry, allowed, excluded) for entry in entries]
    return {"entries": tuple(admitted), "notes": tuple(notes)}


def _admitted(entry: Entry, allowed: set[str] | None, excluded: set[str]) -> Entry:
    if _plain(entry.name) in excluded:
        key = "mcp.excluded"
    elif allowed and _plain(entry.name) not in allowed:
        key = "mcp.allowed"
    else:
        return entry
    return entry.model_copy(update={"disabled": True, "disabled_by": key})


def _names(settings: Mapping[str, Any], key: str, notes: list[str]) -> set[str] | None:
    found = settings.get(key)
    if isinstance(found, list | tuple):
        return {_plain(name) for name in found if isinstance(name, str)}
    if found is not None:
        notes.append(f"mcp.{key}: must be a list of names, is {kind(found)}; it is not used")
    return None


def _plain(name: str) -> str:
    return name.strip().lower()


CLIENT: Final = Client(
    title="Gemini CLI",
    read=_read,
    paths=(".gemini/settings.json",),
    syntax="commented",
    whole=_whole,
)
