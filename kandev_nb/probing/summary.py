"""What a probe saw, in words that are never more than the session's own report proves.

A report and the moments of the probe come in; a :class:`ProbeResult` leaves. The words::

    observed       it happened: our endpoint, or the agent's answer, is the witness
    unobserved     it was not seen to happen, which is no failure
    refused        an explicit error names it
    denied         the agent asked for permission and did not get it
    not started    what comes before it did not happen: no agent, no delivery, no prompt
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from kandev_nb.agents.opened import Choice
from kandev_nb.agents.permission import PermissionCounts
from kandev_nb.attachment import Attempt, EvidenceKind, ReasonCode, ServerAttachment, Status
from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.attachment.model import Evidence
from kandev_nb.attachment.words import visible

Word = Literal["observed", "unobserved", "refused", "denied", "not started"]
Requirement = Literal["initialize", "tools", "call"]

OK: Final = 0
NOT_MET: Final = 1
NOT_OPENED: Final = 3

_LEFT_OUT: Final = (Status.FAILED, Status.FILTERED, Status.UNAVAILABLE)


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True)


class Problem(_Shape):
    """What went wrong, under a code of :class:`kandev_nb.attachment.ReasonCode`."""

    reason_code: str
    summary: str


class Step(_Shape):
    """One step of an attachment: whether it was seen, and when.

    Seconds count from when ``session/new`` (or ``load``) and ``session/prompt`` had been written.
    """

    word: Word
    at: str = ""
    after_session: float | None = None
    after_prompt: float | None = None
    reason_code: str = ""
    summary: str = ""


class Options(_Shape):
    """What can be chosen in the session, and what is."""

    current: str
    available: tuple[str, ...]


class ProbeResult(_Shape):
    """What one probe saw. In a cell, and as text, it reads as the summary."""

    agent: str
    agent_name: str = ""
    agent_version: str = ""
    advertised: tuple[str, ...] | None = None
    """The transports of MCP servers, next to stdio, that it advertises; ``None`` if it did not say.
    That is no evidence of a connection."""
    assumed: tuple[str, ...] = ()
    """Those that it is known to take without saying so."""
    transport: str = ""
    """The transport over which our endpoint was delivered; empty when it was not."""
    is_forced: bool = False
    """Whether that transport was asked for, and the agent does not advertise it."""
    session: Step
    delivered: Step
    initialize: Step
    tools_list: Step
    tool_call: Step
    protocol_version: str = ""
    client_name: str = ""
    client_version: str = ""
    connections: tuple[str, ...] = ()
    """The opaque IDs of the connections that were seen; a stateless client has none."""
    asked: int = 0
    """How many permissions the agent asked for; ``allowed`` and ``denied`` of them."""
    allowed: int = 0
    denied: int = 0
    turn: str = ""
    """How the prompt's turn ended: ACP's stop reason, ``timed out`` or ``failed``; empty without a
    prompt."""
    models: Options | None = None
    modes: Options | None = None
    auth_methods: tuple[str, ...] = ()
    error: Problem | None = None
    """What kept the probe, or its prompt, from its end."""
    exit_code: int | None = None
    """The exit status of the agent's process, negative for a signal."""
    reason: str = ""
    """Why the probe ended."""
    file: Path
    """The file of raw frames."""
    file_problem: str = ""
    """Why that file is not complete; empty when it is."""

    def meets(self, required: Requirement | None) -> bool:
        """Tell whether that step was observed; nothing required is always met."""
        steps = {"initialize": self.initialize, "tools": self.tools_list, "call": self.tool_call}
        return required is None or steps[required].word == "observed"

    @property
    def was_opened(self) -> bool:
        """Whether the agent ran, took the session and what was chosen in it, and did not die."""
        if self.session.word != "observed" or self.error is None:
            return self.session.word == "observed"
        # A prompt that fails takes nothing back.
        return self.turn != "" and self.error.reason_code != ReasonCode.AGENT_EXITED

    def status(self, required: Requirement | None = None) -> int:
        """Return the exit status that ``kandev-nb probe`` leaves with."""
        if not self.was_opened:
            return NOT_OPENED
        return OK if self.meets(required) else NOT_MET

    def to_json(self) -> dict[str, object]:
        """Return plain JSON values, always under the same keys."""
        return self.model_dump(mode="json")

    def __str__(self) -> str:
        from kandev_nb.probing.words import lines

        return "\n".join(map(visible, lines(self)))

    def __repr__(self) -> str:
        return str(self)


class Seen(NamedTuple):
    """What a probe knows beside the report."""

    attempt: Attempt | None
    sent_at: Mapping[str, str]
    """When each method was first sent to the agent."""
    is_delivered: bool
    """Whether our endpoint was to be delivered at all."""
    permissions: PermissionCounts
    error: Problem | None

    @property
    def row(self) -> ServerAttachment | None:
        """The row of our endpoint."""
        return self.attempt.server(BUILT_IN) if self.attempt else None

    def first(self, kind: EvidenceKind) -> Evidence | None:
        """Return the first evidence of that kind. A call is of the sentinel: there is no other."""
        events = self.attempt.evidence if self.attempt else ()
        return next((event for event in events if event.kind == kind), None)

    @property
    def opened_at(self) -> str:
        """When the request that opens the session had been written; empty when it was not."""
        return next(
            (self.sent_at[m] for m in ("session/new", "session/load") if m in self.sent_at), ""
        )

    @property
    def prompted_at(self) -> str:
        """The same of the prompt."""
        return self.sent_at.get("session/prompt", "")


def steps(seen: Seen) -> dict[str, Step]:
    """Return each step, from the session to the call, by its name in :class:`ProbeResult`."""
    return {
        "session": _session(seen),
        "delivered": _delivered(seen),
        "initialize": _attached(seen, EvidenceKind.INITIALIZE_OBSERVED),
        "tools_list": _attached(seen, EvidenceKind.TOOLS_LIST_OBSERVED),
        "tool_call": _called(seen),
    }


def options(choice: Choice | None) -> Options | None:
    """Return a choice of the session's as the result has it."""
    return Options(current=choice.current, available=choice.available) if choice else None


def _session(seen: Seen) -> Step:
    if event := seen.first(EvidenceKind.SESSION_ACCEPTED):
        return _observed(seen, event)
    if not seen.opened_at:
        return _not(seen, "not started")
    error = seen.first(EvidenceKind.EXPLICIT_ERROR)
    # Only what the agent says itself is a refusal: one that died has refused nothing.
    is_refused = error is not None and error.known_by == "agent_reported"
    return _not(seen, "refused" if is_refused else "unobserved")


def _delivered(seen: Seen) -> Step:
    if event := seen.first(EvidenceKind.DELIVERED):
        return _observed(seen, event)
    if not seen.is_delivered:
        return Step(word="not started", summary="no MCP server was to be delivered")
    return _not(seen, "not started")


def _attached(seen: Seen, kind: EvidenceKind) -> Step:
    if event := seen.first(kind):
        return _observed(seen, event)
    if seen.first(EvidenceKind.DELIVERED) is None:
        return Step(word="not started", summary="nothing was delivered")
    if (row := seen.row) and row.status in _LEFT_OUT:
        return Step(word="refused", reason_code=row.reason_code, summary=row.summary)
    return Step(word="unobserved")


def _called(seen: Seen) -> Step:
    if seen.first(EvidenceKind.TOOL_CALL_OBSERVED) is None:
        if not seen.prompted_at:
            return Step(word="not started", summary="no prompt was sent")
        if seen.permissions.denied:
            return Step(word="denied", summary="the agent was denied a permission")
    return _attached(seen, EvidenceKind.TOOL_CALL_OBSERVED)


def _observed(seen: Seen, event: Evidence) -> Step:
    return Step(
        word="observed",
        at=event.occurred_at,
        after_session=_seconds(seen.opened_at, event.occurred_at),
        after_prompt=_seconds(seen.prompted_at, event.occurred_at),
    )


def _not(seen: Seen, word: Word) -> Step:
    error = seen.error
    if error is None:
        return Step(word=word)
    return Step(word=word, reason_code=error.reason_code, summary=error.summary)


def _seconds(start: str, end: str) -> float | None:
    """Return the seconds between two times, unless there is no start or it was after the end."""
    if not start:
        return None
    # A report's times may have more digits than a datetime holds; ours have six at most.
    passed = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    return max(passed, 0.0) if passed > -0.001 else None
