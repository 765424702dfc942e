"""A report as rows, and what rows say of a report's age.

The report's JSON is stored without its catalogs: they are much larger than the rest and change
seldom. Evidence is stored as packed columns, which are a quarter as large and which frames are
made of. What decides between two reports stands in columns of its own, so that a write reads no
report.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter

from kandev_nb.attachment import Attempt, History, ToolSummary
from kandev_nb.attachment.columns import columns_of, packed
from kandev_nb.attachment.model import NOTHING_STARTED, SCHEMA_VERSION
from kandev_nb.store.records import Offer, moment

_Tools = tuple[ToolSummary, ...]
_TOOLS: Final = TypeAdapter(_Tools)
_hashes: Final[dict[int, tuple[_Tools, str]]] = {}
"""By identity, for a report keeps its catalogs through many changes; they never change."""
_REMEMBERED: Final = 256


class Rows(NamedTuple):
    """One session's report as rows. ``catalogs`` by hash; each is written once a session."""

    report: dict[str, Any]
    catalogs: Mapping[str, _Tools]
    tests: tuple[dict[str, Any], ...]
    changed: float


def split(offer: Offer) -> Rows:
    """Return the rows of a session's report. Raises ``ValueError`` for what no JSON can say."""
    history, current = offer.history, offer.history.current
    catalogs = dict(_catalogs(current)) if current else {}
    hashes = {position: _hash_of(tools) for position, tools in catalogs.items()}
    body = _body(_without_tools(history))
    updated_at = (current.updated_at or current.started_at) if current else ""
    report = {
        "session_id": offer.session_id,
        "version": SCHEMA_VERSION,
        "revision": history.revision,
        "attempt_id": current.attachment_attempt_id if current else "",
        "attempt_started_at": current.started_at if current else "",
        "updated_at": updated_at,
        "previous_ids": json.dumps([each.attachment_attempt_id for each in history.previous]),
        "catalogs": json.dumps(hashes),
        "checksum": checksum(body),
        "body": body,
    }
    by_hash = {hashes[position]: tools for position, tools in catalogs.items()}
    changed = moment(updated_at or offer.record.started_at)
    return Rows(report, by_hash, tuple(_tests(offer)), changed)


def skeleton(report: Mapping[str, Any] | None) -> History:
    """Return the report of such a row, as far as :func:`~kandev_nb.attachment.newer` asks."""
    if report is None or not report["attempt_id"]:
        return NOTHING_STARTED
    try:
        started_at = report["attempt_started_at"]
        current = Attempt(
            attachment_attempt_id=report["attempt_id"],
            started_at=started_at,
            updated_at=report["updated_at"],
        )
        previous = tuple(
            Attempt(attachment_attempt_id=each, started_at=started_at)
            for each in json.loads(report["previous_ids"])
        )
    except (ValueError, TypeError):
        return NOTHING_STARTED
    return NOTHING_STARTED.updated(current=current, previous=previous, revision=report["revision"])


def catalog_json(tools: _Tools) -> str:
    """Return a catalog as it is stored."""
    return _TOOLS.dump_json(tools, exclude_defaults=True).decode()


def checksum(body: str) -> str:
    """Return what tells a text from every other."""
    return hashlib.blake2b(body.encode(), digest_size=16).hexdigest()


def _catalogs(attempt: Attempt) -> list[tuple[int, _Tools]]:
    return [(place, row.tools) for place, row in enumerate(attempt.servers) if row.tools]


def _hash_of(tools: _Tools) -> str:
    known = _hashes.get(id(tools))
    if known is not None and known[0] is tools:
        return known[1]
    found = checksum(catalog_json(tools))
    if len(_hashes) >= _REMEMBERED:
        _hashes.clear()
    _hashes[id(tools)] = (tools, found)
    return found


def _without_tools(history: History) -> History:
    if history.current is None:
        return history
    servers = tuple(row.updated(tools=()) if row.tools else row for row in history.current.servers)
    return history.updated(current=history.current.updated(servers=servers))


def _body(history: History) -> str:
    """Return the report's JSON, with the evidence of each attempt as columns."""
    no_evidence: Any = {"current": {"evidence"}, "previous": {"__all__": {"evidence"}}}
    body = history.model_dump(mode="json", exclude_defaults=True, exclude=no_evidence)
    if history.current:
        body["current"]["evidence"] = packed(columns_of(history.current.evidence))
    for attempt, kept in zip(history.previous, body.get("previous", ()), strict=True):
        kept["evidence"] = packed(columns_of(attempt.evidence))
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False)


def _tests(offer: Offer) -> list[dict[str, Any]]:
    """Return the results of endpoint tests that the report holds now."""
    found = []
    for row in offer.history.current.servers if offer.history.current else ():
        if row.endpoint_test is not None:
            body = row.endpoint_test.model_dump_json(exclude_defaults=True)
            found.append(
                {
                    "session_id": offer.session_id,
                    "content_hash": checksum(json.dumps([row.name, body])),
                    "server_name": row.name.replace("\0", "\ufffd"),
                    "tested": moment(row.endpoint_test.at) if row.endpoint_test.at else 0.0,
                    "body": body,
                }
            )
    return found
