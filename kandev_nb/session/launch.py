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
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError

from kandev_nb.agents.finding import find_command
from kandev_nb.agents.permission import ASK_TIMEOUT, PermissionDesk, Permissions
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
from kandev_nb.servers.passthrough import Strategy, strategies, strategy
from kandev_nb.servers.secrets import in_arguments, in_values

if TYPE_CHECKING:
    from kandev_nb.agents.transport import Tap
    from kandev_nb.endpoint import ToolSet

_log = logging.getLogger("kandev_nb.servers")

Policies = Policy | str | Path | Mapping[str, Any]
"""A policy, the name of a preset, a path, or the text or dict of one."""

Command = str | Sequence[str]

_INPUT: Final = "input:"
"""How the value of an input that a document of VS Code's declares is given among the variables."""

_STRICT: Final = ConfigDict(strict=True, hide_input_in_errors=True)
_WORDS: Final = TypeAdapter[list[str]](list[str], config=_STRICT)
_ENVIRONMENT: Final = TypeAdapter[dict[str, str]](dict[str, str], config=_STRICT)


class Offers(NamedTuple):
    """What the agent may ask of its client."""

    permissions: Permissions = "ask"
    ask_timeout: float = ASK_TIMEOUT
    files: bool = True
    terminal: bool = False


class Cli(NamedTuple):
    """An agent's own CLI in a terminal, instead of the agent over ACP."""

    strategy: Strategy | None
    """How it takes its servers; ``None`` when nobody knows."""

    strict: bool
    """Whether it loads these servers and no others."""


class Passthrough(NamedTuple):
    """The arguments of ``start`` that are about a CLI in a terminal."""

    command: Command | None = None
    strategy: str | None = None
    strict: bool = False


class Probed(NamedTuple):
    """What is different in the session of a probe."""

    tap: "Tap"
    tools: "ToolSet"
    """What the Kandev endpoint serves, instead of the built-in tools and the user's."""

    over: Literal["", "http", "sse", "stdio", "nothing"] = ""
    """The one transport over which the endpoint is delivered, whatever the agent advertises, or
    that it is not delivered; empty for the first that the agent takes, as in every session."""


class Launch(NamedTuple):
    """What an execution of a session is started from."""

    agent: AgentSpec
    is_registered: bool
    npx: bool
    """Whether npx may run a registered agent that is not installed."""

    args: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    offers: Offers
    policy: Policy
    servers: tuple[Decision, ...]
    secrets: tuple[str, ...]
    """What must not be shown of all that was handed over (SA-2)."""

    passthrough: Cli | None = None
    """The agent's own CLI, for a passthrough session."""

    probed: Probed | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """The command line. Each execution looks for a registered agent anew.

        Raises:
            AgentError: a registered agent is not found (``command_not_found``).
        """
        words = self.agent.command
        if self.is_registered:
            environ = {**os.environ, **self.env}
            words = find_command(self.agent, environ, self.cwd, npx=self.npx)
        return (*words, *self.args)


def read_launch(
    agent: str | None,
    command: Command | None,
    args: Command,
    servers: Servers | None,
    policy: Policies | None,
    env: Mapping[str, str] | None,
    cwd: str | Path | None,
    npx: bool,
    offers: Offers = Offers(),  # noqa: B008 - it cannot be changed
    passthrough: Passthrough = Passthrough(),  # noqa: B008 - it cannot be changed
) -> Launch:
    """Return the launch that the arguments of ``start`` describe; ``command`` is its ``exec``."""
    cli = None
    if passthrough == Passthrough():
        spec = _agent(agent, command, npx)
    else:
        _refuse_acp(passthrough, command, npx, offers)
        spec, cli = _cli(agent, passthrough)
    given = {**spec.env, **environment(env or {})}
    workdir, more = directory(cwd), _words(args, "args=")
    bound = seconds(offers.ask_timeout, "ask_timeout=") or 0
    # It says what is wrong with them, before anything is started.
    PermissionDesk(offers.permissions, ask_timeout=bound)
    rules = read_policy(policy)
    decisions, notes = meant(servers, rules, None if cli else spec, given, workdir)
    _say(decisions, notes)
    return Launch(
        agent=spec,
        is_registered=agent is not None and cli is None,
        npx=npx,
        args=more,
        env={name: value for name, value in given.items() if not name.startswith(_INPUT)},
        cwd=workdir,
        offers=offers,
        policy=rules,
        servers=decisions,
        secrets=_secrets((*spec.command, *more), given, rules, decisions),
        passthrough=cli,
    )


def with_servers(launch: Launch, servers: Servers | None, policy: Policies | None) -> Launch:
    """Return the launch with other servers, another policy, or as it is when neither is given."""
    if servers is None and policy is None:
        return launch
    if servers is None:
        raise wrong("policy= comes with the servers= that it is for. Give both.")
    rules = launch.policy if policy is None else read_policy(policy)
    spec = None if launch.passthrough else launch.agent
    decisions, notes = meant(servers, rules, spec, launch.env, launch.cwd)
    _say(decisions, notes)
    secrets = (*launch.secrets, *_secrets((), launch.env, rules, decisions))
    return launch._replace(policy=rules, servers=decisions, secrets=secrets)


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


def _agent(agent: str | None, command: Command | None, npx: bool) -> AgentSpec:
    if agent is not None and command is not None:
        raise wrong("Name a registered agent or give exec=, not both.")
    if npx and command is not None:
        raise wrong("npx=True is for a registered agent. Begin exec= with npx instead.")
    if agent is not None:
        return find_agent(text(agent, "The agent"))
    if command is None:
        raise wrong(
            "Say which agent to start: a registered one by its ID, or any command with exec=."
        )
    words = _words(command, "exec=")
    name = _name(words)
    if not name:
        raise wrong("exec= names no command. Give a command line such as 'opencode acp'.")
    return AgentSpec(id=name, title=name, command=words)


def _refuse_acp(given: Passthrough, command: Command | None, npx: bool, offers: Offers) -> None:
    """Refuse what is for an agent over ACP, so that nobody takes it for heeded."""
    if given.command is None:
        raise wrong("strategy= and strict= are for a CLI. Give its command with passthrough=.")
    if command is not None:
        raise wrong("Give exec= for an agent over ACP or passthrough= for a CLI, not both.")
    if npx:
        raise wrong("npx=True is for an agent over ACP. Begin passthrough= with npx instead.")
    if offers != Offers():
        raise wrong(
            "permissions=, ask_timeout=, files= and terminal= are for an agent over ACP. "
            "A CLI asks in its own terminal: leave them out."
        )


def _cli(agent: str | None, given: Passthrough) -> tuple[AgentSpec, Cli]:
    """Return the agent whose CLI is started, and the CLI.

    Without a strategy by name it is the agent's, or that of the CLI that the command names.
    """
    words = _words(given.command or (), "passthrough=")
    name = _name(words)
    if not name:
        raise wrong("passthrough= names no command. Give that of a CLI, such as 'claude'.")
    spec = (
        find_agent(text(agent, "The agent"))
        if agent
        else AgentSpec(id=name, title=name, command=words)
    )
    made = _strategy(given.strategy, spec.passthrough if agent else name)
    if made is not None:
        made.check_strict(given.strict)
    elif given.strict:
        raise wrong("strict= needs to know how the CLI takes its servers. Give strategy= too.")
    return spec.model_copy(update={"command": words}), Cli(made, given.strict)


def _strategy(named: str | None, likely: str) -> Strategy | None:
    if named is not None:
        return strategy(text(named, "strategy="))
    return next((known for known in strategies() if known.id == likely), None)


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


def _name(words: Sequence[str]) -> str:
    return Path(words[0]).name if words else ""


def _secrets(
    command: Sequence[str],
    env: Mapping[str, str],
    policy: Policy,
    decisions: Sequence[Decision],
) -> tuple[str, ...]:
    """Return what must not be shown; the names of the session's own servers always may be."""
    names = {name for decision in decisions for name in (decision.name, decision.row)}
    program, *more = command or ("",)
    words = in_arguments(program, more)
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
