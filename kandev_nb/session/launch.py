"""What a session is started from, read from the arguments of ``start``.

What a user hands over comes in; a :class:`Launch` leaves, or a
:class:`~kandev_nb.errors.ConfigError` that names the argument and the way out.
"""

import logging
import os
import shlex
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError

from kandev_nb.agents.registry import AgentSpec, find_agent
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError
from kandev_nb.servers import (
    Decision,
    Policy,
    Servers,
    read_policy,
    read_profile,
    renamed,
    resolve,
)
from kandev_nb.servers.secrets import in_arguments, in_values

_log = logging.getLogger("kandev_nb.servers")

Policies = Policy | str | Path | Mapping[str, Any]
"""A policy, the name of a preset, a path, or the text or dict of one."""

Command = str | Sequence[str]

_INPUT: Final = "input:"
"""How the value of an input that a document of VS Code's declares is given among the variables."""

_STRICT: Final = ConfigDict(strict=True, hide_input_in_errors=True)
_WORDS: Final = TypeAdapter[list[str]](list[str], config=_STRICT)
_ENVIRONMENT: Final = TypeAdapter[dict[str, str]](dict[str, str], config=_STRICT)


class Launch(NamedTuple):
    """What a session is started from."""

    agent: AgentSpec
    command: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    servers: tuple[Decision, ...]
    secrets: tuple[str, ...]
    """What must not be shown of all that was handed over (SA-2)."""


def read_launch(
    agent: str | None,
    command: Command | None,
    args: Command,
    servers: Servers | None,
    policy: Policies | None,
    env: Mapping[str, str] | None,
    cwd: str | Path | None,
) -> Launch:
    """Return the launch that the arguments of ``start`` describe; ``command`` is its ``exec``."""
    spec = _agent(agent, command)
    given = {**spec.env, **environment(env or {})}
    workdir, line = directory(cwd), (*spec.command, *_words(args, "args="))
    rules = read_policy(policy)
    decisions, notes = meant(servers, rules, spec, given, workdir)
    _say(decisions, notes)
    return Launch(
        agent=spec,
        command=line,
        env={name: value for name, value in given.items() if not name.startswith(_INPUT)},
        cwd=workdir,
        servers=decisions,
        secrets=_secrets(line, given, rules, decisions),
    )


def meant(
    servers: Servers | None,
    policy: Policy,
    spec: AgentSpec | None,
    env: Mapping[str, str],
    cwd: Path,
) -> tuple[tuple[Decision, ...], tuple[str, ...]]:
    """Return a decision for each server, before the agent has said what it takes, and notes.

    Placeholders get their values from the kernel's environment with ``env`` laid over it, which is
    the environment that the agent gets.
    """
    profile = read_profile(servers)
    decisions = resolve(profile, policy, {**os.environ, **env}, cwd)
    notes = (*profile.notes, *policy.notes({entry.name for entry in profile.entries}))
    return renamed(decisions, spec.name_characters if spec else ""), notes


def _say(decisions: Sequence[Decision], notes: Sequence[str]) -> None:
    for note in notes:
        _log.warning("%s", note)
    for decision in decisions:
        for hint in decision.hints:
            _log.info("server %r: %s", decision.row, hint)


def text(value: object, argument: str) -> str:
    """Return ``value`` if it is text; the error names the argument."""
    if isinstance(value, str):
        return value
    raise wrong(f"{argument} is not text but {type(value).__name__}. Give a str.")


def seconds(value: float | None, argument: str = "timeout=") -> float | None:
    """Return a number of seconds, ``None`` for no bound; the error names the argument."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (number and value >= 0):
        return None if value is None or value > threading.TIMEOUT_MAX else value
    raise wrong(f"{argument} is no number of seconds. Give one from 0, or None to wait for ever.")


def wrong(message: str) -> ConfigError:
    """Return the error for an argument that cannot be used."""
    return ConfigError(message, reason_code=ReasonCode.WRONG_ARGUMENT)


def _agent(agent: str | None, command: Command | None) -> AgentSpec:
    if agent is not None and command is not None:
        raise wrong("Name a registered agent or give exec=, not both.")
    if agent is not None:
        return find_agent(text(agent, "The agent"))
    if command is None:
        raise wrong(
            "Say which agent to start: a registered one by its ID, or any command with exec=."
        )
    words = _words(command, "exec=")
    if not words:
        raise wrong("exec= names no command. Give a command line such as 'opencode acp'.")
    name = Path(words[0]).name
    return AgentSpec(id=name, title=name, command=words)


def _words(command: Command, argument: str) -> tuple[str, ...]:
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
        return tuple(_WORDS.validate_python(words))
    except (TypeError, ValidationError):
        raise wrong(f"{argument} is neither a command line nor a list of words.") from None
    except ValueError as error:
        raise wrong(
            f"{argument} is not a command line: {error}. Close it, or give a list of words."
        ) from None


def _secrets(
    command: Sequence[str],
    env: Mapping[str, str],
    policy: Policy,
    decisions: Sequence[Decision],
) -> tuple[str, ...]:
    """Return what must not be shown; the names of the session's own servers always may be."""
    names = {name for decision in decisions for name in (decision.name, decision.row)}
    words = in_arguments(command[0], command[1:])
    given = (in_values(env.values()), words, policy.secrets(), *(d.secrets for d in decisions))
    return tuple(value for values in given for value in values if value not in names)


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return variables by name; the error names the argument."""
    try:
        return _ENVIRONMENT.validate_python(dict(env))
    except (TypeError, ValueError):
        raise wrong("env= is not a dict of name to value, both text.") from None


def directory(cwd: str | Path | None) -> Path:
    """Return the absolute path of a working directory that is there, the kernel's own for none."""
    if not isinstance(cwd, str | Path | None):
        raise wrong("cwd= is not a path. Give a str or a pathlib.Path.")
    workdir = Path(cwd or ".").expanduser().absolute()
    if not workdir.is_dir():
        what = "is not a directory" if workdir.exists() else "does not exist"
        raise ConfigError(
            f"The working directory {str(cwd)!r} {what}. Create it, or pass another cwd=.",
            reason_code=ReasonCode.INVALID_WORKDIR,
        )
    return workdir
