"""opencode: ``opencode.json`` and ``opencode.jsonc``.

Follows ``packages/opencode/src/config/mcp.ts`` of anomalyco/opencode at 11072ad501 (2026): ``type``
is ``local``, with a command that is a list, or ``remote``; there is no inference. An entry with
``enabled`` alone switches off a server that another file defines.
"""

from collections.abc import Mapping
from typing import Any, Final

from kandev_nb.servers.documents.client import Client, Document
from kandev_nb.servers.documents.clients.mcp_servers import is_entry
from kandev_nb.servers.documents.fields import Fields

_TYPES: Final = {"local": "stdio", "remote": "http"}


def _recognizes(document: Document) -> bool:
    servers = document.get("mcp")
    if not isinstance(servers, Mapping) or is_entry(servers):
        return False
    return any(map(_is_entry, servers.values()))


def _is_entry(entry: object) -> bool:
    switch = isinstance(entry, Mapping) and isinstance(entry.get("enabled"), bool)
    return switch or is_entry(entry)


def _read(fields: Fields) -> dict[str, Any]:
    named = fields.text("type")
    found: dict[str, Any] = {"type": _TYPES.get(named, named)}
    if named != "remote":
        command = fields.texts("command")
        found |= {"command": command[0] if command else "", "args": command[1:]}
        found["env"] = fields.by_name("environment")
    if named != "local":
        found |= {"url": fields.text("url"), "headers": fields.by_name("headers")}
    return {**found, "disabled": not fields.flag("enabled", default=True)}


CLIENT: Final = Client(
    title="opencode",
    read=_read,
    servers=(("mcp",),),
    paths=("opencode.json", "opencode.jsonc"),
    recognizes=_recognizes,
    syntax="jsonc",
)
