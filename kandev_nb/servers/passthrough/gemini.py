"""Gemini CLI: the project's ``.gemini/settings.json``.

Measured with ``@google/gemini-cli`` 0.61.0. A ``url`` is HTTP unless its ``type`` is ``sse``; the
servers of a folder that the user does not trust are never started. ``$NAME`` and ``${NAME}`` in any
value are replaced, in headers more than once.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from kandev_nb.servers.notes import Note
from kandev_nb.servers.passthrough.strategy import (
    Literal,
    Merge,
    Room,
    Strategy,
    command_of,
    server_of,
)
from kandev_nb.servers.resolution import Decision
from kandev_nb.servers.server import Server, StdioServer

_FILE: Final = ".gemini/settings.json"
_LITERAL: Final = Literal(re.compile(r"\$[\w{]"), "${{}}")


def _write(decisions: Sequence[Decision], room: Room) -> None:
    text = _LITERAL.texts(room)
    entries = {decision.row: _entry(server_of(decision), text) for decision in decisions}
    room.merges.append(Merge(_FILE, "mcpServers", entries, "commented"))


def _entry(server: Server, text: Callable[[str], str]) -> dict[str, Any]:
    if isinstance(server, StdioServer):
        return command_of(server, text)
    if server.type == "sse":
        return {"url": server.url, "type": "sse", "headers": dict(server.headers)}
    return {"httpUrl": server.url, "headers": dict(server.headers)}


def _refusal(decision: Decision) -> Note | None:
    return _LITERAL.refusal_of_network(server_of(decision))


STRATEGY: Final = Strategy(
    id="gemini",
    title="Gemini CLI",
    mechanism=f"the project's {_FILE}, merged while the session runs and restored; "
    "read in a trusted folder only",
    write=_write,
    refusal=_refusal,
)
