"""What an explorer shows of a session: its rows, one server in detail, the tools of one server.

All of it is made ready here, words and order included, so that a page only draws. Rows and details
are those of the current attempt and the two before it. A catalog is known by its revision, which is
made of its content, so that a page asks for each one once.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from kandev_nb.attachment import reasons, words
from kandev_nb.attachment.arguments import Arguments, arguments
from kandev_nb.attachment.display import BUILT_IN, Check, Dot, Row, View, display
from kandev_nb.attachment.model import (
    Attempt,
    Evidence,
    EvidenceKind,
    History,
    Provenance,
    ServerAttachment,
    Status,
    ToolSummary,
)
from kandev_nb.attachment.words import Message

_CLIENT_NAMES: Final = (
    ("Claude Code", "mcp__{server}__{tool}"),
    ("opencode", "{server}_{tool}"),
    ("Gemini CLI", "{tool} ({server} MCP Server)"),
)
"""How some clients show a tool; it is the same tool."""

_LEFT_OUT: Final = (Status.FILTERED, Status.UNAVAILABLE)
_NOTED: Final = ("detail.shown", "detail.partial", "detail.stale")
_TEXTS: Final = (
    "transport",
    "target",
    "source",
    "original_name",
    "connection_id",
    "protocol_version",
)
_IDS: Final = (
    "task_id",
    "session_id",
    "execution_id",
    "attachment_attempt_id",
    "acp_session_id",
    "agent_profile_id",
)
_TIMES: Final = ("disconnected_at", "failed_at", "tools_changed_at")


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True)


class Fact(_Shown):
    """One line of the connection details: text, a time of the wire, or a number of things."""

    label: Message
    value: str
    kind: Literal["text", "time", "count"] = "text"


class EarlierRow(_Shown):
    """A server as an earlier attempt left it; ``tools`` is ``None`` before any were served."""

    name: str
    label: Message
    dot: Dot
    tools: int | None = None


class Earlier(_Shown):
    """An attempt before the current one. ``ended_at`` is empty where nobody knows."""

    id: str
    heading: Message
    started_at: str
    ended_at: str = ""
    rows: tuple[EarlierRow, ...] = ()


class Mark(_Shown):
    """One fact on a lane, ``seconds`` after the attempt's start."""

    kind: str
    label: Message
    at: str
    seconds: float
    provenance: Message
    text: str = ""


class Lane(_Shown):
    """The facts of one server, and of the attempt as a whole, in order of time.

    ``seconds`` is how long the attempt went on, as far as the facts tell.
    """

    attempt: str
    heading: Message
    started_at: str
    seconds: float
    historical: bool
    marks: tuple[Mark, ...] = ()


class Detail(_Shown):
    """What is known of one server beside its row; ``tools_absent`` says why no tools are shown."""

    server: str
    checklist: tuple[Check, ...]
    explanation: tuple[Message, ...]
    facts: tuple[Fact, ...]
    attempts: tuple[Earlier, ...]
    lanes: tuple[Lane, ...]
    tools_absent: Message | None
    notes: tuple[Message, ...]


class ClientName(_Shown):
    """What one client calls a tool."""

    client: str
    name: str


class ToolShown(_Shown):
    """One tool, with the table of its arguments (CA-6). ``tokens`` is 0 where nobody counted."""

    name: str
    description: str
    tokens: int
    names: tuple[ClientName, ...]
    arguments: Arguments


class CatalogShown(_Shown):
    """The tools of one server, in the order of the catalog."""

    server: str
    revision: str
    tools: tuple[ToolShown, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, named as a page knows them."""
        return self.model_dump(mode="json", by_alias=True)


def rows(history: History, view: View) -> dict[str, Any]:
    """Return the rows of ``view`` as plain JSON values; ``view`` is what is shown of ``history``.

    A row has what an explorer needs to list it, and the revision of its catalog.
    """
    shown = view.to_rows()
    servers = history.current.servers if history.current else ()
    for row, server in zip(shown["rows"], servers, strict=True):
        del row["advice"]
        row["built_in"] = server.name == BUILT_IN
        row["tools"] = _tool_count(server)
        row["tokens"] = sum(tool.estimated_tokens for tool in server.tools)
        row["catalog"] = revision(server.tools)
    return shown


def detail(history: History, view: View, name: str) -> Detail | None:
    """Return the details of server ``name``, ``None`` for a server that the report lacks."""
    attempt, row = history.current, view.row(name)
    server = attempt.server(name) if attempt else None
    if attempt is None or server is None or row is None:
        return None
    return Detail(
        server=name,
        checklist=row.checklist,
        explanation=row.explained,
        facts=tuple(_facts(attempt, server)),
        attempts=tuple(map(_earlier, history.previous)),
        lanes=tuple(
            _lane(each, name, each is not attempt) for each in (attempt, *history.previous)
        ),
        tools_absent=_tools_absent(server),
        notes=tuple(_notes(row, server)),
    )


def catalog(server: ServerAttachment) -> CatalogShown:
    """Return the catalog of a row."""
    shown = tuple(_tool(server.name, tool) for tool in server.tools)
    return CatalogShown(server=server.name, revision=revision(server.tools), tools=shown)


def revision(tools: tuple[ToolSummary, ...]) -> str:
    """Return the revision of a catalog: the same for the same tools, empty without any."""
    if not tools:
        return ""
    known = _revisions.get(id(tools))
    if known is None or known.tools is not tools:
        if len(_revisions) >= _REMEMBERED:
            _revisions.clear()
        known = _revisions[id(tools)] = _Revision(tools, _digest(tools))
    return known.digest


class _Revision(NamedTuple):
    tools: tuple[ToolSummary, ...]
    digest: str


# Rows are made anew with each change of a report, its catalogs seldom change. A tuple is kept with
# its revision, so that no other can have its identity.
_revisions: Final[dict[int, _Revision]] = {}
_REMEMBERED: Final = 32


def _digest(tools: Iterable[ToolSummary]) -> str:
    text = json.dumps([tool.to_wire() for tool in tools], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _tool(server: str, tool: ToolSummary) -> ToolShown:
    names = (
        ClientName(client=client, name=shown.format(server=server, tool=tool.name))
        for client, shown in _CLIENT_NAMES
    )
    return ToolShown(
        name=tool.name,
        description=tool.description,
        tokens=tool.estimated_tokens,
        names=tuple(names),
        arguments=arguments(tool),
    )


def _tool_count(server: ServerAttachment) -> int | None:
    return server.tool_count if server.tools_listed_at else None


def _facts(attempt: Attempt, server: ServerAttachment) -> Iterator[Fact]:
    texts = {name: getattr(server, name) for name in _TEXTS}
    texts["client"] = f"{server.client_name} {server.client_version}".strip()
    if server.connected_at and not server.connection_id:
        texts["connection_id"] = words.say("fact.stateless").text
    texts |= {name: getattr(attempt, name) for name in _IDS}
    for name, value in texts.items():
        if value:
            yield Fact(label=words.say(f"fact.{name}"), value=words.visible(value))
    if calls := attempt.calls(server):
        yield Fact(label=words.say("fact.calls"), value=str(calls), kind="count")
    times = {"started_at": attempt.started_at, "ended_at": attempt.ended_at}
    times |= {name: getattr(server, name) for name in _TIMES}
    for name, at in times.items():
        if at:
            yield Fact(label=words.say(f"fact.{name}"), value=at, kind="time")


def _earlier(attempt: Attempt) -> Earlier:
    # The rows read as they did while the attempt was the current one.
    shown = display(History(version=1, current=attempt)).rows
    kept = (
        EarlierRow(name=row.name, label=row.label, dot=row.dot, tools=_tool_count(server))
        for row, server in zip(shown, attempt.servers, strict=True)
    )
    return Earlier(
        id=attempt.attachment_attempt_id,
        heading=_heading(attempt),
        started_at=attempt.started_at,
        ended_at=attempt.ended_at or attempt.superseded_at,
        rows=tuple(kept),
    )


def _heading(attempt: Attempt) -> Message:
    key = f"attempt.{attempt.kind}"
    kind = words.say(key if key in words.ENGLISH else "attempt.other")
    if not attempt.cause:
        return kind
    return words.say("attempt.because", kind=kind.text, cause=attempt.cause)


def _lane(attempt: Attempt, name: str, historical: bool) -> Lane:
    start = datetime.fromisoformat(attempt.started_at)
    events = [event for event in attempt.evidence if event.server_name in (name, "")]
    marks = [_mark(event, start) for event in (*events, *_superseded(attempt))]
    return Lane(
        attempt=attempt.attachment_attempt_id,
        heading=_heading(attempt),
        started_at=attempt.started_at,
        seconds=max((mark.seconds for mark in marks), default=0.0),
        historical=historical,
        marks=tuple(sorted(marks, key=lambda mark: mark.seconds)),
    )


def _superseded(attempt: Attempt) -> Iterator[Evidence]:
    """Yield the end of an attempt that another one superseded: no report keeps it as evidence."""
    if attempt.superseded_at:
        yield Evidence(
            attachment_attempt_id=attempt.attachment_attempt_id,
            kind=EvidenceKind.ATTEMPT_SUPERSEDED,
            occurred_at=attempt.superseded_at,
            provenance=Provenance.DECIDED,
        )


def _mark(event: Evidence, start: datetime) -> Mark:
    seconds = (datetime.fromisoformat(event.occurred_at) - start).total_seconds()
    return Mark(
        kind=event.kind,
        label=_said(("check", "mark"), event.kind),
        at=event.occurred_at,
        seconds=max(0.0, seconds),
        provenance=_said(("provenance",), event.known_by),
        text=_mark_text(event),
    )


def _said(tables: Iterable[str], word: str) -> Message:
    """Return the message for a word of the wire; one that a newer writer uses stands as it is."""
    keys = (key for table in tables if (key := f"{table}.{word}") in words.ENGLISH)
    return next((words.say(key) for key in keys), words.verbatim(word))


def _mark_text(event: Evidence) -> str:
    if event.kind == EvidenceKind.TOOLS_LIST_OBSERVED:
        return words.count("detail.tools", event.tool_count).text
    if event.kind == EvidenceKind.TOOL_CALL_OBSERVED:
        times = f" × {event.count:,}" if event.count > 1 else ""
        return words.visible(event.tool_name) + times
    return words.visible(event.summary or reasons.meaning(event.reason_code))


def _tools_absent(server: ServerAttachment) -> Message | None:
    if server.tools:
        return None
    if server.tools_listed_at and server.tool_count:
        return words.say("absent.not_saved")
    if server.tools_listed_at:
        return words.say("absent.none_served")
    if server.status in _LEFT_OUT:
        return words.say("absent.left_out")
    if server.status == Status.FAILED:
        return words.say("absent.failed")
    return words.say("absent.not_loaded" if server.name == BUILT_IN else "absent.third_party")


def _notes(row: Row, server: ServerAttachment) -> Iterator[Message]:
    yield from (message for message in row.details if message.key in _NOTED)
    if reported := server.reported:
        summary = reported.summary or reasons.meaning(reported.reason_code)
        yield words.say("note.reported", status=reported.status, summary=summary)
    for place, hint in enumerate(row.hints):
        # Each has a key of its own, by which a page tells one from another.
        yield hint.model_copy(update={"key": f"{hint.key}.{place}"}) if place else hint
