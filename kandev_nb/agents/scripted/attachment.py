"""One MCP client connection of the reference agent, on the MCP library's client.

An ACP ``McpServer`` comes in; an :class:`Attachment` that lists and calls leaves. The connection
lives in a task of its own, because the library wants to be left where it was entered.
"""

import asyncio
import math
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import httpx2
import mcp_types
from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer
from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from kandev_nb.agents.scripted.scenarios import Mode

Server = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio

CONNECT_TIMEOUT: Final = 10.0
"""Seconds for connecting and the handshake; agents give up too."""

_ALL_DAY: Final = 86_400.0
_PAGES: Final = 100


class Attachment:
    """A connection to one server, from :meth:`open` to :meth:`close`."""

    def __init__(self, server: Server, mode: Mode, cwd: str) -> None:
        self.server = server
        self._mode = mode
        self._cwd = cwd
        self._leave = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._life: asyncio.Task[None] | None = None

    @property
    def is_process(self) -> bool:
        """Whether the server is a child process of this agent."""
        return isinstance(self.server, McpServerStdio)

    async def open(self) -> None:
        """Connect, and shake hands where the mode has a handshake; raises what the library does."""
        self._life = asyncio.create_task(self._live())
        await self._client

    async def list_tools(self) -> int:
        """Send ``tools/list``, all pages, and return the number of tools."""
        client = await self._client
        page = await client.list_tools()
        count = len(page.tools)
        for _ in range(_PAGES):
            if not page.next_cursor:
                break
            page = await client.list_tools(cursor=page.next_cursor)
            count += len(page.tools)
        return count

    async def call(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Call a tool; return the text of its result, and whether it is an error."""
        client = await self._client
        params = mcp_types.CallToolRequestParams(name=tool, arguments=arguments)
        # Client.call_tool would send a tools/list of its own to check the result.
        result = await client.session.send_request(
            mcp_types.CallToolRequest(params=params), mcp_types.CallToolResult
        )
        words = [part.text for part in result.content if isinstance(part, mcp_types.TextContent)]
        return "\n".join(words), bool(result.is_error)

    async def close(self) -> None:
        """End the connection: DELETE over HTTP, end of input over stdio."""
        self._leave.set()
        if self._life is not None:
            await self._life

    async def _live(self) -> None:
        try:
            with anyio.fail_after(CONNECT_TIMEOUT) as patience:
                async with _client(self.server, self._mode, self._cwd) as client:
                    patience.deadline = math.inf
                    self._client.set_result(client)
                    await self._leave.wait()
        except Exception as error:  # noqa: BLE001 - the library raises groups of anything
            if not self._client.done():
                self._client.set_exception(error)


@asynccontextmanager
async def _client(server: Server, mode: Mode, cwd: str) -> AsyncIterator[Client]:
    match server:
        case HttpMcpServer():
            headers = {header.name: header.value for header in server.headers}
            timeout = httpx2.Timeout(CONNECT_TIMEOUT, read=_ALL_DAY)
            async with (
                httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=False) as http,
                Client(
                    streamable_http_client(server.url, http_client=http), mode=mode, cache=None
                ) as client,
            ):
                yield client
        case SseMcpServer():
            headers = {header.name: header.value for header in server.headers}
            stream = sse_client(server.url, headers=headers, sse_read_timeout=_ALL_DAY)
            # The transport is older than the eras: there is nothing to negotiate.
            async with Client(stream, mode="legacy", cache=None) as client:
                yield client
        case McpServerStdio():
            parameters = StdioServerParameters(
                command=server.command,
                args=server.args,
                env={variable.name: variable.value for variable in server.env},
                cwd=cwd,
            )
            # A pinned era would fail on most servers; agents that pin it fall back here.
            era: Mode = "legacy" if mode == "legacy" else "auto"
            stdio = stdio_client(parameters, errlog=sys.stderr)
            async with Client(stdio, mode=era, cache=None) as client:
                yield client
        case _:
            raise ValueError("MCP over ACP is not spoken here")
