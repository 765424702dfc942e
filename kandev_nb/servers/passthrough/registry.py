"""The strategies that can be used by name.

Other packages add theirs with an entry point in the group ``kandev_nb.passthrough`` that loads to a
:class:`Strategy`; one that cannot be loaded is said once in the log and left out. A built-in
strategy keeps its ID.
"""

import logging
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError
from kandev_nb.servers.passthrough import claude, codex, cursor, gemini, opencode, pi
from kandev_nb.servers.passthrough.strategy import Strategy

ENTRY_POINTS: Final = "kandev_nb.passthrough"

_BUILT_IN: Final = tuple(
    module.STRATEGY for module in (claude, codex, cursor, gemini, opencode, pi)
)

_log = logging.getLogger(__name__)


def strategies() -> tuple[Strategy, ...]:
    """Return the built-in strategies, then those of other packages by ID."""
    known = {made.id: made for made in map(_load, entry_points(group=ENTRY_POINTS)) if made}
    ours = {built_in.id for built_in in _BUILT_IN}
    return (*_BUILT_IN, *(known[key] for key in sorted(known.keys() - ours)))


def strategy(id: str) -> Strategy:  # noqa: A002 - the word of the field
    """Return the strategy of that ID.

    Raises:
        ConfigError: there is none (``passthrough_strategy_missing``).
    """
    known = {each.id: each for each in strategies()}
    if id not in known:
        raise ConfigError(
            f"There is no passthrough strategy {id!r}. Known: {', '.join(sorted(known))}. "
            "Use one of them, or start the agent over ACP.",
            reason_code=ReasonCode.PASSTHROUGH_STRATEGY_MISSING,
        )
    return known[id]


@cache
def _load(entry_point: EntryPoint) -> Strategy | None:
    """Load once a process, so that a broken entry point is also said once."""
    try:
        made = entry_point.load()
    except Exception as error:  # noqa: BLE001 - another package's code
        _log.warning(
            "passthrough strategy %r cannot be loaded (%s)",
            entry_point.name,
            type(error).__name__,
        )
        return None
    if isinstance(made, Strategy):
        return made
    _log.warning("passthrough strategy %r is no Strategy", entry_point.name)
    return None
