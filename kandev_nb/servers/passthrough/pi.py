"""pi: the project's ``.pi/mcp.json``, which its MCP extension reads.

Follows the extension's documentation as of 2026 and is unverified: pi itself takes no servers.
"""

from collections.abc import Sequence
from typing import Any, Final

from kandev_nb.servers.passthrough.strategy import (
    Merge,
    Room,
    Strategy,
    as_it_is,
    command_of,
    server_of,
)
from kandev_nb.servers.resolution import Decision
from kandev_nb.servers.server import Server, StdioServer

_FILE: Final = ".pi/mcp.json"


def _write(decisions: Sequence[Decision], room: Room) -> None:
    entries = {decision.row: _entry(server_of(decision)) for decision in decisions}
    room.merges.append(Merge(_FILE, "mcpServers", entries, "json"))


def _entry(server: Server) -> dict[str, Any]:
    if isinstance(server, StdioServer):
        return command_of(server, as_it_is)
    transport = "sse" if server.type == "sse" else "streamable-http"
    return {"transport": transport, "url": server.url, "headers": dict(server.headers)}


STRATEGY: Final = Strategy(
    id="pi",
    title="pi",
    mechanism=f"the project's {_FILE}, merged while the session runs and restored (unverified)",
    write=_write,
)
