"""A tiny MCP server on loopback that remembers what it was asked, in order.

``python -m tests.agents.mcp_server`` serves the same tools over stdio.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types
import uvicorn
from mcp.server.context import CallNext, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

TOOLS = [
    mcp_types.Tool(name=name, description=name, input_schema={"type": "object"})
    for name in ("echo", "environment")
]

Context = ServerRequestContext[Any]


async def list_tools(
    _context: Context, _params: mcp_types.PaginatedRequestParams | None
) -> mcp_types.ListToolsResult:
    return mcp_types.ListToolsResult(tools=TOOLS)


async def call_tool(
    _context: Context, params: mcp_types.CallToolRequestParams
) -> mcp_types.CallToolResult:
    words = str((params.arguments or {}).get("text", ""))
    content = mcp_types.TextContent(type="text", text=f"{params.name}: {words}")
    return mcp_types.CallToolResult(content=[content], is_error=words == "fail")


def tool_server() -> Server[Any]:
    return Server(
        "tiny",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda _name: {"type": "object"},
    )


@dataclass
class TinyServer:
    """What the server at ``url`` was asked: MCP methods, and ``DELETE``."""

    url: str = ""
    sse_url: str = ""
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def requests(self) -> list[str]:
        """The asked methods without the notifications and what a client asks besides."""
        kept = ("initialize", "tools/list", "tools/call", "server/discover", "DELETE")
        return [method for method in self.asked if method in kept]

    async def observe(self, ctx: Context, call_next: CallNext) -> Any:
        self.asked.append(ctx.method)
        return await call_next(ctx)


@asynccontextmanager
async def tiny_server() -> AsyncIterator[TinyServer]:
    tiny = TinyServer()
    server = tool_server()
    server.middleware[:] = [tiny.observe]
    manager = StreamableHTTPSessionManager(app=server)
    sse = SseServerTransport("/messages")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        tiny.headers.append({k.decode(): v.decode() for k, v in scope["headers"]})
        if scope["method"] == "DELETE":
            tiny.asked.append("DELETE")
        if scope["path"] == "/sse":
            async with sse.connect_sse(scope, receive, send) as (read, write):
                await server.run(read, write, server.create_initialization_options())
        elif scope["path"] == "/messages":
            await sse.handle_post_message(scope, receive, send)
        else:
            await manager.handle_request(scope, receive, send)

    # With protocol 0 asyncio would leave Nagle's algorithm on.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    tiny.url, tiny.sse_url = f"{base}/mcp", f"{base}/sse"
    config = uvicorn.Config(
        app, interface="asgi3", lifespan="off", log_config=None, timeout_graceful_shutdown=0
    )
    http = uvicorn.Server(config)
    async with manager.run():
        serving = asyncio.create_task(http._serve(sockets=[listener]))
        try:
            yield tiny
        finally:
            http.should_exit = True
            await serving
            listener.close()


async def _serve_stdio() -> None:
    server = tool_server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(_serve_stdio())
