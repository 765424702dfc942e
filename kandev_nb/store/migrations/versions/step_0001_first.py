"""The first tables: tasks, sessions, reports, catalogs, endpoint tests."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "kandev_nb_tasks",
        sa.Column("task_id", sa.String(128), primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("changed", sa.Double, nullable=False),
    )
    _create_sessions()
    op.create_table(
        "kandev_nb_reports",
        _of_a_session(),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("attempt_id", sa.Text, nullable=False),
        sa.Column("attempt_started_at", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.Column("previous_ids", sa.Text, nullable=False),
        sa.Column("catalogs", sa.Text, nullable=False),
        sa.Column("checksum", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "kandev_nb_catalogs",
        _of_a_session(),
        sa.Column("content_hash", sa.String(64), primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "kandev_nb_endpoint_tests",
        _of_a_session(),
        sa.Column("content_hash", sa.String(64), primary_key=True),
        sa.Column("server_name", sa.Text, nullable=False),
        sa.Column("tested", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Drop them, those that refer to others first."""
    for name in ("endpoint_tests", "catalogs", "reports", "sessions", "tasks"):
        op.drop_table(f"kandev_nb_{name}")


def _create_sessions() -> None:
    op.create_table(
        "kandev_nb_sessions",
        sa.Column("session_id", sa.String(128), primary_key=True),
        sa.Column(
            "task_id", sa.String(128), sa.ForeignKey("kandev_nb_tasks.task_id"), nullable=False
        ),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("agent_id", sa.Text, nullable=False),
        sa.Column("agent_title", sa.Text, nullable=False),
        sa.Column("agent_profile_id", sa.Text, nullable=False),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("changed", sa.Double, nullable=False),
        sa.Column("lease_owner", sa.Text, nullable=False),
        sa.Column("lease_until", sa.Double, nullable=False),
        sa.Column("lease_term", sa.Integer, nullable=False),
    )
    op.create_index("kandev_nb_sessions_by_task", "kandev_nb_sessions", ["task_id"])
    op.create_index("kandev_nb_sessions_by_change", "kandev_nb_sessions", ["changed"])


def _of_a_session() -> "sa.Column[str]":
    session = sa.ForeignKey("kandev_nb_sessions.session_id", ondelete="CASCADE")
    return sa.Column("session_id", sa.String(128), session, primary_key=True)
