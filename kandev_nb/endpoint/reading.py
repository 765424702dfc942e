"""From what was exchanged with a client to evidence. This runs in the ledger's worker.

It tells what was served and interprets nothing; statuses are the reducer's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from time import time_ns
from typing import Any, Final, NamedTuple

from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.types import Scope

from kandev_nb.attachment import EvidenceKind, Provenance, ReasonCode, note_tools_changed
from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.attachment.model import from_nanoseconds
from kandev_nb.endpoint.connections import Admission, Connection
from kandev_nb.endpoint.pages import Pages
from kandev_nb.sighting import Change, Served, Sighting, Unread

ADMISSION: Final = "kandev_nb.admission"
"""Where the ASGI scope carries the :class:`Admission` of a request."""

_CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
_MOMENT: Final = 1_000
"""Nanoseconds by which what follows from a list is later than it."""
_CLIENT_FAULTS: Final = (-32700, -32600, -32601, -32602, -32020, -32021, -32022)
"""Errors of the client's own request: bad JSON or parameters, header mismatch, version (EV-4)."""

_ATTACHMENT_FAILURES: Final = {
    "initialize": ReasonCode.INITIALIZE_REFUSED,
    "tools/list": ReasonCode.TOOLS_LIST_FAILED,
}


class Listing(NamedTuple):
    """One page of a list. ``revision`` is that of the tools when it was asked for; ``changed``
    whether it was another when it was answered.
    """

    tools: Served
    cursor: str | None
    next_cursor: str | None
    revision: int
    changed: bool


Kept = Listing | str | int | None
"""What is kept of an answer: a list, the protocol version of a handshake, the code of an error."""


@dataclass(slots=True)
class Exchange(Unread):
    """One request and what is kept of its answer, at nanoseconds since the epoch."""

    reader: "Reader"
    ctx: ServerRequestContext[Any, Any]
    kept: Kept
    at: int

    def read(self) -> Iterator[Sighting | Change]:
        """Yield what the exchange is evidence of."""
        return self.reader.read(self)


class Reader:
    """Reads the exchanges of one attempt, in their order."""

    def __init__(self, attachment_attempt_id: str) -> None:
        self._attempt_id = attachment_attempt_id
        self._pages = Pages()
        self._stateless_client_seen = False

    def read(self, exchange: Exchange) -> Iterator[Sighting | Change]:
        """Yield what one exchange is evidence of."""
        if isinstance(exchange.kept, int):
            yield from self._refused(exchange, exchange.kept)
            return
        if not self._stateless_client_seen and _is_stateless(exchange.ctx):
            self._stateless_client_seen = True
            yield self._first_stateless(exchange)
        if isinstance(exchange.kept, Listing):
            yield from self._listed(exchange, exchange.kept)
        elif isinstance(exchange.kept, str):
            yield self._initialized(exchange, exchange.kept)
        elif exchange.ctx.method == "tools/call":
            yield self._called(exchange)

    def _first_stateless(self, exchange: Exchange) -> Sighting:
        """Tell of the first stateless request: there is no ``initialize`` to see (EV-6)."""
        ctx = exchange.ctx
        meta: Mapping[str, Any] = (ctx.params or {}).get("_meta") or {}
        return self._sighting(
            exchange,
            EvidenceKind.INITIALIZE_OBSERVED,
            protocol_version=ctx.protocol_version,
            **_client(meta.get(_CLIENT_INFO)),
        )

    def _initialized(self, exchange: Exchange, protocol_version: str) -> Sighting:
        return self._sighting(
            exchange,
            EvidenceKind.INITIALIZE_OBSERVED,
            protocol_version=protocol_version,
            **_client((exchange.ctx.params or {}).get("clientInfo")),
        )

    def _listed(self, exchange: Exchange, page: Listing) -> Iterator[Sighting | Change]:
        listed = self._pages.served(
            _connection_id(exchange.ctx), page.cursor, page.tools, page.next_cursor, page.revision
        )
        yield self._sighting(
            exchange,
            EvidenceKind.TOOLS_LIST_OBSERVED,
            served=listed.tools,
            tool_count=len(listed.tools),
            tool_catalog_partial=listed.is_partial,
        )
        if page.changed or listed.revision != page.revision:
            # They changed since its first page: the client does not know the new ones.
            yield tools_changed(self._attempt_id, exchange.at + _MOMENT)

    def _called(self, exchange: Exchange) -> Sighting:
        name = (exchange.ctx.params or {}).get("name")
        return self._sighting(
            exchange,
            EvidenceKind.TOOL_CALL_OBSERVED,
            tool_name=name if isinstance(name, str) else "",
        )

    def _refused(self, exchange: Exchange, code: int) -> Iterator[Sighting]:
        """Tell of an attachment failure; errors of other methods are none (EV-3)."""
        reason = _ATTACHMENT_FAILURES.get(exchange.ctx.method)
        if reason is not None and code not in _CLIENT_FAULTS:
            yield self._sighting(
                exchange,
                EvidenceKind.EXPLICIT_ERROR,
                provenance=Provenance.OBSERVED,
                reason_code=reason,
                summary=f"JSON-RPC error {code}",
            )

    def _sighting(
        self, exchange: Exchange, kind: EvidenceKind, *, served: Served = (), **facts: Any
    ) -> Sighting:
        admission = admission_of(exchange.ctx)
        return Sighting(
            self._attempt_id,
            BUILT_IN,
            kind,
            exchange.at,
            admission.at if admission else 0,
            _connection_id(exchange.ctx),
            facts,
            served,
        )


def tools_changed(attachment_attempt_id: str, at: int) -> Change:
    """Return the note that the tools of the built-in server are others since ``at``."""
    return partial(
        note_tools_changed,
        attachment_attempt_id=attachment_attempt_id,
        server_name=BUILT_IN,
        at=from_nanoseconds(at),
    )


def admitted(scope: Scope, connection: Connection) -> Scope:
    """Return the scope of a request that is let in now, on that connection."""
    # Asked to resume a stream, the SDK does not answer at all, for it kept none of it.
    headers = [header for header in scope["headers"] if header[0] != b"last-event-id"]
    return {**scope, "headers": headers, ADMISSION: Admission(connection, time_ns())}


def admission_of(ctx: ServerRequestContext[Any, Any]) -> Admission | None:
    """Return what was known of a request when it was let in."""
    return ctx.request.scope.get(ADMISSION) if ctx.request is not None else None


def _connection_id(ctx: ServerRequestContext[Any, Any]) -> str:
    admission = admission_of(ctx)
    return "" if admission is None or _is_stateless(ctx) else admission.connection.id


def _is_stateless(ctx: ServerRequestContext[Any, Any]) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _client(client: object) -> dict[str, Any]:
    if not isinstance(client, Mapping):
        return {}
    facts = {"client_name": client.get("name"), "client_version": client.get("version")}
    return {name: value for name, value in facts.items() if isinstance(value, str)}
