"""The sessions of a Kandev database, as rows: what each is called and what its metadata holds.

Kandev keeps sessions in ``task_sessions``; the JSON text in ``metadata`` has the report under one
of its keys. Columns and tables came with time, so what is not there leaves a name empty. Only rows
that mention the key are asked for. Whether they are JSON is found out here and not by the database,
which would give up on the first row that is not.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    LargeBinary,
    Select,
    Text,
    case,
    cast,
    column,
    func,
    null,
    select,
    table,
    text,
)

from kandev_nb.attachment import decode_history, limits
from kandev_nb.attachment.model import SCHEMA_VERSION, rfc3339
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import StoreError

KEY: Final = "mcp_attachment_state"
"""Where Kandev keeps a session's report in the session's metadata."""

METADATA_BYTES: Final = 8 * 1024 * 1024
"""The most metadata of one session that is read; a report that holds all it may is below 2 MiB."""

_CHUNK: Final = 20
_COLUMNS: Final = {
    "sqlite": "SELECT name FROM pragma_table_info(:name)",
    "postgresql": (
        "SELECT attname FROM pg_attribute "
        "WHERE attrelid = to_regclass(:name) AND attnum > 0 AND NOT attisdropped"
    ),
}


NOT_JSON: Final = "the session's metadata is not JSON"
TOO_LARGE: Final = f"the session's metadata is larger than {METADATA_BYTES >> 20} MiB"
OTHER_VERSION: Final = f"the report is of another schema version than {SCHEMA_VERSION}"
MALFORMED: Final = f"the report is not in the form of schema version {SCHEMA_VERSION}"


class Row(NamedTuple):
    """One session as it is stored. ``started_at`` is RFC 3339 in UTC; what is unknown is empty.

    ``report`` is JSON, as bytes; where there is none that can be read it is text, which says why.
    """

    session_id: str
    task_id: str
    task_title: str
    agent_name: str
    name: str
    started_at: str
    report: bytes | str


def rows(connection: Connection) -> Iterator[Row]:
    """Yield the sessions that have a report, in no order. A ``null`` is no report.

    Raises ``StoreError`` for a database that is not Kandev's.
    """
    found = connection.execute(_statement(connection).execution_options(yield_per=_CHUNK))
    for *texts, started_at, metadata in found:
        report = _decoded(metadata)
        if report is not None:
            session_id, task_id, title, agent, name = map(_text, texts)
            yield Row(session_id, task_id, title, agent, name, _time(started_at), report)


class _Table:
    """A table of which any column may be missing."""

    def __init__(self, connection: Connection, name: str) -> None:
        asked = text(_COLUMNS[connection.dialect.name])
        self.names = frozenset(connection.execute(asked, {"name": name}).scalars())
        self.table = table(name, *map(column, self.names))

    def __getitem__(self, name: str) -> ColumnElement[Any]:
        return self.table.c[name] if name in self.names else null()

    def joined(self, left: FromClause, by: ColumnElement[Any]) -> FromClause:
        """Return ``left`` with this table's row of that ID, where there is one."""
        return left.outerjoin(self.table, self["id"] == by) if "id" in self.names else left


def _statement(connection: Connection) -> Select[Any]:
    names = ("task_sessions", "tasks", "agent_profiles", "agents")
    sessions, tasks, profiles, agents = (_Table(connection, name) for name in names)
    if not {"id", "metadata"} <= sessions.names:
        raise StoreError(
            "This is no database of Kandev: it has no table task_sessions with the columns id and "
            "metadata. A URL can name another schema: ?options=-csearch_path%3DSCHEMA.",
            reason_code=ReasonCode.NOT_A_KANDEV_DATABASE,
        )
    # A dynamic profile chooses the one that really runs.
    profile = func.coalesce(
        func.nullif(sessions["execution_profile_id"], ""), sessions["agent_profile_id"]
    )
    joined = tasks.joined(sessions.table, sessions["task_id"])
    joined = agents.joined(profiles.joined(joined, profile), profiles["agent_id"])
    metadata = cast(sessions["metadata"], Text)
    mentions, size = _text_functions(connection, metadata)
    return (
        select(
            sessions["id"],
            sessions["task_id"],
            tasks["title"],
            func.coalesce(func.nullif(profiles["agent_display_name"], ""), agents["name"]),
            sessions["name"],
            sessions["started_at"],
            case((size <= METADATA_BYTES, metadata)),
        )
        .select_from(joined)
        .where(mentions > 0)
    )


def _text_functions(
    connection: Connection, metadata: ColumnElement[str]
) -> tuple[ColumnElement[int], ColumnElement[int]]:
    """Return where the key stands in the metadata, or 0, and how many bytes they have."""
    if connection.dialect.name == "sqlite":
        return func.instr(metadata, f'"{KEY}"'), func.length(cast(metadata, LargeBinary))
    return func.strpos(metadata, f'"{KEY}"'), func.octet_length(metadata)


def _decoded(metadata: str | None) -> bytes | str | None:
    if metadata is None:
        return TOO_LARGE
    try:
        parsed = json.loads(metadata)
    except (ValueError, RecursionError):
        return NOT_JSON
    report = parsed.get(KEY) if isinstance(parsed, dict) else None
    if report is None:
        return None
    if not isinstance(report, dict):
        return MALFORMED
    version = report.get("version")
    if isinstance(version, int) and version != SCHEMA_VERSION:
        return OTHER_VERSION
    history = decode_history(report)
    return MALFORMED if history is None else json.dumps(history.to_wire()).encode()


def _text(value: object) -> str:
    if value is None or isinstance(value, bytes):
        return ""
    return limits.cut_utf8(str(value), limits.NAME_BYTES)


def _time(value: object) -> str:
    """Return a time as it is stored: as text with its zone, or as a timestamp in UTC."""
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    try:
        return rfc3339(value) if isinstance(value, str | datetime) else ""
    except ValueError:
        return ""
