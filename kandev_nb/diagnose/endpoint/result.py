"""What a person is told of a test, and what of it is stored."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from kandev_nb import tokens
from kandev_nb.attachment import EndpointTestResult, limits
from kandev_nb.attachment.model import ToolSummary
from kandev_nb.attachment.sanitize import PLACEHOLDER
from kandev_nb.attachment.words import visible
from kandev_nb.diagnose.endpoint.course import Course
from kandev_nb.diagnose.endpoint.faults import reason, summary
from kandev_nb.diagnose.lint import LintNote, lint

_NOTES_SHOWN: Final = 20
_MS: Final = 1000


@dataclass(frozen=True)
class EndpointTest:
    """The outcome of one endpoint test. Made by :meth:`kandev_nb.Session.test_endpoint`.

    ``phase`` is the last one that was begun: ``spawn``, ``connect``, ``await_endpoint``,
    ``initialize`` or ``list_tools``; empty when nothing was contacted. ``reason_code`` says why the
    server is not reachable, or why its list is not whole. ``duration_ms`` is the wall time of every
    phase. ``tools`` are the entries that have a name, in the order they were served, with
    ``estimated_tokens`` where there is a tokenizer; ``usable_count`` counts those without a fault
    that keeps clients from using them, and ``notes`` says what was found.
    """

    name: str
    reachable: bool
    phase: str = ""
    reason_code: str = ""
    summary: str = ""
    protocol_version: str = ""
    server_name: str = ""
    server_version: str = ""
    tool_count: int = 0
    usable_count: int = 0
    duration_ms: int = 0
    at: str = ""
    tools: tuple[ToolSummary, ...] = ()
    notes: tuple[LintNote, ...] = ()

    @property
    def stored(self) -> EndpointTestResult:
        """What the report keeps: no names of tools, no schemas, no estimates, no notes."""
        return EndpointTestResult(
            outcome="ok" if self.reachable else "failed",
            at=self.at,
            phase=self.phase,
            reason_code=self.reason_code,
            summary=self.summary,
            protocol_version=self.protocol_version,
            server_name=self.server_name,
            server_version=self.server_version,
            tool_count=self.tool_count,
            duration_ms=self.duration_ms,
        )

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield self._headline()
        if self.reason_code:
            yield f"What to do: {reason(self.reason_code).settle}"
        yield from (f"- {visible(note.text)}" for note in self.notes[:_NOTES_SHOWN])
        if (more := len(self.notes) - _NOTES_SHOWN) > 0:
            yield f"- and {more} more in .notes"

    def _headline(self) -> str:
        if not self.reachable:
            return f"Test failed: {self.summary}"
        usable = f", {self.usable_count} usable," if self.usable_count != self.tool_count else ""
        tools = f"{self.tool_count} tool{'s' * (self.tool_count != 1)}{usable}"
        took = f"{self.duration_ms} ms"
        if self.duration_ms >= _MS:
            took = f"{self.duration_ms / _MS:.1f} s"
        told = f" · {self.summary}" if self.summary else ""
        return f"Test reached the server: {tools} in {took}{told}"


def outcome(
    name: str, at: str, course: Course, code: str, detail: str, redact: Callable[[str], str]
) -> EndpointTest:
    """Return what came of a test; ``code`` is why it ended early. Counting tokens takes time."""
    linted = lint(course.tools, name, partial(_concealed, redact))
    return EndpointTest(
        name=name,
        reachable=not code,
        phase=course.phase,
        reason_code=code or course.shortfall,
        summary=redact(summary(code, detail) if code else " · ".join(_remarks(course))),
        protocol_version=course.protocol_version,
        server_name=redact(course.server_name),
        server_version=redact(course.server_version),
        tool_count=len(course.tools),
        usable_count=linted.usable,
        duration_ms=course.duration_ms,
        at=at,
        tools=tuple(_summaries(course.tools)),
        notes=linted.notes,
    )


def _concealed(redact: Callable[[str], str], text: str) -> str:
    """Return a server's word as it is, what cannot be seen in it too, unless a secret is in it."""
    safe = redact(text)
    return safe if PLACEHOLDER in safe else text


def _remarks(course: Course) -> Iterator[str]:
    """Yield what is worth knowing of a server that was reached."""
    if course.pages > 1:
        yield f"listed over {course.pages} pages"
    if course.shortfall:
        yield reason(course.shortfall).meaning.removesuffix(".")
    if not course.has_tools:
        yield "it announces no tools"
    if course.stray_lines:
        yield stray(course.stray_lines)


def stray(lines: int) -> str:
    """Say how many lines of standard output were no messages."""
    return "1 line was no message" if lines == 1 else f"{lines} lines were no messages"


def _summaries(tools: Sequence[Any]) -> Iterator[ToolSummary]:
    for tool in tools:
        if isinstance(tool, Mapping) and isinstance(name := tool.get("name"), str) and name:
            description = tool.get("description")
            yield ToolSummary(
                name=_sound(name),
                description=_sound(description) if isinstance(description, str) else "",
                input_schema=tool.get("inputSchema"),
                estimated_tokens=_estimate(tool),
            )


def _estimate(tool: Mapping[str, Any]) -> int:
    try:
        return tokens.estimate_tool(tokens.tool_json(tool)) or 0
    except (TypeError, ValueError, RecursionError):
        return 0


def _sound(text: str) -> str:
    """Return text without half surrogate pairs, which no model can hold."""
    return limits.cut_utf8(text, len(text) * 4)
