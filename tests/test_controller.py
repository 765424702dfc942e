"""The public API: tasks, sessions, waiting, prompting, closing."""

import asyncio
import os
import shlex
import subprocess
import sys
import textwrap
import threading
import traceback
from pathlib import Path
from typing import Any

import psutil
import pytest

import kandev_nb
from kandev_nb import (
    AgentError,
    AttachmentFailed,
    ConfigError,
    Controller,
    History,
    Task,
    Unsupported,
    WaitTimeout,
)
from kandev_nb.agents import scripted
from kandev_nb.attachment import EvidenceKind
from kandev_nb.session.attempt import AttemptRecorder
from tests.processes import eventually, run_script, scripted_agents


def agents() -> set[int]:
    """The process IDs of the reference agents that this process runs."""
    return {agent.pid for agent in scripted_agents(psutil.Process())}


def test_the_public_face_is_what_it_says() -> None:
    assert sorted(kandev_nb.__all__) == kandev_nb.__all__
    assert all(getattr(kandev_nb, name) is not None for name in kandev_nb.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kandev_nb.nothing


@pytest.mark.req("SE-6")
def test_a_task_is_found_again_by_its_title_until_it_is_closed(kandev: Controller) -> None:
    task = kandev.task("found again")

    assert kandev.task("found again") is task
    task.close()
    assert kandev.task("found again") is not task


def test_a_closed_task_starts_nothing(kandev: Controller) -> None:
    task = kandev.task("closed")
    task.close()

    with pytest.raises(ConfigError, match="The task 'closed' is closed"):
        task.start("scripted")
    assert task.sessions == ()


@pytest.mark.req("SE-2")
def test_a_session_that_is_closed_while_it_starts_stays_closed(task: Task) -> None:
    async def cell() -> None:
        slow = ["--scenario", "slow", "--delay", "60"]
        start = asyncio.ensure_future(task.aio.start("scripted", args=slow))
        await asyncio.to_thread(eventually, lambda: bool(task.sessions))
        await task.sessions[0].aio.close()
        with pytest.raises(AgentError):
            await start

    asyncio.run(cell())

    assert task.sessions[0].state == "closed"
    assert task.sessions[0].view.banner is None


SLOW_TO_ANSWER = [sys.executable, "-c", "import sys; sys.stdin.read()"]


@pytest.mark.req("SE-2", "SE-3")
def test_a_session_that_is_closed_in_its_handshake_does_not_come_back(task: Task) -> None:
    async def cell() -> None:
        start = asyncio.ensure_future(task.aio.start(exec=SLOW_TO_ANSWER))
        children = psutil.Process().children
        await asyncio.to_thread(eventually, lambda: bool(task.sessions) and bool(children()))
        await task.sessions[0].aio.close()
        with pytest.raises(AgentError, match="is closed"):
            await start

    asyncio.run(cell())

    assert task.sessions[0].state == "closed"
    attempt = task.sessions[0].report.current
    assert attempt
    assert attempt.end_reason == "closed"


@pytest.mark.req("SE-2", "SE-3")
def test_a_session_that_is_closed_in_the_last_moment_of_its_start_does_not_go_on(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted = AttemptRecorder.accepted

    def closed_then(recorder: AttemptRecorder, acp_session_id: str) -> None:
        accepted(recorder, acp_session_id)
        # As close() begins; after this the start waits for nothing more.
        task.sessions[0]._core._starting.cancel()

    monkeypatch.setattr(AttemptRecorder, "accepted", closed_then)

    with pytest.raises(AgentError, match="is closed"):
        task.start("scripted")

    assert task.sessions[0].state == "closed"
    assert eventually(lambda: not agents())


@pytest.mark.req("SE-3", "SE-7")
def test_a_close_that_is_given_up_is_finished_all_the_same(task: Task) -> None:
    outlives = f"{shlex.join(scripted.command())}; sleep 600"
    session = task.start(exec=["/bin/sh", "-c", outlives])

    async def cell() -> None:
        closing = asyncio.ensure_future(task.aio.close())
        await asyncio.to_thread(eventually, lambda: session.state == "closed")
        closing.cancel()

    asyncio.run(cell())
    session.close()

    assert not agents()
    attempt = session.report.current
    assert attempt
    assert attempt.end_reason == "closed"


@pytest.mark.req("SE-1", "SE-7")
def test_a_listener_that_calls_its_session_stops_no_other(task: Task) -> None:
    session, other = (task.start("scripted", args="--scenario ignores") for _ in range(2))

    refused = list[Unsupported]()

    def on_text(_: str) -> None:
        with pytest.raises(Unsupported, match=r"cancel was called on the loop's thread") as raised:
            session.cancel(timeout=None)
        refused.append(raised.value)

    session.prompt("say hello", on_text=on_text, timeout=30)

    assert refused
    assert other.prompt("say hello").text == "hello\n"
    assert session.prompt("say hello").text == "hello\n"


@pytest.mark.req("SE-3")
def test_every_close_returns_only_when_the_agent_has_ended(task: Task) -> None:
    before = agents()
    session = task.start("scripted", args="--scenario ignores")
    assert len(agents() - before) == 1
    alive: list[set[int]] = []

    def close() -> None:
        session.close()
        alive.append(agents() - before)

    threads = [threading.Thread(target=close) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert alive == [set(), set(), set()]


@pytest.mark.req("SE-6")
def test_starts_under_one_name_at_once_leave_one_open_session(task: Task) -> None:
    async def cell() -> None:
        starts = [task.aio.start("scripted", name="dup") for _ in range(3)]
        await asyncio.gather(*starts, return_exceptions=True)

    asyncio.run(cell())

    assert [s.state for s in task.sessions].count("running") == 1


@pytest.mark.req("SE-6")
def test_a_forked_child_owns_nothing_and_kills_nothing() -> None:
    script = """
        import gc, os, sys, warnings
        warnings.simplefilter("ignore")
        from kandev_nb import AgentError, Controller

        kandev = Controller()
        session = kandev.task("t").start("scripted")
        for how in ("close", "drop", "exit", "prompt"):
            child = os.fork()
            if child == 0:
                if how == "close":
                    kandev.close()
                if how == "drop":
                    del kandev, session
                    gc.collect()
                if how == "prompt":
                    try:
                        session.prompt("say hello")
                    except AgentError:
                        os._exit(0)
                    os._exit(1)
                sys.exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, how
            assert session.prompt("say hello").stop_reason == "end_turn", how
        print(session.state)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("running\n", "")


@pytest.mark.req("SE-6")
def test_unnamed_sessions_get_numbers_and_a_name_used_again_closes_the_first(
    task: Task, caplog: pytest.LogCaptureFixture
) -> None:
    first = task.start("scripted", name="triage")
    unnamed = [task.start("scripted").name for _ in range(2)]
    again = task.start("scripted", name="triage")

    assert unnamed == ["1", "2"]
    assert (first.state, again.state) == ("closed", "running")
    assert 'Session "triage" was open and is closed first.' in caplog.text


@pytest.mark.req("SE-6", "SE-3")
def test_a_controller_that_nothing_refers_to_closes_its_sessions() -> None:
    before = agents()
    controller = Controller()
    session = controller.task("dropped").start("scripted")
    assert len(agents() - before) == 1

    del controller

    assert eventually(lambda: not agents() - before)
    assert eventually(lambda: session.state == "closed")


@pytest.mark.req("SE-6", "SE-3")
def test_leaving_the_with_block_closes_everything_and_keeps_the_report() -> None:
    before = agents()
    with Controller() as controller:
        session = controller.task("left").start("scripted")
    session.close()

    assert not agents() - before
    assert session.state == "closed"
    assert session.status("kandev") == "active"
    with pytest.raises(AgentError, match="is closed"):
        session.prompt("say hello")


def test_any_acp_command_can_be_started_with_env_and_cwd(task: Task, tmp_path: Path) -> None:
    script = tmp_path / "agent"
    script.write_text('#!/bin/sh\npwd > place; echo "$GREETING" > greeting\nexec "$@"\n')
    script.chmod(0o700)
    line = f"{script} {sys.executable} -m kandev_nb.agents.scripted --scenario ignores"

    session = task.start(exec=line, env={"GREETING": "hello"}, cwd=tmp_path)

    assert (tmp_path / "place").read_text().strip() == str(tmp_path)
    assert (tmp_path / "greeting").read_text() == "hello\n"
    assert session.report.current
    assert session.report.current.agent_id == "agent"


@pytest.mark.parametrize(
    ("arguments", "reason", "message"),
    [
        ({}, "wrong_argument", "Say which agent to start"),
        ({"agent": "scripted", "exec": "x"}, "wrong_argument", "not both"),
        ({"agent": 3}, "wrong_argument", "The agent is not text but int"),
        ({"exec": 5}, "wrong_argument", "exec= is neither a command line nor a list"),
        ({"exec": [1, 2]}, "wrong_argument", "exec= is neither a command line nor a list"),
        ({"agent": "scripted", "args": [1]}, "wrong_argument", "args= is neither"),
        ({"agent": "scripted", "args": "'open"}, "wrong_argument", "args= is not a command line"),
        ({"agent": "scripted", "env": ["A=b"]}, "wrong_argument", "env= is not a dict"),
        ({"agent": "scripted", "env": {"A": 1}}, "wrong_argument", "env= is not a dict"),
        ({"agent": "scripted", "cwd": 3}, "wrong_argument", "cwd= is not a path"),
        ({"agent": "scripted", "cwd": __file__}, "invalid_workdir", "is not a directory"),
        ({"agent": "scripted", "name": 7}, "wrong_argument", "name= is not text but int"),
        ({"agent": "scripted", "timeout": float("nan")}, "wrong_argument", "timeout= is no"),
        ({"agent": "scripted", "timeout": -1}, "wrong_argument", "timeout= is no number"),
        ({"agent": "scripted", "timeout": "a"}, "wrong_argument", "timeout= is no number"),
        ({"agent": "scripted", "servers": 5}, "invalid_profile", "servers= cannot be read"),
        ({"agent": "scripted", "servers": '{"a": '}, "invalid_profile", ":1:"),
        ({"agent": "scripted", "policy": "locl"}, "invalid_policy", "local"),
        ({"agent": "scripted", "policy": {"allow_ftp": True}}, "invalid_policy", "allow_ftp"),
        ({"agent": "nobody"}, "agent_unknown", "scripted"),
        ({"exec": "  "}, "wrong_argument", "exec= names no command"),
        ({"exec": "/"}, "wrong_argument", "exec= names no command"),
        ({"exec": "'unclosed"}, "wrong_argument", "exec="),
        ({"agent": "scripted", "cwd": "/no/such/place"}, "invalid_workdir", "/no/such/place"),
    ],
)
def test_bad_input_is_named_and_starts_nothing(
    task: Task, arguments: dict[str, Any], reason: str, message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        task.start(**arguments)

    assert refused.value.reason_code == reason
    assert message in str(refused.value)
    assert task.sessions == ()


def test_a_command_that_is_not_there_is_said_and_kept_as_a_failed_session(task: Task) -> None:
    with pytest.raises(AgentError) as refused:
        task.start(exec="no-such-agent-command acp")

    assert refused.value.reason_code == "command_not_found"
    assert "no-such-agent-command" in str(refused.value)
    (session,) = task.sessions
    assert session.state == "failed"
    assert session.status("kandev") == "unknown"


@pytest.mark.req("SE-4")
@pytest.mark.parametrize("at", ["initialize", "session-new", "connect"])
def test_an_agent_that_crashes_at_the_start_is_said_and_leaves_nothing(task: Task, at: str) -> None:
    before = agents()
    with pytest.raises(AgentError) as refused:
        task.start("scripted", args=["--scenario", "crashes", "--at", at])

    assert refused.value.reason_code == "agent_exited"
    assert "exit code 3" in str(refused.value)
    assert not agents() - before
    assert task.sessions[-1].report.current
    assert task.sessions[-1].report.current.session_error_code == "agent_exited"


@pytest.mark.req("SE-7")
def test_a_start_that_takes_too_long_ends_what_it_spawned(task: Task) -> None:
    before = agents()
    with pytest.raises(WaitTimeout, match=r"Starting the session did not end within 1\.5 s"):
        task.start("scripted", args=["--scenario", "slow", "--delay", "60"], timeout=1.5)

    assert eventually(lambda: not agents() - before)
    assert task.sessions[-1].state == "failed"
    attempt = task.sessions[-1].report.current
    assert attempt
    assert attempt.end_reason == "the start was interrupted"


@pytest.mark.req("SE-4")
def test_a_noisy_agent_is_understood(task: Task) -> None:
    session = task.start("scripted", args=["--scenario", "noisy"])

    assert session.wait_for("kandev", "active").tool_count == 7
    assert session.prompt("say hello").text.strip() == "hello"


def test_a_prompt_tells_how_its_turn_ended_and_shows_no_text(task: Task) -> None:
    session = task.start("scripted")

    result = session.prompt("say hunter2\ncall kandev get_task_plan_kandev {}")

    assert result.stop_reason == "end_turn"
    assert "hunter2" in result.text
    assert result.tool_names == ("mcp__kandev__get_task_plan_kandev",)
    assert "hunter2" not in repr(result)


@pytest.mark.req("SE-7")
def test_a_prompt_that_takes_too_long_is_cancelled_and_the_session_goes_on(task: Task) -> None:
    session = task.start("scripted")

    with pytest.raises(WaitTimeout, match=r"The prompt did not end within 0\.3 s"):
        session.prompt("wait 60", timeout=0.3)

    assert session.prompt("say hello").text.strip() == "hello"


def test_a_prompt_that_the_agent_refuses_is_an_error_and_the_session_goes_on(task: Task) -> None:
    session = task.start("scripted")

    with pytest.raises(AgentError, match="it rains") as refused:
        session.prompt("fail it rains")

    assert refused.value.reason_code == "prompt_failed"
    assert session.prompt("say hello").stop_reason == "end_turn"


@pytest.mark.req("EV-2")
def test_waiting_in_vain_explains_what_is_proven_and_changes_nothing(task: Task) -> None:
    session = task.start("scripted", args=["--scenario", "ignores"])

    with pytest.raises(WaitTimeout) as waited:
        session.wait_for("kandev", "active", timeout=0.2)

    assert isinstance(waited.value, TimeoutError)
    assert waited.value.reason_code == "not_reached"
    assert "Not observed: Connected" in str(waited.value)
    assert "That is not a failure." in str(waited.value)
    assert session.status("kandev") == "delivered"


def test_a_row_above_the_wanted_status_is_returned_at_once(task: Task) -> None:
    session = task.start("scripted")

    for status in ("delivered", "connected", "active"):
        assert session.wait_for("kandev", status, timeout=0).name == "kandev"


def test_calls_refuse_what_they_cannot_use_by_name(task: Task, kandev: Controller) -> None:
    session = task.start("scripted", args="--scenario ignores")

    with pytest.raises(ConfigError, match="The title is not text but int"):
        kandev.task(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="The prompt is not text but list"):
        session.prompt(["say hello"])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="timeout= is no number of seconds"):
        session.wait_for("kandev", timeout=-1)
    with pytest.raises(ConfigError, match="The subscriber cannot be called"):
        session.subscribe(3)  # type: ignore[arg-type]


@pytest.mark.req("SA-3")
def test_what_the_agent_wrote_last_is_there_on_demand_also_when_it_did_not_start(
    task: Task,
) -> None:
    with pytest.raises(AgentError):
        task.start(exec=[sys.executable, "-c", "import sys; sys.exit('no hunter2 here')"])

    output = task.sessions[-1].recent_output()
    assert output.text == "no hunter2 here\n"
    assert "hunter2" not in repr(output)
    assert "hunter2" not in repr(task.sessions[-1])


@pytest.mark.req("SE-6")
def test_a_task_of_a_controller_that_is_gone_starts_nothing() -> None:
    task = Controller().task("orphan")

    with pytest.raises(ConfigError, match="Keep the controller"):
        task.start("scripted")


def test_an_error_in_a_cell_shows_our_call_and_not_the_loops_frames(task: Task) -> None:
    with pytest.raises(AgentError) as refused:
        task.start(exec="no-such-agent-command")

    frames = traceback.extract_tb(refused.value.__traceback__)
    assert len(frames) <= 4


def test_waiting_returns_while_the_agent_connects_later(task: Task) -> None:
    session = task.start("scripted", args=["--connect", "after"])

    assert session.wait_for("kandev", "active").status == "active"


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [("nobody", "active", "server_unknown"), ("kandev", "failed", "wrong_argument")],
)
def test_waiting_for_what_cannot_come_is_refused(
    task: Task, name: str, status: str, reason: str
) -> None:
    session = task.start("scripted")

    with pytest.raises(ConfigError) as refused:
        session.wait_for(name, status)

    assert refused.value.reason_code == reason


@pytest.mark.req("CF-1")
def test_waiting_for_a_server_that_was_left_out_fails_at_once(task: Task) -> None:
    servers = {"off": {"command": "x", "disabled": True}}
    session = task.start("scripted", servers=servers)

    with pytest.raises(AttachmentFailed) as refused:
        session.wait_for("off", "delivered", timeout=60)

    assert refused.value.reason_code == "disabled"
    assert "The profile switches this server off." in str(refused.value)


@pytest.mark.req("CF-2", "CF-3")
def test_an_agent_without_http_is_told_nothing_of_http_servers(task: Task) -> None:
    servers = {"remote": {"url": "http://127.0.0.1:9/"}, "local": {"command": "true"}}
    session = task.start("scripted", args=["--mcp-capabilities", "none"], servers=servers)

    session.wait_for("kandev", "active")
    labels = {row.name: row.label.text for row in session.view.rows}
    assert labels == {
        "kandev": "Active",
        "remote": "Filtered",
        "local": "Delivered · connection unverified",
    }


def test_waiting_on_a_session_whose_agent_died_ends_at_once(task: Task) -> None:
    session = task.start("scripted", args=["--scenario", "ignores"])
    with pytest.raises(AgentError):
        session.prompt("exit 3")

    with pytest.raises(AgentError, match="has ended with its agent") as refused:
        session.wait_for("kandev", "active", timeout=60)

    assert "Not observed: Connected" in "".join(refused.value.__notes__)


@pytest.mark.req("EV-7", "EV-8")
def test_the_attempt_is_recorded_before_anything_is_delivered(task: Task) -> None:
    session = task.start("scripted", servers={"github": {"url": "http://127.0.0.1:9/"}})

    kinds = session.timeline()["kind"].tolist()

    first_delivery = kinds.index(EvidenceKind.DELIVERED)
    assert kinds[:first_delivery] == ["configured", "configured"]
    assert kinds.index("session_accepted") > first_delivery
    assert kinds.index("initialize_observed") > first_delivery


def test_a_subscriber_is_called_off_the_loop_with_each_newer_report(task: Task) -> None:
    session = task.start("scripted")
    seen: list[tuple[str, History]] = []
    used = threading.Event()

    def listen(history: History) -> None:
        seen.append((threading.current_thread().name, history))
        if history.current and history.current.servers[0].used_at:
            used.set()

    unsubscribe = session.subscribe(listen)
    session.prompt("call kandev get_task_plan_kandev {}")

    assert used.wait(10)
    unsubscribe()
    assert {name for name, _ in seen} == {"kandev-nb-subscriber"}
    revisions = [history.revision for _, history in seen]
    assert revisions == sorted(set(revisions))


def test_every_call_has_an_awaitable_twin(task: Task) -> None:
    async def cell() -> str:
        session = await task.aio.start("scripted")
        row = await session.aio.wait_for("kandev", "active")
        result = await session.aio.prompt("say hello")
        await session.aio.close()
        return f"{row.status} {result.text.strip()} {session.state}"

    assert asyncio.run(cell()) == "active hello closed"


@pytest.mark.req("SE-1")
def test_sessions_start_side_by_side(task: Task) -> None:
    async def cell() -> list[str]:
        starts = [task.aio.start("scripted") for _ in range(3)]
        return [session.name for session in await asyncio.gather(*starts)]

    assert sorted(asyncio.run(cell())) == ["1", "2", "3"]
    assert [session.status("kandev") for session in task.sessions] == ["active"] * 3


@pytest.mark.req("SE-7")
def test_cancelling_an_awaited_start_ends_what_it_spawned(task: Task) -> None:
    before = agents()

    async def cell() -> None:
        arguments = scripted.command("slow", delay=60)[-4:]
        start = asyncio.ensure_future(task.aio.start("scripted", args=arguments))
        await asyncio.to_thread(eventually, lambda: bool(agents() - before))
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start

    asyncio.run(cell())

    assert eventually(lambda: not agents() - before)


def test_what_a_cell_shows_is_a_stable_table(task: Task) -> None:
    session = task.start("scripted", servers={"github": {"url": "http://127.0.0.1:9/"}})
    session.prompt("call kandev get_task_plan_kandev {}")

    attempt = session.report.current
    assert attempt
    tokens = sum(tool.estimated_tokens for tool in attempt.servers[0].tools)
    assert repr(session).splitlines() == [
        'MCP servers · session "1" · scripted · execution 1 · attempt 1',
        f"● kandev  Active                             7 tools · ~{tokens} tokens · used · 1 call",
        "◐ github  Delivered · connection unverified",
        "Token counts are estimates with o200k_base: what the agent really pays varies by model "
        "and provider.",
    ]
    assert repr(task).splitlines() == [
        f"Task {task.title!r}",
        '  session "1" · scripted · running',
    ]


def test_a_row_in_a_cell_says_the_least_that_tells(task: Task) -> None:
    session = task.start("scripted", args=["--scenario", "ignores"])

    row = session.wait_for("kandev", "delivered")

    assert repr(row).startswith("ServerAttachment(name='kandev', source='kandev', transport='http'")
    assert "_at=" not in repr(row)


@pytest.mark.req("SE-3")
def test_closing_a_hundred_times_is_closing_once(task: Task) -> None:
    session = task.start("scripted")
    before = psutil.Process().num_fds()

    for _ in range(100):
        session.close()

    assert psutil.Process().num_fds() <= before
    assert os.getpid() not in agents()


@pytest.mark.req("SE-3", "SE-7")
def test_a_script_that_ends_with_live_sessions_ends_quietly_and_leaves_nothing() -> None:
    script = """
        from kandev_nb import Controller
        kandev = Controller()
        sessions = [kandev.task("t").start("scripted") for _ in range(2)]
        print(*(session._core.agent.pid for session in sessions))
    """
    done = run_script(script)

    assert (done.returncode, done.stderr) == (0, "")
    assert eventually(lambda: not any(map(psutil.pid_exists, map(int, done.stdout.split()))))
