"""Many attempts, many connections, many calls: nothing is lost and memory stays bounded."""

import asyncio
import json
import sys

import psutil
import pytest

from kandev_nb.attachment import limits
from kandev_nb.endpoint import Tool, ToolRegistry, tool_from
from kandev_nb.endpoint.tools import Arguments
from tests.endpoint.conftest import House

pytestmark = pytest.mark.anyio

CALLS = 2_000
CONNECTIONS = 50
ATTEMPTS = 20
GROWTH = 64 * 2**20
"""Bytes that the process may grow by, once every attempt has been opened and used."""


def probe_tool() -> Tool:
    """A tool that says a number, on the loop, as the built-in ones work."""

    def probe(number: int) -> None:
        """Say the number."""

    async def answer(arguments: Arguments) -> str:
        return f"probe {arguments['number']}"

    return Tool(tool_from(probe).definition, answer)


async def load(calls: int, urls: list[str], pause: float = 0) -> dict[str, int]:
    numbers = (str(number) for number in (calls, CONNECTIONS, pause))
    client = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.endpoint.load", *numbers, *urls),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await client.communicate()
    assert client.returncode == 0
    answers: dict[str, int] = json.loads(out)
    return answers


@pytest.mark.req("EV-5", "EV-9", "EV-10")
@pytest.mark.timeout(900)
async def test_no_call_and_no_milestone_is_lost_under_load_and_memory_stays_bounded(
    house: House,
) -> None:
    houses = [House(house.server) for _ in range(ATTEMPTS)]
    tools = ToolRegistry([probe_tool()])
    endpoints = [await each.attempt("attempt", tools) for each in houses]
    urls = [house.server.url(endpoint) for endpoint in endpoints]
    process = psutil.Process()
    warm = await load(20, urls)
    before = process.memory_info().rss

    answers = await load(CALLS, urls)

    assert warm == {"right": 20 * CONNECTIONS, "closed": CONNECTIONS}
    assert answers == {"right": CALLS * CONNECTIONS, "closed": CONNECTIONS}
    assert process.memory_info().rss - before < GROWTH
    for number, each in enumerate(houses):
        clients = len(range(number, CONNECTIONS, ATTEMPTS))
        attempt = each.history.current
        assert attempt
        row = attempt.server("kandev")
        assert row
        assert row.links.calls == attempt.calls(row) == clients * (CALLS + 20)
        assert row.links.open == ()
        assert (row.status, row.tool_count) == ("connected", 1)
        assert row.connected_at < row.tools_listed_at < row.used_at < row.disconnected_at
        told = sum(max(event.count, 1) for event in attempt.evidence)
        assert told + attempt.evidence_dropped == clients * (CALLS + 20) + 2 * 3 * clients
        assert len(attempt.evidence) <= limits.EVIDENCE_EVENTS
        assert attempt.evidence_dropped == 0, "calls merge; nothing else is beyond the bound"
    for each, endpoint in zip(houses, endpoints, strict=True):
        await house.server.end(endpoint)
        each.ledger.close()
