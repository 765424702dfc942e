"""Sessions with a report, as a kernel offers them."""

import secrets
from typing import Any

from kandev_nb.attachment import Attempt, Evidence, History, ToolSummary, apply, start_attempt
from kandev_nb.attachment.model import NOTHING_STARTED, utc_now
from kandev_nb.store import SessionRecord
from tests.attachment.story import Story

TOOLS = tuple(
    ToolSummary(name=f"tool_{n}", description="Does it. Ünï", input_schema={"type": "object"})
    for n in range(3)
)


def record(session_id: str = "", **changes: Any) -> SessionRecord:
    """A session of the one task, open unless told otherwise."""
    facts = {
        "session_id": session_id or f"session-{secrets.token_hex(6)}",
        "task_id": "task-1",
        "task_title": "triage",
        "name": "1",
        "agent_id": "scripted",
        "agent_title": "Scripted agent",
        "agent_profile_id": "profile-1",
        "started_at": "2026-08-01T09:00:00Z",
        "state": "running",
    }
    return SessionRecord.model_validate({**facts, **changes})


def story() -> Story:
    """Two attempts; the current one has two servers with the same catalog, and an error."""
    told = Story().start("attempt-1", session_id="s", kind="new").tell("delivered")
    told.tell("tools_list_observed", "c0", tool_count=3, tools=TOOLS)
    told.start("attempt-2", session_id="s", kind="reset").tell("configured").tell("delivered")
    told.tell("initialize_observed", "c1", protocol_version="2025-06-18")
    told.tell("tools_list_observed", "c1", tool_count=3, tools=TOOLS)
    told.tell("tools_list_observed", "c2", server="github", tool_count=3, tools=TOOLS)
    return told.tell("explicit_error", server="slack", summary="It refused. Ünï \u202e")


def revised(history: History, revision: int) -> History:
    """The same report, of another revision."""
    return history.updated(revision=revision)


def full(attempts: int = 3, events: int = 64, prefix: str = "attempt") -> History:
    """A report at its bounds: every attempt with all the evidence that is kept."""
    history = NOTHING_STARTED
    for number in range(attempts):
        name = f"{prefix}-{number}"
        history = start_attempt(history, Attempt(attachment_attempt_id=name, started_at=utc_now()))
        for event in range(events):
            history, _ = apply(history, _event(name, event))
    return history.updated(revision=attempts * (events + 1))


def grown(history: History, number: int) -> History:
    """The next report: one event more in the current attempt."""
    assert history.current is not None
    after, _ = apply(history, _event(history.current.attachment_attempt_id, number))
    return after.updated(revision=history.revision + 1)


def _event(attempt: str, number: int) -> Evidence:
    kinds = ("initialize_observed", "tools_list_observed", "tool_call_observed", "explicit_error")
    return Evidence(
        attachment_attempt_id=attempt,
        server_name=f"server-{number % 3}",
        kind=kinds[number % 4],
        occurred_at=utc_now(),
        connection_id=f"connection-{number}",
        summary="The server refused the connection" if number % 4 == 3 else "",
        transport="http",
        target="http://127.0.0.1:8080",
    )
