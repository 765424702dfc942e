"""Claude Code: a file of its own, named by ``--mcp-config``.

Measured with ``@anthropic-ai/claude-code`` 2.1.332. The flag takes every word behind it, so it
comes last. A reserved name is not loaded however its spaces and dots are spelled. ``${NAME}`` in
any value is replaced, in URLs and headers more than once.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.servers.notes import Note
from kandev_nb.servers.passthrough.strategy import (
    Literal,
    Room,
    Strategy,
    command_of,
    server_of,
)
from kandev_nb.servers.resolution import Decision
from kandev_nb.servers.server import Server, StdioServer

_RESERVED: Final = frozenset(
    {"Claude_Browser", "Claude_Preview", "Claude_in_Chrome", "ccr-email", "claude-code-remote"}
    | {"claude-device", "claude-in-chrome", "claude_ai", "computer-use", "hearthbot"}
    | {"remote-devices", "webagent", "workspace", "__defineGetter__", "__defineSetter__"}
    | {"__lookupGetter__", "__lookupSetter__"}
)
_LITERAL: Final = Literal(re.compile(r"\$\{[A-Za-z_]"), "${{}}")


def _refusal(decision: Decision) -> Note | None:
    if reason := _LITERAL.refusal_of_network(server_of(decision)):
        return reason
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", decision.row)
    return Note(ReasonCode.RESERVED_BY_CLI) if plain in _RESERVED else None


def _write(decisions: Sequence[Decision], room: Room) -> None:
    text = _LITERAL.texts(room)
    servers = {decision.row: _entry(server_of(decision), text) for decision in decisions}
    if not servers and not room.strict:
        return
    path = room.own_file("mcp.json", json.dumps({"mcpServers": servers}, indent=2))
    room.args += ["--strict-mcp-config"] if room.strict else []
    room.args += ["--mcp-config", str(path)]


def _entry(server: Server, text: Callable[[str], str]) -> dict[str, Any]:
    if isinstance(server, StdioServer):
        return {"type": "stdio", **command_of(server, text)}
    type_ = "sse" if server.type == "sse" else "http"
    return {"type": type_, "url": server.url, "headers": dict(server.headers)}


STRATEGY: Final = Strategy(
    id="claude",
    title="Claude Code",
    mechanism="a file of its own, named by --mcp-config",
    write=_write,
    refusal=_refusal,
    can_be_strict=True,
)
