"""What an agent says of one server, told as evidence (EV-3).

Only documented shapes count, and only when exactly one delivered server matches; anything else
is the attempt's own error. What is said here carries the provenance ``agent_reported``.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from kandev_nb.errors import AgentError

_NAMED_SERVER: Final = re.compile(r"MCP Server: '([^']{1,256})'")
"""How fast-agent 0.10 names the server that failed, in ``data.details``."""


class Refusal(NamedTuple):
    """A server that the agent says it could not attach, and its words for it."""

    server: str
    words: str


def from_error(error: AgentError, delivered: Collection[str]) -> Refusal | None:
    """Return the one server that the agent's error names, if it names one."""
    details = error.data.get("details") if isinstance(error.data, Mapping) else None
    if not isinstance(details, str):
        return None
    named = {name for name in _NAMED_SERVER.findall(details) if name in delivered}
    return Refusal(named.pop(), details) if len(named) == 1 else None


def from_update(update: Mapping[str, Any], delivered: Collection[str]) -> Refusal | None:
    """Return the server that a ``session/update`` reports as failed, if it reports one.

    The shape is that of claude-agent-acp 0.101: ``_meta.claudeCode`` with the kind
    ``mcpServerStatus``.
    """
    meta = update.get("_meta")
    status = meta.get("claudeCode") if isinstance(meta, Mapping) else None
    if not isinstance(status, Mapping) or status.get("kind") != "mcpServerStatus":
        return None
    server = status.get("server")
    if status.get("status") != "failed" or server not in delivered:
        return None
    words = status.get("error")
    return Refusal(str(server), words if isinstance(words, str) else "")
