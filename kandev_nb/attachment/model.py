"""The wire shapes of a report: schema version 1, as the reference writes it.

A :class:`History` holds the current :class:`Attempt` of one session and the two before it; an
attempt holds a :class:`ServerAttachment` for each server and the bounded :class:`Evidence` behind
it. Every model is frozen, names its fields as the wire does, and leaves empty fields out of
:meth:`WireModel.to_wire`. Fields that only this project writes are optional and absent in an
ordinary report (EV-13); fields of a newer writer are kept as they are (EV-11).
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr

SCHEMA_VERSION: Final = 1


class _Word(StrEnum):
    """A word of the wire. In a cell it reads as what it is: text."""

    def __repr__(self) -> str:
        return repr(self.value)


class EvidenceKind(_Word):
    """The kinds of evidence (EV-1)."""

    CONFIGURED = "configured"
    FILTERED = "filtered"
    UNAVAILABLE = "unavailable"
    DELIVERED = "delivered"
    SESSION_ACCEPTED = "session_accepted"
    INITIALIZE_OBSERVED = "initialize_observed"
    TOOLS_LIST_OBSERVED = "tools_list_observed"
    TOOL_CALL_OBSERVED = "tool_call_observed"
    EXPLICIT_ERROR = "explicit_error"
    CONNECTION_CLOSED = "connection_closed"
    ATTEMPT_SUPERSEDED = "attempt_superseded"


class Status(_Word):
    """The statuses of a server row (EV-1)."""

    UNKNOWN = "unknown"
    DELIVERED = "delivered"
    CONNECTED = "connected"
    ACTIVE = "active"
    FAILED = "failed"
    FILTERED = "filtered"
    UNAVAILABLE = "unavailable"


class Provenance(_Word):
    """Who knows a fact (EV-12)."""

    OBSERVED = "observed"
    RELAYED = "relayed"
    AGENT_REPORTED = "agent_reported"
    TESTED = "tested"
    DECIDED = "decided"


DEFAULT_PROVENANCE: Final[dict[str, Provenance]] = {
    EvidenceKind.CONFIGURED: Provenance.DECIDED,
    EvidenceKind.FILTERED: Provenance.DECIDED,
    EvidenceKind.UNAVAILABLE: Provenance.DECIDED,
    EvidenceKind.DELIVERED: Provenance.DECIDED,
    EvidenceKind.SESSION_ACCEPTED: Provenance.AGENT_REPORTED,
    EvidenceKind.INITIALIZE_OBSERVED: Provenance.OBSERVED,
    EvidenceKind.TOOLS_LIST_OBSERVED: Provenance.OBSERVED,
    EvidenceKind.TOOL_CALL_OBSERVED: Provenance.OBSERVED,
    EvidenceKind.EXPLICIT_ERROR: Provenance.AGENT_REPORTED,
    EvidenceKind.CONNECTION_CLOSED: Provenance.OBSERVED,
}

_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 2200
_RFC3339: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(?:([Zz])|([+-])(\d\d):(\d\d))",
    re.ASCII,
)


def rfc3339(moment: datetime | str) -> str:
    """Return ``moment`` as RFC 3339 in UTC, trailing zeros of the fraction trimmed.

    Text keeps up to nine digits of a second, because the reference writes nanoseconds.
    Raises ``ValueError`` for text of another form, for a naive ``datetime``, and for a year that no
    report can be of: one that a pandas frame cannot hold.
    """
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise ValueError("a time needs a zone: use datetime.now(UTC)")
        moment = moment.isoformat()
    match = _RFC3339.fullmatch(moment)
    if match is None:
        raise ValueError("not an RFC 3339 time")
    date, clock, fraction, _, sign, hours, minutes = match.groups()
    whole = datetime.fromisoformat(f"{date}T{clock}")
    if sign and _FIRST_YEAR <= whole.year <= _LAST_YEAR:
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        whole = whole - offset if sign == "+" else whole + offset
    if not _FIRST_YEAR <= whole.year <= _LAST_YEAR:
        raise ValueError("not a time of this or the next centuries")
    fraction = (fraction or "").rstrip("0")
    return f"{whole.isoformat()}{'.' if fraction else ''}{fraction}Z"


def utc_now() -> str:
    """Return the time now in the form of :func:`rfc3339`. For callers; the reducer has no clock."""
    return rfc3339(datetime.now(UTC))


def from_nanoseconds(moment: int) -> str:
    """Return nanoseconds since the epoch in the form of :func:`rfc3339`, to the microsecond."""
    seconds, rest = divmod(moment, 1_000_000_000)
    fraction = f"{rest // 1000:06}".rstrip("0")
    return f"{_whole(seconds)}.{fraction}Z" if fraction else f"{_whole(seconds)}Z"


@lru_cache(maxsize=16)
def _whole(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix("+00:00")


def later(a: str, b: str) -> bool:
    """Tell whether time ``a`` is after time ``b``; an empty time is before every other."""
    return a[:-1] > b[:-1]


def _time_or_empty(value: object) -> object:
    return rfc3339(value) if isinstance(value, str | datetime) and value != "" else value


Time = Annotated[str, BeforeValidator(_time_or_empty)]
"""RFC 3339 text in UTC; a ``datetime`` with a zone is accepted."""


Count = Annotated[int, Field(ge=0, le=2**53)]
"""A number of things, at most what JSON numbers hold exactly."""


class WireModel(BaseModel):
    """The base of every wire shape: frozen, tolerant of a newer writer's fields."""

    model_config = ConfigDict(frozen=True, extra="allow")

    def to_wire(self) -> dict[str, Any]:
        """Return plain JSON values, empty fields left out."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Show what is there: empty fields, times and catalogs would drown the rest in a cell."""
        for name, value in super().__repr_args__():
            if name and value and name != "tools" and not name.endswith("_at"):
                yield name, value

    def updated(self, **changes: object) -> Self:
        """Return a copy with ``changes``; the values are trusted, not validated again.

        It does what ``model_copy`` does, in a fifth of the time: a report is copied several times
        for each fact.
        """
        copy = self.__class__.__new__(self.__class__)
        object.__setattr__(copy, "__dict__", {**self.__dict__, **changes})
        object.__setattr__(copy, "__pydantic_fields_set__", self.__pydantic_fields_set__)
        object.__setattr__(copy, "__pydantic_extra__", self.__pydantic_extra__)
        private = self.__pydantic_private__
        object.__setattr__(copy, "__pydantic_private__", private and {**private})
        return copy


class ToolSummary(WireModel):
    """One catalog entry: what is kept of a tool (CA-1, CA-2, CA-3)."""

    name: str
    description: str = ""
    input_schema: Any = None
    input_schema_truncated: bool = False
    estimated_tokens: Count = 0


class Reported(WireModel):
    """What the agent says of a server, as a note beside what is proven (EV-3)."""

    status: str
    reason_code: str = ""
    summary: str = ""
    at: Time = ""


class RowNote(WireModel):
    """What was noted of a server when it was configured or delivered: a hint, and no reason."""

    reason_code: str
    summary: str = ""


class LateTraffic(WireModel):
    """Evidence that came for superseded attempts (EV-7)."""

    count: Count
    at: Time


class EndpointTestResult(WireModel):
    """The stored outcome of one endpoint test (DI-1). It never moves a status.

    ``duration_ms`` is in milliseconds, wall time over every phase.
    """

    outcome: str
    at: Time = ""
    phase: str = ""
    reason_code: str = ""
    summary: str = ""
    protocol_version: str = ""
    server_name: str = ""
    server_version: str = ""
    tool_count: Count = 0
    duration_ms: Count = 0


class Evidence(WireModel):
    """One safe fact about a server or, without ``server_name``, about the attempt.

    The second group of fields travels with the event to the row and is not stored with it.
    ``requested_at`` is when the observed request arrived, ``occurred_at`` when it was answered.
    """

    attachment_attempt_id: str
    server_name: str = ""
    kind: str
    occurred_at: Time
    source: str = ""
    transport: str = ""
    target: str = ""
    reason_code: str = ""
    summary: str = ""
    connection_id: str = ""
    tool_count: Count = 0
    count: Count = 0
    provenance: str = ""
    acp_session_id: str = ""
    tool_name: str = ""

    tools: tuple[ToolSummary, ...] = ()
    tool_token_estimator: str = ""
    tool_catalog_partial: bool = False
    unnamed_tools: Count = 0
    protocol_version: str = ""
    client_name: str = ""
    client_version: str = ""
    original_name: str = ""
    requested_at: Time = ""

    @property
    def known_by(self) -> str:
        """The provenance, its kind's default filled in (EV-12)."""
        return self.provenance or DEFAULT_PROVENANCE.get(self.kind, "")

    @property
    def is_observation(self) -> bool:
        """Whether our endpoint or a relay saw it: only that raises a row above delivered."""
        return self.known_by in (Provenance.OBSERVED, Provenance.RELAYED)


class Links(NamedTuple):
    """What one row remembers beside its wire fields; it lives in memory only (EV-4, EV-5)."""

    open: tuple[str, ...] = ()
    """Connections known to be open, the newest last."""
    listed: frozenset[str] = frozenset()
    """Those that were served ``tools/list``; the empty ID stands for stateless clients."""
    failed_on: str = ""
    """The connection of the last failure."""
    calls: int = 0
    """Tool calls observed."""


class ServerAttachment(WireModel):
    """One server row of an attempt."""

    name: str
    source: str = ""
    transport: str = ""
    target: str = ""
    status: str
    reason_code: str = ""
    summary: str = ""
    connection_id: str = ""
    tool_count: Count = 0
    configured_at: Time = ""
    delivered_at: Time = ""
    connected_at: Time = ""
    tools_listed_at: Time = ""
    used_at: Time = ""
    failed_at: Time = ""
    disconnected_at: Time = ""
    tools: tuple[ToolSummary, ...] = ()
    tool_catalog_truncated: bool = False
    tool_token_estimator: str = ""

    protocol_version: str = ""
    client_name: str = ""
    client_version: str = ""
    tool_catalog_partial: bool = False
    tools_changed_at: Time = ""
    unnamed_tools: Count = 0
    original_name: str = ""
    call_count: Count = 0
    """Set once the stored evidence no longer tells every call (EV-9)."""
    notes: tuple[RowNote, ...] = ()
    """On the row, for the stored evidence is bounded (EV-9)."""
    reported: Reported | None = None
    endpoint_test: EndpointTestResult | None = None

    _links: Links = PrivateAttr(default=Links())

    @property
    def links(self) -> Links:
        """The row's memory. A restored row has none."""
        return self._links

    def with_links(self, links: Links, **changes: object) -> Self:
        """Return a copy with ``changes`` and this memory."""
        copy = self.updated(**changes)
        copy._links = links
        return copy


class Attempt(WireModel):
    """One attachment attempt: its ownership, its server rows, the evidence behind them."""

    attachment_attempt_id: str = Field(min_length=1)
    task_id: str = ""
    session_id: str = ""
    execution_id: str = ""
    agent_id: str = ""
    agent_profile_id: str = ""
    acp_session_id: str = ""
    started_at: Time = Field(min_length=1)
    updated_at: Time = ""
    superseded_at: Time = ""
    servers: tuple[ServerAttachment, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    session_error: str = ""

    kind: str = ""
    cause: str = ""
    ended_at: Time = ""
    end_reason: str = ""
    session_error_code: str = ""
    """Left out for the general case, ``session_request_failed``."""
    evidence_dropped: Count = 0
    late_traffic: LateTraffic | None = None

    def server(self, name: str) -> ServerAttachment | None:
        """Return the row of that name, if the attempt has one."""
        return next((row for row in self.servers if row.name == name), None)

    def calls(self, row: ServerAttachment) -> int:
        """Return how many tool calls of that row were observed."""
        return row.call_count or sum(
            event.count or 1
            for event in self.evidence
            if event.kind == EvidenceKind.TOOL_CALL_OBSERVED and event.server_name == row.name
        )


class History(WireModel):
    """The report of one session: the current attempt and, newest first, the ones before it.

    ``revision`` counts this writer's changes; it decides between two reports of one attempt.
    """

    version: Literal[1]
    current: Attempt | None = None
    previous: tuple[Attempt, ...] = ()
    revision: Count = 0

    def attempt(self, attachment_attempt_id: str) -> Attempt | None:
        """Return the attempt of that ID, current or previous."""
        attempts = (*((self.current,) if self.current else ()), *self.previous)
        return next((a for a in attempts if a.attachment_attempt_id == attachment_attempt_id), None)

    def __repr__(self) -> str:
        from kandev_nb.attachment.display import display

        return str(display(self))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from kandev_nb.attachment.display import mime_bundle

        return mime_bundle(self)


NOTHING_STARTED: Final = History(version=SCHEMA_VERSION)
"""The history of a session before its first attempt."""
