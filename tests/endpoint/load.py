"""A client process that puts load on an endpoint: as fast as one process can, and no faster.

``python -m tests.endpoint.load CALLS CONNECTIONS PAUSE URL…`` opens so many connections, spread
over the URLs, calls ``probe`` so many times on each, with PAUSE seconds between two calls, ends
them with DELETE, and prints what it was answered.
It speaks HTTP by hand, because every client library would be slower than the server.
"""

import asyncio
import json
import sys
from collections import Counter
from urllib.parse import urlsplit

VERSION = "2025-11-25"
INITIALIZE = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "load", "version": "1"},
}


class Client:
    """One connection with a session."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path
        self._session = ""

    async def run(self, calls: int, pause: float, answers: Counter[str]) -> None:
        """Shake hands, list, call, and leave."""
        reader, self._writer = await asyncio.open_connection(self._host, self._port)
        self._reader = reader
        head, _ = await self._ask("POST", _request("initialize", INITIALIZE))
        self._session = _header(head, b"mcp-session-id")
        await self._ask("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        await self._ask("POST", _request("tools/list", {}))
        for number in range(calls):
            arguments = {"number": number}
            body = _request("tools/call", {"name": "probe", "arguments": arguments}, number)
            head, answer = await self._ask("POST", body)
            good = b" 200 " in head.split(b"\r\n")[0] and f"probe {number}".encode() in answer
            answers["right" if good else "wrong"] += 1
            if pause:
                await asyncio.sleep(pause)
        head, _ = await self._ask("DELETE", None)
        answers["closed" if b" 200 " in head.split(b"\r\n")[0] else "not closed"] += 1
        self._writer.close()

    async def _ask(self, method: str, message: object) -> tuple[bytes, bytes]:
        body = b"" if message is None else json.dumps(message).encode()
        session = f"mcp-session-id: {self._session}\r\n" if self._session else ""
        self._writer.write(
            f"{method} {self._path} HTTP/1.1\r\nhost: {self._host}:{self._port}\r\n"
            "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
            f"mcp-protocol-version: {VERSION}\r\n{session}"
            f"content-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = await self._reader.readuntil(b"\r\n\r\n")
        if b"transfer-encoding: chunked" in head.lower():
            return head, await self._reader.readuntil(b"\r\n0\r\n\r\n")
        return head, await self._reader.readexactly(int(_header(head, b"content-length") or 0))


def _request(method: str, params: object, request_id: int = 0) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def _header(head: bytes, name: bytes) -> str:
    for line in head.split(b"\r\n"):
        key, _, value = line.partition(b":")
        if key.lower() == name:
            return value.strip().decode()
    return ""


async def main(calls: int, connections: int, pause: float, urls: list[str]) -> Counter[str]:
    """Put the load on and return how often which answer came."""
    answers: Counter[str] = Counter()
    clients = [Client(urls[number % len(urls)]) for number in range(connections)]
    await asyncio.gather(*(client.run(calls, pause, answers) for client in clients))
    return answers


if __name__ == "__main__":
    calls, connections, pause, *urls = sys.argv[1:]
    answers = asyncio.run(main(int(calls), int(connections), float(pause), urls))
    print(json.dumps(answers))  # noqa: T201
