"""HTTP servers that do exactly what a test says, on a thread of their own.

A script is given each request and returns what is answered, byte for byte. :func:`mcp` is that of a
server over streamable HTTP in which nothing is wrong; a test takes it and changes one thing.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream"}
MODERN = "2026-07-28"
LEGACY = "2025-11-25"


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def asks(self) -> str:
        """The MCP method, or that of HTTP where there is none."""
        method = self.body.get("method", self.method)
        assert isinstance(method, str)
        return method


@dataclass
class Answer:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    stream: AsyncIterator[bytes] | None = None
    """What follows the body, as it comes."""

    hangs: bool = False
    """Whether nothing more comes, and the connection stays open."""

    raw: bytes | None = None
    """What is sent instead of HTTP; empty to hang up."""


Script = Callable[[Request], Answer]


@dataclass
class WebServer:
    origin: str
    asked: list[Request] = field(default_factory=list)
    open: int = 0
    """Connections that the client has not closed."""

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def methods(self) -> list[str]:
        return [request.asks for request in self.asked]


@contextmanager
def web_server(script: Script, greeting: bytes = b"") -> Iterator[WebServer]:
    """Serve a script on loopback for the block; a greeting is sent unasked."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = WebServer("")

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.open += 1
        writer.write(greeting)
        try:
            await _serve(server, script, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            server.open -= 1
            writer.close()

    async def start() -> asyncio.Server:
        return await asyncio.start_server(connected, "127.0.0.1", 0)

    async def stop() -> None:
        listening.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    listening = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    server.origin = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _serve(
    server: WebServer,
    script: Script,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Answer the requests of one connection."""
    while request := await _request(reader):
        server.asked.append(request)
        answer = script(request)
        if answer.raw is not None:
            writer.write(answer.raw)
            await writer.drain()
            return
        await _send(answer, reader, writer)
        if answer.stream or answer.hangs:
            return


async def _request(reader: asyncio.StreamReader) -> Request | None:
    head = b""
    with suppress(asyncio.IncompleteReadError):
        head = await reader.readuntil(b"\r\n\r\n")
    if not head:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, json.loads(body) if body else {})


async def _send(answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    ends = not (answer.stream or answer.hangs)
    lines = [f"HTTP/1.1 {answer.status} -", *(f"{k}: {v}" for k, v in answer.headers.items())]
    lines += [f"content-length: {len(answer.body)}"] if ends else []
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + answer.body)
    await writer.drain()
    if answer.stream:
        left = asyncio.create_task(reader.read())
        sending = asyncio.create_task(_stream(answer.stream, writer))
        await asyncio.wait((left, sending), return_when=asyncio.FIRST_COMPLETED)
        for task in (left, sending):
            task.cancel()
        await asyncio.gather(left, sending, return_exceptions=True)
    elif answer.hangs:
        await reader.read()


async def _stream(pieces: AsyncIterator[bytes], writer: asyncio.StreamWriter) -> None:
    async for piece in pieces:
        writer.write(piece)
        await writer.drain()


def answered(request: Request, result: Any, **headers: str) -> Answer:
    """A JSON-RPC result, as JSON."""
    message = {"jsonrpc": "2.0", "id": request.body.get("id"), "result": result}
    return Answer(headers={**JSON, **headers}, body=json.dumps(message).encode())


def failed(request: Request, code: int, status: int = 200, **more: Any) -> Answer:
    """A JSON-RPC error, as JSON."""
    error = {"code": code, "message": "no", **more}
    message = {"jsonrpc": "2.0", "id": request.body.get("id"), "error": error}
    return Answer(status, JSON, json.dumps(message).encode())


def tools(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "inputSchema": {"type": "object"}} for name in names]


HELLO = {"protocolVersion": LEGACY, "capabilities": {"tools": {}}, "serverInfo": {"name": "toy"}}


def mcp(request: Request) -> Answer:
    """A server of the era of sessions in which nothing is wrong."""
    if request.asks == "initialize":
        return answered(request, HELLO, **{"mcp-session-id": "one"})
    if request.asks == "tools/list":
        return answered(request, {"tools": tools("one", "two")})
    if request.asks == "DELETE":
        return Answer(200)
    if "id" in request.body:
        return failed(request, -32601)
    return Answer(202)


def but(method: str, answer: Callable[[Request], Answer] | Answer) -> Script:
    """:func:`mcp`, but for one method."""

    def script(request: Request) -> Answer:
        if request.asks != method:
            return mcp(request)
        return answer if isinstance(answer, Answer) else answer(request)

    return script


def always(answer: Answer) -> Script:
    """The same answer to whatever is asked."""
    return lambda _: answer


class SseScript:
    """A server over HTTP with SSE, whose messages are those of another script."""

    def __init__(self, script: Script = mcp, endpoint: str = "/messages?session=1") -> None:
        self._script = script
        self._endpoint = endpoint
        self._events: asyncio.Queue[bytes] = asyncio.Queue()

    def __call__(self, request: Request) -> Answer:
        if request.method == "GET":
            return Answer(headers=EVENTS, stream=self._stream())
        answer = self._script(request)
        if answer.status != 200:
            return answer
        if answer.body:
            self._events.put_nowait(b"event: message\ndata: " + answer.body + b"\n\n")
        return Answer(202)

    async def _stream(self) -> AsyncIterator[bytes]:
        yield f"event: endpoint\ndata: {self._endpoint}\n\n".encode()
        while True:
            yield await self._events.get()
