"""The connections of one attempt: who is open, under an ID of our own made at admission.

A client over streamable HTTP is open from the answer that gives it a session ID until its DELETE,
one over SSE as long as its stream. Nothing expires: an idle client is not a gone one (EV-5).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from mcp.server.session import ServerSession

from kandev_nb.attachment import limits
from kandev_nb.endpoint.sse import SseStream


@dataclass(eq=False)
class Connection:
    """One client. ``requests`` counts its HTTP requests that are under way."""

    id: str
    requests: int = 0
    request_ids: set[str | None] = field(default_factory=set)
    """The IDs of its JSON-RPC requests that are under way."""

    exchanges: int = 0
    """Its messages that are being served."""

    closed_at: int | None = None
    """When it ended, at nanoseconds since the epoch, while that has not been told of."""

    bridge: bytes = b""
    """The ID of the bridge that it came over; empty for a client that connects by itself."""

    session: ServerSession | None = None
    """What its ``initialize`` was answered in; notifications of ours go out through it."""

    @contextmanager
    def request(self, request_id: str | None) -> Iterator[None]:
        """Count an HTTP request, and remember the JSON-RPC ID in it, while it is under way."""
        self.requests += 1
        if request_id is not None:
            self.request_ids.add(request_id)
        try:
            yield
        finally:
            self.requests -= 1
            self.request_ids.discard(request_id)


class Admission(NamedTuple):
    """What was known of a request when it was let in, ``at`` nanoseconds since the epoch."""

    connection: Connection
    at: int


class Connections:
    """The open connections of one attempt, the oldest first."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._sessions: dict[bytes, Connection] = {}
        self._streams: dict[str, tuple[Connection, SseStream]] = {}

    def __iter__(self) -> Iterator[Connection]:
        yield from self._sessions.values()
        yield from (connection for connection, _ in self._streams.values())

    @property
    def is_full(self) -> bool:
        """Whether no other client has room: the bound is reached and none is idle."""
        open_now = len(self._sessions) + len(self._streams)
        return open_now >= limits.OPEN_CONNECTIONS and self._oldest_idle() is None

    def admit(self, bridge: bytes = b"") -> Connection:
        """Return a connection for a client that has none yet, and comes over that bridge."""
        return Connection(f"mcp-{next(self._numbers)}", bridge=bridge)

    def of_session(self, session_id: bytes) -> Connection | None:
        """Return the connection that this session ID was given to."""
        return self._sessions.get(session_id)

    def open_session(self, session_id: bytes, connection: Connection) -> bytes | None:
        """Remember the session; return the one that must go for it (EV-9), already forgotten."""
        self._sessions[session_id] = connection
        return self._surplus()

    def close_session(self, session_id: bytes) -> None:
        """Forget the session."""
        self._sessions.pop(session_id, None)

    def of_bridge(self, bridge: bytes) -> list[tuple[bytes, Connection]]:
        """Return the open sessions of that bridge, each with its connection."""
        return [opened for opened in self._sessions.items() if opened[1].bridge == bridge]

    def open_stream(self, connection: Connection, stream: SseStream) -> bytes | None:
        """Remember an SSE stream; return the session that must go for it, already forgotten."""
        self._streams[connection.id] = connection, stream
        return self._surplus()

    def stream(self, connection_id: str) -> tuple[Connection, SseStream] | None:
        """Return the open SSE stream of that connection."""
        return self._streams.get(connection_id)

    def close_stream(self, connection: Connection) -> None:
        """Forget the stream."""
        self._streams.pop(connection.id, None)

    def end_streams(self) -> None:
        """End every SSE stream."""
        for _, stream in self._streams.values():
            stream.end()

    def _surplus(self) -> bytes | None:
        if len(self._sessions) + len(self._streams) <= limits.OPEN_CONNECTIONS:
            return None
        surplus = self._oldest_idle()
        if surplus is not None:
            del self._sessions[surplus]
        return surplus

    def _oldest_idle(self) -> bytes | None:
        idle = (session for session, c in self._sessions.items() if not c.requests)
        return next(idle, None)
