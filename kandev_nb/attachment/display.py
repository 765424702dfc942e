"""What a person is shown of a report: words, dots, checklists, explanations.

Every view is made from the :class:`View` that :func:`display` returns, so a cell, the panel, the
frames and the command line say the same. Nothing here changes a status.
"""

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from kandev_nb.attachment import reasons, steps, words
from kandev_nb.attachment.model import (
    SCHEMA_VERSION,
    Attempt,
    EvidenceKind,
    History,
    RowNote,
    ServerAttachment,
    Status,
    later,
)
from kandev_nb.attachment.steps import Situation
from kandev_nb.attachment.words import Message

Dot = Literal["green", "amber", "red", "gray"]
CheckState = Literal["proven", "open", "failed"]

MIME_TYPE: Final = "application/vnd.kandev-nb.report.v1+json"
"""What the JupyterLab extension renders, also in a notebook that is only opened."""

BUILT_IN: Final = "kandev"
"""The name of the built-in server, whose connections our own endpoint observes."""

_DOTS: Final[dict[str, Dot]] = {
    "status.active": "green",
    "status.connected": "amber",
    "status.used_unlisted": "amber",
    "status.disconnected": "amber",
    "status.delivered": "amber",
    "status.failed": "red",
}
_SHAPES: Final[dict[Dot, str]] = {"green": "●", "amber": "◐", "red": "✕", "gray": "○"}
_STEPS: Final = (
    EvidenceKind.CONFIGURED,
    EvidenceKind.DELIVERED,
    EvidenceKind.SESSION_ACCEPTED,
    EvidenceKind.INITIALIZE_OBSERVED,
    EvidenceKind.TOOLS_LIST_OBSERVED,
    EvidenceKind.TOOL_CALL_OBSERVED,
)
_CONNECTING: Final = _STEPS[3:]
"""What the agent does itself, once the server is delivered."""

_REASON_SHOWN: Final = (Status.FAILED, Status.FILTERED, Status.UNAVAILABLE)


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True)


class Check(_Shown):
    """One line of a row's evidence checklist. ``at`` is RFC 3339, or empty."""

    kind: str
    label: Message
    state: CheckState
    at: str = ""
    settle: Message | None = None


class Row(_Shown):
    """One server as it is shown."""

    name: str
    status: str
    label: Message
    dot: Dot
    details: tuple[Message, ...] = ()
    summary: Message | None = None
    transport: str = ""
    target: str = ""
    advice: Message | None = None
    hints: tuple[Message, ...] = ()
    checklist: tuple[Check, ...] = ()
    tested: Message | None = None
    steps: tuple[Message, ...] = ()

    @property
    def explained(self) -> tuple[Message, ...]:
        """What is proven of this server, what is not, what would settle it, and what to do next."""
        return tuple(_explain(self))

    @property
    def explanation(self) -> str:
        """The same as text, a line each."""
        return "\n".join(message.text for message in self.explained)


class View(_Shown):
    """A whole report as it is shown; ``empty`` says why there are no rows."""

    heading: Message
    banner: Message | None = None
    notes: tuple[Message, ...] = ()
    empty: Message | None = None
    rows: tuple[Row, ...] = ()

    def row(self, name: str) -> Row | None:
        """Return the row of that server, if there is one."""
        return next((row for row in self.rows if row.name == name), None)

    def __repr__(self) -> str:
        return str(self)

    def to_rows(self) -> dict[str, Any]:
        """Return what the page needs for its rows, as plain JSON values; no checklists."""
        on_demand = {"checklist", "hints", "tested", "steps"}
        return self.model_dump(mode="json", exclude={"rows": {"__all__": on_demand}})

    def __str__(self) -> str:
        return "\n".join(_text_lines(self))


def display(
    history: History,
    *,
    session: str = "",
    agent: str = "",
    execution: int = 0,
    number: int = 0,
    situation: Situation | None = None,
) -> View:
    """Return what is shown of the current attempt.

    ``session`` is the name that the user knows the session by; without it, its ID stands there.
    ``execution`` and ``number`` say which execution of the session, and which attempt, this is,
    counted from 1. ``situation`` says what can be done with the session; without it nothing is
    advised.
    """
    attempt = history.current
    if attempt is None:
        heading = _heading(session, agent)
        return View(heading=heading, empty=words.say("empty.nothing_started"))
    rows = tuple(_row(attempt, server, situation) for server in attempt.servers)
    return View(
        heading=_heading(
            session or attempt.session_id, agent or attempt.agent_id, execution, number
        ),
        banner=_banner(attempt),
        notes=_notes(attempt),
        empty=None if rows else words.say("empty.no_servers"),
        rows=rows,
    )


def mime_bundle(history: History) -> dict[str, Any]:
    """Return what a cell shows of a report and a notebook keeps: a table, as text and as data."""
    view = display(history)
    saved = {"version": SCHEMA_VERSION, "rows": view.to_rows(), "report": history.to_wire()}
    return {MIME_TYPE: saved, "text/plain": str(view)}


def _heading(session: str, agent: str, execution: int = 0, number: int = 0) -> Message:
    facts: dict[str, str | int] = {"session": session, "agent": agent}
    if execution and number:
        return words.say("heading.attempt", **facts, execution=execution, attempt=number)
    if agent:
        return words.say("heading.agent", **facts)
    return words.say("heading.session", session=session) if session else words.say("heading")


def _banner(attempt: Attempt) -> Message | None:
    if not (attempt.session_error or attempt.session_error_code):
        return None
    summary = attempt.session_error or reasons.meaning(attempt.session_error_code)
    return words.say("banner.session_error", summary=summary)


def _notes(attempt: Attempt) -> tuple[Message, ...]:
    notes = []
    if attempt.ended_at:
        notes.append(words.say("note.ended", reason=attempt.end_reason or "closed"))
    if attempt.late_traffic:
        notes.append(words.count("note.late_traffic", attempt.late_traffic.count))
    if attempt.evidence_dropped:
        notes.append(words.count("note.evidence_dropped", attempt.evidence_dropped))
    if any(server.tool_token_estimator for server in attempt.servers):
        notes.append(words.say("note.estimate"))
    return tuple(notes)


def _row(attempt: Attempt, server: ServerAttachment, situation: Situation | None) -> Row:
    label = words.say(_label_key(server))
    row = Row(
        name=server.name,
        status=server.status,
        label=label,
        dot=_DOTS.get(label.key, "gray"),
        details=tuple(_details(attempt, server)),
        summary=_summary(server),
        transport=server.transport,
        target=server.target,
        advice=_advice(server),
        hints=tuple(map(_explained, _hints(server))),
        checklist=tuple(_checklist(attempt, server)),
        tested=_tested(server),
    )
    if situation is None:
        return row
    advised = steps.next_steps(server, _topics(row), situation)
    return row.model_copy(update={"steps": advised})


def _topics(row: Row) -> frozenset[str]:
    """Return what a row tells of itself to those who look for the next step."""
    topics = {row.label.key, *(detail.key for detail in row.details)}
    topics.add("own" if row.name == BUILT_IN else "direct")
    if row.status not in _REASON_SHOWN:
        topics.add(f"next.{_unseen(row)}")
    return frozenset(topics)


def _unseen(row: Row) -> str:
    """Return what the agent would do next, behind the last that it was seen to do."""
    unseen = ""
    for check in reversed([check for check in row.checklist if check.kind in _CONNECTING]):
        if check.state == "proven":
            break
        unseen = check.kind
    return unseen


def _open(row: Row) -> list[Check]:
    return [check for check in row.checklist if check.state == "open"]


def _tested(server: ServerAttachment) -> Message | None:
    """Return what the last test of the server said; it never moves a status (DI-1)."""
    if (test := server.endpoint_test) is None:
        return None
    if test.outcome == "ok":
        tools = words.count("detail.tools", test.tool_count).text
        return words.say("explain.test_reached", at=test.at, tools=tools, ms=test.duration_ms)
    summary = test.summary or reasons.meaning(test.reason_code)
    return words.say("explain.test_failed", at=test.at, summary=summary)


def _label_key(server: ServerAttachment) -> str:
    status = server.status
    below_connected = status in (Status.UNKNOWN, Status.DELIVERED)
    if status == Status.CONNECTED and _is_disconnected(server):
        return "status.disconnected"
    if (
        server.used_at
        and not server.tools_listed_at
        and (below_connected or status == Status.CONNECTED)
    ):
        return "status.used_unlisted"
    return f"status.{status}" if f"status.{status}" in words.ENGLISH else "status.unknown"


def _is_disconnected(server: ServerAttachment) -> bool:
    spoken = (server.connected_at, server.tools_listed_at, server.used_at)
    return bool(server.disconnected_at) and not any(
        later(at, server.disconnected_at) for at in spoken
    )


def _details(attempt: Attempt, server: ServerAttachment) -> list[Message]:
    details = _catalog_details(server)
    keys = dict.fromkeys(f"hint.{hint.reason_code}" for hint in _hints(server))
    details += [words.say(key) for key in keys]
    if server.original_name:
        details.append(words.say("detail.original_name", name=server.original_name))
    if calls := attempt.calls(server):
        details.append(words.count("detail.used", calls))
    if server.reported:
        details.append(words.say("detail.reported", status=server.reported.status))
    if attempt.ended_at:
        details.append(words.say("detail.ended"))
    return details


def _hints(server: ServerAttachment) -> list[RowNote]:
    """Return the notes of the server that are hints."""
    return [note for note in server.notes if f"hint.{note.reason_code}" in words.ENGLISH]


def _catalog_details(server: ServerAttachment) -> list[Message]:
    if not server.tools_listed_at:
        return []
    if server.tool_count == 0:
        return [words.say("detail.no_tools")]
    details = [words.count("detail.tools", server.tool_count)]
    if tokens := sum(tool.estimated_tokens for tool in server.tools):
        details.append(words.count("detail.tokens", tokens))
    if server.tools and server.tool_catalog_truncated:
        shown = len(server.tools)
        details.append(words.say("detail.shown", shown=shown, count=server.tool_count))
    if server.tool_catalog_partial:
        details.append(words.say("detail.partial"))
    if server.tools_changed_at and later(server.tools_changed_at, server.tools_listed_at):
        details.append(words.say("detail.stale"))
    return details


def _summary(server: ServerAttachment) -> Message | None:
    """Return why the row is red or gray; an older reason of another status is history."""
    if server.status not in _REASON_SHOWN:
        return None
    if server.summary:
        return words.verbatim(server.summary)
    if server.reason_code:
        return words.verbatim(reasons.meaning(server.reason_code), f"reason.{server.reason_code}")
    return None


def _advice(server: ServerAttachment) -> Message | None:
    """Return what to do about a red or gray row."""
    settle = reasons.settle(server.reason_code)
    if server.status not in _REASON_SHOWN or not settle:
        return None
    return words.verbatim(settle, f"reason.{server.reason_code}.settle")


def _checklist(attempt: Attempt, server: ServerAttachment) -> list[Check]:
    # A CLI in a terminal is asked for no session.
    absent = EvidenceKind.SESSION_ACCEPTED if attempt.kind == "passthrough" else None
    steps = (kind for kind in _STEPS if kind != absent)
    checks = [_check(kind, _proven_at(kind, attempt, server), server) for kind in steps]
    if server.failed_at:
        label = words.say("check.explicit_error")
        at = server.failed_at
        failed = Check(kind=EvidenceKind.EXPLICIT_ERROR, label=label, state="failed", at=at)
        checks.append(failed)
    return checks


def _check(kind: str, at: str, server: ServerAttachment) -> Check:
    label = words.say(f"check.{kind}")
    if at:
        return Check(kind=kind, label=label, state="proven", at=at)
    return Check(kind=kind, label=label, state="open", settle=_settle(kind, server))


def _proven_at(kind: str, attempt: Attempt, server: ServerAttachment) -> str:
    if kind != EvidenceKind.SESSION_ACCEPTED:
        return str(getattr(server, _ROW_TIMES[EvidenceKind(kind)]))
    accepted = [
        event.occurred_at
        for event in attempt.evidence
        if event.kind == kind and event.server_name in (server.name, "")
    ]
    return accepted[-1] if accepted and server.delivered_at else ""


_ROW_TIMES: Final = {
    EvidenceKind.CONFIGURED: "configured_at",
    EvidenceKind.DELIVERED: "delivered_at",
    EvidenceKind.INITIALIZE_OBSERVED: "connected_at",
    EvidenceKind.TOOLS_LIST_OBSERVED: "tools_listed_at",
    EvidenceKind.TOOL_CALL_OBSERVED: "used_at",
}


def _settle(kind: str, server: ServerAttachment) -> Message:
    if f"settle.{kind}" in words.ENGLISH:
        return words.say(f"settle.{kind}")
    ours = server.name == BUILT_IN
    return words.say(f"settle.{kind}.{BUILT_IN}" if ours else "settle.direct")


def _explain(row: Row) -> list[Message]:
    proven = ", ".join(c.label.text for c in row.checklist if c.state == "proven")
    missing = _open(row)
    lines = [words.say("explain.status", name=row.name, label=row.label.text)]
    if row.summary:
        lines.append(row.summary)
    nothing = words.say("explain.nothing_proven")
    lines.append(words.say("explain.proven", facts=proven) if proven else nothing)
    lines += row.hints
    after = [*((row.tested,) if row.tested else ()), *_next(row)]
    if row.status in _REASON_SHOWN:
        if row.advice:
            lines.append(words.say("explain.advice", settle=row.advice.text))
        return [*lines, *after]
    details = {detail.key for detail in row.details}
    if missing:
        facts = ", ".join(check.label.text for check in missing)
        lines.append(words.say("explain.open", facts=facts))
    if "detail.ended" in details:
        return [*lines, words.say("explain.ended"), *after]
    if "detail.stale" in details:
        lines.append(words.say("explain.stale"))
    if missing and missing[0].settle:
        lines.append(words.say("explain.settle", settle=missing[0].settle.text))
    return [*lines, *after]


def _next(row: Row) -> list[Message]:
    return [words.say("explain.next", step=step.text) for step in row.steps]


def _explained(hint: RowNote) -> Message:
    said = hint.summary or reasons.meaning(hint.reason_code)
    return words.say("explain.hint", meaning=said, settle=reasons.settle(hint.reason_code))


def _text_lines(view: View) -> list[str]:
    lines = [view.heading.text]
    lines += [message.text for message in (view.banner, view.empty) if message]
    names = max((len(words.visible(row.name)) for row in view.rows), default=0)
    labels = max((len(row.label.text) for row in view.rows), default=0)
    for row in view.rows:
        facts = (*((row.summary,) if row.summary else ()), *row.details)
        rest = " · ".join(message.text for message in facts)
        name = words.visible(row.name)
        line = f"{_SHAPES[row.dot]} {name:<{names}}  {row.label.text:<{labels}}  {rest}"
        lines.append(line.rstrip())
    return lines + [note.text for note in view.notes]
