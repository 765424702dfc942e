"""Cursor: ``.cursor/mcp.json`` of a project or of the home folder.

Follows cursor.com/docs/mcp as of 2026; there is no published schema. ``disabled`` and comments are
unverified: read, because what they mean is clear.
"""

from typing import Any, Final

from kandev_nb.servers.documents.client import Client, noting_unused
from kandev_nb.servers.documents.fields import Fields, found_by_type, inferred_type

_SPELLINGS: Final = {"streamable-http": "streamable_http", "streamableHttp": "streamable_http"}


def _read(fields: Fields) -> dict[str, Any]:
    named = fields.text("type")
    type_ = _SPELLINGS.get(named, named) or inferred_type(fields)
    return {**found_by_type(fields, type_), "disabled": fields.flag("disabled", default=False)}


CLIENT: Final = Client(
    title="Cursor",
    read=_read,
    paths=(".cursor/mcp.json",),
    syntax="jsonc",
    whole=noting_unused("mcpServers"),
)
