"""Claude Desktop: ``claude_desktop_config.json``.

Unverified: there is no published schema, and this follows what its users report of it up to version
1.19367 (2026-07). The file starts local commands only: ``type`` and ``url`` are no keys of it, and
an entry without a command is skipped.
"""

from typing import Any, Final

from kandev_nb.servers.documents.client import Client
from kandev_nb.servers.documents.fields import Fields, found_by_type


def _read(fields: Fields) -> dict[str, Any]:
    return found_by_type(fields, "stdio" if fields.has("command") else "")


CLIENT: Final = Client(
    title="Claude Desktop", read=_read, paths=("claude_desktop_config.json",), syntax="json"
)
