"""Agents that misbehave in every call: each call ends clearly, and everything is freed.

The agent is a real child process (:mod:`tests.agents.misbehaving`) that goes wrong where it is told
to; what it meets is the public API.
"""

import asyncio
import gc
import json
import os
import re
import signal
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from kandev_nb import AgentError, PermissionRequest, PromptResult, Session, Task, WaitTimeout
from tests.agents import misbehaving
from tests.processes import children, command, eventually

pytestmark = [pytest.mark.req("SE-3", "SE-4")]

AGENT: Final = (sys.executable, "-I", "-S", misbehaving.__file__)

Call = Callable[[Session, float], object]

CALLS: Final[dict[str, tuple[str, Call]]] = {
    "reset": ("session/new", lambda session, timeout: session.reset(timeout=timeout)),
    "load": ("session/load", lambda session, timeout: session.load(timeout=timeout)),
    "resume": ("session/resume", lambda session, timeout: session.resume(timeout=timeout)),
    "fork": ("session/fork", lambda session, timeout: session.fork(timeout=timeout)),
    "prompt": ("session/prompt", lambda session, timeout: session.prompt("a", timeout=timeout)),
    "mode": (
        "session/set_mode",
        lambda session, timeout: session.set_mode("plan", timeout=timeout),
    ),
    "model": (
        "session/set_config_option",
        lambda session, timeout: session.set_model("careful", timeout=timeout),
    ),
}
"""The calls of a session that runs, and what of the protocol they wait for."""

STARTS: Final[dict[str, dict[str, str]]] = {
    "initialize": {},
    "session/new": {},
    "session/load": {"load": "s0"},
    "session/resume": {"resume": "s0"},
}
"""What a start waits for, and how it is called to do so."""

REOPENING: Final = ("reset", "load", "resume", "fork")
RESTARTS: Final = ("initialize", "session/new")
PATIENCE: Final = 60.0


def held() -> tuple[int, int]:
    """Open descriptors, and threads that do not belong to a pool."""
    gc.collect()
    threads = [t for t in threading.enumerate() if not t.name.startswith("AnyIO worker")]
    return psutil.Process().num_fds(), len(threads)


def status_of(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


class Bench:
    """Starts misbehaving agents, and looks for what is left of them."""

    def __init__(self, task: Task, cwd: Path, before: tuple[int, int]) -> None:
        self._task = task
        self._cwd = cwd
        self._before = before

    def plan(self, method: str, when: str, fault: str) -> None:
        """What goes wrong from now on, and nothing else."""
        new = self._cwd / "new plan"
        new.write_text(f"{method} {when} {fault}")
        new.replace(self._cwd / "plan")

    def heal(self) -> None:
        """Nothing goes wrong from now on."""
        (self._cwd / "plan").unlink(missing_ok=True)

    def start(self, **options: Any) -> Session:
        return self._task.start(exec=AGENT, cwd=self._cwd, **options)

    @property
    def last(self) -> Session:
        """The session that was started last, also when its start failed."""
        return self._task.sessions[-1]

    def leaves_nothing(self, session: Session) -> None:
        """Close the session, after which nothing of it is there but its report."""
        state = session.state
        told = session.recent_output().text
        urls = re.findall(r"http://\S+", told)
        session.close()
        assert session.state == ("failed" if state == "failed" else "closed")
        assert eventually(lambda: not children()), children()
        orphans = [int(pid) for pid in re.findall(r"grandchild (\d+)", told)]
        assert eventually(lambda: not any(map(psutil.pid_exists, orphans))), orphans
        assert {status_of(url) for url in urls} <= {410}
        assert eventually(lambda: held() <= self._before), (held(), self._before)
        assert not large_readers()


def large_readers() -> list[Any]:
    """Whatever still holds what was read from an agent and is of no use."""
    readers = [kept for kept in gc.get_objects() if isinstance(kept, asyncio.StreamReader)]
    return [reader for reader in readers if len(reader._buffer) > 2**16]  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """What is held once all that is one per process has been started."""
    from kandev_nb import Controller

    with Controller() as controller:
        session = controller.task("warm").start(
            exec=AGENT, cwd=tmp_path_factory.mktemp("warm"), permissions=lambda _: True
        )
        session.prompt(json.dumps(PERMISSION))
        session.close()
        assert eventually(lambda: not children())
        assert controller._keeping
        assert controller._keeping.flush(30)
        gc.collect()
        # What is there for good is not looked through again and again.
        gc.freeze()
        yield held()
        gc.unfreeze()


@pytest.fixture
def bench(task: Task, tmp_path: Path, before: tuple[int, int]) -> Bench:
    return Bench(task, tmp_path, before)


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"sessionId": "s1", **params}}


PERMISSION: Final = request(
    "session/request_permission",
    toolCall={"toolCallId": "1", "title": "write"},
    options=[{"optionId": "go", "name": "Go", "kind": "allow_once"}],
)


def fails(call: Callable[[], object], words: str) -> None:
    """The call ends as one whose agent is gone, and says how it went and what to do."""
    with pytest.raises(AgentError, match=words) as failure:
        call()
    assert failure.value.reason_code == "agent_exited"
    assert "start it again" in str(failure.value).lower()


def assert_ended(session: Session, words: str) -> None:
    """The session has ended with its agent, and says how."""
    assert eventually(lambda: session.state == "ended"), session.state
    attempt = session.report.current
    assert attempt
    assert (attempt.session_error_code, bool(attempt.ended_at)) == ("agent_exited", True)
    assert re.search(words, attempt.session_error)
    assert re.search(words, attempt.end_reason)
    errors = [event for event in attempt.evidence if event.kind == "explicit_error"]
    assert len(errors) == 1, "the end of the agent is told once"
    with pytest.raises(AgentError, match="has ended with its agent") as failure:
        session.prompt("a")
    assert failure.value.reason_code == "agent_exited"


def assert_failed(session: Session, words: str) -> None:
    """The session could not be started, and says why."""
    assert session.state == "failed"
    attempt = session.report.current
    assert attempt
    assert (attempt.session_error_code, bool(attempt.ended_at)) == ("agent_exited", True)
    assert re.search(words, attempt.session_error)


def assert_works(session: Session) -> None:
    assert session.state == "running"
    assert session.prompt("a", timeout=PATIENCE).stop_reason == "end_turn"


DEATHS: Final = [
    ("before", "exit", "ended with exit code 3"),
    ("before", "kill", "was ended by SIGKILL"),
    ("inside", "exit", "ended with exit code 3"),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("when", "fault", "words"), DEATHS)
def test_death_in_a_call_ends_it_and_the_session_can_be_restarted(
    bench: Bench, call: str, when: str, fault: str, words: str
) -> None:
    method, made = CALLS[call]
    session = bench.start()
    bench.plan(method, when, fault)

    fails(lambda: made(session, PATIENCE), words)

    assert_ended(session, words)
    bench.heal()
    session.restart()
    assert_works(session)
    bench.leaves_nothing(session)


@pytest.mark.parametrize("method", STARTS)
@pytest.mark.parametrize(("when", "fault", "words"), DEATHS)
def test_death_in_a_start_fails_the_session(
    bench: Bench, method: str, when: str, fault: str, words: str
) -> None:
    bench.plan(method, when, fault)

    fails(lambda: bench.start(**STARTS[method]), words)

    assert_failed(bench.last, words)
    bench.leaves_nothing(bench.last)


@pytest.mark.parametrize("method", RESTARTS)
@pytest.mark.parametrize(("when", "fault", "words"), DEATHS)
def test_death_in_a_restart_fails_the_session(
    bench: Bench, method: str, when: str, fault: str, words: str
) -> None:
    session = bench.start()
    bench.plan(method, when, fault)

    fails(session.restart, words)

    assert_failed(session, words)
    bench.leaves_nothing(session)


@pytest.mark.parametrize("call", CALLS)
def test_death_after_an_answer_ends_the_session_and_not_the_call(bench: Bench, call: str) -> None:
    method, made = CALLS[call]
    session = bench.start()
    bench.plan(method, "after", "kill")

    made(session, PATIENCE)

    assert_ended(session, "was ended by SIGKILL")
    bench.heal()
    session.restart()
    assert_works(session)
    bench.leaves_nothing(session)


@pytest.mark.parametrize("method", ["session/new", "session/load", "session/resume"])
def test_death_right_after_the_start_ends_the_session(bench: Bench, method: str) -> None:
    bench.plan(method, "after", "exit")

    session = bench.start(**STARTS[method])

    assert_ended(session, "ended with exit code 3")
    bench.leaves_nothing(session)


@pytest.mark.parametrize("call", [*CALLS, *STARTS])
@pytest.mark.parametrize(
    ("when", "fault"), [("before", "all"), ("after", "all"), ("instead", "twice")]
)
def test_noise_beside_an_answer_changes_nothing(
    bench: Bench, call: str, when: str, fault: str
) -> None:
    method, made = CALLS.get(call, (call, None))
    if made is None:
        bench.plan(method, when, fault)
        session = bench.start(**STARTS[call])
    else:
        session = bench.start()
        bench.plan(method, when, fault)
        made(session, PATIENCE)

    assert_works(session)
    assert_works(session)
    attempt = session.report.current
    assert attempt
    assert not attempt.session_error_code
    bench.leaves_nothing(session)


@pytest.mark.parametrize("noise", misbehaving.NOISE)
def test_each_kind_of_noise_is_survived(bench: Bench, noise: str) -> None:
    session = bench.start()
    bench.plan("session/prompt", "before", noise)

    assert_works(session)
    assert_works(session)
    bench.leaves_nothing(session)


@pytest.mark.req("EV-7")
@pytest.mark.parametrize("call", ["reset", "fork"])
def test_what_is_said_late_of_an_earlier_session_is_not_of_the_new_attempt(
    bench: Bench, call: str
) -> None:
    session = bench.start()
    method, made = CALLS[call]
    bench.plan(method, "before", "late-failure")
    late = session.report.current

    made(session, PATIENCE)
    assert_works(session)

    assert late
    assert session.report.previous[0].attachment_attempt_id == late.attachment_attempt_id
    assert session.status("kandev") == "delivered"
    bench.leaves_nothing(session)


@pytest.mark.parametrize("method", ["session/new", "session/prompt"])
@pytest.mark.parametrize("fault", ["under-text", "with-invalid-utf-8", "nested", "in-63-MiB"])
def test_an_odd_answer_is_an_answer(bench: Bench, method: str, fault: str) -> None:
    bench.plan(method, "instead", fault)

    session = bench.start()

    assert_works(session)
    bench.leaves_nothing(session)


SILENCES: Final = [
    ("instead", "nothing"),
    ("instead", "in-a-batch"),
    ("instead", "under-another-id"),
    ("instead", "under-a-fraction"),
    ("inside", "words"),
]
"""No answer, or none that is one: the call has nothing to end with but its time."""


@pytest.mark.parametrize(
    ("call", "when", "fault"),
    [
        *((call, "instead", "later") for call in CALLS),
        *(("reset", when, fault) for when, fault in SILENCES),
        *(("prompt", when, fault) for when, fault in SILENCES),
    ],
)
def test_a_call_without_an_answer_ends_in_time_and_the_session_goes_on(
    bench: Bench, call: str, when: str, fault: str
) -> None:
    method, made = CALLS[call]
    session = bench.start()
    bench.plan(method, when, fault)

    with pytest.raises(WaitTimeout, match="Call again with a longer timeout") as late:
        made(session, 0.3)

    assert late.value.reason_code == "call_timeout"
    assert session.state == "running"
    bench.heal()
    if call in REOPENING:
        assert session.report.current
        assert session.report.current.session_error_code == "call_timeout"
        with pytest.raises(AgentError, match=r"Call its reset\(\)"):
            session.prompt("a")
        session.reset()
    assert (session.mode, session.model) == ("ask", "fast"), "what was not answered is not chosen"
    assert_works(session)
    assert session.report.current
    assert not session.report.current.session_error_code
    bench.leaves_nothing(session)


@pytest.mark.parametrize("method", STARTS)
def test_a_start_without_an_answer_ends_in_time_and_leaves_nothing(
    bench: Bench, method: str
) -> None:
    bench.plan(method, "instead", "nothing")

    with pytest.raises(WaitTimeout, match="Starting the session did not end within 1 s"):
        bench.start(timeout=1, **STARTS[method])

    assert bench.last.state == "failed"
    bench.leaves_nothing(bench.last)


@pytest.mark.parametrize("call", ["session/new", "prompt"])
def test_a_line_over_the_limit_ends_the_agent_and_is_not_kept(bench: Bench, call: str) -> None:
    words = "sent a line of more than 64 MiB and was ended"
    if call == "session/new":
        bench.plan("session/new", "before", "endless-line")
        fails(bench.start, words)
        assert_failed(bench.last, words)
    else:
        session = bench.start()
        bench.plan("session/prompt", "before", "endless-line")
        fails(lambda: session.prompt("a"), words)
        assert_ended(session, words)
        assert not large_readers(), "also while the session is not closed"
        bench.heal()
        session.restart()
        assert_works(session)
    bench.leaves_nothing(bench.last)


PIPES: Final = [
    ("close-output", "closed its output and was ended"),
    ("close-input", "closed its input and was ended"),
]


@pytest.mark.parametrize("call", ["prompt", "reset", "mode"])
@pytest.mark.parametrize(("fault", "words"), PIPES)
def test_an_agent_that_closes_a_pipe_in_a_call_is_ended(
    bench: Bench, call: str, fault: str, words: str
) -> None:
    method, made = CALLS[call]
    session = bench.start()
    bench.plan(method, "before", fault)

    fails(lambda: made(session, PATIENCE), words)

    assert_ended(session, words)
    bench.heal()
    session.restart()
    assert_works(session)
    bench.leaves_nothing(session)


@pytest.mark.parametrize("method", ["initialize", "session/new"])
@pytest.mark.parametrize(("fault", "words"), PIPES)
def test_an_agent_that_closes_a_pipe_in_a_start_is_ended(
    bench: Bench, method: str, fault: str, words: str
) -> None:
    bench.plan(method, "before", fault)

    fails(bench.start, words)

    assert_failed(bench.last, words)
    bench.leaves_nothing(bench.last)


@pytest.mark.parametrize(("fault", "words"), PIPES)
def test_an_agent_that_closes_a_pipe_between_calls_is_ended(
    bench: Bench, fault: str, words: str
) -> None:
    bench.plan("session/new", "after", fault)

    session = bench.start()

    assert_ended(session, words)
    bench.leaves_nothing(session)


def test_an_answer_counts_that_comes_after_the_input_was_closed(bench: Bench) -> None:
    session = bench.start()
    bench.plan("session/prompt", "instead", "after-closing-input")

    assert session.prompt("a").stop_reason == "end_turn"

    assert_ended(session, "ended with exit code 3")
    bench.leaves_nothing(session)


def test_an_agent_that_reads_nothing_holds_up_its_own_calls_only(bench: Bench) -> None:
    bench.plan("session/new", "after", "deaf")
    session = bench.start()
    large = "a" * (4 * misbehaving.MIB)

    for words in (large, "a"):
        with pytest.raises(WaitTimeout):
            session.prompt(words, timeout=0.3)
    with pytest.raises(WaitTimeout):
        session.set_mode("plan", timeout=0.3)
    with prompting(session) as ended:
        with pytest.raises(WaitTimeout, match="cancel did not end"):
            session.cancel(timeout=0.3)
        assert session.state == "running"
        session.close()
        assert "The agent was closed" in str(ended())
    bench.leaves_nothing(session)


def test_a_restart_frees_a_session_of_an_agent_that_reads_nothing(bench: Bench) -> None:
    bench.plan("session/new", "after", "deaf")
    session = bench.start()
    with pytest.raises(WaitTimeout):
        session.prompt("a" * (4 * misbehaving.MIB), timeout=0.3)

    bench.heal()
    session.restart()

    assert_works(session)
    bench.leaves_nothing(session)


@contextmanager
def prompting(session: Session, words: str = "a") -> Iterator[Callable[[], object]]:
    """Prompt the session beside the block, which gets a function that returns what came of it."""
    came: list[object] = []

    def ask() -> None:
        try:
            came.append(session.prompt(words, timeout=None))
        except AgentError as error:
            came.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert eventually(lambda: session._core._is_prompting)

    def ended() -> object:
        thread.join(PATIENCE)
        return came[0]

    try:
        yield ended
    finally:
        session.close()
        thread.join()


@pytest.mark.parametrize(
    ("when", "fault", "words"),
    [
        ("before", "kill", "was ended by SIGKILL"),
        ("before", "exit", "ended with exit code 3"),
        ("before", "close-output", "closed its output and was ended"),
    ],
)
def test_an_agent_that_dies_of_a_cancel_ends_the_turn(
    bench: Bench, when: str, fault: str, words: str
) -> None:
    session = bench.start()
    bench.plan("session/prompt", "instead", "nothing")
    with prompting(session) as ended:
        assert eventually(lambda: "not answered" in session.recent_output().text)
        bench.plan("session/cancel", when, fault)
        session.cancel()
        assert words in str(ended())
        assert_ended(session, words)
    bench.leaves_nothing(session)


@pytest.mark.parametrize("noise", ["all", "the-answer-twice"])
def test_a_cancelled_turn_ends_with_the_first_answer(bench: Bench, noise: str) -> None:
    session = bench.start()
    bench.plan("session/prompt", "instead", "later")
    with prompting(session) as ended:
        assert eventually(lambda: "kept back" in session.recent_output().text)
        bench.plan("session/cancel", "before", noise)
        session.cancel()
        result = ended()
        assert isinstance(result, PromptResult)
        assert result.stop_reason == "end_turn"
        bench.heal()
        assert_works(session)
    bench.leaves_nothing(session)


@pytest.mark.parametrize(
    ("when", "fault"), [("before", "all"), ("instead", "nothing"), ("inside", "words")]
)
def test_a_session_that_is_not_given_up_properly_does_not_spoil_the_next(
    bench: Bench, when: str, fault: str
) -> None:
    session = bench.start()
    bench.plan("session/close", when, fault)

    session.reset()

    assert_works(session)
    assert session.acp_session_id == "s2"
    bench.leaves_nothing(session)


def test_death_in_giving_a_session_up_ends_the_session(bench: Bench) -> None:
    session = bench.start()
    bench.plan("session/close", "before", "kill")

    session.reset()

    assert_ended(session, "was ended by SIGKILL")
    bench.leaves_nothing(session)


def stubborn(bench: Bench, fault: str) -> Session:
    """Start an agent that does not end by itself."""
    bench.plan("session/new", "after", fault)
    session = bench.start()
    assert eventually(lambda: "ready" in session.recent_output().text)
    bench.heal()
    return session


def test_a_flood_holds_up_no_other_session_and_is_not_kept(bench: Bench) -> None:
    session, other = stubborn(bench, "flood"), bench.start()

    assert_works(other)

    other.close()
    bench.leaves_nothing(session)


@pytest.mark.parametrize("fault", ["ignore-sigterm", "keep-child"])
def test_a_close_ends_what_does_not_end_by_itself(bench: Bench, fault: str) -> None:
    bench.leaves_nothing(stubborn(bench, fault))


def test_a_restart_ends_what_does_not_end_by_itself(bench: Bench) -> None:
    session = stubborn(bench, "ignore-sigterm")
    (before,) = children()

    session.restart()

    assert not before.is_running()
    assert_works(session)
    bench.leaves_nothing(session)


@pytest.mark.parametrize("call", ["prompt", "load"])
def test_a_child_that_keeps_the_pipes_open_does_not_outlive_its_agent(
    bench: Bench, call: str
) -> None:
    method, made = CALLS[call]
    session = bench.start()
    bench.plan(method, "inside", "leave-child")

    fails(lambda: made(session, PATIENCE), "ended with exit code 3")

    assert_ended(session, "ended with exit code 3")
    assert eventually(lambda: not children())
    bench.leaves_nothing(session)


def test_a_stranger_that_keeps_the_pipes_open_holds_nothing_up(bench: Bench) -> None:
    session = bench.start()
    bench.plan("session/prompt", "before", "leave-stranger")

    fails(lambda: session.prompt("a"), "ended with exit code 3")

    assert_ended(session, "ended with exit code 3")
    (stranger,) = re.findall(r"grandchild (\d+)", session.recent_output().text)
    # It left the group of its agent, so that it is nobody's to end.
    psutil.Process(int(stranger)).kill()
    bench.leaves_nothing(session)


@pytest.mark.parametrize("ending", ["kill", "close"])
def test_a_permission_that_is_asked_for_ends_with_the_agent(bench: Bench, ending: str) -> None:
    asked, answered = threading.Event(), threading.Event()

    def decide(_: PermissionRequest) -> bool:
        asked.set()
        answered.wait(PATIENCE)
        return True

    session = bench.start(permissions=decide)
    with prompting(session, json.dumps(PERMISSION)) as ended:
        assert asked.wait(PATIENCE)
        end(session, ending)
        assert isinstance(ended(), AgentError)
    counts = session.permission_counts
    answered.set()

    assert counts
    assert (counts.asked, counts.allowed, counts.denied) == (1, 0, 0)
    bench.leaves_nothing(session)


@pytest.mark.parametrize("ending", ["kill", "close"])
def test_a_command_that_is_waited_for_ends_with_the_agent(bench: Bench, ending: str) -> None:
    session = bench.start(terminal=True)
    wait = request("terminal/create", command="sleep", args=["600"])
    with prompting(session, json.dumps(wait)) as ended:
        assert eventually(lambda: any("sleep" in command(child) for child in children()))
        end(session, ending)
        assert isinstance(ended(), AgentError)
    bench.leaves_nothing(session)


@pytest.mark.parametrize("ending", ["kill", "close"])
def test_files_that_are_asked_for_are_let_go_of_with_the_agent(
    bench: Bench, tmp_path: Path, ending: str
) -> None:
    (tmp_path / "large").write_bytes(b"a" * (8 * misbehaving.MIB))
    session = bench.start()
    read = request("fs/read_text_file", path=str(tmp_path / "large"))
    bench.plan("an-answer", "before", "deaf")
    with prompting(session, json.dumps(read)) as ended:
        assert eventually(lambda: "an answer has come" in session.recent_output().text)
        end(session, ending)
        assert isinstance(ended(), AgentError)
    bench.leaves_nothing(session)


def end(session: Session, ending: str) -> None:
    """Kill the agent, or close the session."""
    if ending == "close":
        session.close()
    else:
        agent = session._core.agent
        assert agent
        os.kill(agent.pid, signal.SIGKILL)
        assert_ended(session, "was ended by SIGKILL")
        assert eventually(lambda: not children()), "also while the session is not closed"
