"""Windsurf: ``~/.codeium/windsurf/mcp_config.json``.

Follows docs.windsurf.com/windsurf/cascade/mcp as of 2026 (``serverUrl`` or ``url`` for a remote
server); ``type`` and ``disabled``, which its own settings page writes, are unverified.
"""

from typing import Any, Final

from kandev_nb.servers.documents.client import Client, noting_unused
from kandev_nb.servers.documents.fields import Fields, Shape, found_by_type, inferred_type

_SPELLINGS: Final = {"streamable-http": "streamable_http", "streamableHttp": "streamable_http"}


def _read(fields: Fields) -> dict[str, Any]:
    url = fields.first("serverUrl", "url")
    named = fields.text("type")
    type_ = _SPELLINGS.get(named, named) or inferred_type(fields, url)
    found = found_by_type(fields, type_, Shape(url=url))
    return {**found, "disabled": fields.flag("disabled", default=False)}


CLIENT: Final = Client(
    title="Windsurf",
    read=_read,
    paths=("mcp_config.json",),
    syntax="json",
    whole=noting_unused("mcpServers"),
)
