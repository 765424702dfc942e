"""A session of an agent's own CLI in a terminal: what it was given, and what was seen of it."""

import asyncio
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from kandev_nb import AgentError, ConfigError, Controller, Session, Task, Unsupported, WaitTimeout
from kandev_nb.attachment import Attempt, ServerAttachment
from kandev_nb.servers.passthrough import home
from tests.processes import eventually

CLI: Final = (sys.executable, "-P", str(Path(__file__).with_name("a_cli.py")))
GITHUB: Final[dict[str, Any]] = {"github": {"url": "http://127.0.0.1:9/mcp"}}
CURSOR_FILE: Final = ".cursor/mcp.json"
OWN_SERVER: Final = '{\n  // mine\n  "mcpServers": {"mine": {"command": "true"}},\n}\n'

Start = Callable[..., Session]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Jupyter's data directory of one test."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    return home()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".cursor").mkdir(parents=True)
    (folder / CURSOR_FILE).write_text(OWN_SERVER)
    return folder


@pytest.fixture
def start(task: Task, project: Path) -> Start:
    def started(strategy: str | None = "claude", **options: Any) -> Session:
        given: dict[str, Any] = {"passthrough": CLI, "servers": GITHUB, "cwd": project} | options
        return task.start(strategy=strategy, **given)

    return started


def current(session: Session) -> Attempt:
    assert session.report.current
    return session.report.current


def row(session: Session, name: str) -> ServerAttachment:
    found = current(session).server(name)
    assert found
    return found


def paints(session: Session, words: str) -> bool:
    return eventually(lambda: words in session.recent_output().text, 30)


def left(folder: Path) -> list[str]:
    """What is in the folder of passthrough sessions, but for the journal's lock."""
    return [path.name for path in folder.iterdir() if path.is_dir() and "journal" not in path.name]


@pytest.mark.req("CF-4", "CF-6", "EV-1", "EV-7")
def test_a_cli_gets_its_servers_and_what_it_does_is_observed(start: Start) -> None:
    session = start()

    session.wait_for("kandev", "active")

    attempt = current(session)
    assert (attempt.kind, attempt.cause, attempt.acp_session_id) == ("passthrough", "", "")
    assert paints(session, "kandev: 7 tools")
    assert eventually(lambda: bool(row(session, "kandev").used_at))
    assert session.status("github") == "delivered"
    kinds = [(event.kind, event.server_name) for event in current(session).evidence]
    assert kinds[:4] == [
        ("configured", "kandev"),
        ("configured", "github"),
        ("delivered", "kandev"),
        ("delivered", "github"),
    ]
    assert "session_accepted" not in {kind for kind, _ in kinds}
    assert "Session accepted" not in session.explain("github")


@pytest.mark.req("CF-4", "SA-1")
def test_no_secret_stands_in_an_argument_and_the_file_is_the_owners(start: Start) -> None:
    session = start(servers={"github": {"url": "http://127.0.0.1:9/k3y-of-the-path/mcp"}})
    session.wait_for("kandev", "active")
    (process,) = [child for child in psutil.Process().children() if CLI[-1] in child.cmdline()]

    path = Path(process.cmdline()[-1])

    entry = json.loads(path.read_text())["mcpServers"]["kandev"]
    secret = entry["headers"]["Authorization"].removeprefix("Bearer ")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.parent == home()
    assert entry["url"].endswith("/mcp")
    words = " ".join(process.cmdline())
    assert secret not in words
    assert "k3y-of-the-path" not in words
    assert secret not in json.dumps(session.report.to_wire())


@pytest.mark.req("CF-4")
def test_keys_reach_the_cli_and_its_terminal_has_the_size_that_it_was_given(start: Start) -> None:
    session = start()
    assert paints(session, "kandev: 7 tools")

    session.write("hello\r")
    assert paints(session, "you said hello")
    session.resize(40, 100)

    assert paints(session, "now 40 by 100")
    with pytest.raises(ConfigError, match="No terminal has 0 rows"):
        session.resize(0, 100)
    with pytest.raises(ConfigError, match="What to type is not text"):
        session.write(7)  # type: ignore[arg-type]


@pytest.mark.req("CF-4", "SE-2")
def test_a_cli_that_ends_by_itself_ends_the_session_and_is_restarted_on_demand(
    start: Start, project: Path, data: Path
) -> None:
    session = start()
    session.wait_for("kandev", "active")

    session.write("exit 3\r")

    assert eventually(lambda: session.state == "ended")
    assert current(session).session_error_code == "agent_exited"
    assert "exit code 3" in current(session).session_error
    assert session.status("kandev") == "active"
    assert eventually(lambda: left(data) == [])
    with pytest.raises(AgentError, match="has ended with its agent"):
        session.write("hello\r")

    session.restart()

    assert (current(session).kind, current(session).cause) == ("passthrough", "restart")
    session.wait_for("kandev", "active")
    assert session.report.previous[0].ended_at


@pytest.mark.req("EV-7", "SE-2")
def test_a_reset_starts_the_cli_anew_with_other_servers(start: Start) -> None:
    session = start()
    session.wait_for("kandev", "active")
    before = current(session)

    session.reset(servers={"other": {"url": "http://127.0.0.1:9/mcp"}})

    now = current(session)
    assert (now.kind, now.cause) == ("passthrough", "reset")
    assert now.execution_id != before.execution_id
    assert {server.name for server in now.servers} == {"kandev", "other"}
    session.wait_for("kandev", "active")


@pytest.mark.req("CF-4", "SE-3")
def test_a_file_of_the_project_is_as_it_was_after_the_session(
    start: Start, project: Path, data: Path
) -> None:
    file = project / CURSOR_FILE
    session = start("cursor")
    merged = file.read_text()
    process = psutil.Process(session._core._execution.terminal.pid)  # type: ignore[union-attr]

    session.close()

    assert '"github"' in merged
    assert "// mine" in merged
    assert file.read_text() == OWN_SERVER
    assert left(data) == []
    assert not process.is_running()


@pytest.mark.req("CF-4", "SE-3")
def test_a_kernel_that_was_killed_leaves_a_project_that_the_next_controller_restores(
    project: Path, data: Path
) -> None:
    script = f"""
        from pathlib import Path
        from kandev_nb import Controller
        kandev = Controller()
        kandev.task("t").start(
            passthrough={CLI!r}, strategy="cursor", servers={GITHUB!r}, cwd={str(project)!r}
        )
        print("there", flush=True)
        input()
    """
    kernel = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with kernel:
        assert kernel.stdout
        assert kernel.stdout.readline() == b"there\n"
        kernel.send_signal(signal.SIGKILL)
    assert (project / CURSOR_FILE).read_text() != OWN_SERVER

    with Controller():
        assert eventually(lambda: (project / CURSOR_FILE).read_text() == OWN_SERVER)


@pytest.mark.req("CF-4", "CF-1")
@pytest.mark.parametrize("options", [{}, {"agent": "cline"}])
def test_without_a_strategy_every_server_is_unavailable_and_the_cli_runs_all_the_same(
    start: Start, options: dict[str, str]
) -> None:
    session = start(None, **options)

    assert paints(session, "servers: none")
    for name in ("kandev", "github"):
        assert session.status(name) == "unavailable"
        assert row(session, name).reason_code == "passthrough_strategy_missing"


@pytest.mark.req("CF-4")
def test_the_strategy_is_that_of_the_agent_or_of_the_command_by_its_name(
    start: Start, tmp_path: Path, project: Path
) -> None:
    named = tmp_path / "claude"
    named.write_text(f'#!/bin/sh\nexec {shlex.join(CLI)} "$@"\n')
    named.chmod(0o755)

    of_the_agent = start(None, agent="claude")
    of_the_command = start(None, passthrough=[str(named)])

    assert current(of_the_agent).agent_id == current(of_the_command).agent_id == "claude"
    assert paints(of_the_agent, "servers: kandev github")
    assert paints(of_the_command, "servers: kandev github")


@pytest.mark.req("CF-4")
def test_what_a_strategy_cannot_give_is_left_out_with_its_reason(start: Start) -> None:
    session = start(servers={"workspace": {"url": "http://127.0.0.1:9/mcp"}})

    assert session.status("workspace") == "filtered"
    assert row(session, "workspace").reason_code == "reserved_by_cli"
    session.wait_for("kandev", "active")


@pytest.mark.req("CF-4", "EV-3")
def test_a_file_that_cannot_be_written_is_an_error_of_every_server_in_it(
    start: Start, task: Task, project: Path, tmp_path: Path
) -> None:
    shutil.rmtree(project / ".cursor")
    (project / ".cursor").symlink_to(tmp_path)

    with pytest.raises(ConfigError) as raised:
        start("cursor")

    session = task.sessions[-1]
    assert raised.value.reason_code == "materialization_failed"
    assert session.state == "failed"
    for name in ("kandev", "github"):
        assert session.status(name) == "failed"
        assert row(session, name).reason_code == "materialization_failed"
        assert not row(session, name).delivered_at
    assert "symlink" in session.explain("github") or "link" in session.explain("github")


@pytest.mark.req("CF-4", "EV-3")
def test_a_cli_that_is_not_there_leaves_nothing_and_says_what_to_do(
    start: Start, task: Task, data: Path
) -> None:
    with pytest.raises(AgentError, match="no-such-cli"):
        start(passthrough="no-such-cli --flag")

    session = task.sessions[-1]
    assert session.state == "failed"
    assert current(session).session_error_code == "command_not_found"
    assert session.status("kandev") == "failed"
    assert row(session, "kandev").reason_code == "materialization_failed"
    assert left(data) == []


@pytest.mark.req("SE-2")
def test_what_only_an_agent_over_acp_can_do_is_refused(start: Start) -> None:
    session = start()

    for call in (
        lambda: session.prompt("hello"),
        session.load,
        session.resume,
        session.fork,
        lambda: session.set_mode("plan"),
        lambda: session.set_model("m"),
    ):
        with pytest.raises(Unsupported, match=r"a CLI in a terminal.*write") as raised:
            call()
        assert raised.value.reason_code == "not_offered"
    session.cancel()
    assert (session.state, session.modes, session.permission_counts) == ("running", (), None)
    session.wait_for("kandev", "active")


@pytest.mark.req("SE-2")
def test_an_agent_over_acp_has_no_terminal(task: Task) -> None:
    session = task.start("scripted")

    with pytest.raises(Unsupported, match=r"has no terminal.*prompt"):
        session.write("hello")
    with pytest.raises(Unsupported, match=r"has no terminal"):
        session.resize(10, 10)


@pytest.mark.req("CF-4")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"passthrough": "x", "strategy": "emacs"}, "no passthrough strategy 'emacs'"),
        ({"passthrough": "x", "strategy": "gemini", "strict": True}, "Gemini CLI cannot be told"),
        ({"passthrough": "x", "strict": True}, "Give strategy= too"),
        ({"passthrough": ""}, "names no command"),
        ({"passthrough": "/"}, "names no command"),
        ({"passthrough": "x", "exec": "y"}, "not both"),
        ({"passthrough": "x", "npx": True}, "Begin passthrough= with npx"),
        ({"passthrough": "x", "permissions": "allow"}, "asks in its own terminal"),
        ({"passthrough": "x", "load": "s"}, "Leave them out"),
        ({"passthrough": "x", "agent": "nobody"}, "No agent 'nobody'"),
        ({"agent": "scripted", "strategy": "claude"}, "Give its command with passthrough="),
        ({"agent": "scripted", "strict": True}, "Give its command with passthrough="),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_anything_starts(
    task: Task, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        task.start(**options)

    assert task.sessions == ()


@pytest.mark.req("SE-7", "CF-4")
def test_a_start_that_is_given_up_puts_everything_back(
    start: Start, project: Path, data: Path
) -> None:
    with pytest.raises(WaitTimeout):
        start("cursor", timeout=0)

    assert eventually(lambda: not data.exists() or left(data) == [])
    assert (project / CURSOR_FILE).read_text() == OWN_SERVER
    cli = [child for child in psutil.Process().children() if CLI[-1] in child.cmdline()]
    assert cli == []


STUBBORN: Final = f"trap '' HUP TERM; {shlex.join(CLI)} & echo deaf; while :; do sleep 1; done"


@pytest.mark.req("SE-3", "SE-7", "CF-4")
@pytest.mark.parametrize("call", ["restart", "reset", "close"])
def test_a_cli_is_ended_and_its_files_are_put_back_also_when_the_call_is_given_up(
    start: Start, task: Task, project: Path, call: str
) -> None:
    session = start("cursor", passthrough=("/bin/sh", "-c", STUBBORN))
    assert paints(session, "deaf")
    process = psutil.Process(session._core._execution.terminal.pid)  # type: ignore[union-attr]
    aio = task.aio if call == "close" else session.aio

    async def cell() -> None:
        calling = asyncio.ensure_future(getattr(aio, call)())
        await asyncio.to_thread(eventually, lambda: session.state != "running")
        calling.cancel()

    asyncio.run(cell())

    session.close()
    assert not process.is_running()
    assert (project / CURSOR_FILE).read_text() == OWN_SERVER


@pytest.mark.req("SE-2", "EV-7")
def test_a_server_is_waited_for_while_its_cli_is_restarted(start: Start) -> None:
    session = start(passthrough=("/bin/sh", "-c", STUBBORN))
    assert paints(session, "deaf")

    async def cell() -> str:
        restart = asyncio.ensure_future(session.aio.restart())
        await asyncio.to_thread(eventually, lambda: session.state == "starting")
        row = await session.aio.wait_for("github", "delivered")
        await restart
        return row.status

    assert asyncio.run(cell()) == "delivered"


@pytest.mark.req("CF-4", "SE-1")
def test_two_sessions_of_one_project_keep_their_servers_apart(start: Start, project: Path) -> None:
    first = start("cursor", servers={"one": {"url": "http://127.0.0.1:9/mcp"}})
    second = start("claude", servers={"two": {"url": "http://127.0.0.1:9/mcp"}})

    second.wait_for("kandev", "active")
    first.close()

    assert second.state == "running"
    assert (project / CURSOR_FILE).read_text() == OWN_SERVER
    assert paints(second, "servers: kandev two")
    assert os.path.exists(home())
