"""The SSE transport: real clients, their messages, and the ends of their streams."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.sse import sse_client

from kandev_nb.endpoint import AttemptEndpoint
from kandev_nb.endpoint.sse import SseStream
from tests.endpoint.conftest import House, reached
from tests.endpoint.test_observation import ACCEPT, INITIALIZE, MODERN, TOOLS

pytestmark = [pytest.mark.anyio]


@asynccontextmanager
async def client_of(
    house: House, endpoint: AttemptEndpoint, mode: str = "legacy"
) -> AsyncIterator[Client]:
    async with Client(sse_client(house.server.sse_url(endpoint)), mode=mode, cache=None) as client:
        yield client


@asynccontextmanager
async def stream_of(
    http: httpx2.AsyncClient, url: str
) -> AsyncIterator[tuple[str, httpx2.Response]]:
    """A stream and the path that its client is told to post to."""
    async with http.stream("GET", url) as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data: "):
                yield line.removeprefix("data: "), stream
                return


@pytest.mark.req("AC.4", "EV-5")
async def test_a_client_over_sse_has_one_connection_until_its_stream_ends(house: House) -> None:
    endpoint = await house.attempt("attempt-1")

    async with client_of(house, endpoint) as client:
        listed = await client.list_tools()
        await client.call_tool("get_task_plan_kandev", {})
        row = house.row

    assert len(listed.tools) == TOOLS
    assert row
    assert (row.status, row.connection_id, row.client_name) == ("active", "mcp-1", "mcp")
    assert row.used_at
    assert await reached(lambda: "connection_closed" in house.kinds())
    assert house.row
    assert house.row.status == "connected"
    assert house.row.disconnected_at


@pytest.mark.req("EV-6", "AC.9")
@pytest.mark.parametrize("mode", [MODERN, "auto"])
async def test_a_stateless_client_over_sse_has_no_connection_and_no_close(
    house: House, mode: str
) -> None:
    endpoint = await house.attempt("attempt-1")

    async with client_of(house, endpoint, mode) as client:
        await client.list_tools()
        await client.call_tool("get_task_plan_kandev", {})
    another = await house.attempt("attempt-2")
    async with client_of(house, another) as client:
        await client.list_tools()
    assert await reached(lambda: "connection_closed" in house.kinds())

    (stateless,) = house.history.previous
    row = stateless.server("kandev")
    assert row
    assert (row.status, row.connection_id, row.protocol_version) == ("active", "", MODERN)
    assert [event.kind for event in stateless.evidence] == [
        "initialize_observed",
        "tools_list_observed",
        "tool_call_observed",
    ]
    assert house.history.current
    assert not house.history.current.late_traffic


@pytest.mark.req("EV-5")
async def test_of_two_clients_the_one_that_stays_keeps_the_row_active(house: House) -> None:
    endpoint = await house.attempt("attempt-1")

    async with client_of(house, endpoint) as stays:
        await stays.list_tools()
        async with client_of(house, endpoint) as leaves:
            await leaves.list_tools()
            assert house.row
            assert house.row.links.open == ("mcp-1", "mcp-2")
        assert await reached(lambda: "connection_closed" in house.kinds())

        assert (house.row.status, house.row.connection_id) == ("active", "mcp-1")
        assert (await stays.list_tools()).tools


@pytest.mark.req("EV-5")
async def test_the_end_of_an_execution_ends_the_streams_and_is_no_evidence(
    house: House, http: httpx2.AsyncClient
) -> None:
    endpoint = await house.attempt("attempt-1")
    url = house.server.sse_url(endpoint)
    async with client_of(house, endpoint) as client:
        await client.list_tools()
        async with http.stream("GET", url) as stream:
            await house.server.end(endpoint)
            async for _ in stream.aiter_bytes():
                pass

        assert (await http.get(url)).status_code == 410
        assert (await http.post(url.replace("/sse", "/messages/mcp-1"))).status_code == 410

    assert house.kinds() == ["initialize_observed", "tools_list_observed"]


@pytest.mark.req("EV-5", "SE-4")
async def test_a_stream_that_ends_with_its_execution_is_no_evidence(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kandev_nb.endpoint.attempt.CLOSE_GRACE", 30)
    endpoint = await house.attempt("attempt-1")
    async with client_of(house, endpoint) as client:
        await client.list_tools()

    await house.server.end(endpoint)
    another = await house.attempt("attempt-2")
    async with client_of(house, another) as client:
        await client.list_tools()

    (ended,) = house.history.previous
    assert "connection_closed" not in [event.kind for event in ended.evidence]
    assert house.history.current
    assert not house.history.current.late_traffic


@pytest.mark.req("SA-4")
async def test_the_messages_of_a_stream_need_its_path_and_its_session(
    house: House, http: httpx2.AsyncClient
) -> None:
    endpoint = await house.attempt("attempt-1")
    secret_path = urlsplit(house.server.sse_url(endpoint)).path.removesuffix("/sse")
    async with stream_of(http, house.server.sse_url(endpoint)) as (path, _):
        assert path.startswith(f"{secret_path}/messages/mcp-1?session_id=")
        url, _, session = (house.server.origin + path).partition("?")
        statuses = [
            (await http.post(f"{wrong}?{query}", json=INITIALIZE)).status_code
            for wrong, query in (
                (url.replace("mcp-1", "mcp-2"), session),
                (url, "session_id=" + "0" * 32),
                (url, "session_id=../x"),
                (url, ""),
                (url.replace(endpoint.secret, "x"), session),
                (url, session),
            )
        ]

    assert statuses == [404, 404, 400, 400, 401, 202]


@pytest.mark.req("SA-4")
async def test_the_secret_as_bearer_serves_the_plain_path(house: House) -> None:
    endpoint = await house.attempt("attempt-1")
    headers = {"authorization": f"Bearer {endpoint.secret}"}

    async with Client(
        sse_client(house.server.origin + "/sse", headers=headers), mode="legacy"
    ) as client:
        assert (await client.list_tools()).tools

    assert house.row
    assert house.row.tool_count == TOOLS


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD"])
async def test_a_stream_is_opened_with_get_only(
    house: House, http: httpx2.AsyncClient, method: str
) -> None:
    endpoint = await house.attempt("attempt-1")

    answer = await http.request(method, house.server.sse_url(endpoint))

    assert (answer.status_code, answer.content) == (405, b"")


@pytest.mark.req("EV-5", "EV-9")
async def test_where_every_connection_has_a_stream_open_the_next_one_is_refused(
    house: House, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kandev_nb.attachment.limits.OPEN_CONNECTIONS", 2)
    endpoint = await house.attempt("attempt-1")

    async with client_of(house, endpoint) as first, client_of(house, endpoint):
        refused = [
            await http.get(house.server.sse_url(endpoint)),
            await http.post(house.server.url(endpoint), json=INITIALIZE),
        ]
        async with Client(house.server.url(endpoint), mode=MODERN) as stateless:
            assert (await stateless.list_tools()).tools
        assert (await first.list_tools()).tools

    assert [answer.status_code for answer in refused] == [503, 503]


@pytest.mark.req("EV-9")
async def test_a_stream_beyond_the_bound_ends_the_oldest_idle_connection(
    house: House, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kandev_nb.attachment.limits.OPEN_CONNECTIONS", 2)
    endpoint = await house.attempt("attempt-1")
    url = house.server.url(endpoint)
    opened = await http.post(url, json=INITIALIZE, headers=ACCEPT)
    session = {**ACCEPT, "mcp-session-id": opened.headers["mcp-session-id"]}

    async with client_of(house, endpoint), client_of(house, endpoint):
        assert (await http.post(url, json=INITIALIZE, headers=session)).status_code == 404
        assert (await http.get(house.server.sse_url(endpoint))).status_code == 503

    assert house.kinds().count("initialize_observed") == 3


@pytest.mark.req("EV-5")
async def test_a_stream_that_fails_has_ended_too(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve = SseStream.serve

    async def fails(stream: SseStream, *words: Any) -> None:
        await serve(stream, *words)
        raise RuntimeError

    monkeypatch.setattr(SseStream, "serve", fails)
    endpoint = await house.attempt("attempt-1")
    async with client_of(house, endpoint) as client:
        await client.list_tools()

    assert await reached(lambda: "connection_closed" in house.kinds())


@pytest.mark.req("EV-5")
async def test_a_client_that_leaves_before_its_messages_are_read_is_gone_and_no_other(
    house: House, http: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("ERROR")
    endpoint = await house.attempt("attempt-1")
    async with client_of(house, endpoint) as stays:
        async with stream_of(http, house.server.sse_url(endpoint)) as (path, _):
            url = house.server.origin + path
            await asyncio.gather(
                *(http.post(url, json={**INITIALIZE, "id": number}) for number in range(20))
            )
        assert await reached(lambda: house.kinds().count("connection_closed") == 1)

        assert (await stays.list_tools()).tools
        assert house.row
        assert house.row.status == "active"
    assert caplog.text == ""
