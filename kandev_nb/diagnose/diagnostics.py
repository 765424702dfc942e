"""What a bug report needs of one session, and nothing that must stay private (DI-2).

A report and what is known beside it come in; :class:`Diagnostics` leaves, whose text and JSON may
be pasted anywhere. Only fields that are named here are taken: what a newer writer put into a report
stays there. ``diagnostics.schema.json`` is the schema of the JSON.
"""

import platform
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from kandev_nb.attachment import model, words
from kandev_nb.attachment.display import CheckState, Row, display
from kandev_nb.attachment.model import SCHEMA_VERSION, Count, History, Time, utc_now

if TYPE_CHECKING:
    from kandev_nb.shown import Background, Whose

FORMAT: Final = 1
"""The version of the JSON. A change that a reader could trip over makes a new one."""

SCHEMA_ID: Final = f"urn:kandev-nb:diagnostics:{FORMAT}"

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PACKAGES: Final = (
    "kandev-nb",
    "agent-client-protocol",
    "mcp",
    "pydantic",
    "sqlalchemy",
    "anywidget",
    "ipykernel",
    "jupyterlab",
)
_TOLD_BY_PEERS: Final = ("client_name", "client_version", "protocol_version")
"""Fields that a client filled in, which could say what it was told itself."""

_LEFT_OUT: Final = ("said", "values", "output", "tools", "frames")

Redact = Callable[[str], str]


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


F = TypeVar("F", bound=_Facts)


class Versions(_Facts):
    """Where the diagnostics were made. ``packages`` are those of ours that are installed."""

    packages: dict[str, str]
    python: str
    system: str


class AgentFacts(_Facts):
    """``name`` and ``version`` are what the agent says of itself; empty where that is not kept."""

    agent_id: str = ""
    title: str = ""
    name: str = ""
    version: str = ""


class SessionFacts(_Facts):
    """The session. ``is_stored`` tells that it is read from a database: nothing of it is live."""

    session_id: str = ""
    name: str = ""
    task_title: str = ""
    state: str = ""
    is_stored: bool = False
    notes: tuple[str, ...] = ()


class CheckFacts(_Facts):
    """One line of the checklist. ``at`` is empty for what was not observed."""

    kind: str
    label: str
    state: CheckState
    at: Time = ""


class NoteFacts(_Facts):
    """One hint about a server that was configured or delivered all the same."""

    reason_code: str
    summary: str = ""


class ReportedFacts(_Facts):
    """What the agent says of a server, beside what is proven."""

    status: str
    reason_code: str = ""
    summary: str = ""
    at: Time = ""


class TestFacts(_Facts):
    """The last endpoint test: what we reached, which says nothing of what the agent did."""

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


class ServerFacts(_Facts):
    """One server of an attempt; ``label`` is the status in the words of the views."""

    name: str
    status: str
    label: str
    source: str = ""
    transport: str = ""
    target: str = ""
    original_name: str = ""
    reason_code: str = ""
    summary: str = ""
    checks: tuple[CheckFacts, ...] = ()
    disconnected_at: Time = ""
    tools_changed_at: Time = ""
    connection_id: str = ""
    protocol_version: str = ""
    client_name: str = ""
    client_version: str = ""
    tool_count: Count = 0
    unnamed_tools: Count = 0
    tool_catalog_truncated: bool = False
    tool_catalog_partial: bool = False
    estimated_tokens: Count = 0
    tool_token_estimator: str = ""
    call_count: Count = 0
    notes: tuple[NoteFacts, ...] = ()
    reported: ReportedFacts | None = None
    endpoint_test: TestFacts | None = None


class EventFacts(_Facts):
    """One fact of the evidence that is kept. No ``server``: it is of the attempt."""

    at: Time
    kind: str
    server: str = ""
    provenance: str = ""
    connection_id: str = ""
    reason_code: str = ""
    summary: str = ""
    tool_name: str = ""
    tool_count: Count = 0
    count: Count = 0


class AttemptFacts(_Facts):
    """One attempt with its ownership. ``is_historical``: a later one took its place."""

    attachment_attempt_id: str
    is_historical: bool = False
    kind: str = ""
    cause: str = ""
    task_id: str = ""
    session_id: str = ""
    execution_id: str = ""
    agent_id: str = ""
    agent_profile_id: str = ""
    acp_session_id: str = ""
    started_at: Time = ""
    updated_at: Time = ""
    superseded_at: Time = ""
    ended_at: Time = ""
    end_reason: str = ""
    session_error: str = ""
    session_error_code: str = ""
    late_requests: Count = 0
    servers: tuple[ServerFacts, ...] = ()
    evidence: tuple[EventFacts, ...] = ()
    evidence_dropped: Count = 0


class Diagnostics(_Facts):
    """What a bug report needs of one session. Made by :meth:`kandev_nb.Session.diagnostics`.

    Its repr is the text; attempts are in order, the current one first. It may be pasted anywhere:
    ``left_out`` says what is not in it.
    """

    model_config = ConfigDict(json_schema_extra={"$id": SCHEMA_ID, "$schema": _DIALECT})

    version: Literal[1]
    made_at: Time
    made_with: Versions
    session: SessionFacts
    agent: AgentFacts
    attempts: tuple[AttemptFacts, ...] = ()
    left_out: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, empty fields left out."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def text(self) -> str:
        """The diagnostics as text."""
        from kandev_nb.diagnose import pages

        return pages.text(self)

    @property
    def markdown(self) -> str:
        """The diagnostics as Markdown; whatever others chose stands in it as code."""
        from kandev_nb.diagnose import pages

        return pages.markdown(self)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def gather(history: History, whose: "Whose", background: "Background") -> Diagnostics:
    """Return the diagnostics of a report and of what is known beside it."""
    redact, current = background.redact, history.current
    agent_id = (current.agent_id if current else "") or whose.agent
    return Diagnostics(
        version=FORMAT,
        made_at=utc_now(),
        made_with=_versions(),
        session=SessionFacts(
            session_id=whose.session_id,
            name=redact(whose.session),
            task_title=redact(whose.task),
            state=background.state,
            is_stored=background.is_stored,
            notes=background.notes,
        ),
        agent=AgentFacts(
            agent_id=agent_id,
            title=background.agent_title or (whose.agent if whose.agent != agent_id else ""),
            name=redact(background.agent_name),
            version=redact(background.agent_version),
        ),
        attempts=tuple(_attempts(history, redact)),
        left_out=tuple(words.say(f"diagnostics.left_out.{what}").text for what in _LEFT_OUT),
    )


def _versions() -> Versions:
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return Versions(packages=dict(_installed()), python=python, system=system)


def _installed() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue


def _attempts(history: History, redact: Redact) -> Iterator[AttemptFacts]:
    if history.current:
        yield _attempt(history.current, redact, is_historical=False)
    for attempt in history.previous:
        yield _attempt(attempt, redact, is_historical=True)


def _attempt(attempt: model.Attempt, redact: Redact, *, is_historical: bool) -> AttemptFacts:
    # The rows of an earlier attempt read as they did while it was the current one.
    rows = display(History(version=SCHEMA_VERSION, current=attempt)).rows
    shown = zip(attempt.servers, rows, strict=True)
    return _taken(
        AttemptFacts,
        attempt,
        is_historical=is_historical,
        late_requests=attempt.late_traffic.count if attempt.late_traffic else 0,
        servers=tuple(_server(attempt, server, row, redact) for server, row in shown),
        evidence=tuple(map(_event, attempt.evidence)),
    )


def _server(
    attempt: model.Attempt, server: model.ServerAttachment, row: Row, redact: Redact
) -> ServerFacts:
    test, reported = server.endpoint_test, server.reported
    return _taken(
        ServerFacts,
        server,
        **{name: redact(getattr(server, name)) for name in _TOLD_BY_PEERS},
        label=row.label.text,
        checks=tuple(_taken(CheckFacts, check, label=check.label.text) for check in row.checklist),
        estimated_tokens=sum(tool.estimated_tokens for tool in server.tools),
        call_count=attempt.calls(server),
        notes=tuple(_taken(NoteFacts, note) for note in server.notes),
        reported=_taken(ReportedFacts, reported) if reported else None,
        endpoint_test=_taken(TestFacts, test) if test else None,
    )


def _event(event: model.Evidence) -> EventFacts:
    at, known_by = event.occurred_at, event.known_by
    return _taken(EventFacts, event, at=at, server=event.server_name, provenance=known_by)


def _taken(kind: type[F], source: BaseModel, **more: Any) -> F:
    """Return ``kind`` with the fields that it shares with ``source``, and ``more``."""
    shared = kind.model_fields.keys() & type(source).model_fields.keys()
    return kind(**{**{name: getattr(source, name) for name in shared}, **more})
