"""What observing costs: CPU per request in process, observed ÷ the SDK's server alone.

Both serve the same tools to the same requests, without HTTP; the SDK's has no middleware. Blocks
of requests alternate between the two, and the best block of each counts, so that a busy machine
moves both. The first figure is the thread that serves; what it leaves to the ledger's worker, which
no request waits for, is told beside it.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_one
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.message import ServerMessageMetadata
from starlette.requests import Request

from kandev_nb.attachment import Attempt
from kandev_nb.attachment.model import utc_now
from kandev_nb.endpoint import Tool, ToolRegistry, ToolSet, tool_from
from kandev_nb.endpoint.connections import Admission, Connections
from kandev_nb.endpoint.mcp_server import McpServer
from kandev_nb.endpoint.observe import Observer
from kandev_nb.endpoint.reading import ADMISSION
from kandev_nb.ledger import Ledger

BLOCKS = 40
REQUESTS = 100
WARM_UP = 20
VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}

Send = Callable[[], Awaitable[Any]]


class Cost(NamedTuple):
    """CPU seconds of one request: in the thread that serves, and in all others."""

    serving: float
    beside: float


def measure() -> dict[str, float]:
    """Return the figures by name."""
    figures: dict[str, float] = {}
    for count in (5, 128):
        for method, params, goal in (
            ("tools/call", {"name": "tool-000", "arguments": {}}, 1.05),
            ("tools/list", {}, 1.10 if count == 5 else 1.05),
        ):
            observed, alone = asyncio.run(_compare(count, method, {**params, "_meta": META}))
            name = f"{method}, {count} tools"
            figures |= {
                f"{name}: observed ÷ SDK (goal <= {goal:.2f})": observed.serving / alone.serving,
                f"{name}: SDK alone, µs": alone.serving * 1e6,
                f"{name}: the ledger's worker, µs": observed.beside * 1e6,
            }
    return figures


async def _compare(count: int, method: str, params: dict[str, Any]) -> tuple[Cost, Cost]:
    tools = ToolSet(ToolRegistry(_tool(number) for number in range(count)))
    ledger = Ledger()
    ledger.start(Attempt(attachment_attempt_id="a", started_at=utc_now()))
    observed = McpServer(tools, Observer("a", ledger, tools), InMemorySubscriptionBus())
    alone = McpServer(tools, Observer("a", ledger, tools), InMemorySubscriptionBus())
    alone.middleware.clear()
    best: list[list[Cost]] = [[], []]
    gc.disable()
    for _ in range(BLOCKS):
        for costs, server in zip(best, (observed, alone), strict=True):
            costs.append(await _block(server, method, params, ledger))
        gc.collect()
    gc.enable()
    ledger.close()
    return _best(best[0]), _best(best[1])


def _best(costs: list[Cost]) -> Cost:
    return Cost(min(c.serving for c in costs), min(c.beside for c in costs))


async def _block(server: Server[Any], method: str, params: dict[str, Any], ledger: Ledger) -> Cost:
    scope = {"type": "http", ADMISSION: Admission(Connections().admit(), time.time_ns())}
    metadata = ServerMessageMetadata(request_context=Request(scope))
    context: Any = SimpleNamespace(request_id=1, message_metadata=metadata)

    async def send() -> None:
        connection = Connection.from_envelope(VERSION, None, {})
        await serve_one(server, context, method, params, connection=connection, lifespan_state={})

    for _ in range(WARM_UP):
        await send()
    ledger.drain()
    everything, serving = time.process_time(), time.thread_time()
    for _ in range(REQUESTS):
        await send()
    serving = time.thread_time() - serving
    ledger.drain()
    everything = time.process_time() - everything
    return Cost(serving / REQUESTS, max(0.0, everything - serving) / REQUESTS)


def _tool(number: int) -> Tool:
    """Return a tool of about 700 bytes that answers at once, on the loop."""
    template = tool_from(_record, name=f"tool-{number:03}")

    async def answer(_: Any) -> str:
        return "done"

    return Tool(template.definition, answer)


def _record(
    title: str = "", body: str = "", owner: str = "", due: str = "", labels: list[str] | None = None
) -> None:
    """Change the fields that are given and leave the others as they are.

    Args:
        title: what the record is called in lists and in messages to its owner.
        body: the whole text, which replaces what was there.
        owner: who is told about changes, by the name that they log in with.
        due: the day by which it must be done, as year, month and day.
        labels: the words that it can be found by, each of them once.
    """
