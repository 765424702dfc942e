"""Zed: ``context_servers`` in its settings.

Follows ``crates/settings_content/src/project.rs`` of zed-industries/zed (2026) and its migrations:
a command makes an entry stdio, a URL HTTP; older files hold the command as an object with ``path``,
``args`` and ``env``. What an extension provides has neither here.
"""

from collections.abc import Mapping
from typing import Any, Final

from kandev_nb.servers.documents.client import Client, Document
from kandev_nb.servers.documents.fields import Fields, found_by_type


def _recognizes(document: Document) -> bool:
    return "context_servers" in document


def _read(fields: Fields) -> dict[str, Any]:
    found = _found(fields)
    extended = fields.text("source") == "extension" or fields.value("settings") is not None
    if extended and not found["type"]:
        fields.faults.append("comes from a Zed extension; give its command or url instead")
    return {**found, "disabled": not fields.flag("enabled", default=True)}


def _found(fields: Fields) -> dict[str, Any]:
    if not fields.has("command"):
        return found_by_type(fields, "http" if fields.has("url") else "")
    command = fields.value("command")
    if not isinstance(command, Mapping):
        return found_by_type(fields, "stdio")
    older = Fields(command)
    found = {
        "type": "stdio",
        "command": older.text("path"),
        "args": older.texts("args"),
        "env": older.by_name("env"),
    }
    for fault in older.faults:
        fields.faults.append(f"command.{fault}")
    return found


CLIENT: Final = Client(
    title="Zed",
    read=_read,
    servers=(("context_servers",),),
    paths=(".zed/settings.json", "zed/settings.json"),
    recognizes=_recognizes,
    syntax="jsonc",
)
