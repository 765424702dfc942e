"""What reaches the agent and why the rest does not: one decision for each server (CF-1, CF-2).

``filtered`` is left out by a decision, ``unavailable`` cannot work, ``deliver`` goes into the
session request. Nothing is dropped silently: every decision becomes evidence.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.attachment.model import EvidenceKind
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.servers.profile import ServerEntry


class Transports(NamedTuple):
    """The network transports that the agent takes; stdio is always taken (ACP, "Transports")."""

    http: bool
    sse: bool


class Decision(NamedTuple):
    """What becomes of one entry. ``row`` is the name of its row, always unique in an attempt."""

    entry: ServerEntry
    row: str
    outcome: EvidenceKind = EvidenceKind.DELIVERED
    reason_code: str = ""
    changes_transport: bool = False
    """Whether the entry goes over another transport than it was configured with."""

    @property
    def delivers(self) -> bool:
        """Whether the entry goes to the agent."""
        return self.outcome == EvidenceKind.DELIVERED


def decide(entries: Iterable[ServerEntry], transports: Transports) -> tuple[Decision, ...]:
    """Return a decision for each entry, in order."""
    entries = tuple(entries)
    rows = zip(entries, row_names(entries), strict=True)
    return tuple(_decide(entry, row, transports) for entry, row in rows)


def row_names(entries: Iterable[ServerEntry]) -> tuple[str, ...]:
    """Return the name of each entry's row: never that of another server (EV-14)."""
    names = [entry.name for entry in entries]
    row = f"{BUILT_IN} (profile)"
    while row in names:
        row += "*"
    return tuple(row if name == BUILT_IN else name for name in names)


def acp_server(entry: ServerEntry) -> dict[str, Any]:
    """Return the entry as an ``McpServer`` of ``session/new`` (ACP, "Session Setup")."""
    if entry.is_stdio:
        return {
            "name": entry.name,
            "command": entry.command,
            "args": list(entry.args),
            "env": _pairs(entry.env.items()),
        }
    return {
        "type": entry.transport,
        "name": entry.name,
        "url": entry.url,
        "headers": _pairs(entry.headers.items()),
    }


def built_in_entries(url: str, sse_url: str) -> tuple[ServerEntry, ServerEntry]:
    """Return the built-in server at its attempt's own URLs, the preferred transport first."""
    return (
        ServerEntry(name=BUILT_IN, type="http", url=url),
        ServerEntry(name=BUILT_IN, type="sse", url=sse_url),
    )


def decide_built_in(entries: Iterable[ServerEntry], transports: Transports) -> Decision:
    """Return the decision for the built-in server: the first transport that the agent takes."""
    preferred, *others = entries
    if not _unsupported(preferred, transports):
        return Decision(preferred, BUILT_IN)
    for entry in others:
        if not _unsupported(entry, transports):
            return Decision(entry, BUILT_IN, changes_transport=True)
    return Decision(preferred, BUILT_IN, EvidenceKind.FILTERED, ReasonCode.HTTP_UNSUPPORTED)


def _decide(entry: ServerEntry, row: str, transports: Transports) -> Decision:
    if entry.name == BUILT_IN:
        return Decision(entry, row, EvidenceKind.FILTERED, ReasonCode.RESERVED_NAME)
    if entry.disabled:
        return Decision(entry, row, EvidenceKind.FILTERED, ReasonCode.DISABLED)
    if not entry.target:
        missing = ReasonCode.MISSING_COMMAND if entry.is_stdio else ReasonCode.MISSING_URL
        return Decision(entry, row, EvidenceKind.UNAVAILABLE, missing)
    if unsupported := _unsupported(entry, transports):
        return Decision(entry, row, EvidenceKind.FILTERED, unsupported)
    return Decision(entry, row)


def _unsupported(entry: ServerEntry, transports: Transports) -> str:
    if entry.transport == "http" and not transports.http:
        return ReasonCode.HTTP_UNSUPPORTED
    if entry.transport == "sse" and not transports.sse:
        return ReasonCode.SSE_UNSUPPORTED
    return ""


def _pairs(values: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values]
