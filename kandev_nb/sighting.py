"""What an endpoint saw, on its way to becoming evidence.

A request pays for noting it, nothing more: a :class:`Sighting` holds references, and the ledger's
worker writes it out. Under load the worker gets many at once; :func:`in_runs` says which of them
can be reduced together.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kandev_nb import tokens
from kandev_nb.attachment import Attempt, Evidence, EvidenceKind, History, Status
from kandev_nb.attachment.catalog import summarize
from kandev_nb.attachment.model import from_nanoseconds

Served = tuple[Mapping[str, Any], ...]
"""The wire tools of one list."""

_REPEATED: Final = (EvidenceKind.TOOL_CALL_OBSERVED, EvidenceKind.TOOLS_LIST_OBSERVED)
_CATALOGS: Final = 8
"""Lists whose catalog is kept, for the next time that they are served."""

_WRITTEN: Final = 512
"""Clients, and kinds of evidence of each, whose last evidence is kept as a model of the next."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

Change = Callable[[History], History]
"""A fact that is no evidence: what becomes of the report."""


class Sighting(NamedTuple):
    """One fact that was observed.

    ``at`` and ``requested_at`` are nanoseconds since the epoch, 0 for none; ``served`` are the wire
    tools behind a ``tools_list_observed``; ``facts`` are other fields of :class:`Evidence`.
    """

    attachment_attempt_id: str
    server_name: str
    kind: EvidenceKind
    at: int
    requested_at: int = 0
    connection_id: str = ""
    facts: Mapping[str, Any] = _NOTHING
    served: Served = ()


Fact = Evidence | Sighting | Change


class Unread:
    """What facts can be read from, by whoever has the time."""

    __slots__ = ()

    def read(self) -> Iterable[Fact]:
        """Yield the facts. Called once, by the ledger's worker."""
        raise NotImplementedError


class Writer:
    """Writes sightings out as evidence. What is seen again costs no second reading or counting."""

    def __init__(self) -> None:
        self._catalogs: OrderedDict[int, tuple[Served, dict[str, Any]]] = OrderedDict()
        self._last: dict[tuple[str, str], tuple[Sighting, Evidence]] = {}

    def evidence(self, sighting: Sighting) -> Evidence:
        """Return the evidence, with the catalog of what was served."""
        key = sighting.kind, sighting.connection_id
        last = self._last.get(key)
        if last is None or not _differ_in_time_only(last[0], sighting):
            if len(self._last) >= _WRITTEN:
                self._last.clear()
            last = self._last[key] = sighting, self._written(sighting)
        return last[1].updated(
            occurred_at=from_nanoseconds(sighting.at),
            requested_at=from_nanoseconds(sighting.requested_at) if sighting.requested_at else "",
        )

    def _written(self, sighting: Sighting) -> Evidence:
        catalog = self._catalog(sighting.served) if sighting.served else _NOTHING
        return Evidence(
            attachment_attempt_id=sighting.attachment_attempt_id,
            server_name=sighting.server_name,
            kind=sighting.kind,
            occurred_at="",
            connection_id=sighting.connection_id,
            **sighting.facts,
        ).updated(**catalog)

    def _catalog(self, served: Served) -> dict[str, Any]:
        if id(served) not in self._catalogs:
            # The tuple is kept with its facts, so that no other can have its identity.
            self._catalogs[id(served)] = served, _catalog(served)
            if len(self._catalogs) > _CATALOGS:
                self._catalogs.popitem(last=False)
        return self._catalogs[id(served)][1]


def _differ_in_time_only(one: Sighting, other: Sighting) -> bool:
    return (
        one.served is other.served
        and one.facts == other.facts
        and one.attachment_attempt_id == other.attachment_attempt_id
        and one.server_name == other.server_name
    )


def in_runs(facts: Iterable[Fact], current: Callable[[], Attempt | None]) -> Iterator[list[Fact]]:
    """Yield the facts in order: tool calls and lists of active rows together, others alone.

    ``current`` returns the attempt as it is after what was yielded last.
    """
    run: list[Fact] = []
    active: set[tuple[str, str]] = set()
    for fact in facts:
        if isinstance(fact, Sighting) and fact.kind in _REPEATED:
            if not run:
                active = _active_rows(current())
            if (fact.attachment_attempt_id, fact.server_name) in active:
                run.append(fact)
                continue
        if run:
            yield run
            run = []
        yield [fact]
    if run:
        yield run


def _active_rows(attempt: Attempt | None) -> set[tuple[str, str]]:
    if attempt is None:
        return set()
    rows = (row for row in attempt.servers if row.status == Status.ACTIVE)
    return {(attempt.attachment_attempt_id, row.name) for row in rows}


def _catalog(served: Served) -> dict[str, Any]:
    tools = summarize(served, lambda tool: tokens.estimate_tool(tokens.tool_json(tool)))
    return {
        "tools": tools,
        "unnamed_tools": sum(not tool.name for tool in tools),
        "tool_token_estimator": tokens.ESTIMATOR if any(t.estimated_tokens for t in tools) else "",
    }
