"""The agents that can be started by name.

An ID comes in, an :class:`AgentSpec` leaves. Other packages add theirs with an entry point in the
group ``kandev_nb.agents`` that loads to an :class:`AgentSpec`; one that cannot be loaded is said
once in the log and left out. A built-in agent keeps its ID.
"""

import logging
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError

ENTRY_POINTS: Final = "kandev_nb.agents"

NetworkTransport = Literal["http", "sse"]

_log = logging.getLogger(__name__)


class AgentSpec(BaseModel):
    """How to start one agent that speaks ACP on its standard input and output."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(min_length=1)]
    title: str
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    env: Annotated[dict[str, str], Field(repr=False)] = {}
    """Laid over the kernel's environment."""

    install: str = ""
    """How to get it, in one line."""

    advertises: frozenset[NetworkTransport] | None = None
    """The transports of MCP servers, next to stdio, that it was seen to advertise; ``None`` when
    nothing is known. A plan rests on it until the agent itself has spoken."""

    takes: frozenset[NetworkTransport] = frozenset()
    """Those that it takes without advertising them. What rests on this is marked as assumed."""

    @property
    def likely_transports(self) -> frozenset[NetworkTransport] | None:
        """What it can be expected to take before it has spoken; ``None`` if nobody knows."""
        return None if self.advertises is None else self.advertises | self.takes

    name_characters: str = ""
    """The characters that it takes in a server's name, as the inside of a regular expression's
    character class; empty when it takes any."""

    @field_validator("name_characters")
    @classmethod
    def _check_characters(cls, characters: str) -> str:
        try:
            fits = not characters or re.fullmatch(f"[{characters}]+", "_")
        except re.error:
            fits = None
        if not fits:
            raise ValueError("is not the inside of a character class that has the underscore")
        return characters


_BUILT_IN: Final = (
    AgentSpec(
        id="scripted",
        title="Scripted reference agent",
        # -P: a session's directory must not lend its modules to the agent.
        command=(sys.executable, "-P", "-m", "kandev_nb.agents.scripted"),
        install="comes with kandev-nb",
        advertises=frozenset({"http", "sse"}),
    ),
)


def registered_agents() -> tuple[AgentSpec, ...]:
    """Return the built-in agents, then those of other packages by ID."""
    known = {spec.id: spec for spec in (*_added(), *_BUILT_IN)}
    ours = {spec.id for spec in _BUILT_IN}
    return (*_BUILT_IN, *(known[agent_id] for agent_id in sorted(known.keys() - ours)))


def find_agent(agent_id: str) -> AgentSpec:
    """Return the agent of that ID.

    Raises:
        ConfigError: there is none (``agent_unknown``).
    """
    known = {spec.id: spec for spec in registered_agents()}
    if agent_id not in known:
        raise ConfigError(
            f"No agent {agent_id!r} is registered. Known: {', '.join(sorted(known))}. "
            "Pick one of them, or start a command of your own with exec=.",
            reason_code=ReasonCode.AGENT_UNKNOWN,
        )
    return known[agent_id]


def _added() -> Iterator[AgentSpec]:
    for entry_point in entry_points(group=ENTRY_POINTS):
        if (spec := _load(entry_point)) is not None:
            yield spec


@cache
def _load(entry_point: EntryPoint) -> AgentSpec | None:
    """Load once a process, so that a broken entry point is also said once."""
    try:
        spec = entry_point.load()
    except Exception as error:  # noqa: BLE001 - another package's code
        _log.warning("agent %r cannot be loaded (%s)", entry_point.name, type(error).__name__)
        return None
    if isinstance(spec, AgentSpec):
        return spec
    _log.warning("agent %r is no AgentSpec", entry_point.name)
    return None
