"""How one CLI is given its MCP servers: what a strategy is, and what it may make.

Each CLI is one module beside this one; other packages add theirs. A strategy judges each decision
by the CLI's own rules, then writes what delivers into a :class:`Room`. It opens no file itself, so
that what is written is written safely and taken back, whatever the CLI.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from kandev_nb.attachment.model import EvidenceKind
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError
from kandev_nb.servers.documents.text import JsonSyntax
from kandev_nb.servers.notes import Note
from kandev_nb.servers.resolution import Decision
from kandev_nb.servers.server import Server, StdioServer

VARIABLE: Final = "KANDEV_MCP_TOKEN_"
"""Begins the names of our variables; what hides secrets by their names knows this one."""

_OF_EVERY_OBJECT: Final = "__proto__"
"""Assigning this key changes an object's prototype, so no CLI in JavaScript loads such a server."""


class Merge(NamedTuple):
    """Servers for a file of the project, ``FOLDER/NAME``, under one key of its root."""

    file: str
    key: str
    entries: Mapping[str, Any]
    syntax: JsonSyntax


@dataclass
class Room:
    """What a strategy makes for one session; nothing is written before it is done.

    ``environ`` is the environment that the CLI will get, before ``env`` is laid over it.
    """

    folder: Path
    strict: bool
    environ: Mapping[str, str] = field(repr=False)
    args: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict, repr=False)
    files: dict[str, str] = field(default_factory=dict, repr=False)
    merges: list[Merge] = field(default_factory=list, repr=False)

    def own_file(self, name: str, content: str) -> Path:
        """Return where a file of this session's own will be, readable by its owner only."""
        self.files[name] = content
        return self.folder / name

    def variable(self, value: str) -> str:
        """Return the name of an environment variable that holds ``value``."""
        name = f"{VARIABLE}{len(self.env) + 1}"
        self.env[name] = value
        return name

    def set_variable(self, name: str, value: str) -> None:
        """Set a variable of the CLI's own.

        Raises:
            ConfigError: the user has set it (``materialization_failed``).
        """
        if self.environ.get(name):
            raise ConfigError(
                f"{name} is set already, and {value} has to be named by it. Unset it for this "
                "session, or move what it names to the CLI's global or project configuration.",
                reason_code=ReasonCode.MATERIALIZATION_FAILED,
            )
        self.env[name] = value


def _accepts(decision: Decision) -> Note | None:
    del decision
    return None


@dataclass(frozen=True)
class Strategy:
    """How one CLI takes its servers.

    ``write`` is called once a session with the decisions that deliver. ``refusal`` is called for
    each of them before, and says why the CLI cannot be given that server.
    """

    id: str
    title: str
    mechanism: str
    """What is made for the CLI, in one line; a plan shows it."""
    write: Callable[[Sequence[Decision], Room], None] = field(repr=False)
    refusal: Callable[[Decision], Note | None] = field(default=_accepts, repr=False)
    can_be_strict: bool = False
    """Whether the CLI can be told to load these servers and no others."""

    def check_strict(self, strict: bool) -> None:
        """Refuse what the CLI cannot be told.

        Raises:
            ConfigError: the CLI cannot be strict (``wrong_argument``).
        """
        if strict and not self.can_be_strict:
            raise ConfigError(
                f"{self.title} cannot be told to load these servers only. Leave strict= out.",
                reason_code=ReasonCode.WRONG_ARGUMENT,
            )

    def judge(self, decisions: Sequence[Decision]) -> tuple[Decision, ...]:
        """Return the decisions with what this CLI cannot be given left out."""
        return tuple(map(self._judged, decisions))

    def _judged(self, decision: Decision) -> Decision:
        if not decision.delivers:
            return decision
        reason = name_refusal(decision.row) or self.refusal(decision)
        if reason is None:
            return decision
        is_fault = reason.code == ReasonCode.MATERIALIZATION_FAILED
        outcome = EvidenceKind.UNAVAILABLE if is_fault else EvidenceKind.FILTERED
        return replace(decision, outcome=outcome, reason=reason, server=None)


def without_strategy(decisions: Iterable[Decision]) -> tuple[Decision, ...]:
    """Return the decisions for a CLI that nobody knows how to give servers."""
    reason = Note(ReasonCode.PASSTHROUGH_STRATEGY_MISSING)
    return tuple(
        replace(decision, outcome=EvidenceKind.UNAVAILABLE, reason=reason, server=None)
        if decision.delivers
        else decision
        for decision in decisions
    )


def name_refusal(name: str) -> Note | None:
    """Say when no CLI can be given a server of that name."""
    return Note(ReasonCode.NAME_NOT_ACCEPTED) if name == _OF_EVERY_OBJECT else None


class Literal(NamedTuple):
    """Writes values that a CLI would expand, such as ``$HOME``, so that they arrive as they are."""

    expands: re.Pattern[str]
    reference: str
    """How the CLI refers to a variable, with ``{}`` for its name."""

    def texts(self, room: Room) -> Callable[[str], str]:
        """Return what writes one value after the other for a session."""
        return lambda text: self._written(text, room)

    def refusal_of_network(self, server: Server) -> Note | None:
        """Refuse what the CLI expands in more than one pass, so that no reference helps."""
        if isinstance(server, StdioServer):
            return None
        if not any(map(self.expands.search, (server.url, *server.headers.values()))):
            return None
        words = "Its URL or a header holds what looks like a variable, and the CLI would replace it"
        return Note(ReasonCode.MATERIALIZATION_FAILED, f"{words}. Use a value without a $ in it.")

    def _written(self, text: str, room: Room) -> str:
        if not self.expands.search(text):
            return text
        return self.reference.replace("{}", room.variable(text))


def as_it_is(text: str) -> str:
    """Write a value for a CLI that expands nothing."""
    return text


def server_of(decision: Decision) -> Server:
    """Return the server of a decision that delivers."""
    assert decision.server is not None, "only what delivers is delivered"
    return decision.server


def command_of(server: StdioServer, text: Callable[[str], str]) -> dict[str, Any]:
    """Return ``command``, ``args`` and ``env``, as most CLIs have them."""
    return {
        "command": text(server.command),
        "args": [text(argument) for argument in server.args],
        "env": written(server.env, text),
    }


def written(values: Mapping[str, str], text: Callable[[str], str]) -> dict[str, str]:
    """Return a mapping with each value written for a CLI."""
    return {name: text(value) for name, value in values.items()}
