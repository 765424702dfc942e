"""The agents that can be started by name.

An ID comes in, an :class:`AgentSpec` leaves. Other packages add theirs with an entry point in the
group ``kandev_nb.agents`` that loads to an :class:`AgentSpec`; one that cannot be loaded is said
once in the log and left out. A built-in agent keeps its ID.
"""

import logging
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from kandev_nb.agents.known import BUILT_IN
from kandev_nb.agents.spec import AgentSpec
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError

__all__ = ["ENTRY_POINTS", "AgentSpec", "find_agent", "registered_agents"]

ENTRY_POINTS: Final = "kandev_nb.agents"

_log = logging.getLogger(__name__)


def registered_agents() -> tuple[AgentSpec, ...]:
    """Return the built-in agents, then those of other packages by ID."""
    known = {spec.id: spec for spec in (*_added(), *BUILT_IN)}
    ours = {spec.id for spec in BUILT_IN}
    return (*BUILT_IN, *(known[agent_id] for agent_id in sorted(known.keys() - ours)))


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
