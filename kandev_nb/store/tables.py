"""The rows. The migrations make them; a test holds both against each other.

The names start with ours, for a PostgreSQL database may be shared with other programs.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

METADATA: Final = MetaData()

_ID: Final = String(128)


def _of_a_session() -> Column[str]:
    session = ForeignKey("kandev_nb_sessions.session_id", ondelete="CASCADE")
    return Column("session_id", _ID, session, primary_key=True)


TASKS: Final = Table(
    "kandev_nb_tasks",
    METADATA,
    Column("task_id", _ID, primary_key=True),
    Column("title", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("changed", Double, nullable=False),
)

SESSIONS: Final = Table(
    "kandev_nb_sessions",
    METADATA,
    Column("session_id", _ID, primary_key=True),
    Column("task_id", _ID, ForeignKey("kandev_nb_tasks.task_id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("agent_id", Text, nullable=False),
    Column("agent_title", Text, nullable=False),
    Column("agent_profile_id", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("changed", Double, nullable=False),
    Column("lease_owner", Text, nullable=False),
    Column("lease_until", Double, nullable=False),
    Column("lease_term", Integer, nullable=False),
    Index("kandev_nb_sessions_by_task", "task_id"),
    Index("kandev_nb_sessions_by_change", "changed"),
)
"""``changed`` is the time of the report's last change, in seconds since the epoch."""

REPORTS: Final = Table(
    "kandev_nb_reports",
    METADATA,
    _of_a_session(),
    Column("version", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("attempt_id", Text, nullable=False),
    Column("attempt_started_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Column("previous_ids", Text, nullable=False),
    Column("catalogs", Text, nullable=False),
    Column("checksum", Text, nullable=False),
    Column("body", Text, nullable=False),
)
"""``catalogs`` says by position which row of the report has which catalog; ``checksum`` tells a
body that we wrote from one that somebody changed."""

CATALOGS: Final = Table(
    "kandev_nb_catalogs",
    METADATA,
    _of_a_session(),
    Column("content_hash", String(64), primary_key=True),
    Column("body", Text, nullable=False),
)

TESTS: Final = Table(
    "kandev_nb_endpoint_tests",
    METADATA,
    _of_a_session(),
    Column("content_hash", String(64), primary_key=True),
    Column("server_name", Text, nullable=False),
    Column("tested", Double, nullable=False),
    Column("body", Text, nullable=False),
)
