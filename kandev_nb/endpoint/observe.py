"""What the endpoint sees of a client, noted as it goes by.

The :class:`Observer` is the SDK's server middleware: it sees each request after the answer is made
and before it is sent. It notes what was exchanged and interprets nothing; the ledger's worker has
it read by :mod:`~kandev_nb.endpoint.reading`, so that observing costs a request next to nothing.
"""

import asyncio
import logging
from collections.abc import Coroutine
from time import time_ns
from typing import Any, Final, Protocol

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from kandev_nb.attachment import EvidenceKind
from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.endpoint.connections import Connection
from kandev_nb.endpoint.reading import (
    Exchange,
    Kept,
    Listing,
    Reader,
    admission_of,
    tools_changed,
)
from kandev_nb.endpoint.tools import ToolSet
from kandev_nb.sighting import Change, Served, Sighting, Unread

_log = logging.getLogger("kandev_nb.endpoint")

_INTERNAL_ERROR: Final = -32603
_PAGES_KEPT: Final = 32


class Book(Protocol):
    """The ledger, as far as an observer writes in it."""

    def record(self, fact: Sighting | Unread | Change) -> None:
        """Take one fact, from any thread."""


class Observer:
    """Watches one attempt's traffic."""

    def __init__(self, attachment_attempt_id: str, book: Book, tools: ToolSet) -> None:
        self._attempt_id = attachment_attempt_id
        self._record = book.record
        self._tools = tools
        self._reader = Reader(attachment_attempt_id)
        self._served: dict[tuple[int, str | None, str], Served] = {}
        self.sees_closes = True
        """Whether a close is evidence: those that our own ending causes are none (EV-5)."""

    def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> Coroutine[Any, Any, HandlerResult]:
        """Serve one message and note what came of it."""
        admission = admission_of(ctx)
        if admission is None or admission.connection.session is None:
            return self._watched(ctx, call_next)
        return self._watched_on(admission.connection, ctx, call_next)

    async def _watched_on(
        self, connection: Connection, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Serve a message of an open connection, whose close is told of after its last one."""
        connection.exchanges += 1
        try:
            return await self._watched(ctx, call_next)
        finally:
            connection.exchanges -= 1
            self._note_close(connection)

    async def _watched(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        revision = self._tools.revision if ctx.method == "tools/list" else 0
        try:
            result = await call_next(ctx)
        except MCPError as error:
            self._record(Exchange(self._reader, ctx, error.code, time_ns()))
            raise
        except asyncio.CancelledError:
            if ctx.method == "tools/call":
                # Nobody waits for its answer any more, but it was called.
                self._record(Exchange(self._reader, ctx, None, time_ns()))
            raise
        except ValidationError:
            # A fault of the client's request, which is no evidence (EV-4).
            raise
        except Exception as error:  # noqa: BLE001 - the SDK would send and log the error's text
            _log.warning("%s raised %s", ctx.method, type(error).__name__)
            self._record(Exchange(self._reader, ctx, _INTERNAL_ERROR, time_ns()))
            raise MCPError(code=_INTERNAL_ERROR, message="Internal error") from None
        if ctx.request_id is not None:
            kept: Kept = None
            if ctx.method == "tools/list":
                kept = self._listing(ctx, result, revision)
            elif ctx.method == "initialize":
                kept = self._initialized(ctx, result)
            self._record(Exchange(self._reader, ctx, kept, time_ns()))
        return result

    def accepted(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """Note a request whose answer is a stream, before it ends."""
        self._record(Exchange(self._reader, ctx, None, time_ns()))

    def closed(self, connection: Connection, at: int) -> None:
        """Note that the client ended this connection, at nanoseconds since the epoch.

        One that never shook hands was no connection: its requests were stateless, or refused.
        """
        if connection.session is not None and self.sees_closes:
            connection.closed_at = at
            self._note_close(connection)

    def _note_close(self, connection: Connection) -> None:
        """Tell of a close when nothing can follow: what ends with a connection was called before.

        A call that is told of later would make the connection an open one again (EV-5).
        """
        if connection.closed_at is None or connection.exchanges:
            return
        kind, at = EvidenceKind.CONNECTION_CLOSED, connection.closed_at
        connection.closed_at = None
        self._record(Sighting(self._attempt_id, BUILT_IN, kind, at, connection_id=connection.id))

    def tools_changed(self) -> None:
        """Note that the tools are others from now on, in the thread that changed them."""
        self._record(tools_changed(self._attempt_id, time_ns()))

    @staticmethod
    def _initialized(ctx: ServerRequestContext[Any, Any], result: Any) -> str:
        if admission := admission_of(ctx):
            admission.connection.session = ctx.session
        return str(result.get("protocolVersion", ""))

    def _listing(self, ctx: ServerRequestContext[Any, Any], result: Any, revision: int) -> Listing:
        """Return what is kept of a list: the same tools for each serving of the same page.

        The SDK writes the same definitions out anew for each request. Where nothing has changed
        since, what was served first stands for them: no catalog is made twice, and no answer is
        held for longer than it takes to send it.
        """
        cursor = (ctx.params or {}).get("cursor")
        page = revision, cursor, ctx.protocol_version
        served = self._served.get(page)
        if served is None:
            if len(self._served) >= _PAGES_KEPT:
                self._served.clear()
            served = self._served[page] = tuple(result.get("tools") or ())
        changed = revision != self._tools.revision
        return Listing(served, cursor, result.get("nextCursor"), revision, changed)
