"""Claude Code: a project's ``.mcp.json``, and the user's ``.claude.json``.

Follows the schema in ``@anthropic-ai/claude-code`` 2.1.332: without a ``type`` an entry is stdio
and needs a command, so that a ``url`` alone is an error; ``streamable-http`` is a spelling of
``http``. There is no key that disables an entry.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kandev_nb.servers.documents.client import Client, Document, not_used
from kandev_nb.servers.documents.fields import Fields, found_by_type
from kandev_nb.servers.entry import Entry

_SPELLINGS: Final = {"streamable-http": "streamable_http"}


def _read(fields: Fields) -> dict[str, Any]:
    named = fields.text("type")
    type_ = _SPELLINGS.get(named, named) or ("stdio" if fields.has("command") else "")
    return found_by_type(fields, type_)


def _whole(document: Document, entries: Sequence[Entry]) -> dict[str, Any]:
    del entries
    projects = document.get("projects")
    if not isinstance(projects, Mapping):
        return {"notes": not_used(document, "mcpServers")}
    with_servers = sum(
        isinstance(p, Mapping) and bool(p.get("mcpServers")) for p in projects.values()
    )
    if not with_servers:
        return {}
    return {"notes": (f"the servers of single projects are not read ('projects', {with_servers})",)}


CLIENT: Final = Client(
    title="Claude Code",
    read=_read,
    paths=(".mcp.json", ".claude.json"),
    syntax="json",
    whole=_whole,
)
