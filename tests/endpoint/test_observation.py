"""What the endpoint sees of real clients, and what it makes no claim about."""

from collections.abc import Mapping
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError

from kandev_nb.endpoint import Tool, ToolError, ToolRegistry
from kandev_nb.tokens import ESTIMATOR, estimate_tool, tool_json
from tests.endpoint.conftest import House

pytestmark = pytest.mark.anyio

TOOLS = 7
MODERN = "2026-07-28"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.mark.req("AC.4", "EV-1")
async def test_a_legacy_client_that_lists_tools_makes_the_row_active(house: House) -> None:
    endpoint = await house.attempt("attempt-1")

    async with Client(house.server.url(endpoint), mode="legacy") as client:
        assert house.row is not None
        assert house.row.status == "connected"
        listed = await client.list_tools()
        row = house.row

        assert len(listed.tools) == TOOLS
        assert row is not None
        assert (row.status, row.tool_count, row.connection_id) == ("active", TOOLS, "mcp-1")
        assert (row.protocol_version, row.client_name) == ("2025-11-25", "mcp")


@pytest.mark.req("AC.9", "EV-6")
@pytest.mark.parametrize("mode", [MODERN, "auto"])
async def test_a_stateless_client_leaves_no_connection_and_no_close(
    house: House, mode: str
) -> None:
    endpoint = await house.attempt("attempt-1")

    async with Client(house.server.url(endpoint), mode=mode) as client:
        await client.list_tools()
        await client.call_tool("get_task_plan_kandev", {})

    row = house.row
    assert row is not None
    assert (row.status, row.connection_id, row.protocol_version) == ("active", "", MODERN)
    assert house.kinds() == ["initialize_observed", "tools_list_observed", "tool_call_observed"]
    assert house.history.current
    assert all(not event.connection_id for event in house.history.current.evidence)


@pytest.mark.req("EV-6", "UI/Labels and dots")
async def test_a_stateless_call_without_a_list_is_connected_and_used(
    house: House, http: httpx2.AsyncClient
) -> None:
    endpoint = await house.attempt("attempt-1")
    name = "create_task_plan_kandev"
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    }
    params = {"name": name, "arguments": {"content": "x"}, "_meta": meta}

    answer = await http.post(
        house.server.url(endpoint),
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers={
            **ACCEPT,
            "mcp-protocol-version": MODERN,
            "mcp-method": "tools/call",
            "mcp-name": name,
        },
    )

    assert answer.status_code == 200
    assert house.row is not None
    assert house.row.client_name == "raw"
    assert house.row.status == "connected"
    assert house.row.used_at
    assert "tools_list_observed" not in house.kinds(), "a phantom list"


@pytest.mark.req("EV-5")
async def test_a_client_that_deletes_its_session_is_disconnected(house: House) -> None:
    endpoint = await house.attempt("attempt-1")

    async with Client(house.server.url(endpoint), mode="legacy") as client:
        await client.list_tools()

    assert house.row is not None
    assert house.row.status == "connected"
    assert house.row.disconnected_at


@pytest.mark.req("EV-5")
async def test_each_client_has_its_own_connection(house: House) -> None:
    endpoint = await house.attempt("attempt-1")
    url = house.server.url(endpoint)

    async with Client(url, mode="legacy") as first, Client(url, mode="legacy") as second:
        await first.list_tools()
        await second.list_tools()
        assert house.row is not None
        assert house.row.links.open == ("mcp-1", "mcp-2")


@pytest.mark.req("CA-1", "CA-3")
async def test_the_catalog_is_what_was_served(house: House) -> None:
    endpoint = await house.attempt("attempt-1")

    async with Client(house.server.url(endpoint), mode="legacy") as client:
        listed = await client.list_tools()

    row = house.row
    assert row is not None
    assert row.tool_token_estimator == ESTIMATOR
    assert [tool.name for tool in row.tools] == sorted(tool.name for tool in listed.tools)
    served = {
        tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        for tool in listed.tools
    }
    for tool in row.tools:
        assert tool.input_schema == served[tool.name]["inputSchema"]
        assert tool.estimated_tokens == estimate_tool(tool_json(served[tool.name]))


@pytest.mark.req("SA-1")
async def test_a_call_leaves_its_tool_name_and_nothing_of_its_arguments(house: House) -> None:
    endpoint = await house.attempt("attempt-1")

    async with Client(house.server.url(endpoint)) as client:
        await client.call_tool("create_task_plan_kandev", {"content": "hunter2 is secret"})

    assert house.history.current
    calls = [e for e in house.history.current.evidence if e.kind == "tool_call_observed"]
    assert [call.tool_name for call in calls] == ["create_task_plan_kandev"]
    assert "hunter2" not in str(house.history.to_wire())


@pytest.mark.req("EV-3")
async def test_calling_an_unknown_tool_is_neither_use_nor_failure(house: House) -> None:
    endpoint = await house.attempt("attempt-1")

    async with Client(house.server.url(endpoint), mode="legacy") as client:
        await client.list_tools()
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("delete_everything", {})
        with pytest.raises(MCPError):
            await client.list_prompts()

        assert house.row is not None
        assert house.row.status == "active"
        assert not house.row.used_at


class BrokenTools(ToolRegistry):
    """Tools that cannot be listed while ``broken`` is set."""

    broken = True

    @property
    def tools(self) -> Mapping[str, Tool]:
        if self.broken:
            raise RuntimeError("the secret is hunter2")
        return {}


@pytest.mark.req("EV-3", "EV-4", "SA-1")
@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_a_list_that_errors_here_fails_the_row_until_one_succeeds(
    house: House, mode: str
) -> None:
    tools = BrokenTools(())
    endpoint = await house.attempt("attempt-1", tools)

    async with Client(house.server.url(endpoint), mode=mode, cache=None) as client:
        with pytest.raises(MCPError) as refused:
            await client.list_tools()
        row = house.row
        assert row is not None
        assert (row.status, row.reason_code) == ("failed", "tools_list_failed")
        assert row.summary == "JSON-RPC error -32603"
        assert "hunter2" not in str(refused.value) + str(house.history.to_wire())

        tools.broken = False
        await client.list_tools()

    assert house.row is not None
    assert house.row.failed_at
    assert house.row.tools_listed_at > house.row.failed_at
    assert house.row.status == ("active" if mode == MODERN else "connected")


@pytest.mark.req("EV-3", "EV-4")
async def test_an_initialize_that_is_refused_here_fails_the_row_until_one_succeeds(
    house: House, http: httpx2.AsyncClient
) -> None:
    refusing = True

    async def refuse(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if refusing and ctx.method == "initialize":
            raise MCPError(code=-32000, message="the secret is hunter2")
        return await call_next(ctx)

    endpoint = await house.attempt("attempt-1")
    endpoint._server.middleware.append(refuse)
    await http.post(house.server.url(endpoint), json=INITIALIZE, headers=ACCEPT)
    row = house.row
    assert row is not None
    assert (row.status, row.reason_code) == ("failed", "initialize_refused")
    assert row.summary == "JSON-RPC error -32000"

    refusing = False
    await http.post(house.server.url(endpoint), json=INITIALIZE, headers=ACCEPT)

    assert house.row is not None
    assert house.row.status == "connected"


@pytest.mark.req("EV-4")
@pytest.mark.parametrize(
    "body",
    [
        {**INITIALIZE, "params": {}},
        {**INITIALIZE, "params": {"protocolVersion": 7}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": []}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "1.0"},
    ],
)
async def test_a_bad_request_of_the_client_fails_nothing(
    house: House, http: httpx2.AsyncClient, body: dict[str, Any]
) -> None:
    endpoint = await house.attempt("attempt-1")

    await http.post(house.server.url(endpoint), json=body, headers=ACCEPT)

    assert house.kinds() == []


@pytest.mark.req("EV-4")
async def test_a_stateless_request_whose_headers_do_not_match_fails_nothing(
    house: House, http: httpx2.AsyncClient
) -> None:
    endpoint = await house.attempt("attempt-1")
    headers = {**ACCEPT, "mcp-protocol-version": MODERN, "mcp-method": "tools/call"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}

    answer = await http.post(house.server.url(endpoint), json=body, headers=headers)

    assert answer.status_code == 400
    assert house.kinds() == []


@pytest.mark.req("EV-13")
async def test_client_facts_of_any_shape_are_survived(
    house: House, http: httpx2.AsyncClient
) -> None:
    endpoint = await house.attempt("attempt-1")
    client = {"name": "n" * 9000, "version": "1"}
    body = {**INITIALIZE, "params": {**INITIALIZE["params"], "clientInfo": client}}  # type: ignore[dict-item]

    answer = await http.post(house.server.url(endpoint), json=body, headers=ACCEPT)

    assert answer.status_code == 200
    assert house.row is not None
    assert len(house.row.client_name) == 256


@pytest.mark.req("EV-7")
async def test_late_traffic_of_a_superseded_attempt_is_served_and_only_counted(
    house: House,
) -> None:
    old = await house.attempt("attempt-1")
    async with Client(house.server.url(old), mode="legacy") as client:
        await client.list_tools()
        await house.attempt("attempt-2")
        before = house.history.to_wire()

        assert len((await client.list_tools()).tools) == TOOLS
        await client.call_tool("get_task_plan_kandev", {})
        after = house.history.to_wire()

    late = after["current"].pop("late_traffic")
    assert late["count"] == 2
    assert {**after, "revision": 0} == {**before, "revision": 0}


def echo_tools() -> ToolRegistry:
    async def call(arguments: Any) -> Any:
        match arguments.get("do"):
            case "fail":
                raise ToolError("the plan is locked")
            case "raise":
                raise ValueError("hunter2")
            case "exit":
                raise SystemExit(3)
        return arguments

    properties = {
        "do": {"type": "string"},
        "size": {"type": "integer", "maximum": 9},
        "at": {"$ref": "#/$defs/place"},
    }
    root = {
        "type": "object",
        "properties": properties,
        "required": ["do", "size"],
        "$defs": {"place": {"type": "object", "properties": {"x": {"type": "number"}}}},
    }
    definition = types.Tool(name="echo", input_schema={**root, "additionalProperties": False})
    return ToolRegistry((Tool(definition, call),))


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"do": "x", "size": 1}, '{"do":"x","size":1}'),
        ({}, "missing required argument: do; missing required argument: size"),
        ({"do": "x"}, "missing required argument: size"),
        (
            {"do": "x", "size": 1, "b": "hunter2", "a": 1},
            "unknown argument: b; unknown argument: a",
        ),
        ({"do": "x", "size": "hunter2"}, 'argument size does not match type: "integer"'),
        ({"do": "x", "size": 10}, "argument size does not match maximum: 9"),
        (
            {"do": "x", "size": 1, "at": {"x": "hunter2"}},
            'argument at.x does not match type: "number"',
        ),
        ({"do": "fail", "size": 1}, "the plan is locked"),
        ({"do": "raise", "size": 1}, "The tool failed: ValueError."),
        ({"do": "exit", "size": 1}, "The tool failed: SystemExit."),
    ],
)
async def test_arguments_are_checked_by_name_and_never_echoed(
    house: House, arguments: dict[str, Any], answer: str
) -> None:
    endpoint = await house.attempt("attempt-1", echo_tools())

    async with Client(house.server.url(endpoint)) as client:
        result = await client.call_tool("echo", arguments)

    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert content.text == answer
    assert result.is_error == (answer[0] != "{")


@pytest.mark.req("EV-5")
async def test_a_client_may_shake_hands_again_on_one_connection(
    house: House, http: httpx2.AsyncClient
) -> None:
    url = house.server.url(await house.attempt("attempt-1"))
    opened = await http.post(url, json=INITIALIZE, headers=ACCEPT)
    session = {**ACCEPT, "mcp-session-id": opened.headers["mcp-session-id"]}

    again = await http.post(url, json={**INITIALIZE, "id": 2}, headers=session)
    await http.post(url, json={"jsonrpc": "2.0", "id": 3, "method": "tools/list"}, headers=session)

    assert again.status_code == 200
    row = house.row
    assert row
    assert (row.status, row.links.open) == ("active", ("mcp-1",))
    assert house.kinds() == ["initialize_observed"] * 2 + ["tools_list_observed"]
    assert (await http.delete(url, headers=session)).status_code == 200
    assert house.kinds()[-1] == "connection_closed"
    assert house.row
    assert house.row.disconnected_at
    assert (await http.post(url, json=INITIALIZE, headers=session)).status_code == 404


@pytest.mark.req("EV-5")
async def test_the_end_of_a_get_stream_is_no_evidence(
    house: House, http: httpx2.AsyncClient
) -> None:
    url = house.server.url(await house.attempt("attempt-1"))
    opened = await http.post(url, json=INITIALIZE, headers=ACCEPT)
    session = {**ACCEPT, "mcp-session-id": opened.headers["mcp-session-id"]}

    for _ in range(2):
        async with http.stream("GET", url, headers=session) as stream:
            assert stream.status_code == 200
    await http.post(url, json={"jsonrpc": "2.0", "id": 3, "method": "tools/list"}, headers=session)

    assert house.row
    assert house.row.status == "active"
    assert house.kinds() == ["initialize_observed", "tools_list_observed"]


@pytest.mark.req("EV-5")
async def test_a_connection_of_a_live_attempt_never_expires(house: House) -> None:
    endpoint = await house.attempt("attempt-1")

    assert endpoint._http._manager.session_idle_timeout is None
    assert endpoint._http._manager.max_sessions is None
