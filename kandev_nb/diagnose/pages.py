"""Diagnostics as a person reads them: sections of labelled lines, as text or as Markdown.

Labels are ours. Values may be anybody's: text has what is invisible in them escaped, and Markdown
has them as code, where nothing is a link, a mention or markup (CA-5).
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from kandev_nb.attachment import reasons, words
from kandev_nb.attachment.words import visible

if TYPE_CHECKING:
    from kandev_nb.diagnose.diagnostics import (
        AttemptFacts,
        CheckFacts,
        Diagnostics,
        EventFacts,
        ServerFacts,
    )

_MARKS: Final = {"proven": "✓", "open": "○", "failed": "!"}
_IDS: Final = (
    "task_id",
    "session_id",
    "execution_id",
    "agent_profile_id",
    "acp_session_id",
)
_TIMES: Final = ("started_at", "updated_at", "superseded_at", "ended_at")
_BACKTICKS: Final = re.compile("`+")


class Line(NamedTuple):
    """``label`` is ours and ``value`` anybody's; either may be empty."""

    label: str
    value: str = ""


class Section(NamedTuple):
    """``subject`` is what it is about, anybody's words; ``level`` counts from 1."""

    level: int
    title: str
    lines: tuple[Line, ...]
    subject: str = ""
    state: str = ""


def text(diagnostics: "Diagnostics") -> str:
    """Return the diagnostics as text, a line for each fact."""
    return "\n\n".join("\n".join(_text_lines(part)) for part in _sections(diagnostics))


def markdown(diagnostics: "Diagnostics") -> str:
    """Return the diagnostics as Markdown, a list for each section."""
    parts = ("\n".join(_markdown_lines(part)) for part in _sections(diagnostics))
    return "\n\n".join(parts) + "\n"


def _text_lines(section: Section) -> Iterator[str]:
    yield _titled(section, visible(section.subject))
    width = max((len(line.label) for line in section.lines if line.value), default=0)
    for label, value in section.lines:
        shown = visible(value)
        yield f"  {label:<{width}}  {shown}" if label and value else f"  {label}{shown}"


def _markdown_lines(section: Section) -> Iterator[str]:
    subject = section.subject and _code(section.subject)
    yield f"{'#' * (section.level + 1)} {_titled(section, subject)}\n"
    for label, value in section.lines:
        told = ": ".join(filter(None, (label, value and _code(value))))
        yield f"- {told}"


def _titled(section: Section, subject: str) -> str:
    named = " ".join(filter(None, (section.title, subject)))
    return f"{named}: {section.state}" if section.state else named


def _code(value: str) -> str:
    """Return a code span with that text, whatever backticks it holds (CommonMark, "Code spans")."""
    shown = visible(value)
    fence = "`" * (1 + max(map(len, _BACKTICKS.findall(shown)), default=0))
    return f"{fence} {shown} {fence}" if "`" in shown else f"{fence}{shown}{fence}"


def _say(what: str) -> str:
    return words.say(f"diagnostics.{what}").text


def _line(what: str, *values: object) -> Iterator[Line]:
    """Yield the line of that label, if there is a value."""
    if told := " · ".join(str(value) for value in values if value):
        yield Line(_say(what), told)


def _sections(given: "Diagnostics") -> Iterator[Section]:
    yield Section(1, _say("heading"), tuple(_session_lines(given)))
    if not given.attempts:
        yield Section(2, words.say("empty.nothing_started").text, ())
    for attempt in given.attempts:
        yield from _attempt_sections(attempt)
    yield Section(2, _say("made_with"), tuple(_version_lines(given)))
    yield Section(2, _say("left_out"), tuple(map(Line, given.left_out)))


def _session_lines(given: "Diagnostics") -> Iterator[Line]:
    session, agent = given.session, given.agent
    yield from _line("made_at", given.made_at)
    yield from _line("session", session.name, session.session_id)
    yield from _line("task", session.task_title)
    yield from _line("agent", agent.agent_id, agent.title)
    yield from _line("agent_says", agent.name, agent.version)
    yield from _line("state", session.state)
    yield from (Line("", note) for note in session.notes)


def _version_lines(given: "Diagnostics") -> Iterator[Line]:
    made = given.made_with
    yield from (Line(name, version) for name, version in made.packages.items())
    yield from _line("python", made.python)
    yield from _line("system", made.system)
    if given.session.is_stored:
        yield Line(_say("made_elsewhere"))


def _attempt_sections(attempt: "AttemptFacts") -> Iterator[Section]:
    which = "attempt.historical" if attempt.is_historical else "attempt"
    lines = tuple(_attempt_lines(attempt))
    yield Section(2, _say(which), lines, attempt.attachment_attempt_id)
    if not attempt.servers:
        yield Section(3, words.say("empty.no_servers").text, ())
    for server in attempt.servers:
        lines = tuple(_server_lines(server))
        yield Section(3, _say("server"), lines, server.name, server.label)
    if attempt.evidence and not attempt.is_historical:
        yield Section(3, _say("evidence"), tuple(map(_event_line, attempt.evidence)))


def _attempt_lines(attempt: "AttemptFacts") -> Iterator[Line]:
    if attempt.session_error or attempt.session_error_code:
        code = attempt.session_error_code
        yield from _line("session_error", code, attempt.session_error or reasons.meaning(code))
    yield from _line("kind", attempt.kind, attempt.cause)
    for name in (*_IDS, *_TIMES):
        yield from _line(name, getattr(attempt, name))
    yield from _line("end_reason", attempt.end_reason)
    if attempt.late_requests:
        yield Line(words.count("note.late_traffic", attempt.late_requests).text)
    if attempt.evidence_dropped:
        yield Line(words.count("note.evidence_dropped", attempt.evidence_dropped).text)


def _server_lines(server: "ServerFacts") -> Iterator[Line]:
    yield from _line("status", server.status)
    yield from _line("reason", server.reason_code, server.summary)
    yield from _line("reached", server.source, server.transport, server.target)
    yield from _line("original_name", server.original_name)
    yield from map(_check_line, server.checks)
    yield from _line("disconnected_at", server.disconnected_at)
    yield from _line("tools_changed_at", server.tools_changed_at)
    yield from _line("connection", server.connection_id, server.protocol_version)
    yield from _line("client", server.client_name, server.client_version)
    yield from _line("tools", *_catalog(server))
    for note in server.notes:
        yield from _line("hint", note.reason_code, note.summary)
    if said := server.reported:
        yield from _line("reported", said.status, said.reason_code, said.summary, said.at)
    yield from _test_lines(server)


def _check_line(check: "CheckFacts") -> Line:
    return Line(f"{_MARKS[check.state]} {check.label}", check.at or _say("not_observed"))


def _catalog(server: "ServerFacts") -> Iterator[str]:
    if server.tool_count:
        yield words.count("detail.tools", server.tool_count).text
    if server.estimated_tokens:
        yield words.count("detail.tokens", server.estimated_tokens).text
        yield server.tool_token_estimator
    flags = {
        "detail.partial": server.tool_catalog_partial,
        "diagnostics.truncated": server.tool_catalog_truncated,
    }
    yield from (words.say(key).text for key, is_set in flags.items() if is_set)
    if server.unnamed_tools:
        yield words.say("diagnostics.unnamed", count=server.unnamed_tools).text
    if server.call_count:
        yield words.count("detail.used", server.call_count).text


def _test_lines(server: "ServerFacts") -> Iterator[Line]:
    if test := server.endpoint_test:
        took = f"{test.duration_ms} ms" if test.duration_ms else ""
        tools = words.count("detail.tools", test.tool_count).text if test.outcome == "ok" else ""
        told = (test.outcome, tools, took, test.phase, test.reason_code, test.summary, test.at)
        yield from _line("endpoint_test", *told)
        peer = (test.server_name, test.server_version, test.protocol_version)
        yield from _line("endpoint_test.server", *peer)


def _event_line(event: "EventFacts") -> Line:
    told: Iterable[object] = (
        event.server,
        event.kind,
        event.provenance,
        event.connection_id,
        event.tool_name,
        words.count("detail.tools", event.tool_count).text if event.tool_count else "",
        f"× {event.count}" if event.count > 1 else "",
        event.reason_code,
        event.summary,
    )
    return Line(event.at, " · ".join(str(fact) for fact in told if fact))
