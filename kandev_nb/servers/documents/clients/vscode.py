"""VS Code: ``.vscode/mcp.json``, the user's ``mcp.json``, and ``mcp`` in its settings.

Follows ``mcpConfiguration.ts`` and ``mcpResourceScannerService.ts`` of microsoft/vscode at
20ba3e6cd3 (2026-11): without a ``type``, or with one that it does not know, a command makes an
entry stdio, else it is HTTP. An environment variable may be a number, or null, which removes it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kandev_nb.servers.documents.client import Client, Document, not_used
from kandev_nb.servers.documents.clients.mcp_servers import is_entry
from kandev_nb.servers.documents.fields import (
    MISSING,
    Fields,
    Shape,
    found_by_type,
    inferred_type,
    kind,
    shown,
    text_fault,
)
from kandev_nb.servers.entry import Entry

_TYPES: Final = ("stdio", "http", "sse")
_SHAPE: Final = Shape(numbers=True)


def _recognizes(document: Document) -> bool:
    settings = document.get("mcp")
    if "servers" in document:
        return not is_entry(document["servers"])
    return isinstance(settings, Mapping) and "servers" in settings


def _read(fields: Fields) -> dict[str, Any]:
    named = fields.text("type")
    if named in ("", "http"):
        named = fields.text("transport") or named
    return found_by_type(fields, named if named in _TYPES else inferred_type(fields), _SHAPE)


def _whole(document: Document, entries: Sequence[Entry]) -> dict[str, Any]:
    del entries
    settings = document.get("mcp")
    if "servers" not in document and isinstance(settings, Mapping):
        inputs, notes = _inputs(settings.get("inputs"))
        return {"inputs": inputs, "notes": notes}
    inputs, notes = _inputs(document.get("inputs"))
    return {
        "inputs": inputs,
        "notes": (*notes, *not_used(document, "servers", "inputs", "sandbox")),
    }


def _inputs(declared: object) -> tuple[dict[str, str], tuple[str, ...]]:
    if declared is None:
        return {}, ()
    if not isinstance(declared, list | tuple):
        return {}, (f"inputs: must be a list, is {kind(declared)}",)
    notes = tuple(note for index, item in enumerate(declared) for note in _wrong(index, item))
    usable = (item for index, item in enumerate(declared) if not any(_wrong(index, item)))
    return {item["id"]: item["default"] for item in usable if "default" in item}, notes


def _wrong(index: int, item: object) -> Iterator[str]:
    if not isinstance(item, Mapping):
        yield f"inputs[{index}]: must be an object, is {kind(item)}"
        return
    for key in ("id", "default"):
        if (key == "id" or key in item) and (fault := text_fault(item.get(key, MISSING))):
            yield f"inputs[{index}].{shown(key)}: {fault}"


CLIENT: Final = Client(
    title="VS Code",
    read=_read,
    servers=(("servers",), ("mcp", "servers")),
    paths=(".vscode/mcp.json", ".vscode/settings.json"),
    recognizes=_recognizes,
    syntax="jsonc",
    whole=_whole,
)
