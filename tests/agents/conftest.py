"""Parts that the tests of agents share: a recorder of events, a real MCP server, fake agents."""

import asyncio
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from kandev_nb.agents.connection import AgentConnection
from kandev_nb.agents.delivery import Server
from kandev_nb.agents.turn import Listener
from tests.agents.mcp_server import TinyServer, tiny_server


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Recorder:
    """The :class:`AgentEvents` of a test."""

    def __init__(self) -> None:
        self.exits: list[int | None] = []
        self.updates: list[tuple[str, dict[str, Any]]] = []

    def exited(self, returncode: int | None) -> None:
        self.exits.append(returncode)

    def session_update(self, acp_session_id: str, update: dict[str, Any]) -> None:
        self.updates.append((acp_session_id, update))


class Words(list[str], Listener):
    """Hears a turn: the agent's words, as they came."""

    def __call__(self, words: str, /) -> None:
        self.append(words)


class Complains(Listener):
    """Raises what it hears."""

    def __call__(self, words: str, /) -> None:
        raise RuntimeError(words)


@pytest.fixture
def events() -> Recorder:
    return Recorder()


class Opening(Protocol):
    def __call__(
        self, command: tuple[str, ...], **options: Any
    ) -> AbstractAsyncContextManager[AgentConnection]: ...


@pytest.fixture
def opened(events: Recorder, tmp_path: Path) -> Opening:
    """Open a connection to an agent, and close it at the end of the block."""

    @asynccontextmanager
    async def opening(command: tuple[str, ...], **options: Any) -> AsyncIterator[AgentConnection]:
        settings: dict[str, Any] = {"cwd": tmp_path, "events": events} | options
        connection = await AgentConnection.open(command, **settings)
        try:
            yield connection
        finally:
            await connection.close()

    return opening


@pytest.fixture
async def server() -> AsyncIterator[TinyServer]:
    async with tiny_server() as tiny:
        yield tiny


async def open_session(agent: AgentConnection, cwd: Path, *servers: Server) -> str:
    opened = await agent.open_session("new", cwd=cwd, servers=servers, on_sent=lambda: None)
    return opened.session_id


def http(server: TinyServer, name: str = "tiny") -> dict[str, Any]:
    return {"type": "http", "name": name, "url": server.url, "headers": []}


REFUSING = {"type": "http", "name": "refusing", "url": "http://127.0.0.1:9/mcp", "headers": []}
"""Nobody listens there."""

FAKE_AGENT = """
import json, os, signal, sys, time

def send(frame):
    line = frame if isinstance(frame, bytes) else json.dumps(frame).encode()
    sys.stdout.buffer.write(line + b"\\n")
    sys.stdout.buffer.flush()

def receive():
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)

def answer(request, result):
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})

def shake_hands():
    answer(receive(), {"protocolVersion": 1})

def serve_session():
    shake_hands()
    answer(receive(), {"sessionId": "s"})

"""


def fake_agent(behaviour: str) -> tuple[str, ...]:
    """Return the command of an agent that behaves as the lines of Python say."""
    return (sys.executable, "-I", "-S", "-c", FAKE_AGENT + textwrap.dedent(behaviour))


async def until(condition: Callable[[], bool], within: float = 5.0) -> None:
    """Wait for a condition; fail when it does not come."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.01)
