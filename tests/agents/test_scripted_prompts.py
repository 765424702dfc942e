"""What the reference agent asks of its client: permission, files, a terminal, the unknown."""

import asyncio
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from anyio import Path as AsyncPath

from kandev_nb.agents.scripted import command
from tests.agents.acp_client import Answer, Params, RawClient, connected
from tests.agents.conftest import http, until
from tests.agents.mcp_server import TinyServer

pytestmark = pytest.mark.anyio

PERMISSION = "session/request_permission"


def choosing(*kinds: str) -> Mapping[str, Answer]:
    """Answer one request for permission after the other, each with the option of a kind."""
    left = list(kinds)

    async def answer(params: Params) -> Params:
        kind = left.pop(0)
        ids = {option["kind"]: option["optionId"] for option in params["options"]}
        if kind == "cancelled":
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": ids.get(kind, kind)}}

    return {PERMISSION: answer}


class Workspace:
    """The files and the terminals of a real client."""

    def __init__(self) -> None:
        self.terminals: dict[str, Process] = {}
        self.released: list[str] = []

    def answers(self) -> Mapping[str, Answer]:
        return {
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
            "terminal/create": self._create,
            "terminal/wait_for_exit": self._wait,
            "terminal/output": self._output,
            "terminal/release": self._release,
        }

    async def _read(self, params: Params) -> Params:
        return {"content": await AsyncPath(params["path"]).read_text()}

    async def _write(self, params: Params) -> Params:
        await AsyncPath(params["path"]).write_text(params["content"])
        return {}

    async def _create(self, params: Params) -> Params:
        line = (params["command"], *params["args"])
        process = await asyncio.create_subprocess_exec(
            *line, cwd=params["cwd"], stdout=PIPE, stderr=STDOUT
        )
        terminal_id = f"terminal-{len(self.terminals)}"
        self.terminals[terminal_id] = process
        return {"terminalId": terminal_id}

    async def _wait(self, params: Params) -> Params:
        code = await self.terminals[params["terminalId"]].wait()
        return {"exitCode": code} if code >= 0 else {"signal": "SIGKILL"}

    async def _output(self, params: Params) -> Params:
        printed, _ = await self.terminals[params["terminalId"]].communicate()
        return {"output": printed.decode(), "truncated": False}

    async def _release(self, params: Params) -> Params:
        process = self.terminals[params["terminalId"]]
        if process.returncode is None:
            process.kill()
        await process.communicate()
        self.released.append(params["terminalId"])
        return {}


def statuses(client: RawClient) -> list[str]:
    kinds = ("tool_call", "tool_call_update")
    return [update["status"] for kind in kinds for update in client.updates(kind)]


async def test_permission_is_asked_only_if_it_is_told_to(
    server: TinyServer, tmp_path: Path
) -> None:
    async with connected(command()) as client:
        session = (await client.open(tmp_path, http(server)))["sessionId"]
        assert await client.prompt(session, 'call tiny echo {"text": "a"}') == "echo: a\n"
        assert client.asked == []


@pytest.mark.req("SE-4")
async def test_a_tool_that_is_allowed_once_is_called_and_asked_for_again(
    server: TinyServer, tmp_path: Path
) -> None:
    answers = choosing("allow_once", "allow_once")
    async with connected(command(ask_permission=True), answers) as client:
        session = (await client.open(tmp_path, http(server)))["sessionId"]
        await client.prompt(session, "call tiny echo\ncall tiny echo")
        assert server.requests().count("tools/call") == 2
        (_, first), (_, second) = client.asked
        assert first["toolCall"]["title"] == "mcp__tiny__echo"
        assert first["toolCall"]["toolCallId"] != second["toolCall"]["toolCallId"]
        kinds = [option["kind"] for option in first["options"]]
        assert kinds == ["allow_once", "allow_always", "reject_once", "reject_always"]
        assert not {option["optionId"] for option in first["options"]} & {*kinds}


@pytest.mark.req("SE-4")
async def test_a_tool_call_waits_for_the_permission(server: TinyServer, tmp_path: Path) -> None:
    async with connected(command(ask_permission=True), choosing("allow_once")) as client:
        session = (await client.open(tmp_path, http(server)))["sessionId"]
        await client.prompt(session, "call tiny echo")
        assert statuses(client) == ["pending", "in_progress", "completed"]


@pytest.mark.req("SE-4")
async def test_a_tool_that_is_allowed_always_is_asked_for_once_and_others_are_asked_for(
    server: TinyServer, tmp_path: Path
) -> None:
    answers = choosing("allow_always", "reject_always")
    async with connected(command(ask_permission=True), answers) as client:
        session = (await client.open(tmp_path, http(server)))["sessionId"]
        await client.prompt(session, "call tiny echo\ncall tiny echo\ncall tiny environment")
        words = await client.prompt(session, "call tiny echo\ncall tiny environment")
        assert words == "echo: \nmcp__tiny__environment: not called (reject_always)\n"
        assert server.requests().count("tools/call") == 3
        assert len(client.asked) == 2


@pytest.mark.req("SE-4")
@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        ("reject_once", "reject_once"),
        ("cancelled", "cancelled"),
        ("made-up", "an option that was not offered"),
    ],
)
async def test_a_tool_that_is_not_allowed_is_not_called(
    server: TinyServer, tmp_path: Path, chosen: str, why: str
) -> None:
    async with connected(command(ask_permission=True), choosing(chosen)) as client:
        session = (await client.open(tmp_path, http(server)))["sessionId"]
        words = await client.prompt(session, "call tiny echo\nlist tiny")
        assert words == f"mcp__tiny__echo: not called ({why})\ntiny has 2 tools\n"
        assert "tools/call" not in server.requests()
        assert statuses(client) == ["pending", "failed"]


async def test_a_client_that_knows_no_permissions_gives_none(
    server: TinyServer, tmp_path: Path
) -> None:
    async with connected(command(ask_permission=True)) as client:
        session = (await client.open(tmp_path, http(server)))["sessionId"]
        words = await client.prompt(session, "call tiny echo")
        assert words == "mcp__tiny__echo: not called (error -32601)\n"
        assert "tools/call" not in server.requests()


@pytest.mark.req("SE-4")
async def test_cancel_ends_a_turn_that_waits_for_permission(
    server: TinyServer, tmp_path: Path
) -> None:
    asked = asyncio.Event()

    async def never(_params: Params) -> Params:
        asked.set()
        await asyncio.Event().wait()
        return {}

    async with connected(command(ask_permission=True), {PERMISSION: never}) as client:
        session = (await client.open(tmp_path, http(server)))["sessionId"]
        prompt = [{"type": "text", "text": "call tiny echo"}]
        turn = client.start("session/prompt", sessionId=session, prompt=prompt)
        await asked.wait()
        await client.notify("session/cancel", sessionId=session)
        assert (await turn)["stopReason"] == "cancelled"


@pytest.mark.req("SE-4")
async def test_files_are_read_and_written_through_the_client(tmp_path: Path) -> None:
    async with connected(command("ignores"), Workspace().answers()) as client:
        session = (await client.open(tmp_path))["sessionId"]
        there = tmp_path / "a file.txt"
        words = await client.prompt(session, 'write "a file.txt" some words\nread "a file.txt"')
        assert words == f"wrote {there}\nsome words\n"
        assert there.read_text() == "some words"
        assert await client.prompt(session, f'write "{there}"\nread "{there}"') == (
            f"wrote {there}\n\n"
        )
        assert {params["path"] for _, params in client.asked} == {str(there)}


@pytest.mark.req("SE-4")
async def test_a_command_line_runs_in_a_terminal_of_the_client(tmp_path: Path) -> None:
    workspace = Workspace()
    async with connected(command("ignores"), workspace.answers()) as client:
        session = (await client.open(tmp_path))["sessionId"]
        words = await client.prompt(
            session, "run sh -c 'pwd; exit 3'\nrun true\nrun sh -c 'kill -9 $$'"
        )
        assert words == f"{tmp_path}\nexit code 3\nexit code 0\nsignal SIGKILL\n"
        assert workspace.released == ["terminal-0", "terminal-1", "terminal-2"]


@pytest.mark.req("SE-4")
async def test_cancel_releases_the_terminal(tmp_path: Path) -> None:
    workspace = Workspace()
    async with connected(command("ignores"), workspace.answers()) as client:
        session = (await client.open(tmp_path))["sessionId"]
        prompt = [{"type": "text", "text": "run sleep 60"}]
        turn = client.start("session/prompt", sessionId=session, prompt=prompt)
        await until(lambda: "terminal/wait_for_exit" in [method for method, _ in client.asked])
        await client.notify("session/cancel", sessionId=session)
        assert (await turn)["stopReason"] == "cancelled"
        assert workspace.released == ["terminal-0"]


@pytest.mark.req("SE-4")
async def test_what_a_client_does_not_offer_is_said_with_its_code(tmp_path: Path) -> None:
    async with connected(command("ignores")) as client:
        session = (await client.open(tmp_path))["sessionId"]
        words = await client.prompt(session, "read a\nwrite b text\nrun true\nask riddle\nsay on")
        assert words.splitlines() == [
            "read a: error -32601",
            "write b: error -32601",
            "run true: error -32601",
            "ask riddle: error -32601",
            "on",
        ]
        asked: dict[str, Any] = dict(client.asked)
        assert asked["_kandev/riddle"] == {"sessionId": session}


async def test_a_client_may_know_what_nobody_knows(tmp_path: Path) -> None:
    async def answer(_params: Params) -> Params:
        return {}

    async with connected(command("ignores"), {"_kandev/riddle": answer}) as client:
        session = (await client.open(tmp_path))["sessionId"]
        assert await client.prompt(session, "ask riddle") == "ask riddle: answered\n"


async def test_progress_has_a_tool_call_between_two_chunks(tmp_path: Path) -> None:
    async with connected(command("ignores")) as client:
        session = (await client.open(tmp_path))["sessionId"]
        assert await client.prompt(session, "progress 3") == "1 of 3\n2 of 3\n3 of 3\n"
        step = ["agent_message_chunk", "tool_call", "tool_call_update"]
        assert client.order()[2:] == [*step, *step, "agent_message_chunk", "answer"]
        calls = [call["toolCallId"] for call in client.updates("tool_call")]
        assert len({*calls}) == 2
        assert [call["toolCallId"] for call in client.updates("tool_call_update")] == calls
