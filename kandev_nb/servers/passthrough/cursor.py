"""Cursor's agent CLI: the project's ``.cursor/mcp.json``.

Follows cursor.com/docs/mcp as of 2026 and is unverified: the CLI cannot be run without an account.
``${env:NAME}`` and its like are replaced in every value.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from kandev_nb.servers.passthrough.strategy import (
    Literal,
    Merge,
    Room,
    Strategy,
    command_of,
    server_of,
    written,
)
from kandev_nb.servers.resolution import Decision
from kandev_nb.servers.server import Server, StdioServer

_FILE: Final = ".cursor/mcp.json"
_LITERAL: Final = Literal(re.compile(r"\$\{"), "${env:{}}")


def _write(decisions: Sequence[Decision], room: Room) -> None:
    text = _LITERAL.texts(room)
    entries = {decision.row: _entry(server_of(decision), text) for decision in decisions}
    room.merges.append(Merge(_FILE, "mcpServers", entries, "jsonc"))


def _entry(server: Server, text: Callable[[str], str]) -> dict[str, Any]:
    if isinstance(server, StdioServer):
        return {"type": "stdio", **command_of(server, text)}
    return {"url": text(server.url), "headers": written(server.headers, text)}


STRATEGY: Final = Strategy(
    id="cursor",
    title="Cursor Agent CLI",
    mechanism=f"the project's {_FILE}, merged while the session runs and restored (unverified)",
    write=_write,
)
