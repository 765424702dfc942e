"""What will reach which agent, and why the rest will not: seen before anything starts.

A profile, a policy and an agent come in; a :class:`Plan` leaves, with a row for each server. The
same decisions become evidence of the next attempt.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kandev_nb.agents.registry import find_agent, registered_agents
from kandev_nb.attachment.model import EvidenceKind
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.words import visible
from kandev_nb.endpoint import bridge
from kandev_nb.servers import (
    FORMATS,
    Decision,
    Servers,
    Transports,
    built_in,
    built_in_by_header,
    deliver,
    deliver_built_in,
    read_policy,
    read_profile,
)
from kandev_nb.servers.passthrough import strategy as find_strategy
from kandev_nb.session.launch import Policies, directory, environment, meant, text, wrong

if TYPE_CHECKING:
    import pandas as pd

_OUTCOMES: Final = {
    EvidenceKind.DELIVERED: "deliver",
    EvidenceKind.FILTERED: "filtered",
    EvidenceKind.UNAVAILABLE: "unavailable",
}
_SHAPES: Final = {"deliver": "◐", "filtered": "○", "unavailable": "○"}
_RESTS_ON: Final = {
    ReasonCode.BRIDGED: "bridged",
    ReasonCode.TRANSPORT_ASSUMED: "assumed",
    ReasonCode.TRANSPORT_UNCONFIRMED: "unconfirmed",
}
"""What a delivery rests on, or how it is made, in a word; the table explains it once."""

_COLUMNS: Final = ("server", "transport", "target", "decision")
_LOOPBACK: Final = "http://127.0.0.1"


class Plan:
    """One decision a server, the built-in one first. Made by :func:`plan`.

    As the last line of a cell it shows its table; ``frame`` has it for pandas.
    """

    def __init__(self, heading: str, decisions: Iterable[Decision], notes: tuple[str, ...]) -> None:
        self.heading = heading
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
        return "\n".join((self.heading, *_lines(self._decisions), *map(visible, self.notes)))

    __repr__ = __str__


def plan(
    profile: Servers | None,
    policy: Policies | None = None,
    agent: str | None = None,
    *,
    format: str | None = None,  # noqa: A002 - the word of read_profile
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    strategy: str | None = None,
) -> Plan:
    """Return what will reach the agent of this profile, and why the rest will not.

    Nothing is started and nothing contacted. What an agent takes it says itself when it starts:
    until then the registry's word for it is marked as assumed, and without one the transport as
    unconfirmed.

    Args:
        profile: as ``servers=`` of :meth:`kandev_nb.Task.start`: a path, text, dict or models.
        policy: as there.
        agent: a registered agent's ID; without it, any agent that speaks ACP.
        format: whose document it is, where neither path nor content tells: one of
            :data:`kandev_nb.servers.FORMATS`.
        env: laid over this process's environment, from which placeholders get their values. That
            of an input of VS Code's is given as ``input:ID``.
        cwd: the folder that the session would work in; ``${workspaceFolder}`` of a document that
            does not lie in a project itself.
        strategy: instead of an agent over ACP, its own CLI in a terminal, as in
            :meth:`kandev_nb.Task.start`; the heading says by what mechanism it gets its servers.

    Raises:
        ConfigError: the profile or policy cannot be read, or the agent is not registered.
    """
    cli = None if strategy is None else find_strategy(text(strategy, "strategy="))
    if cli is not None and agent is not None:
        raise wrong("agent= is for an agent over ACP and strategy= for a CLI. Give one of them.")
    spec = None if agent is None else find_agent(text(agent, "agent="))
    given = {**(spec.env if spec else {}), **environment(env or {})}
    if isinstance(policy, str) and policy in {known.id for known in registered_agents()}:
        raise wrong(f"{policy!r} is an agent and no policy. Write agent={policy!r}.")
    document = read_profile(profile, format=format)
    decisions, notes = meant(document, read_policy(policy), spec, given, directory(cwd))
    if cli is not None:
        rows = cli.judge((built_in_by_header(_LOOPBACK, ""), *decisions))
        whom = f"{cli.title} in a terminal · by {cli.mechanism}"
    else:
        transports = Transports(assumed=spec.likely_transports if spec else None)
        own = built_in(_LOOPBACK, _LOOPBACK, bridge.command(), {})
        rows = (deliver_built_in(own, transports), *deliver(decisions, transports))
        whom = spec.title if spec else "any agent over ACP"
    heading = f"MCP servers · planned for {whom} · read as {FORMATS[document.format]}"
    return Plan(heading, rows, notes)


def _row(decision: Decision) -> dict[str, str]:
    return {
        "server": decision.row,
        "transport": decision.transport,
        "target": decision.shown_target,
        "decision": _OUTCOMES[decision.outcome],
        "reason_code": decision.reason_code,
        "reason": str(decision.reason or ""),
        "hint": " ".join(_hints(decision)),
    }


def _hints(decision: Decision) -> Iterator[str]:
    """Yield what to do, each time with what exactly it is for."""
    if reason := decision.reason:
        yield f"{reason.words} {reason.advice}".strip()
    for note in (*decision.hints, *filter(None, (decision.on_delivery,))):
        yield f"{note} {note.advice}"


def _lines(decisions: Iterable[Decision]) -> Iterator[str]:
    """Yield a line a server, one for each thing to do, and last what the deliveries rest on."""
    rows = [(_row(decision), decision) for decision in decisions]
    widths = {key: max(len(visible(row[key])) for row, _ in rows) for key in _COLUMNS}
    footnotes: dict[str, None] = {}
    for row, decision in rows:
        rests_on = decision.on_delivery
        cells = [f"{visible(row[key]):<{widths[key]}}" for key in _COLUMNS]
        words = " ".join(
            filter(None, (_RESTS_ON[rests_on.code] if rests_on else "", row["reason"]))
        )
        yield f"{_SHAPES[row['decision']]} {'  '.join(cells)}  {visible(words)}".rstrip()
        if decision.reason:
            yield f"    {decision.reason.advice}"
        yield from (visible(f"    {hint} {hint.advice}") for hint in decision.hints)
        if rests_on:
            footnotes[f"{_RESTS_ON[rests_on.code]}: {rests_on} {rests_on.advice}"] = None
    yield from footnotes
