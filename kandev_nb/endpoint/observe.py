"""What the endpoint sees of a client, told as evidence.

The :class:`Observer` is the SDK's server middleware: it sees each request after the answer is made
and before it is sent. It tells what was served and interprets nothing; statuses are the reducer's.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from kandev_nb.attachment import Evidence, EvidenceKind, Provenance, ReasonCode
from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.attachment.model import utc_now

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


class Admission(NamedTuple):
    """What was known of a request when it was let in."""

    connection_id: str
    requested_at: str


class Record(Protocol):
    """The ledger's door."""

    def __call__(self, evidence: Evidence, served: Iterable[Mapping[str, Any]] = ()) -> None:
        """Take one fact."""


class Observer:
    """Watches one attempt's traffic and records evidence of it."""

    def __init__(self, attachment_attempt_id: str, record: Record) -> None:
        self._attempt_id = attachment_attempt_id
        self._record = record
        self._stateless_client_seen = False

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Serve one message and tell what came of it."""
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
            self._served(ctx, result)
        return result

    def closed(self, connection_id: str) -> None:
        """Tell that the client ended this connection."""
        self._tell(EvidenceKind.CONNECTION_CLOSED, connection_id=connection_id)

    def _served(self, ctx: ServerRequestContext[Any, Any], result: dict[str, Any]) -> None:
        try:
            self._first_stateless(ctx)
            if ctx.method == "initialize":
                self._initialized(ctx, result)
            elif ctx.method == "tools/list":
                self._listed(ctx, result)
            elif ctx.method == "tools/call":
                self._called(ctx)
        except Exception as error:  # noqa: BLE001 - observing must never fail the request it observes
            _log.warning("a request could not be observed: %s", type(error).__name__)

    def _first_stateless(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """Tell of the first stateless request: there is no ``initialize`` to see (EV-6)."""
        if self._stateless_client_seen or not _is_stateless(ctx):
            return
        self._stateless_client_seen = True
        meta: Mapping[str, Any] = (ctx.params or {}).get("_meta") or {}
        self._tell(
            EvidenceKind.INITIALIZE_OBSERVED,
            ctx,
            protocol_version=ctx.protocol_version,
            **_client(meta.get(_CLIENT_INFO)),
        )

    def _initialized(self, ctx: ServerRequestContext[Any, Any], result: dict[str, Any]) -> None:
        self._tell(
            EvidenceKind.INITIALIZE_OBSERVED,
            ctx,
            protocol_version=str(result.get("protocolVersion", "")),
            **_client((ctx.params or {}).get("clientInfo")),
        )

    def _listed(self, ctx: ServerRequestContext[Any, Any], result: dict[str, Any]) -> None:
        served = result.get("tools") or ()
        self._tell(EvidenceKind.TOOLS_LIST_OBSERVED, ctx, served, tool_count=len(served))

    def _called(self, ctx: ServerRequestContext[Any, Any]) -> None:
        name = (ctx.params or {}).get("name")
        tool_name = name if isinstance(name, str) else ""
        self._tell(EvidenceKind.TOOL_CALL_OBSERVED, ctx, tool_name=tool_name)

    def _refused(self, ctx: ServerRequestContext[Any, Any], code: int) -> None:
        """Tell of an attachment failure; errors of other methods are none (EV-3)."""
        reason = _ATTACHMENT_FAILURES.get(ctx.method)
        if reason is None or code in _CLIENT_FAULTS:
            return
        self._tell(
            EvidenceKind.EXPLICIT_ERROR,
            ctx,
            provenance=Provenance.OBSERVED,
            reason_code=reason,
            summary=f"JSON-RPC error {code}",
        )

    def _tell(
        self,
        kind: EvidenceKind,
        ctx: ServerRequestContext[Any, Any] | None = None,
        served: Iterable[Mapping[str, Any]] = (),
        **facts: Any,
    ) -> None:
        admission = _admission(ctx) if ctx else None
        if ctx and admission:
            facts["requested_at"] = admission.requested_at
            facts["connection_id"] = "" if _is_stateless(ctx) else admission.connection_id
        self._record(
            Evidence(
                attachment_attempt_id=self._attempt_id,
                server_name=BUILT_IN,
                kind=kind,
                occurred_at=utc_now(),
                **facts,
            ),
            served,
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
