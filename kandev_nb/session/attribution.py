"""What an agent says of one server, told as evidence (EV-3).

Only documented shapes count, and only when exactly one delivered server matches; anything else
is the attempt's own error. What is said here carries the provenance ``agent_reported``.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from kandev_nb.errors import AgentError

_NAMED_SERVER: Final = re.compile(r"(?:MCP Server: |^Runtime MCP server )'([^']{1,256})'")
"""How fast-agent 0.10 names the server that failed, in ``data.details``."""

_STARTUP: Final = re.compile(r"mcp_startup\.(.{1,256})\.[^.]{1,64}")
"""The ID of the tool call with which codex-acp 2.6 tells of a server's start."""


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

    The shapes are those of claude-agent-acp 0.101 (``_meta.claudeCode`` with the kind
    ``mcpServerStatus``) and of codex-acp 2.6 (a failed tool call ``mcp_startup.NAME.ID``).
    """
    return _from_startup(update, delivered) or _from_status(update, delivered)


def from_line(line: str, wordings: Iterable[str], delivered: Collection[str]) -> Refusal | None:
    """Return the server that a line on standard error reports as failed, if it reports one."""
    for wording in wordings:
        if (said := re.fullmatch(wording, line.strip())) and said["server"] in delivered:
            return Refusal(said["server"], line.strip())
    return None


def _from_startup(update: Mapping[str, Any], delivered: Collection[str]) -> Refusal | None:
    call_id = update.get("toolCallId")
    if not isinstance(call_id, str) or update.get("status") != "failed":
        return None
    named = _STARTUP.fullmatch(call_id)
    return Refusal(named[1], "") if named and named[1] in delivered else None


def _from_status(update: Mapping[str, Any], delivered: Collection[str]) -> Refusal | None:
    meta = update.get("_meta")
    status = meta.get("claudeCode") if isinstance(meta, Mapping) else None
    if not isinstance(status, Mapping) or status.get("kind") != "mcpServerStatus":
        return None
    server = status.get("server")
    if status.get("status") != "failed" or server not in delivered:
        return None
    words = status.get("error")
    return Refusal(str(server), words if isinstance(words, str) else "")
