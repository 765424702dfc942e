"""What the endpoint sees of the TypeScript SDKs, with which most agents connect."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

import pytest
from starlette.types import Message, Receive, Scope, Send

from kandev_nb.attachment import ServerAttachment
from kandev_nb.attachment.model import later
from kandev_nb.endpoint import AttemptEndpoint, EndpointServer, built_in_tools, tool_from
from tests.endpoint.conftest import FakeDesk, House, reached
from tests.endpoint.node import Kind, TypeScriptClient, typescript_client
from tests.endpoint.test_observation import TOOLS

# The first client waits until its packages are installed.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]

Leave = Callable[[TypeScriptClient], Awaitable[None]]

OVER_HTTP: Final = (Kind("sdk"), Kind("client"))
OVER_SSE: Final = (Kind("sdk", "sse"), Kind("client", "sse"))
STATELESS: Final = (
    Kind("client", mode="auto"),
    Kind("client", mode="pinned"),
    Kind("client", "sse", "auto"),
    Kind("client", "sse", "pinned"),
)


Streams = dict[int, str]


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Streams:
    """The methods of the HTTP requests whose answers have begun and not ended."""
    streams: Streams = {}
    serve = EndpointServer.__call__

    async def watched(self: EndpointServer, scope: Scope, receive: Receive, send: Send) -> None:
        async def watching(message: Message) -> None:
            if message["type"] == "http.response.start":
                streams[id(scope)] = scope["method"]
            await send(message)

        try:
            await serve(self, scope, receive, watching)
        finally:
            streams.pop(id(scope), None)

    monkeypatch.setattr(EndpointServer, "__call__", watched)
    return streams


async def close(client: TypeScriptClient) -> None:
    await client.close()


async def kill(client: TypeScriptClient) -> None:
    client.process.kill()


@pytest.mark.req("AC.4", "EV-1")
@pytest.mark.parametrize("kind", [*OVER_HTTP, *OVER_SSE], ids=str)
async def test_a_client_that_lists_and_calls_makes_the_row_active_and_used(
    house: House, kind: Kind
) -> None:
    endpoint = await house.attempt("attempt-1")

    async with client_of(house, endpoint, kind) as client:
        assert await client.connect() == "kandev"
        assert row(house).status == "connected"
        names = await client.list_tools()
        listed = row(house)
        result = await client.call_tool("create_task_plan_kandev", {"content": "1. Look first."})
        used, kinds = row(house), house.kinds()

    assert (listed.status, listed.tool_count, listed.connection_id) == ("active", TOOLS, "mcp-1")
    assert [tool.name for tool in listed.tools] == sorted(names)
    assert (listed.client_name, listed.client_version) == (f"typescript-{kind.package}", "7.8.9")
    assert listed.protocol_version == "2025-11-25"
    assert not result.get("isError")
    assert used.used_at
    assert kinds == ["initialize_observed", "tools_list_observed", "tool_call_observed"]


@pytest.mark.req("AC.9", "EV-6")
@pytest.mark.parametrize("kind", STATELESS, ids=str)
async def test_a_stateless_client_has_no_connection_and_no_close(
    house: House, kind: Kind, streams: Streams
) -> None:
    endpoint = await house.attempt("attempt-1")

    async with client_of(house, endpoint, kind) as client:
        await client.connect()
        names = await client.list_tools()
        result = await client.call_tool("create_task_plan_kandev", {"content": "1. Look first."})
        assert streams, "the client listens for changes"
        await client.close()
        assert await reached(lambda: not streams)

    left = row(house)
    assert (left.status, left.tool_count, left.connection_id) == ("active", TOOLS, "")
    assert [tool.name for tool in left.tools] == sorted(names)
    assert (left.client_name, left.client_version) == ("typescript-client", "7.8.9")
    assert left.protocol_version == "2026-07-28"
    assert not result.get("isError")
    assert left.used_at
    assert house.kinds() == ["initialize_observed", "tools_list_observed", "tool_call_observed"]
    assert house.history.current
    assert not any(event.connection_id for event in house.history.current.evidence)


@pytest.mark.req("EV-2", "EV-5")
@pytest.mark.parametrize("leave", [close, kill])
@pytest.mark.parametrize("kind", OVER_HTTP, ids=str)
async def test_a_client_over_http_that_leaves_without_a_word_changes_nothing(
    house: House, kind: Kind, leave: Leave, streams: Streams
) -> None:
    endpoint = await house.attempt("attempt-1")

    async with client_of(house, endpoint, kind) as client:
        await client.connect()
        await client.list_tools()
        assert await reached(lambda: [*streams.values()] == ["GET"])
        await leave(client)
        assert await reached(lambda: not streams)

    assert (row(house).status, row(house).connection_id) == ("active", "mcp-1")
    assert house.kinds() == ["initialize_observed", "tools_list_observed"]


@pytest.mark.req("EV-5")
@pytest.mark.parametrize("kind", OVER_HTTP, ids=str)
async def test_a_client_that_terminates_its_session_is_disconnected(
    house: House, kind: Kind
) -> None:
    endpoint = await house.attempt("attempt-1")

    async with client_of(house, endpoint, kind) as client:
        await client.connect()
        await client.list_tools()
        await client.terminate_session()

    assert row(house).status == "connected"
    assert row(house).disconnected_at
    assert house.kinds()[-1] == "connection_closed"


@pytest.mark.req("EV-5")
@pytest.mark.parametrize("leave", [close, kill])
@pytest.mark.parametrize("kind", OVER_SSE, ids=str)
async def test_a_client_over_sse_that_leaves_is_disconnected(
    house: House, kind: Kind, leave: Leave
) -> None:
    endpoint = await house.attempt("attempt-1")

    async with client_of(house, endpoint, kind) as client:
        await client.connect()
        await client.list_tools()
        await leave(client)
        assert await reached(lambda: "connection_closed" in house.kinds())

    assert row(house).status == "connected"
    assert row(house).disconnected_at
    assert house.kinds() == ["initialize_observed", "tools_list_observed", "connection_closed"]


@pytest.mark.req("EV-5")
@pytest.mark.parametrize("kind", [*OVER_HTTP, *OVER_SSE], ids=str)
async def test_of_two_clients_at_once_the_one_that_stays_keeps_the_row_active(
    house: House, kind: Kind
) -> None:
    endpoint = await house.attempt("attempt-1")

    async with (
        client_of(house, endpoint, kind) as stays,
        client_of(house, endpoint, kind) as leaves,
    ):
        for client in (stays, leaves):
            await client.connect()
            await client.list_tools()
        assert row(house).links.open == ("mcp-1", "mcp-2")

        await (leaves.close() if kind.transport == "sse" else leaves.terminate_session())

        assert await reached(lambda: "connection_closed" in house.kinds())
        assert (row(house).status, row(house).links.open) == ("active", ("mcp-1",))
        assert row(house).connection_id == "mcp-1"
        assert not row(house).disconnected_at


@pytest.mark.req("CA-1")
@pytest.mark.parametrize("kind", [*OVER_HTTP, *OVER_SSE, *STATELESS], ids=str)
async def test_a_client_learns_of_a_new_tool_and_lists_again(
    house: House, kind: Kind, streams: Streams
) -> None:
    def greet(name: str) -> str:
        """Say hello."""
        return f"Hello {name}"

    tools = built_in_tools(FakeDesk(house.ledger))
    endpoint = await house.attempt("attempt-1", tools)
    async with client_of(house, endpoint, kind) as client:
        await client.connect()
        names = await client.list_tools()
        listening = "POST" if kind in STATELESS and kind.transport == "http" else "GET"
        assert await reached(lambda: [*streams.values()] == [listening])

        tools.put(tool_from(greet))

        assert later(row(house).tools_changed_at, row(house).tools_listed_at)
        assert await client.next_change() == sorted([*names, "greet"])
        assert row(house).tool_count == TOOLS + 1
        assert later(row(house).tools_listed_at, row(house).tools_changed_at)
        result = await client.call_tool("greet", {"name": "you"})
        assert [content["text"] for content in result["content"]] == ["Hello you"]


def client_of(
    house: House, endpoint: AttemptEndpoint, kind: Kind
) -> AbstractAsyncContextManager[TypeScriptClient]:
    over_sse = kind.transport == "sse"
    url = house.server.sse_url(endpoint) if over_sse else house.server.url(endpoint)
    return typescript_client(kind, url)


def row(house: House) -> ServerAttachment:
    assert house.row is not None
    return house.row
