"""The stdio bridge: what an agent's client gets through it, and how each side ends the other."""

import asyncio
import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import psutil
import pytest
import uvicorn
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from starlette.types import Receive, Scope, Send

from kandev_nb import endpoint as face
from kandev_nb.endpoint import AttemptEndpoint, Tool, ToolRegistry, bridge, tool_from
from kandev_nb.endpoint.bridge.crossing import REQUESTS_AT_ONCE
from tests.endpoint.conftest import House, reached
from tests.endpoint.test_list_changes import Listener
from tests.endpoint.test_observation import INITIALIZE, MODERN, TOOLS
from tests.processes import run_script

pytestmark = [pytest.mark.anyio, pytest.mark.req("CF-3")]

SECRET = "a-secret-of-the-tests"
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
Json = dict[str, Any]


def environment(url: str, secret: str) -> dict[str, str]:
    return {bridge.URL_VARIABLE: url, bridge.SECRET_VARIABLE: secret}


def of(house: House, endpoint: AttemptEndpoint) -> dict[str, str]:
    return environment(house.server.origin + "/mcp", endpoint.secret)


@asynccontextmanager
async def client_of(
    house: House, endpoint: AttemptEndpoint, mode: str, listener: Listener | None = None
) -> AsyncIterator[Client]:
    """The SDK's own stdio client, whose server is the bridge."""
    program, *arguments = bridge.command()
    server = StdioServerParameters(command=program, args=arguments, env=of(house, endpoint))
    with anyio.fail_after(60):
        async with Client(
            stdio_client(server), mode=mode, cache=None, message_handler=listener
        ) as client:
            yield client


def bridges() -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process().children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE and bridge.__name__ in child.cmdline()
    ]


class Raw:
    """A bridge of which the test is the client, line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        assert process.stdin
        assert process.stdout
        self.stdin, self._stdout = process.stdin, process.stdout

    async def send(self, *messages: Json | bytes) -> None:
        lines = [m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages]
        self.stdin.write(b"".join(line + b"\n" for line in lines))
        await self.stdin.drain()

    async def receive(self) -> Json:
        async with asyncio.timeout(30):
            line = await self._stdout.readline()
        assert line.endswith(b"\n"), "the bridge has ended"
        message: Json = json.loads(line)
        return message

    async def ask(self, message: Json | bytes) -> Json:
        await self.send(message)
        return await self.receive()

    async def shake_hands(self) -> Json:
        """Begin a session; its stream is open when the ping is answered."""
        answer = await self.ask(INITIALIZE)
        await self.send(INITIALIZED, request("ready", "ping"))
        assert (await self.receive())["id"] == "ready"
        return answer

    async def ended(self) -> tuple[int, str]:
        """The exit code and what was said on stderr."""
        assert self.process.stderr
        async with asyncio.timeout(10):
            said = await self.process.stderr.read()
            return await self.process.wait(), said.decode()


@asynccontextmanager
async def raw(env: dict[str, str]) -> AsyncIterator[Raw]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *bridge.command(), stdin=pipe, stdout=pipe, stderr=pipe, env=env, limit=2**26
    )
    try:
        yield Raw(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        # Not communicate(): a test may have closed a pipe.
        await process.wait()


def request(number: int | str, method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def called(number: int | str, name: str, **arguments: Any) -> Json:
    return request(number, "tools/call", name=name, arguments=arguments)


def cancelled(number: int | str) -> Json:
    return {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": number},
    }


def stateless(message: Json) -> Json:
    return {**message, "params": {**message["params"], "_meta": META}}


class Waiting:
    """A tool that waits, and knows of each of its calls how it ended."""

    def __init__(self) -> None:
        self.begun = self.cancelled = 0
        self.may_end = asyncio.Event()

    @property
    def tool(self) -> Tool:
        template = tool_from(self._nothing, name="waits")
        return Tool(template.definition, self._wait)

    @staticmethod
    def _nothing() -> None:
        """Wait."""

    async def _wait(self, _: Any) -> str:
        self.begun += 1
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "done"


def echo(text: str) -> int:
    """Say how long a text is."""
    return len(text)


def separators() -> str:
    """Say what a careless reader takes for ends of lines."""
    return "a\u2028b\x85c\r\nd"


@pytest.mark.req("AC.4", "EV-5")
async def test_a_client_with_sessions_is_observed_through_the_bridge_until_it_leaves(
    house: House,
) -> None:
    endpoint = await house.attempt("attempt-1")

    async with client_of(house, endpoint, "legacy") as client:
        listed = await client.list_tools()
        await client.call_tool("get_task_plan_kandev", {})
        row = house.row

    assert len(listed.tools) == TOOLS
    assert row
    assert (row.status, row.connection_id, row.client_name) == ("active", "mcp-1", "mcp")
    assert (row.protocol_version, row.tool_count) == ("2025-11-25", TOOLS)
    told = [
        "initialize_observed",
        "tools_list_observed",
        "tool_call_observed",
        "connection_closed",
    ]
    assert await reached(lambda: house.kinds() == told)
    assert not bridges()


@pytest.mark.req("AC.9", "EV-6")
@pytest.mark.parametrize("mode", [MODERN, "auto"])
async def test_a_stateless_client_is_observed_through_the_bridge_without_a_connection(
    house: House, mode: str
) -> None:
    endpoint = await house.attempt("attempt-1")

    async with client_of(house, endpoint, mode) as client:
        assert len((await client.list_tools()).tools) == TOOLS
        await client.call_tool("get_task_plan_kandev", {})

    row = house.row
    assert row
    assert (row.status, row.connection_id, row.protocol_version) == ("active", "", MODERN)
    assert house.kinds() == ["initialize_observed", "tools_list_observed", "tool_call_observed"]
    assert not bridges()


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_progress_of_several_calls_comes_while_none_of_them_is_answered(
    house: House, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr("kandev_nb.endpoint.mcp_server.KEEP_ALIVE", 0.02)
    waiting = Waiting()
    endpoint = await house.attempt("attempt-1", ToolRegistry([waiting.tool]))
    reports = dict.fromkeys(range(5), 0)

    async def call(client: Client, number: int) -> None:
        async def reported(progress: float, total: float | None, message: str | None) -> None:
            reports[number] += 1

        await client.call_tool("waits", {}, progress_callback=reported)

    async with client_of(house, endpoint, mode) as client, anyio.create_task_group() as group:
        for number in reports:
            group.start_soon(call, client, number)
        assert await reached(lambda: min(reports.values()) >= 2)
        assert waiting.begun == 5
        waiting.may_end.set()


@pytest.mark.req("CA-1")
async def test_a_changed_set_is_announced_to_a_client_with_a_session(house: House) -> None:
    tools, listener = ToolRegistry(), Listener()
    endpoint = await house.attempt("attempt-1", tools)

    async with client_of(house, endpoint, "legacy", listener) as client:
        tools.put(tool_from(echo))
        assert await reached(lambda: listener.told == 1)
        assert [tool.name for tool in (await client.list_tools()).tools] == ["echo"]


@pytest.mark.req("CA-1")
async def test_a_changed_set_is_announced_to_a_stateless_client_that_listens(house: House) -> None:
    tools = ToolRegistry()
    endpoint = await house.attempt("attempt-1", tools)

    async with (
        client_of(house, endpoint, MODERN) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        tools.put(tool_from(echo))
        async with asyncio.timeout(10):
            await anext(aiter(changes))
        assert [tool.name for tool in (await client.list_tools()).tools] == ["echo"]


@pytest.mark.req("EV-5")
async def test_a_killed_bridge_is_a_close_once_and_not_before_the_grace(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    grace = 0.7
    monkeypatch.setattr("kandev_nb.endpoint.attempt.CLOSE_GRACE", grace)
    waiting = Waiting()
    endpoint = await house.attempt("attempt-1", ToolRegistry([waiting.tool]))
    async with raw(of(house, endpoint)) as stays, raw(of(house, endpoint)) as dies:
        await stays.shake_hands()
        await dies.shake_hands()
        await dies.send(called(2, "waits"))
        assert await reached(lambda: waiting.begun == 1)

        killed_at = time.monotonic()
        dies.process.kill()

        assert await reached(lambda: "connection_closed" in house.kinds())
        assert time.monotonic() - killed_at >= grace
        assert await reached(lambda: waiting.cancelled == 1), "its session has ended too"
        assert house.row
        assert house.row.links.open == ("mcp-1",)
        assert (await stays.ask(request(2, "ping")))["result"] == {}
        stays.stdin.close()
        assert await stays.ended() == (0, "")

    assert await reached(lambda: house.kinds().count("connection_closed") == 2)


@pytest.mark.req("EV-5")
async def test_a_bridge_that_is_killed_with_its_execution_is_no_evidence(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("ERROR")
    monkeypatch.setattr("kandev_nb.endpoint.attempt.CLOSE_GRACE", 30)
    endpoint = await house.attempt("attempt-1")
    async with raw(of(house, endpoint)) as dies:
        await dies.shake_hands()
        dies.process.kill()
        await dies.process.wait()
        assert await reached(lambda: not endpoint._lifelines._bridges)

    await house.server.end(endpoint)
    another = await house.attempt("attempt-2")
    async with raw(of(house, another)) as one:
        await one.shake_hands()

    (ended,) = house.history.previous
    assert [event.kind for event in ended.evidence] == ["initialize_observed"]
    assert house.history.current
    assert not house.history.current.late_traffic
    assert caplog.text == ""


@pytest.mark.req("EV-5", "SE-3")
async def test_a_bridge_ends_with_its_endpoint_and_says_so_in_a_line(house: House) -> None:
    waiting = Waiting()
    endpoint = await house.attempt("attempt-1", ToolRegistry([waiting.tool]))
    async with raw(of(house, endpoint)) as one:
        await one.shake_hands()
        await one.send(called(2, "waits"))
        assert await reached(lambda: waiting.begun == 1)

        await house.server.end(endpoint)

        code, said = await one.ended()
    assert code == 1
    assert said == "kandev-nb bridge: The Kandev MCP endpoint has ended with its session.\n"
    assert house.kinds() == ["initialize_observed", "tool_call_observed"]


@pytest.mark.parametrize("has_ended", [True, False])
async def test_a_bridge_to_an_endpoint_that_has_ended_or_is_nowhere_does_not_stay(
    house: House, has_ended: bool
) -> None:
    endpoint = await house.attempt("attempt-1")
    await house.server.end(endpoint)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        nowhere = environment(f"http://127.0.0.1:{nobody.getsockname()[1]}/mcp", SECRET)
        async with raw(of(house, endpoint) if has_ended else nowhere) as one:
            code, said = await one.ended()

    assert (code, said.count("\n")) == (1, 1)
    assert "has ended" in said


Leave = Callable[[Raw], None]


@pytest.mark.req("EV-5", "SE-3")
@pytest.mark.parametrize(
    "leave",
    [
        pytest.param(lambda one: one.stdin.close(), id="stdin"),
        pytest.param(lambda one: one.process.terminate(), id="SIGTERM"),
        pytest.param(lambda one: one.process.send_signal(signal.SIGINT), id="SIGINT"),
    ],
)
async def test_when_the_agent_leaves_the_session_is_ended_and_the_bridge_too(
    house: House, leave: Leave, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kandev_nb.endpoint.attempt.CLOSE_GRACE", 30)
    waiting = Waiting()
    endpoint = await house.attempt("attempt-1", ToolRegistry([waiting.tool]))
    async with raw(of(house, endpoint)) as one:
        await one.shake_hands()
        await one.send(called(2, "waits"))
        assert await reached(lambda: waiting.begun == 1)

        left_at = time.monotonic()
        leave(one)

        assert await one.ended() == (0, "")
        assert time.monotonic() - left_at < 5
    assert await reached(lambda: waiting.cancelled == 1), "the bridge sent no DELETE"


async def test_a_bridge_that_nobody_listens_to_ends(house: House) -> None:
    endpoint = await house.attempt("attempt-1")
    reads, writes = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *bridge.command(),
        stdin=asyncio.subprocess.PIPE,
        stdout=writes,
        stderr=asyncio.subprocess.PIPE,
        env=of(house, endpoint),
    )
    os.close(writes)
    assert process.stdin
    assert process.stderr
    process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    assert await reached(lambda: house.kinds() == ["initialize_observed"])

    os.close(reads)

    async with asyncio.timeout(10):
        assert (await process.stderr.read(), await process.wait()) == (b"", 0)
    assert await reached(lambda: house.kinds() == ["initialize_observed", "connection_closed"])


async def test_when_the_agent_dies_nothing_is_left(house: House) -> None:
    endpoint = await house.attempt("attempt-1")
    agent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import subprocess, sys; pipe = subprocess.PIPE\n"
        "bridge = subprocess.Popen(sys.argv[1:], stdin=pipe, stdout=pipe)\n"
        f"bridge.stdin.write({json.dumps(INITIALIZE)!r}.encode() + b'\\n')\n"
        "bridge.stdin.flush(); bridge.stdout.readline(); print(bridge.pid, flush=True)\n"
        "bridge.wait()",
        *bridge.command(),
        stdout=asyncio.subprocess.PIPE,
        env=of(house, endpoint),
    )
    assert agent.stdout
    process = psutil.Process(int(await agent.stdout.readline()))

    agent.kill()
    await agent.wait()

    assert await reached(lambda: not process.is_running() or _is_zombie(process))
    assert await reached(lambda: house.kinds() == ["initialize_observed", "connection_closed"])


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.req("SA-1", "CF-4")
async def test_no_command_line_holds_the_secret(house: House) -> None:
    endpoint = await house.attempt("attempt-1")
    async with raw(of(house, endpoint)) as one:
        await one.shake_hands()
        (process,) = bridges()

        assert process.pid == one.process.pid
        assert endpoint.secret not in " ".join(process.cmdline())
        assert process.children() == []


async def test_each_of_many_calls_is_cancelled_by_the_notification_right_behind_it(
    house: House,
) -> None:
    waiting, rounds = Waiting(), range(2, 60)
    endpoint = await house.attempt("attempt-1", ToolRegistry([waiting.tool]))
    async with raw(of(house, endpoint)) as one:
        await one.shake_hands()
        for number in rounds:
            await one.send(called(number, "waits"), cancelled(number))

        answers = [await one.receive() for _ in rounds]

    assert sorted(answer["id"] for answer in answers) == list(rounds)
    assert all("error" in answer for answer in answers)
    assert waiting.cancelled == waiting.begun


@pytest.mark.parametrize(("given_up", "left"), [("1", 1), (1, "1")])
async def test_a_stateless_call_that_is_cancelled_ends_at_the_endpoint_and_is_not_answered(
    house: House, given_up: int | str, left: int | str
) -> None:
    waiting = Waiting()
    endpoint = await house.attempt("attempt-1", ToolRegistry([waiting.tool]))
    async with raw(of(house, endpoint)) as one:
        await one.send(stateless(called(1, "waits")), stateless(called("1", "waits")))
        assert await reached(lambda: waiting.begun == 2)

        await one.send(cancelled(given_up), cancelled("unknown"))

        assert await reached(lambda: waiting.cancelled == 1)
        waiting.may_end.set()
        assert (await one.receive())["id"] == left, "another ID, though it looks the same"
        assert (await one.ask(stateless(request(2, "tools/list"))))["id"] == 2


async def test_more_requests_than_are_under_way_at_once_wait_and_are_all_answered(
    house: House,
) -> None:
    waiting, calls = Waiting(), range(2, REQUESTS_AT_ONCE + 40)
    endpoint = await house.attempt("attempt-1", ToolRegistry([waiting.tool]))
    async with raw(of(house, endpoint)) as one:
        await one.send(*(stateless(called(number, "waits")) for number in calls))
        assert await reached(lambda: waiting.begun == REQUESTS_AT_ONCE)
        waiting.may_end.set()

        answers = [await one.receive() for _ in calls]

    assert sorted(answer["id"] for answer in answers) == list(calls)
    assert all("result" in answer for answer in answers)


async def test_a_proxy_of_the_environment_gets_nothing_to_see(house: House) -> None:
    endpoint = await house.attempt("attempt-1")
    proxy = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY"), "http://127.0.0.1:1")
    async with raw({**of(house, endpoint), **proxy}) as one:
        await one.shake_hands()


@pytest.mark.req("SE-4")
@pytest.mark.parametrize(
    "line", [b"{", b"[]", b"1", b"null", b'"x"', b"\xff{}", b"[" * 100_000, b'{"a": NaN, "b"}']
)
async def test_a_line_that_is_no_message_is_answered_and_the_bridge_goes_on(
    house: House, line: bytes
) -> None:
    endpoint = await house.attempt("attempt-1")
    async with raw(of(house, endpoint)) as one:
        answer = await one.ask(line)

        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        await one.send(b"", b"  ", b"\r")
        assert "result" in await one.ask(json.dumps(INITIALIZE).encode() + b"\r")


@pytest.mark.req("SE-4")
async def test_a_line_without_an_end_is_read_past_and_not_kept(house: House) -> None:
    endpoint = await house.attempt("attempt-1")
    async with raw(of(house, endpoint)) as one:
        process = psutil.Process(one.process.pid)
        piece = b" " * 2**20
        for _ in range(200):
            one.stdin.write(piece)
            await one.stdin.drain()
        answer = await one.ask(b"")

        assert answer["error"]["message"] == "The line is longer than 64 MiB"
        assert process.memory_info().rss < 200 * 2**20
        assert "result" in await one.ask(INITIALIZE)


async def test_a_large_argument_is_carried_and_one_too_large_for_the_endpoint_is_refused(
    house: House,
) -> None:
    endpoint = await house.attempt("attempt-1", ToolRegistry([tool_from(echo)]))
    async with raw(of(house, endpoint)) as one:
        await one.shake_hands()
        carried = await one.ask(called(2, "echo", text="x" * (3 * 2**20)))
        assert carried["result"]["content"][0]["text"] == str(3 * 2**20)
        for number in range(3, 8):
            refused = await one.ask(called(number, "echo", text="x" * (8 * 2**20)))
            assert refused["id"] == number
            assert refused["error"]["message"] == "The request body is larger than 4 MiB"


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_what_only_looks_like_an_end_of_line_ends_none(house: House, mode: str) -> None:
    endpoint = await house.attempt("attempt-1", ToolRegistry([tool_from(separators)]))

    async with client_of(house, endpoint, mode) as client:
        result = await client.call_tool("separators", {})

    assert result.content[0].text == separators()  # type: ignore[union-attr]


async def test_a_refusal_of_what_the_endpoint_did_not_read_bears_the_requests_id(
    house: House,
) -> None:
    endpoint = await house.attempt("attempt-1")
    async with raw(of(house, endpoint)) as one:
        await one.shake_hands()
        answer = await one.ask(b'{"jsonrpc":"2.0","id":"7","method":"ping","method":"ping"}')

    assert answer["id"] == "7"
    assert answer["error"]["message"] == "An object has the same key twice"


@pytest.mark.req("SA-1")
@pytest.mark.parametrize(
    ("url", "secret", "said"),
    [
        ("", SECRET, f"{bridge.URL_VARIABLE} is not set"),
        ("http://127.0.0.1:1/mcp", "", f"{bridge.SECRET_VARIABLE} is not set"),
        ("https://127.0.0.1:1/mcp", SECRET, bridge.URL_VARIABLE),
        ("http://evil.example:1/mcp", SECRET, bridge.URL_VARIABLE),
        ("http://127.0.0.1/mcp", SECRET, bridge.URL_VARIABLE),
        ("http://127.0.0.1:x/mcp", SECRET, bridge.URL_VARIABLE),
        ("http://u:p@127.0.0.1:1/mcp", SECRET, bridge.URL_VARIABLE),
        ("http://127.0.0.1:1/mcp", f"{SECRET}\n", bridge.SECRET_VARIABLE),
    ],
)
async def test_a_bridge_that_is_started_wrongly_names_the_variable_and_never_its_value(
    url: str, secret: str, said: str
) -> None:
    given = {name: value for name, value in environment(url, secret).items() if value}
    async with raw(given) as one:
        code, words = await one.ended()

    assert (code, words.count("\n")) == (2, 1)
    assert said in words
    assert SECRET not in words
    assert "evil" not in words


def test_a_bridge_without_pipes_says_so() -> None:
    process = subprocess.run(
        bridge.command(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment("http://127.0.0.1:1/mcp", SECRET),
        timeout=60,
        check=False,
    )

    assert process.returncode == 2
    assert process.stderr == (
        b"kandev-nb bridge: stdin must be a pipe: an MCP client starts the bridge.\n"
    )


def test_an_agent_waits_for_none_of_the_servers_parts() -> None:
    script = """
        import sys, kandev_nb.endpoint.bridge
        light = set(sys.modules)
        import kandev_nb.endpoint.bridge.__main__, kandev_nb.endpoint.bridge.crossing
        heavy = {"mcp", "mcp_types", "starlette", "uvicorn", "pydantic", "pandas", "tiktoken"}
        print(heavy & set(sys.modules), {"httpx2", "anyio", "asyncio"} & light)
    """
    assert run_script(script).stdout == "set() set()\n"


def test_the_endpoints_face_gives_each_of_its_names_whatever_was_loaded_before() -> None:
    script = """
        import kandev_nb.endpoint.server, kandev_nb.endpoint.builtin, kandev_nb.endpoint.workshop
        from kandev_nb import endpoint
        print(all(hasattr(endpoint, name) for name in endpoint.__all__))
        print(type(endpoint.workers).__name__, type(endpoint.Plan).__name__)
    """
    assert run_script(script).stdout == "True\nfunction type\n"
    assert sorted(face.__all__) == sorted(face._ROOMS)
    with pytest.raises(AttributeError, match="nothing"):
        _ = face.nothing


class Recorder:
    """A server that keeps what it was sent, and answers what the test says."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Json]] = []
        self.answer: Callable[[Json], tuple[int, str, list[bytes]]] = self._ordinary
        self.between = asyncio.Event()
        self.between.set()
        self.url = ""

    def headers(self, method: str) -> dict[str, str]:
        return next(headers for _, headers, body in self.requests if body.get("method") == method)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        content = b""
        while (message := await receive())["type"] == "http.request":
            content += message["body"]
            if not message.get("more_body"):
                break
        body: Json = json.loads(content) if content else {}
        self.requests.append((f"{scope['method']} {scope['path']}", headers, body))
        status, kind, pieces = self.answer(body)
        given = [(b"content-type", kind.encode()), (b"mcp-session-id", b"session-1")]
        await send({"type": "http.response.start", "status": status, "headers": given})
        if scope["path"] == bridge.LIFELINE:
            await receive()
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await self.between.wait()
        await send({"type": "http.response.body", "body": b""})

    @staticmethod
    def _ordinary(body: Json) -> tuple[int, str, list[bytes]]:
        if "id" not in body:
            return 200 if not body else 202, "application/json", []
        result = {"protocolVersion": "2025-06-18"} if body["method"] == "initialize" else {}
        answer = {"jsonrpc": "2.0", "id": body["id"], "result": result}
        return 200, "application/json", [json.dumps(answer, indent=1).encode()]


@pytest.fixture
async def recorder() -> AsyncIterator[Recorder]:
    recorder = Recorder()
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    recorder.url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    server = uvicorn.Server(
        uvicorn.Config(
            recorder,
            interface="asgi3",
            lifespan="off",
            log_config=None,
            ws="none",
            timeout_graceful_shutdown=1,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    yield recorder
    server.should_exit = True
    await serving


async def test_a_session_and_its_negotiated_version_stand_on_each_later_request(
    recorder: Recorder,
) -> None:
    async with raw(environment(recorder.url, SECRET)) as one:
        await one.send(INITIALIZE, called(2, "add", a=1), INITIALIZED)
        assert (await one.receive())["result"] == {"protocolVersion": "2025-06-18"}
        assert (await one.receive())["id"] == 2
        one.stdin.close()
        assert await one.ended() == (0, "")

    initialize, call = recorder.headers("initialize"), recorder.headers("tools/call")
    assert "mcp-protocol-version" not in initialize
    assert "mcp-session-id" not in initialize
    assert initialize["authorization"] == f"Bearer {SECRET}"
    assert initialize["accept"] == "application/json, text/event-stream"
    assert initialize["content-type"] == "application/json"
    assert call["mcp-protocol-version"] == "2025-06-18"
    assert (call["mcp-method"], call["mcp-name"]) == ("tools/call", "add")
    listen, leave = recorder.requests[-2][1], recorder.requests[-1][1]
    assert [line for line, _, _ in recorder.requests] == [
        "GET /bridge",
        "POST /mcp",
        "POST /mcp",
        "POST /mcp",
        "GET /mcp",
        "DELETE /mcp",
    ]
    for headers in (recorder.headers("notifications/initialized"), listen, call, leave):
        assert headers["mcp-session-id"] == "session-1"
        assert headers["mcp-protocol-version"] == "2025-06-18"
    (bridge_id,) = {headers[bridge.BRIDGE_HEADER] for _, headers, _ in recorder.requests}
    assert bridge_id


@pytest.mark.parametrize(
    ("method", "member", "name"),
    [
        ("tools/call", "name", "add"),
        ("tools/call", "name", "größe"),
        ("tools/call", "name", " padded "),
        ("tools/call", "name", "two\r\nlines"),
        ("tools/call", "name", "=?base64?YQ==?="),
        ("prompts/get", "name", "prompt"),
        ("resources/read", "uri", "file:///ä"),
    ],
)
async def test_a_stateless_request_says_in_its_headers_what_its_body_says(
    recorder: Recorder, method: str, member: str, name: str
) -> None:
    async with raw(environment(recorder.url, SECRET)) as one:
        await one.ask(stateless(request(1, method, **{member: name})))

    headers = recorder.headers(method)
    assert (headers["mcp-protocol-version"], headers["mcp-method"]) == (MODERN, method)
    assert "mcp-session-id" not in headers
    value = headers["mcp-name"]
    if value.startswith("=?base64?"):
        value = base64.b64decode(value.removeprefix("=?base64?").removesuffix("?=")).decode()
        assert name not in ("add", "prompt")
    assert value == name


NO_ANSWERS = [
    pytest.param((500, "text/plain", [b"a word"]), "500 Internal Server Error", id="500"),
    pytest.param((404, "text/plain", []), "404 Not Found", id="404"),
    pytest.param((299, "text/plain", []), "299", id="299"),
    pytest.param((202, "application/json", []), "202 Accepted", id="202"),
    pytest.param((200, "application/json", [b"no JSON"]), "200 OK", id="no JSON"),
    pytest.param((200, "text/event-stream", [b": nothing\n\n"]), "200 OK", id="no event"),
]


@pytest.mark.req("SA-1")
@pytest.mark.parametrize(("answer", "words"), NO_ANSWERS)
async def test_a_request_without_an_answer_gets_the_status_and_a_notification_nothing(
    recorder: Recorder, answer: tuple[int, str, list[bytes]], words: str
) -> None:
    async with raw(environment(recorder.url, SECRET)) as one:
        await one.shake_hands()
        recorder.answer = lambda _: answer
        await one.send({**INITIALIZED, "method": "notifications/other"})
        refused = await one.ask(called(2, "add"))

    assert refused["id"] == 2
    assert refused["error"]["code"] == -32603
    assert refused["error"]["message"].endswith(f" answered {words}.")


async def test_each_event_is_carried_when_it_comes_and_on_one_line(recorder: Recorder) -> None:
    progress = (
        b'event: message\r\ndata: {"method": "notifications/progress",\r\n'
        b'data: "x": "\xe2\x80\xa8"}\r\n\r\n'
    )
    answer = b'data: {"jsonrpc": "2.0", "id": 2, "result": {}}\n\n'
    async with raw(environment(recorder.url, SECRET)) as one:
        await one.shake_hands()
        recorder.answer = lambda _: (200, "text/event-stream", [progress, answer])
        recorder.between.clear()

        first = await one.ask(called(2, "add"))
        recorder.between.set()

        assert first == {"method": "notifications/progress", "x": "\u2028"}
        assert (await one.receive())["id"] == 2


@pytest.mark.parametrize("status", [401, 410])
async def test_a_bridge_ends_when_the_endpoint_no_longer_knows_it(
    recorder: Recorder, status: int
) -> None:
    async with raw(environment(recorder.url, SECRET)) as one:
        await one.shake_hands()
        recorder.answer = lambda _: (status, "text/plain", [])
        await one.send(called(2, "add"))

        code, said = await one.ended()
    assert (code, said.count("\n")) == (1, 1)
    assert recorder.requests[-1][0] == "POST /mcp", "there is no session left to end"


@pytest.mark.req("SA-4")
async def test_a_lifeline_needs_the_secret_and_one_id_for_one_bridge(
    house: House, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kandev_nb.attachment.limits.OPEN_CONNECTIONS", 1)
    endpoint = await house.attempt("attempt-1")
    url = house.server.url(endpoint).replace("/mcp", bridge.LIFELINE)
    plain = house.server.origin + bridge.LIFELINE

    async def status(method: str, url: str, bridge_id: str = "") -> int:
        headers = {bridge.BRIDGE_HEADER: bridge_id} if bridge_id else {}
        return (await http.request(method, url, headers=headers)).status_code

    async with http.stream("GET", url, headers={bridge.BRIDGE_HEADER: "first"}) as held:
        assert held.status_code == 200
        assert await status("GET", url, "first") == 409
        assert await status("GET", url, "second") == 503
        assert await status("GET", plain, "second") == 401
    assert await status("GET", url) == 400
    assert await status("GET", url, "x" * 65) == 400
    assert await status("GET", url, "a b") == 400
    for method in ("POST", "DELETE", "HEAD"):
        assert await status(method, url, "second") == 405
    assert house.kinds() == []
