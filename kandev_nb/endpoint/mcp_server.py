"""The MCP server behind one attempt: the SDK's low-level server with our tools in it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

from kandev_nb._version import __version__
from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.endpoint.observe import Observer
from kandev_nb.endpoint.tools import ToolSet

KEEP_ALIVE: Final = 20.0
"""Seconds between the signs of life of a call whose client asked for progress."""


class McpServer(Server[Any]):
    """Serves a tool set, says when it changes, and shows each request to an observer."""

    def __init__(
        self, tools: ToolSet, observer: Observer, subscriptions: InMemorySubscriptionBus
    ) -> None:
        listening = ListenHandler(subscriptions)

        async def list_tools(
            _: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
        ) -> types.ListToolsResult:
            return tools.page(params.cursor if params else None)

        async def call_tool(
            ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
        ) -> types.CallToolResult:
            async with _kept_alive(ctx):
                return await tools.call(params.name, params.arguments or {})

        async def listen(
            ctx: ServerRequestContext[Any], params: types.SubscriptionsListenRequestParams
        ) -> types.SubscriptionsListenResult:
            # Its answer is a stream that ends when the client leaves, so it is told of now.
            observer.accepted(ctx)
            return await listening(ctx, params)

        super().__init__(
            BUILT_IN,
            version=__version__,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_subscriptions_listen=listen,
            get_tool_input_schema=tools.schema,
        )
        self.middleware[:] = [observer]

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Announce ``tools.listChanged``; the SDK's transports ask for no notifications."""
        return super().create_initialization_options(
            notification_options or NotificationOptions(tools_changed=True),
            experimental_capabilities,
            extensions,
        )


@asynccontextmanager
async def _kept_alive(ctx: ServerRequestContext[Any]) -> AsyncIterator[None]:
    """Report progress while a call lasts, where the client gave a token (MCP, "Progress")."""
    if not (ctx.meta and ctx.meta.get("progress_token") is not None):
        yield
        return
    started = monotonic()

    async def signs_of_life() -> None:
        while True:
            await asyncio.sleep(KEEP_ALIVE)
            seconds = round(monotonic() - started, 3)
            await ctx.session.report_progress(seconds, message=f"still running, {seconds:.0f} s")

    reporting = asyncio.create_task(signs_of_life())
    try:
        yield
    finally:
        reporting.cancel()
