"""A kernel with a live session whose cells fork: the child owns nothing, the parent goes on."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.agents.conftest import fake_agent
from tests.kernel import Kernel, real_kernel
from tests.processes import eventually

pytestmark = pytest.mark.req("SE-6")

START = """
import gc, multiprocessing, os, pathlib, signal, sys, threading, warnings
from concurrent.futures import ProcessPoolExecutor
# Python warns of a fork beside threads, of which every kernel has some.
warnings.simplefilter("ignore", DeprecationWarning)
from kandev_nb import Controller

kandev = Controller()
session = kandev.task("t").start("scripted")

def forked(work):
    "Do that in a forked child and return its exit code, None for a child that hangs."
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = work() or 0
        except SystemExit as leave:
            status = leave.code or 0
        finally:
            os._exit(status)
    late = threading.Timer(20, os.kill, (child, signal.SIGKILL))
    late.start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    late.cancel()
    return code if code != -signal.SIGKILL else None
"""

OWN = """
import os
from kandev_nb import Controller

def prompt_an_agent_of_its_own(*_):
    with Controller() as own:
        session = own.task("own").start("scripted")
        session.wait_for("kandev")
        assert session.prompt("say mine").text.strip() == "mine"
    assert session.state == "closed"
    return os.getpid()
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    place = tmp_path_factory.mktemp("modules")
    place.joinpath("own.py").write_text(OWN)
    with real_kernel() as kernel:
        kernel.show(START)
        # A child that is not forked has to find the function in a module.
        kernel.show(f"sys.path.insert(0, {str(place)!r})\nfrom own import *")
        yield kernel


@pytest.fixture(autouse=True)
def the_session_goes_on(kernel: Kernel) -> Iterator[None]:
    """After each test the parent's agent is the same one, and reaches the endpoint."""
    (before,) = kernel.agents()
    yield
    assert kernel.agents() == [before]
    prompt = "session.prompt('list kandev\\nsay still here').text"
    assert "still here" in kernel.show(prompt)
    assert kernel.show("session.state, session.status('kandev')") == "('running', 'active')"


DROP = """
def drop():
    global kandev, session
    del kandev, session
    gc.collect()
"""


@pytest.mark.parametrize(
    "work",
    [
        "sys.exit",
        "lambda: os._exit(0)",
        "lambda: print(session.report, file=open(os.devnull, 'w'))",
        "lambda: session.state != 'closed'",
        "lambda: len(kandev.tasks)",
        "lambda: session.close()",
        "lambda: kandev.close()",
        "drop",
        "lambda: prompt_an_agent_of_its_own() != os.getpid()",
    ],
)
def test_a_forked_child_may_touch_the_session_and_ends_well(kernel: Kernel, work: str) -> None:
    kernel.show(DROP)

    assert kernel.show(f"forked({work})") == "0"


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_processes_and_pools_run_beside_a_session_and_may_have_their_own(
    kernel: Kernel, method: str
) -> None:
    kernel.show(f"context = multiprocessing.get_context({method!r})")

    ended = kernel.show("""
        process = context.Process(target=prompt_an_agent_of_its_own)
        process.start()
        process.join(30)
        process.exitcode
    """)
    in_the_kernel = kernel.show("""
        with context.Pool(2) as pool, ProcessPoolExecutor(1, mp_context=context) as executor:
            workers = {pool.apply(os.getpid), executor.submit(os.getpid).result(30)}
        os.getpid() in workers
    """)

    assert (ended, in_the_kernel) == ("0", "False")


@pytest.mark.req("SE-3")
def test_a_child_that_lives_on_does_not_keep_an_agent_from_ending_by_itself(
    kernel: Kernel, tmp_path: Path
) -> None:
    said = tmp_path / "said"
    agent = fake_agent(f"""
        serve_session()
        sys.stdin.read()
        open({str(said)!r}, "w").write("the end of my input")
    """)

    kernel.show(f"""
        held = kandev.task("held").start(exec={agent})
        child = os.fork()
        if child == 0:
            signal.pause()
        held.close()
    """)
    try:
        assert said.exists()
    finally:
        kernel.show("os.kill(child, signal.SIGKILL), os.waitpid(child, 0)")


@pytest.mark.req("SE-3")
def test_a_child_that_leaves_its_own_session_open_leaves_no_agent(kernel: Kernel) -> None:
    cell = """
        def leave():
            own = Controller()
            left = own.task("left").start("scripted")
            os.write(writer, str(left._core.agent.pid).encode())
            os._exit(0)

        reader, writer = os.pipe()
        code = forked(leave)
        os.close(writer)
        with open(reader) as told:
            print(code, told.read())
    """
    code, agent = kernel.show(cell).split()

    assert code == "0"
    assert eventually(lambda: not psutil.pid_exists(int(agent)))


def test_a_child_reads_the_report_at_once_whatever_its_parent_was_doing(kernel: Kernel) -> None:
    kernel.show("""
        import time
        def read():
            started = time.monotonic()
            assert session.report.current
            return int(time.monotonic() - started >= 1)

        holds, release = threading.Event(), threading.Event()
        def hold():
            with session._core.ledger._changed:
                holds.set()
                release.wait(30)
    """)

    assert kernel.show("""
        threading.Thread(target=hold).start()
        holds.wait(10)
        code = forked(read)
        release.set()
        code
    """).endswith("0")


def test_a_child_holds_none_of_the_endpoints_sockets(kernel: Kernel) -> None:
    kernel.show("""
        import psutil
        port = session._core._endpoints._port
        def held():
            return sum(c.laddr.port == port for c in psutil.Process().net_connections())
    """)

    assert int(kernel.show("held()")) >= 2, "the parent listens, and its agent is connected"
    assert kernel.show("forked(held)") == "0"
