"""An ``mcpServers`` document of unknown origin, or its entries alone.

The union of what the clients write, read tolerantly: it follows no one client. Inline entries from
Python are read like this too.
"""

from collections.abc import Mapping
from typing import Any, Final

from kandev_nb.servers.documents.client import Client, Document, noting_unused
from kandev_nb.servers.documents.fields import Fields, Shape, found_by_type

_URLS: Final = ("url", "httpUrl", "serverUrl")

_SPELLINGS: Final = {
    "stdio": "stdio",
    "http": "http",
    "sse": "sse",
    "streamable-http": "streamable_http",
    "streamable_http": "streamable_http",
    "streamablehttp": "streamable_http",
}


def is_entry(value: object) -> bool:
    """Whether a value can be told as an entry."""
    keys = ("command", "type", *_URLS)
    return isinstance(value, Mapping) and any(
        key in value and not isinstance(value[key], Mapping) for key in keys
    )


def has_entries(document: Document) -> bool:
    """Whether a mapping is the entries themselves: at least one of them can be told as one."""
    return not document or any(map(is_entry, document.values()))


def _recognizes(document: Document) -> bool:
    return "mcpServers" in document or has_entries(document)


def _read(fields: Fields) -> dict[str, Any]:
    found = found_by_type(fields, _type(fields), Shape(url=fields.first(*_URLS)))
    disabled = fields.flag("disabled", default=False)
    enabled = fields.flag("enabled", default=True)
    return {**found, "disabled": disabled or not enabled, "mode": fields.text("mode") or "auto"}


def _type(fields: Fields) -> str:
    named = fields.text(fields.first("type", "transport"))
    if named:
        return _SPELLINGS.get(named.lower(), named)
    command, url = fields.has("command"), any(map(fields.has, _URLS))
    if command and url:
        fields.faults.append("has both a command and a url; which of the two is meant?")
        return ""
    return "stdio" if command else "http" if url else ""


CLIENT: Final = Client(
    title="mcpServers JSON",
    read=_read,
    recognizes=_recognizes,
    syntax="jsonc",
    whole=noting_unused("mcpServers"),
)
