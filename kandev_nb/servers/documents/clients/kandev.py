"""Kandev: the MCP configuration of an agent profile.

Follows ``apps/backend/internal/agent/mcpconfig`` of kdlbs/kandev at cd9fa0e603 (2026-08): a command
makes an entry stdio, else a URL HTTP. As its API does, it takes ``mcpServers`` where ``servers`` is
missing or empty.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kandev_nb.servers.documents.client import Client, Document, Unusable, not_used
from kandev_nb.servers.documents.fields import Fields, found_by_type, inferred_type, kind
from kandev_nb.servers.entry import Entry

_OF_A_PROFILE: Final = ("profile_id", "profile_name", "agent_id", "agent_name")


def _recognizes(document: Document) -> bool:
    if "servers" not in document and "mcpServers" not in document:
        return False
    servers = document.get("servers")
    return (
        isinstance(document.get("enabled"), bool)
        or any(key in document for key in _OF_A_PROFILE)
        or (isinstance(servers, Mapping) and any(map(_has_mode, servers.values())))
    )


def _has_mode(entry: object) -> bool:
    return isinstance(entry, Mapping) and "mode" in entry


def _read(fields: Fields) -> dict[str, Any]:
    type_ = fields.text("type") or inferred_type(fields)
    return {**found_by_type(fields, type_), "mode": fields.text("mode") or "auto"}


def _whole(document: Document, entries: Sequence[Entry]) -> dict[str, Any]:
    del entries
    enabled = document.get("enabled", True)
    if not isinstance(enabled, bool):
        raise Unusable(f"enabled: must be true or false, is {kind(enabled)}; correct it")
    servers = "servers" if document.get("servers") else "mcpServers"
    notes = not_used(document, "enabled", "meta", "servers", servers, *_OF_A_PROFILE)
    return {"enabled": enabled, "notes": notes}


CLIENT: Final = Client(
    title="Kandev",
    read=_read,
    servers=(("servers",), ("mcpServers",)),
    recognizes=_recognizes,
    syntax="json",
    whole=_whole,
)
