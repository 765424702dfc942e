"""How late the loop is under load, while an ordinary and a coroutine tool block for 5 seconds.

A client process calls on 50 connections of 20 attempts, first at a pace, then as fast as it can;
another one calls the two tools. The lag is by how much a timer of the loop is late.
"""

import asyncio
import sys
import time
from contextlib import suppress

from kandev_nb.attachment import Attempt
from kandev_nb.attachment.model import utc_now
from kandev_nb.endpoint import ToolRegistry, ToolSet, endpoint_server, tool_from
from kandev_nb.ledger import Ledger
from tests.endpoint.test_load import ATTEMPTS, CONNECTIONS, load, probe_tool

CALLS = 40
PAUSE = 0.2
SATURATING_CALLS = 80
BLOCKED = 5.0
TICK = 0.005

CALLER = """
import asyncio, sys
from mcp import Client

async def call(url, tool):
    async with Client(url, mode="legacy") as client:
        await client.call_tool(tool, {})

async def main(url):
    await asyncio.gather(call(url, "blocks"), call(url, "blocks_its_loop"))

asyncio.run(main(sys.argv[1]))
"""


def blocks() -> str:
    """Block a thread."""
    time.sleep(BLOCKED)
    return "done"


async def blocks_its_loop() -> str:
    """Block the loop of the tools."""
    time.sleep(BLOCKED)  # noqa: ASYNC251 - as no coroutine should
    return "done"


def measure() -> dict[str, float]:
    """Return the figures by name."""
    return asyncio.run(_measure())


async def _measure() -> dict[str, float]:
    server = endpoint_server()
    tools = ToolRegistry([probe_tool(), tool_from(blocks), tool_from(blocks_its_loop)])
    ledgers = [Ledger() for _ in range(ATTEMPTS)]
    endpoints = []
    for number, ledger in enumerate(ledgers):
        ledger.start(Attempt(attachment_attempt_id=f"a{number}", started_at=utc_now()))
        endpoints.append(await server.open(f"a{number}", ToolSet(tools), ledger))
    urls = [server.url(endpoint) for endpoint in endpoints]
    await load(1, urls)
    figures = {
        **await _while_blocked("paced", CALLS, urls, PAUSE),
        **await _while_blocked("saturated", SATURATING_CALLS, urls, 0),
    }
    for endpoint in endpoints:
        await server.end(endpoint)
    for ledger in ledgers:
        ledger.close()
    return figures


async def _while_blocked(name: str, calls: int, urls: list[str], pause: float) -> dict[str, float]:
    lags: list[float] = []
    ticking = asyncio.create_task(_tick(lags))
    caller = await asyncio.create_subprocess_exec(sys.executable, "-c", CALLER, urls[0])
    started = time.perf_counter()
    await load(calls, urls, pause)
    seconds = time.perf_counter() - started
    ticking.cancel()
    with suppress(asyncio.CancelledError):
        await ticking
    await caller.wait()
    lags.sort()
    return {
        f"{name}: calls a second over {CONNECTIONS} connections": calls * CONNECTIONS / seconds,
        f"{name}: loop lag, median ms": lags[len(lags) // 2] * 1000,
        f"{name}: loop lag, p99 ms{' (goal <= 50)' if pause else ''}": lags[int(len(lags) * 0.99)]
        * 1000,
        f"{name}: loop lag, most ms": lags[-1] * 1000,
    }


async def _tick(lags: list[float]) -> None:
    while True:
        due = time.perf_counter() + TICK
        await asyncio.sleep(TICK)
        lags.append(time.perf_counter() - due)
