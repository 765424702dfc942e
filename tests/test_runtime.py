"""The loop thread: calls that wait, are interrupted, and never end it."""

import asyncio
import subprocess
import sys
import textwrap
import threading

import pytest

from kandev_nb import WaitTimeout, runtime
from kandev_nb.errors import KandevError, Unsupported


@pytest.mark.req("SE-6")
def test_every_call_runs_on_one_daemon_thread() -> None:
    async def name() -> tuple[str, bool]:
        thread = threading.current_thread()
        return thread.name, thread.daemon

    seen = {runtime.call(name, timeout=10, what="the call") for _ in range(3)}

    assert seen == {("kandev-nb", True)}


@pytest.mark.req("SE-7")
def test_a_call_that_times_out_cancels_its_coroutine_and_waits_for_its_end() -> None:
    ended = []

    async def never() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with pytest.raises(WaitTimeout, match=r"The call did not end within 0\.05 s"):
        runtime.call(never, timeout=0.05, what="The call")

    assert ended == [True]


@pytest.mark.req("SE-7")
def test_a_call_on_the_loop_itself_is_refused_instead_of_waiting_for_itself() -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    async def wait() -> None:
        runtime.call(never, timeout=20, what="The call")

    with pytest.raises(Unsupported, match=r"The call was called on the loop's thread.*\.aio"):
        runtime.call(wait, timeout=10, what="the call")


@pytest.mark.req("SE-7")
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_no_exception_of_a_task_ends_the_loop(error: type[BaseException]) -> None:
    async def leave() -> None:
        raise error

    async def answer() -> int:
        return 42

    with pytest.raises(KandevError, match=error.__name__):
        runtime.call(leave, timeout=10, what="the call")

    assert runtime.call(answer, timeout=10, what="the call") == 42


@pytest.mark.req("SE-7")
def test_an_error_of_a_call_reaches_the_caller_as_it_is() -> None:
    async def fail() -> None:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine") as raised:
        runtime.call(fail, timeout=10, what="the call")

    assert not isinstance(raised.value, WaitTimeout)


async def _twice(number: int) -> int:
    return number * 2


def test_a_call_can_be_awaited_in_the_callers_own_loop() -> None:
    async def cell() -> list[int]:
        return await asyncio.gather(*(runtime.call_async(lambda: _twice(21)) for _ in range(3)))

    assert asyncio.run(cell()) == [42, 42, 42]


@pytest.mark.req("SE-7")
def test_cancelling_an_awaited_call_cancels_the_work() -> None:
    started, ended = threading.Event(), threading.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def cell() -> None:
        call = asyncio.ensure_future(runtime.call_async(work))
        await asyncio.to_thread(started.wait, 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(cell())
    assert ended.wait(10)


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.req("SE-7")
def test_an_interrupt_from_the_keyboard_cancels_the_call_and_the_next_one_works() -> None:
    done = run(
        """
        import asyncio, os, signal, threading
        from kandev_nb import runtime

        # A shell that runs the tests in the background has it ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cleaned = threading.Event()

        async def never():
            os.kill(os.getpid(), signal.SIGINT)
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.set()

        async def answer():
            return 42

        try:
            runtime.call(never, timeout=30, what="x")
        except KeyboardInterrupt:
            print("interrupted", cleaned.is_set())
        print(runtime.call(answer, timeout=5, what="x"))
        """
    )

    assert done.stdout.split("\n")[:2] == ["interrupted True", "42"], done.stderr


@pytest.mark.req("SE-6")
def test_a_forked_child_gets_a_runtime_of_its_own() -> None:
    done = run(
        """
        import os, warnings
        warnings.simplefilter("ignore")
        from kandev_nb import runtime

        async def pid():
            return os.getpid()

        runtime.call(pid, timeout=5, what="x")
        child = os.fork()
        if child == 0:
            os._exit(0 if runtime.call(pid, timeout=5, what="x") == os.getpid() else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(runtime.call(pid, timeout=5, what="x") == os.getpid())
        """
    )

    assert done.stdout.split() == ["0", "True"], done.stderr


@pytest.mark.req("SE-7")
def test_the_interpreter_exits_quietly_while_work_is_under_way() -> None:
    done = run(
        """
        import asyncio
        from kandev_nb import runtime

        async def forever():
            await asyncio.Event().wait()

        runtime.start_soon(forever)
        print("over")
        """
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")


def test_windows_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")

    with pytest.raises(Unsupported, match="run it in WSL 2") as refused:
        runtime.start_soon(asyncio.Event().wait)  # type: ignore[arg-type]

    assert refused.value.reason_code == "platform_unsupported"
