"""Tools that come and go, lists of several pages, and what a row says meanwhile."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.exceptions import MCPError

from kandev_nb.attachment import History, display, limits, note_tools_changed
from kandev_nb.attachment.model import later
from kandev_nb.endpoint import AttemptEndpoint, Tool, ToolRegistry, tool_from
from kandev_nb.endpoint.announce import Announcer
from kandev_nb.endpoint.connections import Connection
from kandev_nb.endpoint.tools import ToolSet
from tests.attachment.story import Story, at
from tests.endpoint.conftest import House, reached
from tests.endpoint.test_observation import ACCEPT, MODERN

pytestmark = pytest.mark.anyio


def numbered(count: int, first: int = 0) -> list[Tool]:
    return [tool_from(_nothing, name=f"tool-{n:04}") for n in range(first, first + count)]


def _nothing() -> str:
    """Do nothing."""
    return "nothing"


class Listener:
    """Counts the notifications that a client was sent."""

    def __init__(self) -> None:
        self.told = 0

    async def __call__(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.told += 1


@asynccontextmanager
async def client_of(
    house: House, endpoint: AttemptEndpoint, kind: str, listener: Listener
) -> AsyncIterator[Client]:
    """A client that listens for changes, over one of the transports."""
    transport = (
        sse_client(house.server.sse_url(endpoint))
        if kind == "sse"
        else streamable_http_client(house.server.url(endpoint))
    )
    mode, handler = (MODERN, None) if kind == "stateless" else ("legacy", listener)
    async with (
        Client(transport, mode=mode, cache=None, message_handler=handler) as client,
        contextlib.AsyncExitStack() as stack,
    ):
        if kind == "stateless":
            stream = await stack.enter_async_context(client.listen(tools_list_changed=True))
            listening = asyncio.create_task(_count(stream, listener))
            stack.callback(listening.cancel)
        yield client


async def _count(stream: Any, listener: Listener) -> None:
    async for _ in stream:
        listener.told += 1


def labels(house: House) -> list[str]:
    row = display(house.history).row("kandev")
    return [detail.text for detail in row.details] if row else []


@pytest.mark.req("CA-1", "UI/Labels and dots")
@pytest.mark.parametrize("kind", ["http", "sse", "stateless"])
async def test_a_changed_set_is_announced_and_the_row_is_stale_until_it_is_listed_again(
    house: House, kind: str
) -> None:
    tools, listener = ToolRegistry(numbered(2)), Listener()
    endpoint = await house.attempt("attempt-1", tools)
    async with client_of(house, endpoint, kind, listener) as client:
        await client.list_tools()
        assert "catalog may be stale" not in labels(house)

        tools.put(numbered(1, first=7)[0])

        assert "catalog may be stale" in labels(house), "before anybody was told"
        assert await reached(lambda: listener.told == 1)
        assert len((await client.list_tools()).tools) == 3
        row = house.row
        assert row
        assert (row.status, row.tool_count) == ("active", 3)
        assert later(row.tools_listed_at, row.tools_changed_at)
        assert labels(house)[0] == "3 tools"
        assert "catalog may be stale" not in labels(house)

        assert tools.take("tool-0007")
        assert await reached(lambda: listener.told == 2)
        assert "catalog may be stale" in labels(house)
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("tool-0007", {})


async def test_several_changes_at_once_are_one_announcement(house: House) -> None:
    tools, listener = ToolRegistry(), Listener()
    endpoint = await house.attempt("attempt-1", tools)
    async with client_of(house, endpoint, "http", listener) as client:
        for tool in numbered(20):
            tools.put(tool)
        assert await reached(lambda: listener.told >= 1)
        assert len((await client.list_tools()).tools) == 20
        tools.take("tool-0003")
        assert await reached(lambda: listener.told >= 2)

    assert listener.told == 2


async def test_a_client_that_does_not_read_holds_up_no_other() -> None:
    class Session:
        def __init__(self) -> None:
            self.told, self.reads = 0, asyncio.Event()

        async def send_notification(self, _: object) -> None:
            await self.reads.wait()
            self.told += 1

    slow, quick = Session(), Session()
    quick.reads.set()
    sessions: list[Any] = [slow, quick]
    connections = [Connection(str(n), session=session) for n, session in enumerate(sessions)]
    announcer = Announcer(connections, InMemorySubscriptionBus())

    for number in range(1, 4):
        announcer.announce()
        assert await reached(lambda number=number: quick.told == number)  # type: ignore[misc]
    slow.reads.set()
    assert await reached(lambda: slow.told == 2), "the first, and one for all that came meanwhile"
    announcer.end()


async def test_a_change_from_another_thread_is_announced_too(house: House) -> None:
    tools, listener = ToolRegistry(), Listener()
    endpoint = await house.attempt("attempt-1", tools)
    async with client_of(house, endpoint, "http", listener):
        thread = threading.Thread(target=tools.put, args=numbered(1))
        thread.start()
        assert await reached(lambda: listener.told == 1)
        thread.join()


@pytest.mark.parametrize("kind", ["http", "stateless"])
async def test_the_server_says_that_its_tools_may_change(house: House, kind: str) -> None:
    endpoint = await house.attempt("attempt-1")
    async with Client(
        house.server.url(endpoint), mode="auto" if kind == "stateless" else "legacy"
    ) as client:
        capabilities = client.server_capabilities

    assert capabilities
    assert capabilities.tools
    assert capabilities.tools.list_changed is True


@pytest.mark.req("EV-6")
async def test_listening_is_a_stateless_clients_first_request_too(house: House) -> None:
    endpoint = await house.attempt("attempt-1")
    async with (
        Client(house.server.url(endpoint), mode=MODERN, cache=None) as client,
        client.listen(tools_list_changed=True),
    ):
        assert await reached(lambda: house.kinds() == ["initialize_observed"])
        assert house.row
        assert (house.row.status, house.row.protocol_version) == ("connected", MODERN)


async def test_a_client_that_never_listed_has_no_catalog_to_be_stale(house: House) -> None:
    tools = ToolRegistry()
    endpoint = await house.attempt("attempt-1", tools)
    async with Client(house.server.url(endpoint), mode="legacy"):
        tools.put(numbered(1)[0])

        assert house.row
        assert not house.row.tools_changed_at


class ChangesMeanwhile(ToolRegistry):
    """Tools of which one more comes while they are being listed."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        tools = super().tools
        if len(tools) < 2:
            self.put(numbered(1, first=1)[0])
        return tools


async def test_a_list_that_a_change_has_overtaken_is_stale(house: House) -> None:
    endpoint = await house.attempt("attempt-1", ChangesMeanwhile(numbered(1)))
    async with Client(house.server.url(endpoint), mode="legacy", cache=None) as client:
        assert len((await client.list_tools()).tools) == 1
        assert "catalog may be stale" in labels(house)
        assert len((await client.list_tools()).tools) == 2
        assert "catalog may be stale" not in labels(house)


@pytest.mark.req("CA-1")
@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_the_pages_of_a_list_add_up_and_one_not_followed_to_its_end_is_partial(
    house: House, mode: str
) -> None:
    endpoint = await house.attempt("attempt-1", ToolRegistry(numbered(300)))
    async with Client(house.server.url(endpoint), mode=mode, cache=None) as client:
        first = await client.list_tools()
        assert len(first.tools) == limits.TOOLS
        assert house.row
        assert (house.row.tool_count, house.row.tool_catalog_partial) == (128, True)
        assert "partial list" in labels(house)

        second = await client.list_tools(cursor=first.next_cursor)
        third = await client.list_tools(cursor=second.next_cursor)

    names = [tool.name for page in (first, second, third) for tool in page.tools]
    assert names == [tool.name for tool in numbered(300)]
    assert third.next_cursor is None
    row = house.row
    assert (row.tool_count, row.tool_catalog_partial) == (300, False)
    assert (len(row.tools), row.tool_catalog_truncated) == (128, True)
    assert "partial list" not in labels(house)
    assert "showing 128 of 300 tools" in labels(house)


@pytest.mark.req("CA-1")
async def test_a_list_entered_in_its_middle_is_partial(house: House) -> None:
    endpoint = await house.attempt("attempt-1", ToolRegistry(numbered(200)))
    async with Client(house.server.url(endpoint), mode="legacy", cache=None) as first:
        cursor = (await first.list_tools()).next_cursor
        async with Client(house.server.url(endpoint), mode="legacy", cache=None) as second:
            await second.list_tools(cursor=cursor)

    assert house.row
    assert (house.row.tool_count, house.row.tool_catalog_partial) == (72, True)


@pytest.mark.req("CA-1")
async def test_the_pages_of_two_clients_are_not_mixed(house: House) -> None:
    endpoint = await house.attempt("attempt-1", ToolRegistry(numbered(200)))
    url = house.server.url(endpoint)
    async with (
        Client(url, mode="legacy", cache=None) as one,
        Client(url, mode="legacy", cache=None) as other,
        Client(url, mode=MODERN, cache=None) as stateless,
    ):
        cursors = [(await c.list_tools()).next_cursor for c in (one, other, stateless)]
        for client, cursor in zip((one, stateless, other), cursors, strict=True):
            await client.list_tools(cursor=cursor)
            assert house.row
            assert (house.row.tool_count, house.row.tool_catalog_partial) == (200, False)


@pytest.mark.req("CA-1")
async def test_a_list_whose_tools_change_between_its_pages_goes_on_and_is_stale(
    house: House,
) -> None:
    tools = ToolRegistry(numbered(200))
    endpoint = await house.attempt("attempt-1", tools)
    async with Client(house.server.url(endpoint), mode="legacy", cache=None) as client:
        cursor = (await client.list_tools()).next_cursor
        for name in ("tool-0005", "tool-0127", "tool-0150"):
            tools.take(name)
        second = await client.list_tools(cursor=cursor)

    expected = [f"tool-{n:04}" for n in range(128, 200) if n != 150]
    assert [tool.name for tool in second.tools] == expected
    assert "catalog may be stale" in labels(house)


@pytest.mark.parametrize("cursor", ["", "x", "dG9vbA==", "ä", "YWZ0ZXIg/w==", "a" * 5000])
async def test_a_cursor_that_we_never_gave_is_a_fault_of_the_client(
    house: House, cursor: str
) -> None:
    endpoint = await house.attempt("attempt-1")
    async with Client(house.server.url(endpoint), mode="legacy", cache=None) as client:
        with pytest.raises(MCPError, match="Invalid cursor") as refused:
            await client.list_tools(cursor=cursor)

    assert refused.value.code == -32602
    assert house.kinds() == ["initialize_observed", "connection_closed"]


async def test_a_later_layer_hides_an_earlier_one_until_its_tool_is_taken_away(
    house: House,
) -> None:
    below, above = ToolRegistry(numbered(2)), ToolRegistry()
    tools = ToolSet(below, above)
    seen: list[int] = []
    before = tools.revision
    stop = tools.watch(lambda: seen.append(tools.revision - before))

    above.put(tool_from(lambda: "mine", name="tool-0001", description="Mine."))
    assert [tool.name for tool in tools.definitions()] == ["tool-0000", "tool-0001"]
    assert tools.definitions()[1].description == "Mine."
    assert not above.take("tool-0000")
    assert above.take("tool-0001")
    assert tools.definitions()[1].description == "Do nothing."
    stop()
    below.take("tool-0001")

    assert seen == [1, 2]


@pytest.mark.req("CA-1")
def test_a_row_of_a_superseded_or_unlisted_server_is_not_marked() -> None:
    story = Story().start("attempt-1").tell("initialize_observed", "c1")

    def changed(attempt: str = "attempt-1", server: str = "kandev") -> History:
        return note_tools_changed(story.history, attempt, server, at(50))

    assert changed() == story.history, "nothing was listed yet"
    story.tell("tools_list_observed", "c1", tool_count=1)
    assert changed(server="another") == story.history
    assert changed(attempt="attempt-0") == story.history
    marked = changed().current
    assert marked
    assert marked.servers[0].tools_changed_at == marked.updated_at == at(50)
    assert marked.servers[0].status == "active"
    assert marked.servers[0].links == story.row().links


async def test_an_ended_attempt_hears_of_no_change(house: House, http: httpx2.AsyncClient) -> None:
    tools = ToolRegistry(numbered(1))
    endpoint = await house.attempt("attempt-1", tools)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with Client(house.server.url(endpoint), mode="legacy") as client:
        await client.list_tools()
        await house.server.end(endpoint)
        tools.put(numbered(1, first=1)[0])

    assert (
        await http.post(house.server.url(endpoint), json=body, headers=ACCEPT)
    ).status_code == 410
    assert house.row
    assert not house.row.tools_changed_at
