"""Telling the reducer a story, one event a line."""

from typing import Any, Self

from kandev_nb.attachment import (
    Attempt,
    Evidence,
    History,
    ServerAttachment,
    apply,
    start_attempt,
)
from kandev_nb.attachment.model import NOTHING_STARTED


def at(second: int) -> str:
    """The time ``second`` seconds into the story."""
    return f"2026-08-01T09:{second // 60:02}:{second % 60:02}Z"


class Story:
    """A history that grows by one event a second."""

    def __init__(self) -> None:
        self.history: History = NOTHING_STARTED
        self.clock = 0
        self.accepted = True

    def start(self, attempt: str = "attempt-1", **facts: Any) -> Self:
        self.clock += 1
        self.history = start_attempt(
            self.history,
            Attempt(attachment_attempt_id=attempt, started_at=at(self.clock), **facts),
        )
        return self

    def tell(self, kind: str, connection: str = "", server: str = "kandev", **facts: Any) -> Self:
        self.clock += 1
        current = self.history.current
        attempt = facts.pop("attempt", current.attachment_attempt_id if current else "")
        event = Evidence(
            attachment_attempt_id=attempt,
            server_name=server,
            kind=kind,
            occurred_at=at(facts.pop("second", self.clock)),
            connection_id=connection,
            **facts,
        )
        self.history, self.accepted = apply(self.history, event)
        return self

    @property
    def attempt(self) -> Attempt:
        assert self.history.current is not None
        return self.history.current

    def row(self, server: str = "kandev") -> ServerAttachment:
        row = self.attempt.server(server)
        assert row is not None
        return row
