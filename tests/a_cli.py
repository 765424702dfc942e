"""An agent's own CLI, for passthrough: it takes ``--mcp-config FILE`` as Claude Code does.

It connects to each HTTP server of that file and lists its tools, then is a prompt: each line that
is typed is said again, ``exit N`` ends it, and a new size of its terminal is told.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client


def servers() -> dict[str, dict[str, Any]]:
    if "--mcp-config" not in sys.argv:
        return {}
    path = sys.argv[sys.argv.index("--mcp-config") + 1]
    loaded: dict[str, dict[str, Any]] = json.loads(Path(path).read_text())["mcpServers"]
    return {name: entry for name, entry in loaded.items() if entry["type"] == "http"}


async def connect(name: str, entry: dict[str, Any]) -> None:
    try:
        async with httpx2.AsyncClient(headers=entry["headers"]) as http:
            transport = streamable_http_client(entry["url"], http_client=http)
            async with Client(transport, mode="legacy") as client:
                tools = await client.list_tools()
                say(f"{name}: {len(tools.tools)} tools")
                await client.call_tool("get_task_plan_kandev", {})
                await asyncio.to_thread(read_lines)
    except* Exception:  # noqa: BLE001 - whatever it is, a CLI goes on without that server
        say(f"{name}: not there")


def say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def read_lines() -> None:
    for line in sys.stdin:
        word, *more = line.split() or [""]
        if word == "exit":
            os._exit(int(more[0]))
        say(f"you said {line.strip()}")


def resized(*_: object) -> None:
    say(f"now {os.get_terminal_size().lines} by {os.get_terminal_size().columns}")


async def main() -> None:
    found = servers()
    say(f"servers: {' '.join(found) or 'none'}")
    for name, entry in found.items():
        if name != "kandev":
            await connect(name, entry)
    if "kandev" in found:
        await connect("kandev", found["kandev"])
    await asyncio.to_thread(read_lines)


if __name__ == "__main__":
    signal.signal(signal.SIGWINCH, resized)
    asyncio.run(main())
