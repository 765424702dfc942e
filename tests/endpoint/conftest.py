"""A real endpoint on loopback, its ledger, and clients that talk to it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from kandev_nb.attachment import Attempt, History, ServerAttachment
from kandev_nb.attachment.model import utc_now
from kandev_nb.endpoint import (
    AttemptEndpoint,
    EndpointServer,
    Plan,
    ToolRegistry,
    ToolSet,
    built_in_tools,
    endpoint_server,
)
from kandev_nb.endpoint.builtin import Answers, Questions, Unanswered
from kandev_nb.ledger import Ledger


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


class FakeDesk:
    """A desk without a controller: one task, one session."""

    task_id = "task-1"

    def __init__(self, ledger: Ledger) -> None:
        self.plan = Plan()
        self._ledger = ledger

    def sessions(self) -> list[dict[str, Any]]:
        return [{"session_id": "session-1", "is_current": True}]

    async def report(self) -> History:
        return self._ledger.drain()

    async def ask(self, questions: Questions, context: str) -> Answers:
        return Unanswered("Nobody is here.")


class House:
    """One session's ledger and the endpoints of its attempts."""

    def __init__(self, server: EndpointServer) -> None:
        self.server = server
        self.ledger = Ledger()
        self.endpoints: list[AttemptEndpoint] = []

    async def attempt(self, name: str, tools: ToolRegistry | None = None) -> AttemptEndpoint:
        self.ledger.start(Attempt(attachment_attempt_id=name, started_at=utc_now()))
        tools = tools or built_in_tools(FakeDesk(self.ledger))
        endpoint = await self.server.open(name, ToolSet(tools), self.ledger)
        self.endpoints.append(endpoint)
        return endpoint

    @property
    def history(self) -> History:
        return self.ledger.drain()

    @property
    def row(self) -> ServerAttachment | None:
        current = self.history.current
        return current.server("kandev") if current else None

    def kinds(self) -> list[str]:
        current = self.history.current
        return [event.kind for event in current.evidence] if current else []


@pytest.fixture
async def house() -> AsyncIterator[House]:
    house = House(endpoint_server())
    yield house
    for endpoint in house.endpoints:
        await house.server.end(endpoint)
    house.ledger.close()


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False) as client:
        yield client


async def reached(holds: Callable[[], bool], seconds: float = 10) -> bool:
    """Tell whether something comes true in time, while the loop goes on."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True
