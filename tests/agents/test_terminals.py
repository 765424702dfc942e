"""The commands that agents run through us: what they write, how they end, and that they end."""

import asyncio
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from acp import RequestError

from kandev_nb.agents.requests import Client
from kandev_nb.agents.terminals import OUTPUT_BYTES, TERMINALS, Terminals
from kandev_nb.agents.watchdog import watchdog
from tests.agents.asking import ASKING, SESSION, ask, request
from tests.agents.conftest import Opening, until

pytestmark = [pytest.mark.anyio, pytest.mark.req("SE-4")]


@pytest.fixture
async def terminals(tmp_path: Path) -> AsyncIterator[Terminals]:
    terminals = Terminals(tmp_path, {"OF_SESSION": "session", "GIVEN": "session"})
    yield terminals
    await terminals.close()
    assert watchdog._groups == set()


async def run(terminals: Terminals, code: str, **options: Any) -> str:
    words = (sys.executable, ("-c", code))
    return await terminals.create(SESSION, *words, **{"env": {}} | options)


async def ended(terminals: Terminals, terminal_id: str) -> dict[str, Any]:
    async with asyncio.timeout(20):
        await terminals.wait(SESSION, terminal_id)
    return terminals.output(SESSION, terminal_id)


async def written(terminals: Terminals, terminal_id: str, words: str) -> str:
    """Wait for words of the output, and return it."""
    await until(lambda: words in terminals.output(SESSION, terminal_id)["output"], within=20)
    return str(terminals.output(SESSION, terminal_id)["output"])


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


SLEEP = "print('up', flush=True); import time; time.sleep(600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEP


async def test_a_command_gets_its_directory_its_environment_and_no_input(
    terminals: Terminals, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    code = """if True:
        import os, sys
        print(os.getcwd(), os.environ["OF_SESSION"], os.environ["GIVEN"], "PATH" in os.environ)
        print(repr(sys.stdin.read()), file=sys.stderr)
        sys.exit(7)
    """
    terminal = await run(terminals, code, cwd=str(tmp_path / "sub"), env={"GIVEN": "command"})
    assert await ended(terminals, terminal) == {
        "output": f"{tmp_path}/sub session command True\n''\n",
        "truncated": False,
        "exitStatus": {"exitCode": 7, "signal": None},
    }
    assert watchdog._groups == set()


@pytest.mark.parametrize(
    ("command", "args", "output"),
    [
        ("echo", ["a b"], "a b\n"),
        ("echo a b | tr a-z A-Z && false || echo c", [], "A B\nc\n"),
        ("./my script", [], "mine\n"),
        ("pwd", [], "{root}\n"),
    ],
)
async def test_a_command_is_run_as_it_is_and_a_line_by_a_shell(
    terminals: Terminals, tmp_path: Path, command: str, args: list[str], output: str
) -> None:
    (tmp_path / "my script").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "my script").chmod(0o755)
    terminal = await terminals.create(SESSION, command, args, env={})
    assert (await ended(terminals, terminal))["output"] == output.format(root=tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"command": "not-there", "args": ["x"]}, "No such file"),
        ({"command": "echo", "args": ["a\0b"]}, "cannot be started"),
        ({"command": "echo", "args": ["\ud800"]}, "cannot be started"),
        ({"command": "echo", "env": {"A=B": "x"}}, "cannot be started"),
        ({"command": "echo", "cwd": "/"}, "outside"),
        ({"command": "echo", "cwd": "{root}/.."}, "outside"),
        ({"command": "echo", "cwd": "{root}/elsewhere"}, "outside"),
        ({"command": "echo", "cwd": "sub"}, "absolute"),
        ({"command": "echo", "cwd": "{root}/not-there"}, "cwd is no directory"),
    ],
)
async def test_what_cannot_be_started_is_told_so(
    terminals: Terminals, tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    (tmp_path / "elsewhere").symlink_to("/")
    if "cwd" in options:
        options = options | {"cwd": options["cwd"].format(root=tmp_path)}
    with pytest.raises(RequestError, match=words) as failure:
        await terminals.create(SESSION, **{"env": {}} | options)
    assert failure.value.code == -32602
    assert terminals._open == {}


@pytest.mark.parametrize(
    ("limit", "output", "truncated"),
    [
        (None, "äöü€end", False),
        (12, "äöü€end", False),
        (11, "öü€end", True),
        (5, "end", True),
        (6, "€end", True),
        (1, "d", True),
        (0, "", True),
    ],
)
async def test_output_keeps_its_end_and_is_cut_between_characters(
    terminals: Terminals, limit: int | None, output: str, truncated: bool
) -> None:
    code = "import sys; sys.stdout.buffer.write('äöü€end'.encode())"
    told = await ended(terminals, await run(terminals, code, limit=limit))
    assert (told["output"], told["truncated"]) == (output, truncated)


async def test_a_flood_is_kept_to_a_bound_that_no_agent_can_lift(terminals: Terminals) -> None:
    code = "import sys; sys.stdout.write('x' * 5_000_000 + 'end')"
    told = await ended(terminals, await run(terminals, code, limit=2**40))
    assert len(told["output"]) == OUTPUT_BYTES
    assert told["output"].endswith("xend")
    assert told["truncated"]


async def test_bytes_that_are_no_text_do_not_grow_in_it(terminals: Terminals) -> None:
    code = "import sys; sys.stdout.buffer.write(b'\\xff' * 100 + b'end')"
    told = await ended(terminals, await run(terminals, code, limit=50))
    assert told["output"] == "?" * (len(told["output"]) - 3) + "end"
    assert len(told["output"]) <= 50


async def test_output_is_told_while_the_command_runs_by_whole_characters(
    terminals: Terminals, tmp_path: Path
) -> None:
    code = """if True:
        import os, time
        os.write(1, b"so far \\xe2\\x82")
        while not os.path.exists("go"):
            time.sleep(0.01)
        os.write(1, b"\\xac")
    """
    terminal = await run(terminals, code)
    assert await written(terminals, terminal, "so far") == "so far "
    assert "exitStatus" not in terminals.output(SESSION, terminal)
    (tmp_path / "go").touch()
    assert (await ended(terminals, terminal))["output"] == "so far €"


@pytest.mark.parametrize(("code", "number"), [(SLEEP, "SIGTERM"), (STUBBORN, "SIGKILL")])
async def test_a_command_that_is_killed_still_tells_what_it_wrote(
    terminals: Terminals, code: str, number: str
) -> None:
    terminal = await run(terminals, code)
    await written(terminals, terminal, "up\n")
    waiting = asyncio.create_task(terminals.wait(SESSION, terminal))
    await asyncio.sleep(0)
    assert not waiting.done()
    await terminals.kill(SESSION, terminal)
    status = {"exitCode": None, "signal": number}
    assert await waiting == status
    assert terminals.output(SESSION, terminal) == {
        "output": "up\n",
        "truncated": False,
        "exitStatus": status,
    }
    await terminals.kill(SESSION, terminal)


async def test_a_terminal_that_is_released_has_ended_and_is_no_more(terminals: Terminals) -> None:
    terminal = await run(terminals, SLEEP)
    waiting = asyncio.create_task(terminals.wait(SESSION, terminal))
    await written(terminals, terminal, "up\n")
    await terminals.release(SESSION, terminal)
    assert (await waiting)["signal"] == "SIGTERM"
    with pytest.raises(RequestError, match="no such terminal") as failure:
        terminals.output(SESSION, terminal)
    assert failure.value.code == -32002
    assert await run(terminals, "0") != terminal


async def test_a_terminal_belongs_to_the_session_that_made_it(terminals: Terminals) -> None:
    terminal = await run(terminals, SLEEP)
    with pytest.raises(RequestError, match="no such terminal"):
        await terminals.kill("another", terminal)
    assert "exitStatus" not in terminals.output(SESSION, terminal)


@pytest.mark.req("SE-3")
@pytest.mark.parametrize("child", [SLEEP, STUBBORN])
async def test_the_children_of_a_command_end_with_it(terminals: Terminals, child: str) -> None:
    code = f"""if True:
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", {child!r}], stdout=subprocess.PIPE)
        child.stdout.readline()
        print(child.pid, flush=True)
    """
    terminal = await run(terminals, code)
    told = await ended(terminals, terminal)
    assert told["exitStatus"]["exitCode"] == 0
    await until(lambda: not alive(int(told["output"])))


async def test_a_child_that_escapes_does_not_keep_the_agent_waiting(terminals: Terminals) -> None:
    code = f"""if True:
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", {SLEEP!r}], start_new_session=True)
        print(child.pid, flush=True)
    """
    terminal = await run(terminals, code)
    told = await ended(terminals, terminal)
    escaped = int(told["output"].split()[0])
    try:
        assert told["exitStatus"] == {"exitCode": 0, "signal": None}
    finally:
        os.kill(escaped, signal.SIGKILL)


async def test_an_agent_that_releases_nothing_gets_no_more_terminals(
    terminals: Terminals,
) -> None:
    made = [terminals.create(SESSION, "true", env={}) for _ in range(TERMINALS + 3)]
    results = await asyncio.gather(*made, return_exceptions=True)
    refused = [result for result in results if isinstance(result, RequestError)]
    assert [error.code for error in refused] == [-32603] * 3
    first = next(result for result in results if isinstance(result, str))
    await terminals.release(SESSION, first)
    assert await terminals.create(SESSION, "true", env={})


def _run(code: str) -> dict[str, Any]:
    return request("terminal/create", command=sys.executable, args=["-c", code])


def _children() -> set[int]:
    return {child.pid for child in psutil.Process().children() if alive(child.pid)}


@pytest.mark.req("SE-3")
@pytest.mark.parametrize("end", ["close", "kill"])
async def test_no_terminal_outlives_its_agent(opened: Opening, tmp_path: Path, end: str) -> None:
    client = Client.in_directory(tmp_path, terminal=True)
    async with opened(ASKING, client=client) as connection:
        before = _children()
        answers = await ask(connection, _run(SLEEP), _run(STUBBORN))
        assert answers[0]["result"] != answers[1]["result"]
        running = _children() - before
        assert len(running) == 2
        assert running <= watchdog._groups
        if end == "kill":
            os.kill(connection.pid, signal.SIGKILL)
            await until(lambda: not any(map(alive, running)))
    assert not any(map(alive, running))
    assert watchdog._groups == set()


@pytest.mark.req("SE-3")
async def test_a_terminal_that_starts_while_the_agent_ends_ends_too(tmp_path: Path) -> None:
    terminals = Terminals(tmp_path)
    starting = asyncio.create_task(run(terminals, SLEEP))
    await asyncio.sleep(0)
    assert terminals._open
    terminals.end()
    terminal = await starting
    assert (await ended(terminals, terminal))["exitStatus"]["signal"] == "SIGTERM"
    with pytest.raises(RequestError, match="over"):
        await run(terminals, SLEEP)
    await terminals.close()


@pytest.mark.req("SE-3")
def test_no_terminal_outlives_a_kernel_that_is_killed(tmp_path: Path) -> None:
    script = f"""if True:
        import asyncio, os
        from pathlib import Path
        from kandev_nb.agents.terminals import Terminals

        async def main():
            terminals = Terminals(Path({str(tmp_path)!r}))
            line = {shlex.join((sys.executable, "-c", "import os; print(os.getpid())"))!r}
            await terminals.create("s", line + " && sleep 600", env={{}})
            terminal = next(iter(terminals._open.values()))
            while "\\n" not in terminal.text:
                await asyncio.sleep(0.01)
            print(terminal._group, flush=True)
            await asyncio.sleep(600)

        asyncio.run(main())
    """
    kernel = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        assert kernel.stdout is not None
        group = int(kernel.stdout.readline())
        assert alive(group)
    finally:
        kernel.kill()
        kernel.communicate()
    psutil.wait_procs([process for process in psutil.process_iter() if process.pid == group], 10)
    assert not alive(group)
