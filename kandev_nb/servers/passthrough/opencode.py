"""opencode: a file of its own, named by ``OPENCODE_CONFIG``.

Measured with ``opencode-ai`` 1.18.33. By its documentation the file lies between the global and the
project's configuration, so that a server of the project with the same name wins; that was not run.
Not ``OPENCODE_CONFIG_CONTENT``: opencode hands its whole environment to every stdio server.
``{env:NAME}`` and ``{file:PATH}`` in any value are replaced.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from kandev_nb.servers.passthrough.strategy import Literal, Room, Strategy, server_of, written
from kandev_nb.servers.resolution import Decision
from kandev_nb.servers.server import Server, StdioServer

_SCHEMA: Final = "https://opencode.ai/config.json"
_LITERAL: Final = Literal(re.compile(r"\{(?:env|file):"), "{env:{}}")


def _write(decisions: Sequence[Decision], room: Room) -> None:
    text = _LITERAL.texts(room)
    servers = {decision.row: _entry(server_of(decision), text) for decision in decisions}
    if servers:
        content = json.dumps({"$schema": _SCHEMA, "mcp": servers}, indent=2)
        room.set_variable("OPENCODE_CONFIG", str(room.own_file("opencode.json", content)))


def _entry(server: Server, text: Callable[[str], str]) -> dict[str, Any]:
    if isinstance(server, StdioServer):
        return {
            "type": "local",
            "command": [text(word) for word in (server.command, *server.args)],
            "environment": written(server.env, text),
            "enabled": True,
        }
    headers = written(server.headers, text)
    return {"type": "remote", "url": text(server.url), "headers": headers, "enabled": True}


STRATEGY: Final = Strategy(
    id="opencode",
    title="opencode",
    mechanism="a file of its own, named by OPENCODE_CONFIG",
    write=_write,
)
