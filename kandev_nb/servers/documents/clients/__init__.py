"""The clients whose documents can be read, one file each.

The order is the one in which they are asked about a document of unknown origin: the more a client
asks of a document, the earlier it stands.
"""

from collections.abc import Mapping
from typing import Final

from kandev_nb.servers.documents.client import Client
from kandev_nb.servers.documents.clients import (
    claude_code,
    claude_desktop,
    codex,
    cursor,
    gemini,
    jupyter_ai,
    kandev,
    mcp_servers,
    opencode,
    vscode,
    windsurf,
    zed,
)

CLIENTS: Final[Mapping[str, Client]] = {
    "kandev": kandev.CLIENT,
    "opencode": opencode.CLIENT,
    "vscode": vscode.CLIENT,
    "zed": zed.CLIENT,
    "jupyter_ai": jupyter_ai.CLIENT,
    "codex": codex.CLIENT,
    "claude_desktop": claude_desktop.CLIENT,
    "claude_code": claude_code.CLIENT,
    "cursor": cursor.CLIENT,
    "windsurf": windsurf.CLIENT,
    "gemini": gemini.CLIENT,
    "mcp_servers": mcp_servers.CLIENT,
}
