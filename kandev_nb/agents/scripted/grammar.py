"""The commands that a prompt can give to the reference agent, one a line.

A prompt's text comes in; :class:`Command` after :class:`Command` leaves. A name or a path
that has blanks is put in double quotes.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

_NAME: Final = r'(?:"[^"]+"|\S+)'
_SERVER: Final = rf"(?P<server>{_NAME})"
_PATH: Final = rf"(?P<path>{_NAME})"
_TEXT: Final = r"(?P<text>.*)"
_NO_WORDS: Final = re.compile("")


@dataclass(frozen=True)
class Command:
    """One line of a prompt. ``verb`` is empty for a line that is no command."""

    verb: str
    server: str = ""
    tool: str = ""
    path: str = ""
    text: str = ""
    number: float = 0.0
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Form:
    """How one command is written, and what it does."""

    usage: str
    does: str
    pattern: re.Pattern[str]


GRAMMAR: Final[dict[str, Form]] = {
    "call": Form(
        "call SERVER TOOL {json}",
        "call a tool and say its result",
        re.compile(rf"{_SERVER}\s+(?P<tool>{_NAME})(?:\s+(?P<arguments>\{{.*\}}))?"),
    ),
    "list": Form("list SERVER", "send tools/list again", re.compile(_SERVER)),
    "connect": Form("connect SERVER", "connect, or open one more connection", re.compile(_SERVER)),
    "close": Form("close SERVER", "end the newest connection, with DELETE", re.compile(_SERVER)),
    "say": Form("say TEXT", "say it", re.compile(_TEXT)),
    "wait": Form(
        "wait SECONDS", "pause; session/cancel ends it", re.compile(r"(?P<number>\d+(?:\.\d+)?)")
    ),
    "read": Form("read PATH", "read a file through the client", re.compile(_PATH)),
    "write": Form(
        "write PATH TEXT",
        "write a file through the client",
        re.compile(rf"{_PATH}(?:\s+{_TEXT})?"),
    ),
    "run": Form(
        "run COMMAND LINE",
        "run it in a terminal of the client, say its output and its exit code",
        re.compile(r"(?P<text>.+)"),
    ),
    "ask": Form(
        "ask NAME",
        "send the client the request _kandev/NAME, which nobody knows",
        re.compile(r"(?P<text>\S+)"),
    ),
    "mode": Form("mode", "say the current mode", _NO_WORDS),
    "model": Form("model", "say the current model", _NO_WORDS),
    "progress": Form(
        "progress N",
        "say N lines at once, with a tool call between two",
        re.compile(r"(?P<number>\d{1,6})"),
    ),
    "fail": Form("fail MESSAGE", "answer the prompt with an error", re.compile(_TEXT)),
    "stderr": Form("stderr TEXT", "write to standard error", re.compile(_TEXT)),
    "exit": Form("exit CODE", "end the process", re.compile(r"(?P<number>\d{1,3})")),
}


def usage() -> str:
    """Return the grammar as text."""
    rows = "\n".join(f"  {form.usage:<25}{form.does}" for form in GRAMMAR.values())
    return f"commands in a prompt, one a line:\n{rows}"


def read(prompt: str) -> Iterator[Command]:
    """Yield the commands of a prompt in order; blank lines say nothing."""
    for line in prompt.splitlines():
        if line.strip():
            yield _command(line.strip())


def _command(line: str) -> Command:
    verb, _, rest = line.partition(" ")
    form = GRAMMAR.get(verb)
    match = form.pattern.fullmatch(rest.strip()) if form else None
    try:
        return Command(verb, **_fields(match.groupdict())) if match else Command("")
    except ValueError:
        return Command("")


def _fields(words: dict[str, str | None]) -> dict[str, Any]:
    return {name: _READ_AS[name](word) for name, word in words.items() if word is not None}


def _bare(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name


_READ_AS: Final[dict[str, Callable[[str], Any]]] = {
    "server": _bare,
    "tool": _bare,
    "path": _bare,
    "text": str,
    "number": float,
    "arguments": json.loads,
}
