"""Who is let in, and how little the others learn."""

import asyncio
import secrets
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from kandev_nb.attachment import limits
from kandev_nb.endpoint import AttemptEndpoint, ToolRegistry, ToolSet
from tests.endpoint.conftest import House
from tests.endpoint.test_observation import ACCEPT, INITIALIZE

pytestmark = [pytest.mark.anyio, pytest.mark.req("SA-4")]


def path_of(house: House, endpoint: AttemptEndpoint) -> str:
    return urlsplit(house.server.url(endpoint)).path


async def test_a_request_without_or_with_a_wrong_secret_gets_an_empty_401(
    house: House, http: httpx2.AsyncClient
) -> None:
    endpoint = await house.attempt("attempt-1")
    wrong = secrets.token_urlsafe(24)
    for path in (
        "/",
        "/mcp",
        "/a//mcp",
        f"/a/{wrong}/mcp",
        f"/a/{endpoint.secret[:-1]}/mcp",
        "/docs",
    ):
        for method in ("GET", "POST", "DELETE", "PUT", "OPTIONS"):
            answer = await http.request(method, house.server.origin + path)
            assert (answer.status_code, answer.content) == (401, b""), (method, path)
    for bearer in ("", "Bearer", f"Bearer {wrong}", f"Basic {endpoint.secret}", "Bearer \xe9"):
        headers = [(b"authorization", bearer.encode("latin-1"))]
        answer = await http.post(house.server.origin + "/mcp", headers=headers)
        assert (answer.status_code, answer.content) == (401, b""), bearer
    assert house.kinds() == []


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1", "http://127.0.0.1:1", "file://"]
)
async def test_a_foreign_origin_gets_an_empty_403(
    house: House, http: httpx2.AsyncClient, origin: str
) -> None:
    endpoint = await house.attempt("attempt-1")

    answer = await http.post(
        house.server.url(endpoint), json=INITIALIZE, headers={**ACCEPT, "origin": origin}
    )

    assert (answer.status_code, answer.content) == (403, b"")
    assert house.kinds() == []


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "", "[::1]:80"])
async def test_a_foreign_host_gets_an_empty_421(
    house: House, http: httpx2.AsyncClient, host: str
) -> None:
    endpoint = await house.attempt("attempt-1")

    answer = await http.post(
        house.server.url(endpoint), json=INITIALIZE, headers={**ACCEPT, "host": host}
    )

    assert (answer.status_code, answer.content) == (421, b"")
    assert house.kinds() == []


async def test_its_own_origin_and_localhost_are_let_in(
    house: House, http: httpx2.AsyncClient
) -> None:
    endpoint = await house.attempt("attempt-1")
    port = urlsplit(house.server.origin).port

    answer = await http.post(
        house.server.url(endpoint),
        json=INITIALIZE,
        headers={**ACCEPT, "host": f"localhost:{port}", "origin": f"http://localhost:{port}"},
    )

    assert answer.status_code == 200


async def test_the_secret_as_bearer_serves_the_plain_path(house: House) -> None:
    endpoint = await house.attempt("attempt-1")
    headers = {"authorization": f"Bearer {endpoint.secret}"}

    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False) as http,
        Client(streamable_http_client(house.server.origin + "/mcp", http_client=http)) as client,
    ):
        assert (await client.list_tools()).tools

    assert house.row is not None
    assert house.row.status == "active"


async def test_one_sessions_secret_does_not_open_anothers_connection(
    house: House, http: httpx2.AsyncClient
) -> None:
    other = House(house.server)
    mine, theirs = await house.attempt("attempt-1"), await other.attempt("attempt-1")
    opened = await http.post(house.server.url(theirs), json=INITIALIZE, headers=ACCEPT)
    assert opened.status_code == 200
    headers = {**ACCEPT, "mcp-session-id": opened.headers["mcp-session-id"]}
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}

    for method in ("POST", "GET", "DELETE"):
        refused = await http.request(method, house.server.url(mine), json=body, headers=headers)
        assert (refused.status_code, refused.content) == (404, b"")

    assert house.kinds() == []
    assert other.kinds() == ["initialize_observed"]
    served = await http.post(house.server.url(theirs), json=body, headers=headers)
    assert served.status_code == 200
    await house.server.end(theirs)
    other.ledger.close()


async def test_of_two_origins_both_must_be_its_own(house: House, http: httpx2.AsyncClient) -> None:
    endpoint = await house.attempt("attempt-1")
    own, evil = (b"origin", house.server.origin.encode()), (b"origin", b"https://evil.example")

    for origins in ([own, evil], [evil, own]):
        accept = [(name.encode(), value.encode()) for name, value in ACCEPT.items()]
        answer = await http.post(
            house.server.url(endpoint), json=INITIALIZE, headers=[*accept, *origins]
        )
        assert answer.status_code == 403


@pytest.mark.req("EV-9")
async def test_beyond_the_bound_the_oldest_idle_connection_ends_silently(
    house: House, http: httpx2.AsyncClient
) -> None:
    endpoint = await house.attempt("attempt-1")
    url = house.server.url(endpoint)
    sessions = []
    for number in range(limits.OPEN_CONNECTIONS + 2):
        if number > limits.OPEN_CONNECTIONS:
            async with Client(url, mode="2026-07-28") as stateless:
                await stateless.list_tools()
        opened = await http.post(url, json=INITIALIZE, headers=ACCEPT)
        assert opened.status_code == 200
        sessions.append(opened.headers["mcp-session-id"])

    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    statuses = [
        (await http.post(url, json=body, headers={**ACCEPT, "mcp-session-id": session})).status_code
        for session in (*sessions[:3], sessions[-1])
    ]

    assert statuses == [404, 404, 200, 200]
    assert "connection_closed" not in house.kinds()


async def test_the_url_of_an_ended_attempt_answers_410(
    house: House, http: httpx2.AsyncClient
) -> None:
    endpoint = await house.attempt("attempt-1")
    url = house.server.url(endpoint)
    async with Client(url, mode="legacy") as client:
        await client.list_tools()
        await house.server.end(endpoint)
        kinds = house.kinds()

        answer = await http.post(url, json=INITIALIZE, headers=ACCEPT)

    assert (answer.status_code, answer.content) == (410, b"")
    assert house.kinds() == kinds == ["initialize_observed", "tools_list_observed"]


async def test_an_unknown_path_behind_the_secret_is_an_empty_404(
    house: House, http: httpx2.AsyncClient
) -> None:
    endpoint = await house.attempt("attempt-1")

    answer = await http.get(house.server.url(endpoint) + "/else")

    assert (answer.status_code, answer.content) == (404, b"")


async def test_the_server_listens_on_loopback_only_and_secrets_are_long(house: House) -> None:
    endpoint = await house.attempt("attempt-1")
    another = await house.attempt("attempt-2")

    assert urlsplit(house.server.origin).hostname == "127.0.0.1"
    assert len(endpoint.secret) >= 32
    assert endpoint.secret != another.secret


@pytest.mark.req("SE-7")
async def test_an_opening_that_is_cancelled_at_any_moment_leaves_nothing_that_cannot_be_ended(
    house: House,
) -> None:
    for ticks in range(6):
        opened: list[AttemptEndpoint] = []

        async def opening(opened: list[AttemptEndpoint] = opened) -> None:
            tools = ToolSet(ToolRegistry())
            opened.append(await house.server.open("attempt-1", tools, house.ledger))

        async with anyio.create_task_group() as group:
            group.start_soon(opening)
            for _ in range(ticks):
                await asyncio.sleep(0)
            group.cancel_scope.cancel()
        for endpoint in opened:
            await house.server.end(endpoint)

    names = {task.get_coro().__qualname__ for task in asyncio.all_tasks()}  # type: ignore[union-attr]
    assert "StreamableHttp.run" not in names
