"""One agent process: how it is started, read and ended, whatever it does."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from kandev_nb.agents.process import LINE_BYTES, AgentProcess, LineTooLongError
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import AgentError, ConfigError
from tests.agents.conftest import fake_agent, until

pytestmark = pytest.mark.anyio

BOUND = 4.0
"""Seconds that ending any process may take, on a busy machine."""


async def lines_of(process: AgentProcess) -> list[bytes]:
    lines = []
    while (line := await process.read_line()) is not None:
        lines.append(line)
    return lines


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


async def closes_in_time(process: AgentProcess) -> None:
    started = time.monotonic()
    await process.close()
    assert time.monotonic() - started < BOUND
    assert process.returncode is not None


@pytest.mark.req("SE-3")
async def test_it_runs_in_its_own_group_with_env_and_cwd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_KERNEL", "kept")
    monkeypatch.setenv("FROM_BOTH", "kernel")
    process = await AgentProcess.start(
        fake_agent("""
            print(os.environ["FROM_KERNEL"], os.environ["FROM_BOTH"])
            print(os.getcwd())
            print(os.getpgid(0) == os.getpid() == os.getsid(0))
        """),
        env={"FROM_BOTH": "session"},
        cwd=tmp_path,
    )
    lines = await lines_of(process)
    await process.close()
    assert lines == [b"kept session\n", f"{tmp_path}\n".encode(), b"True\n"]
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("command", "reason", "words"),
    [
        (("no-such-agent-anywhere",), ReasonCode.COMMAND_NOT_FOUND, "Install it"),
        (("/no/such/place/agent",), ReasonCode.COMMAND_NOT_FOUND, "'agent'"),
        (("/etc/passwd",), ReasonCode.SPAWN_FAILED, "Permission denied"),
        (("agent\0", "x"), ReasonCode.SPAWN_FAILED, "ValueError"),
    ],
)
async def test_a_command_that_does_not_start_says_why(
    tmp_path: Path, command: tuple[str, ...], reason: str, words: str
) -> None:
    with pytest.raises(AgentError, match=words) as failure:
        await AgentProcess.start(command, cwd=tmp_path)
    assert failure.value.reason_code == reason
    assert "/no/such/place" not in str(failure.value)


async def test_a_missing_working_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere") as failure:
        await AgentProcess.start(("true",), cwd=tmp_path / "nowhere")
    assert failure.value.reason_code == ReasonCode.INVALID_WORKDIR


@pytest.mark.req("SE-4")
async def test_a_line_of_many_mebibytes_is_read_whole(tmp_path: Path) -> None:
    agent = fake_agent("sys.stdout.buffer.write(b'a' * (40 << 20) + b'\\nlast')")
    process = await AgentProcess.start(agent, cwd=tmp_path)
    first, last = await lines_of(process)
    await process.close()
    assert len(first) == (40 << 20) + 1
    assert last == b"last"


@pytest.mark.req("SE-4")
async def test_a_line_without_end_is_an_error(tmp_path: Path) -> None:
    agent = fake_agent("""
        while True:
            sys.stdout.buffer.write(b"a" * (1 << 20))
    """)
    process = await AgentProcess.start(agent, cwd=tmp_path)
    with pytest.raises(LineTooLongError):
        await process.read_line()
    await closes_in_time(process)
    assert LINE_BYTES == 64 << 20


@pytest.mark.req("SA-3")
async def test_standard_error_is_drained_and_only_its_end_is_kept(tmp_path: Path) -> None:
    agent = fake_agent("""
        for number in range(20_000):
            print("line", number, "secret-word " * 5, file=sys.stderr)
        print("done")
    """)
    process = await AgentProcess.start(agent, cwd=tmp_path)
    assert await lines_of(process) == [b"done\n"]
    await process.close()
    recent = process.recent_output
    assert recent.text.splitlines()[-1].startswith("line 19999")
    assert len(recent.text.splitlines()) == 50
    assert "secret-word" not in repr(recent)
    assert "50" in repr(recent)


@pytest.mark.req("SA-3")
async def test_recent_output_is_bounded_in_bytes_whatever_they_are(tmp_path: Path) -> None:
    agent = fake_agent("sys.stderr.buffer.write(b'\\xff' * 100_000)")
    process = await AgentProcess.start(agent, cwd=tmp_path)
    await lines_of(process)
    await process.close()
    assert len(process.recent_output.text.encode()) == 16 * 1024


@pytest.mark.req("SE-3")
@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param("sys.stdin.read()", id="ends at end of input"),
        pytest.param("time.sleep(600)", id="ignores end of input"),
        pytest.param(
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)", id="ignores SIGTERM"
        ),
        pytest.param("os.close(1)\nos.close(2)\ntime.sleep(600)", id="closes its output"),
    ],
)
async def test_any_process_is_ended_in_time(tmp_path: Path, behaviour: str) -> None:
    process = await AgentProcess.start(
        fake_agent(f"print('up', file=sys.stderr, flush=True)\n{behaviour}"), cwd=tmp_path
    )
    await until(lambda: process.recent_output.text == "up\n")
    await closes_in_time(process)
    assert not alive(process.pid)


async def test_a_process_that_reads_nothing_is_ended_while_we_write(tmp_path: Path) -> None:
    process = await AgentProcess.start(fake_agent("time.sleep(600)"), cwd=tmp_path)
    writing = asyncio.create_task(process.write(b"a" * (8 << 20)))
    await asyncio.sleep(0)
    await closes_in_time(process)
    with pytest.raises(ConnectionError):
        await writing


@pytest.mark.req("CF-6")
async def test_a_write_returns_when_the_bytes_are_really_out(tmp_path: Path) -> None:
    go = tmp_path / "go"
    agent = fake_agent(f"""
        while not os.path.exists({str(go)!r}):
            time.sleep(0.01)
        print(len(sys.stdin.buffer.readline()))
    """)
    process = await AgentProcess.start(agent, cwd=tmp_path)
    writing = asyncio.create_task(process.write(b"a" * (8 << 20) + b"\n"))
    done, _ = await asyncio.wait([writing], timeout=0.2)
    assert not done
    go.touch()
    await writing
    assert await process.read_line() == b"8388609\n"
    await process.close()


SPAWNS_A_CHILD = """
import subprocess
child = subprocess.Popen([sys.executable, "-c", {child!r}])
print(child.pid, flush=True)
"""

IGNORES_SIGTERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
)


@pytest.mark.req("SE-3")
@pytest.mark.parametrize("child", ["import time; time.sleep(600)", IGNORES_SIGTERM])
@pytest.mark.parametrize("leader", ["sys.stdin.read()", "os._exit(4)"])
async def test_children_end_with_their_agent(tmp_path: Path, child: str, leader: str) -> None:
    agent = fake_agent(SPAWNS_A_CHILD.format(child=child) + leader)
    process = await AgentProcess.start(agent, cwd=tmp_path)
    line = await process.read_line()
    assert line is not None
    if leader == "os._exit(4)":
        # The child holds the pipe open; the end of the agent is the end of its output.
        assert await process.read_line() is None
    await closes_in_time(process)
    await until(lambda: not alive(int(line)))


async def test_a_child_that_left_the_group_does_not_keep_readers_waiting(tmp_path: Path) -> None:
    agent = fake_agent("""
        import subprocess
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        print(child.pid, flush=True)
        os._exit(0)
    """)
    process = await AgentProcess.start(agent, cwd=tmp_path)
    line = await process.read_line()
    assert line is not None
    escaped = psutil.Process(int(line))
    try:
        async with asyncio.timeout(BOUND):
            assert await process.read_line() is None
        await closes_in_time(process)
    finally:
        escaped.kill()


async def test_closing_twice_at_once_is_fine(tmp_path: Path) -> None:
    process = await AgentProcess.start(fake_agent("sys.stdin.read()"), cwd=tmp_path)
    await asyncio.gather(process.close(), process.close())
    await process.close()
    with pytest.raises(ConnectionError):
        await process.write(b"x\n")


def test_it_works_in_a_thread_that_is_not_the_main_one(tmp_path: Path) -> None:
    async def run() -> list[bytes]:
        process = await AgentProcess.start(fake_agent("print('hello')"), cwd=tmp_path)
        try:
            return await lines_of(process)
        finally:
            await process.close()

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(asyncio.run, run()).result() == [b"hello\n"]
