"""A client that sends any ACP request as it stands, and remembers every frame in order.

For what a test wants to see of an agent on the wire, beside :class:`AgentConnection`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import RequestError
from acp.connection import Connection, StreamDirection, StreamEvent
from acp.transports import spawn_stdio_transport

Params = dict[str, Any]
Answer = Callable[[Params], Awaitable[Params]]


class RawClient:
    """The client side of one connection; ``answers`` are by method, all others are unknown."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.frames: list[dict[str, Any]] = []
        self.asked: list[tuple[str, Params]] = []
        self.process: asyncio.subprocess.Process | None = None
        self._answers = answers
        self._connection: Connection | None = None

    def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Connection:
        self._connection = Connection(self._requested, writer, reader, observers=[self._observe])
        return self._connection

    async def request(self, method: str, **params: Any) -> Any:
        assert self._connection is not None
        return await self._connection.send_request(method, params)

    def start(self, method: str, **params: Any) -> asyncio.Task[Any]:
        """Send a request whose answer is waited for later."""
        return asyncio.create_task(self.request(method, **params))

    async def notify(self, method: str, **params: Any) -> None:
        assert self._connection is not None
        await self._connection.send_notification(method, params)

    async def exit_code(self) -> int:
        """Wait until the agent has ended by itself."""
        assert self.process is not None
        return await self.process.wait()

    async def open(self, cwd: Path, *servers: Any, method: str = "session/new", **more: Any) -> Any:
        return await self.request(method, cwd=str(cwd), mcpServers=list(servers), **more)

    async def prompt(self, session_id: str, text: str) -> str:
        """Prompt, and return what the agent said meanwhile."""
        before = len(self.frames)
        prompt = [{"type": "text", "text": text}]
        await self.request("session/prompt", sessionId=session_id, prompt=prompt)
        return self.said(self.frames[before:])

    def said(self, frames: list[dict[str, Any]] | None = None) -> str:
        updates = [_update(frame) for frame in (self.frames if frames is None else frames)]
        chunks = [each for each in updates if each.get("sessionUpdate") == "agent_message_chunk"]
        return "".join(chunk["content"]["text"] for chunk in chunks)

    def order(self) -> list[str]:
        """The kinds of the updates and, between them, ``answer`` for each answer."""
        names = (_update(frame).get("sessionUpdate") or _answer(frame) for frame in self.frames)
        return [name for name in names if name]

    def updates(self, kind: str) -> list[dict[str, Any]]:
        updates = (_update(frame) for frame in self.frames)
        return [each for each in updates if each.get("sessionUpdate") == kind]

    def _observe(self, event: StreamEvent) -> None:
        if event.direction is StreamDirection.INCOMING:
            self.frames.append(event.message)

    async def _requested(self, method: str, params: Any, is_notification: bool) -> Any:
        if is_notification:
            return None
        self.asked.append((method, params))
        if method not in self._answers:
            raise RequestError.method_not_found(method)
        return await self._answers[method](params)


def _update(frame: dict[str, Any]) -> dict[str, Any]:
    if frame.get("method") != "session/update":
        return {}
    update: dict[str, Any] = frame["params"]["update"]
    return update


def _answer(frame: dict[str, Any]) -> str:
    return "" if "method" in frame else "answer"


@asynccontextmanager
async def connected(
    command: tuple[str, ...], answers: Mapping[str, Answer] | None = None
) -> AsyncIterator[RawClient]:
    """Start an agent and shake hands with it."""
    client = RawClient(answers or {})
    program, *arguments = command
    async with spawn_stdio_transport(program, *arguments, stderr=asyncio.subprocess.DEVNULL) as (
        reader,
        writer,
        client.process,
    ):
        connection = client.connect(reader, writer)
        try:
            await client.request("initialize", protocolVersion=1)
            yield client
        finally:
            await connection.close()
