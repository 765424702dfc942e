"""Jupyter AI: ``.jupyter/mcp_settings.json``.

Follows ``mcp_server_models.py`` of jupyter-ai-persona-manager 0.3.0: a list of servers in the shape
of ACP ("Session Setup"), each with its name, stdio without a ``type``.
"""

from typing import Any, Final

from kandev_nb.servers.documents.client import Client, Document, noting_unused
from kandev_nb.servers.documents.fields import NETWORK, Fields


def _recognizes(document: Document) -> bool:
    return isinstance(document.get("mcp_servers"), list | tuple)


def _read(fields: Fields) -> dict[str, Any]:
    type_ = fields.text("type") or ("stdio" if fields.has("command") else "")
    found: dict[str, Any] = {"type": type_}
    if type_ not in NETWORK:
        found |= {"command": fields.text("command"), "args": fields.texts("args")}
        found["env"] = fields.listed("env")
    if type_ != "stdio":
        found |= {"url": fields.text("url"), "headers": fields.listed("headers")}
    return found


CLIENT: Final = Client(
    title="Jupyter AI",
    read=_read,
    servers=(("mcp_servers",),),
    paths=(".jupyter/mcp_settings.json",),
    recognizes=_recognizes,
    syntax="json",
    listed=True,
    whole=noting_unused("mcp_servers"),
)
