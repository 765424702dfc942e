"""Servers that other people wrote, by every transport: the counts are those of the SDK's client.

They are installed when a test first asks for them.
"""

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO

import psutil
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.agents import npm, pypi
from tests.diagnose.conftest import Tested
from tests.processes import eventually

pytestmark = pytest.mark.timeout(600)

EVERYTHING: Final = ("@modelcontextprotocol/server-everything", "2026.8.31")
PYTHON: Final = ("mcp-server-time", "mcp-server-git")
VERSION: Final = "2026.10.19"


def everything(*arguments: str) -> dict[str, Any]:
    """The entry of the reference server that has everything."""
    folder = npm.installed(*EVERYTHING)
    command = str(folder / "mcp-server-everything")
    return {"command": command, "args": list(arguments), "env": {"PATH": npm.search_path(folder)}}


def of_python(name: str) -> dict[str, Any]:
    return {"command": str(pypi.installed(f"{name}=={VERSION}") / name), "args": []}


def counted(entry: dict[str, Any]) -> int:
    """The number of tools that the SDK's client is served over stdio."""

    environ = {**os.environ, **entry.get("env", {})}
    given = StdioServerParameters(command=entry["command"], args=entry["args"], env=environ)

    async def count(errlog: TextIO) -> int:
        async with Client(stdio_client(given, errlog=errlog), mode="legacy") as client:
            return len((await client.list_tools()).tools)

    with Path(os.devnull).open("w") as nowhere:
        return asyncio.run(count(nowhere))


@pytest.mark.req("DI-1")
@pytest.mark.parametrize("name", PYTHON)
def test_a_python_server_over_stdio_is_counted_right(tested: Tested, name: str) -> None:
    entry = of_python(name)

    outcome = tested(entry, timeout=60)

    assert outcome.tool_count == outcome.usable_count == counted(entry) > 0, outcome
    assert len(outcome.tools) == outcome.tool_count
    assert outcome.protocol_version
    assert outcome.server_name


@pytest.mark.req("DI-1")
def test_a_node_server_over_stdio_is_counted_right(tested: Tested) -> None:
    entry = everything("stdio")

    outcome = tested(entry, timeout=60)

    assert outcome.tool_count == counted(entry) > 5, outcome


@pytest.mark.req("DI-1")
@pytest.mark.parametrize(
    ("argument", "kind", "path"), [("sse", "sse", "/sse"), ("streamableHttp", "http", "/mcp")]
)
def test_a_node_server_over_http_is_counted_right(
    tested: Tested, argument: str, kind: str, path: str
) -> None:
    expected = counted(everything("stdio"))
    with listening(everything(argument)) as origin:
        outcome = tested({"type": kind, "url": f"{origin}{path}"}, timeout=60)

    assert outcome.tool_count == expected, outcome
    assert outcome.server_name


@contextmanager
def listening(entry: dict[str, Any]) -> Iterator[str]:
    """Run a server that listens; return its origin."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [entry["command"], *entry["args"]],
        env={**os.environ, **entry["env"], "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert eventually(lambda: _listens(process.pid, port), 60)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _listens(pid: int, port: int) -> bool:
    sockets = psutil.Process(pid).net_connections()
    return any(c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in sockets)
