"""What the endpoint sees of a client, told as evidence.

The :class:`Observer` is the SDK's server middleware: it sees each request after the answer is made
and before it is sent. It tells what was served and interprets nothing; statuses are the reducer's.
"""

import logging
from collections.abc import Mapping
from time import time_ns
from typing import Any, Final, Protocol

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from kandev_nb.attachment import EvidenceKind, Provenance, ReasonCode
from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.endpoint.connections import Admission, Connection
from kandev_nb.endpoint.pages import Pages
from kandev_nb.endpoint.tools import ToolSet
from kandev_nb.ledger import Sighting

_log = logging.getLogger("kandev_nb.endpoint")

ADMISSION: Final = "kandev_nb.admission"
"""Where the ASGI scope carries the :class:`Admission` of a request."""

_CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
_INTERNAL_ERROR: Final = -32603
_CLIENT_FAULTS: Final = (-32700, -32600, -32601, -32602, -32020, -32021, -32022)
"""Errors of the client's own request: bad JSON or parameters, header mismatch, version (EV-4)."""

_ATTACHMENT_FAILURES: Final = {
    "initialize": ReasonCode.INITIALIZE_REFUSED,
    "tools/list": ReasonCode.TOOLS_LIST_FAILED,
}


class Book(Protocol):
    """The ledger, as far as an observer writes in it. Both may be called from any thread."""

    def record(self, fact: Sighting) -> None:
        """Take one fact."""

    def tools_changed(self, attachment_attempt_id: str, server_name: str) -> None:
        """Note that the server's tools are others from now on."""


class Observer:
    """Watches one attempt's traffic and records evidence of it."""

    def __init__(self, attachment_attempt_id: str, book: Book, tools: ToolSet) -> None:
        self._attempt_id = attachment_attempt_id
        self._book = book
        self._tools = tools
        self._pages = Pages()
        self._stateless_client_seen = False

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Serve one message and tell what came of it."""
        revision = self._tools.revision if ctx.method == "tools/list" else 0
        try:
            result = await call_next(ctx)
        except MCPError as error:
            self._refused(ctx, error.code)
            raise
        except ValidationError:
            raise
        except Exception as error:  # noqa: BLE001 - the SDK would send and log the error's text
            _log.warning("%s raised %s", ctx.method, type(error).__name__)
            self._refused(ctx, _INTERNAL_ERROR)
            raise MCPError(code=_INTERNAL_ERROR, message="Internal error") from None
        if ctx.request_id is not None and isinstance(result, dict):
            self._served(ctx, result, revision)
        return result

    def accepted(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """Tell of a request whose answer is a stream, before it ends."""
        if not self._stateless_client_seen and _is_stateless(ctx):
            self._first_stateless(ctx)

    def closed(self, connection: Connection, at: int) -> None:
        """Tell that the client ended this connection, at nanoseconds since the epoch.

        One that never shook hands was no connection: its requests were stateless, or refused.
        """
        if connection.session is not None:
            self._tell(EvidenceKind.CONNECTION_CLOSED, connection.id, at=at)

    def tools_changed(self) -> None:
        """Tell that the tools are others from now on, in the thread that changed them."""
        self._book.tools_changed(self._attempt_id, BUILT_IN)

    def _served(
        self, ctx: ServerRequestContext[Any, Any], result: dict[str, Any], revision: int
    ) -> None:
        try:
            self.accepted(ctx)
            if ctx.method == "tools/call":
                self._called(ctx)
            elif ctx.method == "tools/list":
                self._listed(ctx, result, revision)
            elif ctx.method == "initialize":
                self._initialized(ctx, result)
        except Exception as error:  # noqa: BLE001 - observing must never fail the request it observes
            _log.warning("a request could not be observed: %s", type(error).__name__)

    def _first_stateless(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """Tell of the first stateless request: there is no ``initialize`` to see (EV-6)."""
        self._stateless_client_seen = True
        meta: Mapping[str, Any] = (ctx.params or {}).get("_meta") or {}
        self._tell_of(
            ctx,
            EvidenceKind.INITIALIZE_OBSERVED,
            protocol_version=ctx.protocol_version,
            **_client(meta.get(_CLIENT_INFO)),
        )

    def _initialized(self, ctx: ServerRequestContext[Any, Any], result: dict[str, Any]) -> None:
        if admission := _admission(ctx):
            admission.connection.session = ctx.session
        self._tell_of(
            ctx,
            EvidenceKind.INITIALIZE_OBSERVED,
            protocol_version=str(result.get("protocolVersion", "")),
            **_client((ctx.params or {}).get("clientInfo")),
        )

    def _listed(
        self, ctx: ServerRequestContext[Any, Any], result: dict[str, Any], revision: int
    ) -> None:
        admission = _admission(ctx)
        listed = self._pages.served(
            "" if admission is None or _is_stateless(ctx) else admission.connection.id,
            (ctx.params or {}).get("cursor"),
            result.get("tools") or (),
            result.get("nextCursor"),
            revision,
        )
        self._tell_of(
            ctx,
            EvidenceKind.TOOLS_LIST_OBSERVED,
            served=listed.tools,
            tool_count=len(listed.tools),
            tool_catalog_partial=listed.is_partial,
        )
        if listed.revision != self._tools.revision:
            # They changed since its first page: the client does not know the new ones.
            self.tools_changed()

    def _called(self, ctx: ServerRequestContext[Any, Any]) -> None:
        name = (ctx.params or {}).get("name")
        self._tell_of(
            ctx,
            EvidenceKind.TOOL_CALL_OBSERVED,
            tool_name=name if isinstance(name, str) else "",
        )

    def _refused(self, ctx: ServerRequestContext[Any, Any], code: int) -> None:
        """Tell of an attachment failure; errors of other methods are none (EV-3)."""
        reason = _ATTACHMENT_FAILURES.get(ctx.method)
        if reason is None or code in _CLIENT_FAULTS:
            return
        self._tell_of(
            ctx,
            EvidenceKind.EXPLICIT_ERROR,
            provenance=Provenance.OBSERVED,
            reason_code=reason,
            summary=f"JSON-RPC error {code}",
        )

    def _tell_of(
        self,
        ctx: ServerRequestContext[Any, Any],
        kind: EvidenceKind,
        *,
        served: tuple[Mapping[str, Any], ...] = (),
        **facts: Any,
    ) -> None:
        admission = _admission(ctx)
        if admission is None:
            self._tell(kind, served=served, **facts)
            return
        connection_id = "" if _is_stateless(ctx) else admission.connection.id
        self._tell(kind, connection_id, requested_at=admission.at, served=served, **facts)

    def _tell(
        self,
        kind: EvidenceKind,
        connection_id: str = "",
        *,
        at: int = 0,
        requested_at: int = 0,
        served: tuple[Mapping[str, Any], ...] = (),
        **facts: Any,
    ) -> None:
        self._book.record(
            Sighting(
                self._attempt_id,
                BUILT_IN,
                kind,
                at or time_ns(),
                requested_at,
                connection_id,
                facts,
                served,
            )
        )


def _is_stateless(ctx: ServerRequestContext[Any, Any]) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _admission(ctx: ServerRequestContext[Any, Any]) -> Admission | None:
    return ctx.request.scope.get(ADMISSION) if ctx.request is not None else None


def _client(client: object) -> dict[str, Any]:
    if not isinstance(client, Mapping):
        return {}
    facts = {"client_name": client.get("name"), "client_version": client.get("version")}
    return {name: value for name, value in facts.items() if isinstance(value, str)}
