"""What will reach which agent, and why the rest will not: seen before anything starts.

A profile, a policy and an agent come in; a :class:`Plan` leaves, with a row for each server. The
same decisions become evidence of the next attempt.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kandev_nb.agents.registry import find_agent
from kandev_nb.attachment import reasons
from kandev_nb.attachment.model import EvidenceKind
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.words import visible
from kandev_nb.endpoint import bridge
from kandev_nb.servers import (
    Decision,
    Note,
    Servers,
    Transports,
    built_in,
    deliver,
    deliver_built_in,
    read_policy,
)
from kandev_nb.session.launch import Policies, directory, environment, meant, text

if TYPE_CHECKING:
    import pandas as pd

_OUTCOMES: Final = {
    EvidenceKind.DELIVERED: "deliver",
    EvidenceKind.FILTERED: "filtered",
    EvidenceKind.UNAVAILABLE: "unavailable",
}
_SHAPES: Final = {"deliver": "◐", "filtered": "○", "unavailable": "○"}
_RESTS_ON: Final = {
    ReasonCode.TRANSPORT_ASSUMED: "assumed",
    ReasonCode.TRANSPORT_UNCONFIRMED: "unconfirmed",
}
"""What a decision rests on until the agent has spoken, in a word; the table explains it once."""

_COLUMNS: Final = ("server", "transport", "target", "decision")
_LOOPBACK: Final = "http://127.0.0.1"


class Plan:
    """One decision a server, the built-in one first. Made by :func:`plan`.

    As the last line of a cell it shows its table; ``frame`` has it for pandas.
    """

    def __init__(self, agent: str, decisions: Iterable[Decision], notes: tuple[str, ...]) -> None:
        self.agent = agent
        self.notes = notes
        """What is to say of the profile and the policy as a whole."""
        self._decisions = tuple(decisions)
        self.rows = tuple(map(_row, self._decisions))
        """The rows, as :meth:`to_json` has them and with ``reason`` beside ``reason_code``."""

    @property
    def frame(self) -> "pd.DataFrame":
        """The plan as a frame (columns: :data:`kandev_nb.frames.PLAN`)."""
        from kandev_nb import frames

        return frames.plan(self.rows)

    def to_json(self) -> list[dict[str, str]]:
        """Return ``server``, ``transport``, ``target``, ``decision``, ``reason_code``, ``hint``."""
        return [{key: row[key] for key in row if key != "reason"} for row in self.rows]

    def __str__(self) -> str:
        heading = f"MCP servers · planned for {self.agent}"
        return "\n".join((heading, *_lines(self._decisions), *map(visible, self.notes)))

    __repr__ = __str__


def plan(
    profile: Servers | None,
    policy: Policies | None = None,
    agent: str | None = None,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
) -> Plan:
    """Return what will reach the agent of this profile, and why the rest will not.

    Nothing is started and nothing contacted. What an agent takes it says itself when it starts:
    until then the registry's word for it is marked as assumed, and without one the transport as
    unconfirmed.

    Args:
        profile: as ``servers=`` of :meth:`kandev_nb.Task.start`: a path, text, dict or models.
        policy: as there.
        agent: a registered agent's ID; without it, any agent that speaks ACP.
        env: laid over this process's environment, from which placeholders get their values.
        cwd: the folder that the session would work in.

    Raises:
        ConfigError: the profile or policy cannot be read, or the agent is not registered.
    """
    spec = None if agent is None else find_agent(text(agent, "agent="))
    given = {**(spec.env if spec else {}), **environment(env or {})}
    decisions, notes = meant(profile, read_policy(policy), spec, given, directory(cwd))
    transports = Transports(assumed=spec.likely_transports if spec else None)
    own = built_in(_LOOPBACK, _LOOPBACK, bridge.command(), {})
    rows = (deliver_built_in(own, transports), *deliver(decisions, transports))
    return Plan(spec.title if spec else "any agent over ACP", rows, notes)


def _row(decision: Decision) -> dict[str, str]:
    reason = decision.reason
    return {
        "server": decision.row,
        "transport": decision.transport,
        "target": decision.shown_target,
        "decision": _OUTCOMES[decision.outcome],
        "reason_code": decision.reason_code,
        "reason": str(reason or ""),
        "hint": " ".join((*_settled(reason), *map(_advice, decision.hints))),
    }


def _settled(reason: Note | None) -> tuple[str, ...]:
    return (reasons.settle(reason.code),) if reason else ()


def _advice(hint: Note) -> str:
    return f"{hint} {reasons.settle(hint.code)}"


def _lines(decisions: Iterable[Decision]) -> Iterator[str]:
    """Yield two lines a server, and at the end what several of them rest on."""
    rows = [(_row(decision), decision) for decision in decisions]
    widths = {key: max(len(visible(row[key])) for row, _ in rows) for key in _COLUMNS}
    footnotes: dict[str, None] = {}
    for row, decision in rows:
        rests_on = [hint for hint in decision.hints if hint.code in _RESTS_ON]
        footnotes |= dict.fromkeys(f"{_RESTS_ON[hint.code]}: {_advice(hint)}" for hint in rests_on)
        cells = [f"{visible(row[key]):<{widths[key]}}" for key in _COLUMNS]
        words = (*(_RESTS_ON[hint.code] for hint in rests_on), visible(row["reason"]))
        yield f"{_SHAPES[row['decision']]} {'  '.join(cells)}  {' '.join(words)}".rstrip()
        advice = [_advice(hint) for hint in decision.hints if hint not in rests_on]
        if to_do := " ".join((*_settled(decision.reason), *advice)):
            yield f"    {visible(to_do)}"
    yield from footnotes
