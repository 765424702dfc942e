"""What reaches the agent: decisions against the transports that it takes (CF-2, CF-3)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final, NamedTuple

from kandev_nb.attachment import limits
from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.attachment.model import EvidenceKind
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.servers.notes import Note
from kandev_nb.servers.resolution import Decision
from kandev_nb.servers.server import HttpServer, Server, SseServer, StdioServer

_UNSUPPORTED = {"http": ReasonCode.HTTP_UNSUPPORTED, "sse": ReasonCode.SSE_UNSUPPORTED}


_ROOM: Final = limits.NAME_BYTES // 2
"""Bytes of a name that is changed, so that what tells it from another fits behind it."""


class Transports(NamedTuple):
    """The network transports that an agent takes; stdio is always taken (ACP, "Transports").

    ``advertised`` is the agent's own word, ``None`` before it has spoken; ``assumed`` is the
    registry's, ``None`` when it says nothing of this agent.
    """

    advertised: frozenset[str] | None = None
    assumed: frozenset[str] | None = None


def deliver(decisions: Iterable[Decision], transports: Transports) -> tuple[Decision, ...]:
    """Return the decisions once it is known, or assumed, what the agent takes."""
    return tuple(_delivered(decision, transports) for decision in decisions)


def built_in(
    url: str, sse_url: str, bridge: Iterable[str], env: Mapping[str, str]
) -> tuple[Decision, ...]:
    """Return the built-in server over each transport, the preferred one first (CF-3).

    ``bridge`` is the command line of the stdio bridge and ``env`` its environment.
    """
    command, *args = bridge
    return (
        _own(HttpServer(name=BUILT_IN, url=url), url),
        _own(SseServer(name=BUILT_IN, url=sse_url), sse_url),
        _resting_on(
            _own(StdioServer(name=BUILT_IN, command=command, args=tuple(args), env=env), command),
            ReasonCode.BRIDGED,
        ),
    )


def built_in_by_header(url: str, secret: str) -> Decision:
    """Return the built-in server over HTTP, for a CLI that keeps its secret in a header (CF-4)."""
    headers = {"Authorization": f"Bearer {secret}"}
    return _own(HttpServer(name=BUILT_IN, url=url, headers=headers), url)


def deliver_built_in(own: Iterable[Decision], transports: Transports) -> Decision:
    """Return the built-in server over the first transport that the agent takes."""
    tried = (_delivered(decision, transports) for decision in own)
    return next(decision for decision in tried if decision.delivers)


def renamed(decisions: Iterable[Decision], characters: str) -> tuple[Decision, ...]:
    """Return the decisions with the names that an agent needs.

    ``characters`` is the inside of a regular expression's character class, such as ``A-Za-z0-9_-``;
    without it every name stays. The original stays in :attr:`Decision.name`.
    """
    if not characters:
        return tuple(decisions)
    decisions, unfit = tuple(decisions), re.compile(f"[^{characters}]")
    taken = {BUILT_IN, *(decision.row for decision in decisions if not unfit.search(decision.row))}
    named: list[Decision] = []
    for decision in decisions:
        row = decision.row
        if decision.delivers and unfit.search(row):
            row = unfit.sub("_", row)
            name = limits.cut_utf8(row, _ROOM)
            row = next(free for n in count() if (free := name + "_" * n) not in taken)
            taken.add(row)
        named.append(replace(decision, row=row))
    return tuple(named)


def acp_server(decision: Decision) -> dict[str, Any]:
    """Return the server as an ``McpServer`` of ``session/new`` (ACP, "Session Setup")."""
    server = decision.server
    assert server is not None, "only what delivers is delivered"
    if isinstance(server, StdioServer):
        return {
            "name": decision.row,
            "command": server.command,
            "args": list(server.args),
            "env": _pairs(server.env.items()),
        }
    return {
        "type": decision.wire_transport,
        "name": decision.row,
        "url": server.url,
        "headers": _pairs(server.headers.items()),
    }


def _own(server: Server, target: str) -> Decision:
    return Decision(
        name=BUILT_IN, row=BUILT_IN, transport=server.type, target=target, server=server
    )


def _delivered(decision: Decision, transports: Transports) -> Decision:
    if decision.server is None:
        return decision
    transport = decision.wire_transport
    if transport == "stdio" or transport in (transports.advertised or ()):
        return decision
    if transports == Transports():
        return _resting_on(decision, ReasonCode.TRANSPORT_UNCONFIRMED)
    if transport in (transports.assumed or ()):
        return _resting_on(decision, ReasonCode.TRANSPORT_ASSUMED)
    if transports.advertised is None:
        decision = _resting_on(decision, ReasonCode.TRANSPORT_ASSUMED)
    reason = Note(_UNSUPPORTED[transport])
    return replace(decision, outcome=EvidenceKind.FILTERED, reason=reason, server=None)


def _resting_on(decision: Decision, code: ReasonCode) -> Decision:
    return replace(decision, on_delivery=Note(code))


def _pairs(values: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values]
