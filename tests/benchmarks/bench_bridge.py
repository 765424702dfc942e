"""What the stdio bridge costs: an agent waits for its start, and then for each call.

The start is measured from the spawn to the answer of ``initialize``, beside a process that only
imports the SDK's stdio server, which is what any server written with the SDK does first. A call
goes to the same endpoint through the bridge and directly over HTTP, in turns; the medians count.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from kandev_nb.attachment import Attempt
from kandev_nb.attachment.model import utc_now
from kandev_nb.endpoint import ToolRegistry, ToolSet, bridge, endpoint_server
from kandev_nb.ledger import Ledger
from tests.endpoint.test_bridge import environment, raw
from tests.endpoint.test_load import probe_tool
from tests.endpoint.test_observation import INITIALIZE, MODERN

STARTS = 9
BLOCKS = 10
CALLS = 20


def measure() -> dict[str, float]:
    """Return the figures by name."""
    return asyncio.run(_measure())


async def _measure() -> dict[str, float]:
    server, ledger = endpoint_server(), Ledger()
    ledger.start(Attempt(attachment_attempt_id="a", started_at=utc_now()))
    tool = probe_tool()
    endpoint = await server.open("a", ToolSet(ToolRegistry([tool])), ledger)
    env = environment(server.origin + "/mcp", endpoint.secret)
    figures = await _starts(env)
    for era, mode in (("session", "legacy"), ("stateless", MODERN)):
        url, name = server.url(endpoint), tool.definition.name
        figures |= await _calls(era, mode, url, env, name)
    await server.end(endpoint)
    ledger.close()
    return figures


async def _starts(env: dict[str, str]) -> dict[str, float]:
    async def initialized() -> None:
        async with raw(env) as one:
            await one.ask(INITIALIZE)

    async def imported() -> None:
        program = "import mcp.server.stdio"
        await (await asyncio.create_subprocess_exec(sys.executable, "-c", program)).wait()

    ours, theirs = [], []
    for _ in range(STARTS):
        ours.append(await _seconds(initialized))
        theirs.append(await _seconds(imported))
    start, beside = statistics.median(ours), statistics.median(theirs)
    return {
        "spawn to initialize answer, ms": start * 1000,
        "spawn to initialize answer ÷ import mcp.server.stdio (goal <= 0.5)": start / beside,
    }


async def _calls(era: str, mode: str, url: str, env: dict[str, str], tool: str) -> dict[str, float]:
    program, *arguments = bridge.command()
    stdio = stdio_client(StdioServerParameters(command=program, args=arguments, env=env))
    bridged: list[float] = []
    direct: list[float] = []
    async with (
        Client(stdio, mode=mode, cache=None) as through,
        Client(url, mode=mode, cache=None) as straight,
    ):
        for _ in range(BLOCKS):
            for seconds, client in ((bridged, through), (direct, straight)):
                for _ in range(CALLS):
                    seconds.append(await _seconds(partial(client.call_tool, tool, {})))
    ratio = statistics.median(bridged) / statistics.median(direct)
    return {
        f"tools/call, {era}: bridge ÷ HTTP (goal <= 2)": ratio,
        f"tools/call, {era}: over HTTP, ms": statistics.median(direct) * 1000,
    }


async def _seconds(work: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started
