"""A CLI in a terminal: what it sees, what it can do to us, and that it always ends."""

import asyncio
import contextlib
import os
import signal
import sys
import textwrap
import time
import tracemalloc
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from anyio import move_on_after

from kandev_nb.agents.terminal import Terminal
from kandev_nb.agents.watchdog import watchdog
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import AgentError, ConfigError
from tests.agents.conftest import until
from tests.agents.test_process import BOUND, alive
from tests.processes import children

pytestmark = pytest.mark.anyio

HEAD = """
import os, signal, subprocess, sys, time, tty

def say(*words):
    # Not print(), which no signal handler may call while it is at work.
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

"""

Start = Callable[..., Coroutine[Any, Any, Terminal]]


def program(behaviour: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", HEAD + textwrap.dedent(behaviour))


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    terminals: list[Terminal] = []

    async def start(behaviour: str, **options: Any) -> Terminal:
        terminals.append(await Terminal.start(program(behaviour), cwd=tmp_path, **options))
        return terminals[-1]

    yield start
    for terminal in terminals:
        await terminal.close()


def lines(terminal: Terminal) -> list[str]:
    return terminal.recent_output.text.splitlines()


async def ends(terminal: Terminal) -> int | None:
    async with asyncio.timeout(30):
        await terminal.ended.wait()
    return terminal.returncode


async def closes_in_time(terminal: Terminal) -> None:
    started = time.monotonic()
    await terminal.close()
    assert time.monotonic() - started < BOUND
    assert terminal.returncode is not None
    assert not alive(terminal.pid)


@pytest.mark.req("SE-3")
async def test_it_leads_a_session_on_a_terminal_of_its_own(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("FROM_KERNEL", "kept")
    terminal = await start(
        """
        say(all(map(os.isatty, range(3))), os.getpid() == os.getsid(0) == os.getpgid(0))
        say(os.getpgid(0) == os.tcgetpgrp(os.open("/dev/tty", os.O_RDWR)))
        say(os.environ["FROM_KERNEL"], os.environ["FROM_SESSION"], os.environ["TERM"])
        say(os.getcwd())
        say(os.get_terminal_size())
        sys.exit(7)
        """,
        env={"FROM_SESSION": "ü"},
        rows=31,
        cols=101,
    )

    assert await ends(terminal) == 7
    size = "os.terminal_size(columns=101, lines=31)"
    assert lines(terminal) == ["True True", "True", "kept ü xterm-256color", str(tmp_path), size]


async def test_nothing_but_the_terminal_is_handed_on(start: Start) -> None:
    terminal = await start("""
        folder = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
        say(sorted(int(n) for n in os.listdir(folder) if os.path.exists(f"{folder}/{n}")))
        ignored = [n for n in signal.valid_signals() if signal.getsignal(n) == signal.SIG_IGN]
        say(set(ignored) == {signal.SIGPIPE, signal.SIGXFSZ}, signal.pthread_sigmask(0, ()))
    """)

    await ends(terminal)
    # Python itself ignores the two; a shell tells how they were handed on.
    assert lines(terminal) == ["[0, 1, 2]", "True set()"]


async def test_a_broken_pipe_ends_what_the_cli_runs_as_in_any_shell(tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", "(trap - PIPE; yes; echo $? >&2) | head -n 1")
    terminal = await Terminal.start(command, cwd=tmp_path)

    assert await ends(terminal) == 0
    await terminal.close()
    assert lines(terminal) == ["y", str(128 + signal.SIGPIPE)]


async def test_what_is_typed_reaches_the_cli_whole_and_in_order(
    start: Start, tmp_path: Path
) -> None:
    terminal = await start("""
        tty.setraw(0)
        say("ready")
        while not os.path.exists("go"):
            time.sleep(0.01)
        read = bytearray()
        while len(read) < 4_000:
            read += os.read(0, 65536)
        open("there-is-room", "w")
        while len(read) < 400_000:
            read += os.read(0, 65536)
        say(bytes(read) == b"a" * 200_000 + b"b" * 200_000)
    """)
    await until(lambda: "ready" in lines(terminal))
    first = asyncio.create_task(terminal.write(b"a" * 200_000))
    await asyncio.wait([first], timeout=0.1)

    room_is_made(tmp_path)
    await asyncio.gather(terminal.write(b"b" * 200_000), first)

    await ends(terminal)
    assert lines(terminal)[-1] == "True"


def room_is_made(folder: Path) -> None:
    """Let the CLI read, while the loop sees nothing of it: the second writer could come first."""
    (folder / "go").touch()
    while not (folder / "there-is-room").exists():
        time.sleep(0.001)


async def test_an_interrupt_that_is_typed_is_a_signal(start: Start) -> None:
    terminal = await start("""
        signal.signal(signal.SIGINT, lambda *_: (say("interrupted"), sys.exit(3)))
        say("ready")
        signal.pause()
    """)
    await until(lambda: lines(terminal) == ["ready"])

    await terminal.write(b"\x03")

    assert await ends(terminal) == 3
    assert lines(terminal)[-1] == "^Cinterrupted"


async def test_another_size_is_told_to_the_cli(start: Start) -> None:
    terminal = await start("""
        signal.signal(signal.SIGWINCH, lambda *_: say(tuple(os.get_terminal_size())))
        say("ready")
        while True:
            signal.pause()
    """)
    await until(lambda: lines(terminal) == ["ready"])

    terminal.resize(50, 200)

    await until(lambda: lines(terminal)[-1] == "(200, 50)")
    await closes_in_time(terminal)
    terminal.resize(10, 10)


@pytest.mark.parametrize("size", [(0, 80), (24, -1), (70_000, 80), ("24", 80), (24, 80.0)])
async def test_a_size_that_no_terminal_has_is_refused(start: Start, size: tuple[Any, Any]) -> None:
    with pytest.raises(ConfigError, match="Pass 1 to 65535") as refused:
        await start("pass", rows=size[0], cols=size[1])

    assert refused.value.reason_code == ReasonCode.WRONG_ARGUMENT


@pytest.mark.parametrize(
    ("command", "reason", "words"),
    [
        (("no-such-cli-anywhere",), ReasonCode.COMMAND_NOT_FOUND, "Install it"),
        (("/no/such/place/cli",), ReasonCode.COMMAND_NOT_FOUND, "'cli'"),
        (("/etc/passwd",), ReasonCode.SPAWN_FAILED, "Permission denied"),
        (("cli\0", "x"), ReasonCode.SPAWN_FAILED, "ValueError"),
        ((), ReasonCode.SPAWN_FAILED, "ValueError"),
    ],
)
async def test_a_command_that_does_not_start_says_why(
    tmp_path: Path, command: tuple[str, ...], reason: str, words: str
) -> None:
    with pytest.raises(AgentError, match=words) as failure:
        await Terminal.start(command, cwd=tmp_path)

    assert failure.value.reason_code == reason
    assert "/no/such/place" not in str(failure.value)


async def test_a_missing_working_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere") as failure:
        await Terminal.start(("true",), cwd=tmp_path / "nowhere")

    assert failure.value.reason_code == ReasonCode.INVALID_WORKDIR


@pytest.mark.req("SA-3")
async def test_of_a_flood_only_the_end_is_kept_and_nothing_is_logged(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    tracemalloc.start()
    terminal = await start("""
        for number in range(300_000):
            print("line", number, "secret-word " * 5)
    """)

    assert await ends(terminal) == 0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lines(terminal)[-1].startswith("line 299999 ")
    assert len(lines(terminal)) == 50
    assert peak < 4 << 20
    assert "secret-word" not in caplog.text + repr(terminal.recent_output)


async def test_a_flood_that_never_ends_is_ended_and_stops_nobody_else(start: Start) -> None:
    flood = await start("while True: print('x' * 4000)")
    other = await start("say('here'); time.sleep(600)")

    await until(lambda: lines(other) == ["here"])
    await closes_in_time(flood)


@pytest.mark.req("SA-3")
async def test_output_that_is_no_text_is_kept_within_its_bound(start: Start) -> None:
    terminal = await start("sys.stdout.buffer.write(b'\\xff\\xfe\\x00' * 50_000)")

    await ends(terminal)
    assert len(terminal.recent_output.text.encode()) <= 16 * 1024
    assert terminal.recent_output.text.endswith("??\0")


@pytest.mark.req("SE-3")
@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param("time.sleep(600)", id="ends with its terminal"),
        pytest.param("signal.signal(signal.SIGHUP, signal.SIG_IGN)", id="ignores SIGHUP"),
        pytest.param(
            "for n in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT): "
            "signal.signal(n, signal.SIG_IGN)",
            id="ignores every signal",
        ),
        pytest.param(
            "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())", id="blocks all"
        ),
        pytest.param("for n in range(3): os.close(n)", id="closes its terminal"),
    ],
)
async def test_any_process_is_ended_in_time(start: Start, behaviour: str) -> None:
    ready = "say('up')\n"
    terminal = await start(f"{ready}{behaviour}\nwhile True: time.sleep(600)")
    await until(lambda: lines(terminal) == ["up"])

    await closes_in_time(terminal)


@pytest.mark.req("SE-3")
@pytest.mark.parametrize("leader", ["time.sleep(600)", "os._exit(4)"])
@pytest.mark.parametrize("ignores", ["pass", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"])
async def test_children_end_with_their_cli(start: Start, leader: str, ignores: str) -> None:
    child = f"import signal, time; signal.signal(signal.SIGHUP, signal.SIG_IGN); {ignores}; "
    terminal = await start(f"""
        child = {child!r} + "print('on', flush=True); time.sleep(600)"
        child = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE)
        child.stdout.readline()
        say(child.pid)
        {leader}
    """)
    await until(lambda: bool(lines(terminal)))
    child_pid = int(lines(terminal)[0])

    if leader == "os._exit(4)":
        assert await ends(terminal) == 4
    await closes_in_time(terminal)
    await until(lambda: not alive(child_pid))


@pytest.mark.req("SE-3")
async def test_children_of_a_cli_that_ended_are_asked_first(start: Start, tmp_path: Path) -> None:
    terminal = await start("""
        if os.fork() == 0:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, lambda *_: (open("asked", "w"), os._exit(0)))
            say("up")
            time.sleep(600)
        input()
    """)
    await until(lambda: lines(terminal) == ["up"])

    await terminal.write(b"\n")

    await until((tmp_path / "asked").exists)


async def test_a_grandchild_that_keeps_the_terminal_does_not_keep_us(start: Start) -> None:
    terminal = await start("""
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        say(child.pid)
        os._exit(0)
    """)

    assert await ends(terminal) == 0
    escaped = psutil.Process(int(lines(terminal)[0]))
    try:
        await closes_in_time(terminal)
        with pytest.raises(ConnectionError):
            await terminal.write(b"x")
    finally:
        escaped.kill()


async def test_a_cli_that_reads_nothing_is_ended_while_we_type(start: Start) -> None:
    terminal = await start("tty.setraw(0); say('ready'); time.sleep(600)")
    await until(lambda: "ready" in lines(terminal))
    typing = asyncio.create_task(terminal.write(b"a" * 1_000_000))
    done, _ = await asyncio.wait([typing], timeout=0.2)
    assert not done

    await closes_in_time(terminal)

    with pytest.raises(ConnectionError):
        await typing


async def test_a_stopped_cli_goes_on_to_hear_of_the_hang_up(start: Start) -> None:
    terminal = await start("say('up'); os.kill(os.getpid(), signal.SIGSTOP)")
    await until(lambda: psutil.Process(terminal.pid).status() == psutil.STATUS_STOPPED)

    await closes_in_time(terminal)

    assert terminal.returncode == -signal.SIGHUP


async def test_closing_twice_at_once_is_fine(start: Start) -> None:
    terminal = await start("time.sleep(600)")

    await asyncio.gather(terminal.close(), terminal.close())
    await terminal.close()

    assert terminal.returncode == -signal.SIGHUP


async def test_a_start_that_is_given_up_leaves_nothing(start: Start) -> None:
    before = footprint()
    for patience in (0, 0.005, 0.01, 0.02, 0.03, 0.05):
        starting = asyncio.create_task(start("time.sleep(600)"))
        await asyncio.wait([starting], timeout=patience)
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await starting).close()
    await until(lambda: not children())

    assert footprint() == before


@pytest.mark.req("SE-7")
async def test_a_start_that_is_given_up_ends_what_is_deaf_to_a_hang_up(start: Start) -> None:
    before = footprint()
    # As in a kernel that nohup started.
    heard = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        for patience in (0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.07):
            with move_on_after(patience):
                terminal = await start(
                    "signal.signal(signal.SIGHUP, signal.SIG_IGN); time.sleep(600)"
                )
                await terminal.close()
    finally:
        signal.signal(signal.SIGHUP, heard)

    await until(lambda: footprint() == before, 30)


def footprint() -> tuple[int, int, int]:
    watchdog.start()
    return psutil.Process().num_fds(), len(children()), len(watchdog._groups)


@pytest.mark.req("SE-3")
async def test_a_hundred_starts_and_stops_leak_nothing(tmp_path: Path) -> None:
    async def once() -> None:
        terminal = await Terminal.start(("/bin/cat",), cwd=tmp_path)
        await terminal.write(b"hello\n")
        await until(lambda: lines(terminal) == ["hello", "hello"])
        await terminal.close()

    await once()
    before = footprint()
    for _ in range(25):
        await asyncio.gather(*(once() for _ in range(4)))

    assert footprint() == before
    assert os.listdir(tmp_path) == []


KERNEL = """
import asyncio, os, signal, sys
from pathlib import Path
from kandev_nb.agents.terminal import Terminal

async def main():
    terminal = await Terminal.start({command!r}, cwd=Path.cwd())
    while "up" not in terminal.recent_output.text:
        await asyncio.sleep(0.01)
    os.write(1, f"{{terminal.pid}}\\n".encode())
    {end}

asyncio.run(main())
"""


@pytest.mark.req("SE-3")
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "sys.exit()"])
async def test_no_cli_outlives_the_kernel(end: str) -> None:
    stubborn = program("""
        for number in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        say("up")
        while True: time.sleep(600)
    """)
    kernel = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KERNEL.format(command=stubborn, end=end)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    told, _ = await kernel.communicate()

    await until(lambda: not alive(int(told)))


def test_it_works_in_a_thread_that_is_not_the_main_one(tmp_path: Path) -> None:
    async def run() -> list[str]:
        terminal = await Terminal.start(program("say('hello')"), cwd=tmp_path)
        try:
            await ends(terminal)
            return lines(terminal)
        finally:
            await terminal.close()

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(asyncio.run, run()).result() == ["hello"]


async def test_a_forked_child_lets_go_of_the_terminal_and_of_nothing_else(start: Start) -> None:
    terminal = await start("say('up'); say('got', input())")
    await until(lambda: lines(terminal) == ["up"])

    try:
        assert forked(terminal) == 0
        await terminal.write(b"it\n")
        await until(lambda: "got it" in lines(terminal))
    finally:
        await closes_in_time(terminal)


def forked(terminal: Terminal) -> int:
    """Fork; the child leaves with 0 when it holds no terminal and ends none."""
    with warnings.catch_warnings():
        # Python warns of a fork beside threads, of which every kernel has some.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.fstat(terminal._number)
        except OSError:
            terminal._release()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
