"""In a real Jupyter kernel: what survives, what does not, what an interrupt or a re-run leaves."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.agents.conftest import fake_agent
from tests.kernel import TOOLS, Kernel, real_kernel
from tests.processes import eventually

START = """
from kandev_nb import Controller
kandev = Controller()
session = kandev.task("t").start("scripted")
"""
QUICKSTART = Path(__file__).parent.parent / "notebooks" / "quickstart.ipynb"


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    with real_kernel() as kernel:
        yield kernel


@pytest.mark.req("SE-3")
def test_a_killed_kernel_leaves_no_agent_behind(kernel: Kernel) -> None:
    kernel.show(START)
    agents = kernel.agents()
    assert agents

    kernel.process.send_signal(signal.SIGKILL)

    _, alive = psutil.wait_procs(agents, timeout=5)
    assert alive == []


@pytest.mark.req("SE-3")
@pytest.mark.parametrize("restart", [True, False], ids=["restart", "shutdown"])
def test_an_orderly_end_of_the_kernel_leaves_no_agent_behind(kernel: Kernel, restart: bool) -> None:
    kernel.show(START)
    agents = kernel.agents()
    assert agents

    kernel.manager.shutdown_kernel(restart=restart)

    _, alive = psutil.wait_procs(agents, timeout=5)
    assert alive == []


# Agents that take a moment to end, in which a user can lose patience.
SILENT = fake_agent("receive(); sys.stdin.read(); time.sleep(0.3)")
SILENT_LATER = fake_agent("shake_hands(); receive(); sys.stdin.read(); time.sleep(0.3)")

CALLS = {
    "initialize": (f"task.start(exec={SILENT})", "_shake_hands"),
    "session-new": (f"task.start(exec={SILENT_LATER})", "open_session"),
    "wait_for": ("session.wait_for('kandev', timeout=None)", "wait_for"),
    "prompt": ("session.prompt('wait 600')", "prompt"),
}
"""The calls to interrupt, and the coroutine function that they are in then."""

NEXT_CELL = """
with Controller() as fresh:
    started = fresh.task("next").start("scripted")
    started.wait_for("kandev")
    words = started.prompt("say next").text + session.prompt("say still here").text
words
"""


@pytest.fixture(scope="module")
def busy() -> Iterator[Kernel]:
    """A kernel with an open session, to be interrupted again and again."""
    with real_kernel() as kernel:
        kernel.show(TOOLS)
        kernel.show("""
            kandev = Controller()
            task = kandev.task("t")
            session = task.start("scripted", args="--scenario ignores")
        """)
        kernel.show(NEXT_CELL)
        yield kernel


@pytest.mark.req("SE-3", "SE-7")
@pytest.mark.parametrize("call", CALLS)
def test_an_interrupted_call_has_ended_what_it_began_and_the_next_cell_works(
    busy: Kernel, call: str
) -> None:
    cell, inside = CALLS[call]
    before = busy.held()

    reply = busy.run(f"""
        pressed = interrupt({inside!r})
        try:
            {cell}
        finally:
            left = len(psutil.Process().children(recursive=True))
            pressed.join()
    """)

    assert reply["ename"] == "KeyboardInterrupt"
    assert busy.show("left") == str(before["processes"])
    assert eventually(lambda: busy.held() == before), (before, busy.held())
    assert busy.show(NEXT_CELL) == r"'next\nstill here\n'"
    assert eventually(lambda: busy.held() == before), (before, busy.held())


@pytest.mark.req("SE-3", "SE-7")
@pytest.mark.parametrize("call", CALLS)
def test_an_impatient_user_interrupts_twice_and_nothing_is_left(busy: Kernel, call: str) -> None:
    cell, inside = CALLS[call]
    before = busy.held()

    reply = busy.run(f"""
        pressed = interrupt({inside!r}, times=2)
        try:
            {cell}
        finally:
            pressed.join()
    """)

    assert reply["ename"] == "KeyboardInterrupt"
    assert eventually(lambda: busy.held() == before), (before, busy.held())
    assert busy.show(NEXT_CELL) == r"'next\nstill here\n'"


@pytest.mark.req("SE-3", "SE-7")
@pytest.mark.parametrize(
    ("call", "times"), [("initialize", 1), ("session-new", 2), ("wait_for", 2), ("prompt", 1)]
)
def test_an_interrupted_cell_that_awaits_a_call_ends_and_cancels_it(
    busy: Kernel, call: str, times: int
) -> None:
    cell, inside = CALLS[call]
    owner, _, rest = cell.partition(".")
    before = busy.held()

    reply = busy.run(f"pressed = interrupt({inside!r}, {times})\nawait {owner}.aio.{rest}")

    # The kernel's own word for it in a cell that awaits.
    assert reply["ename"] == "CancelledError"
    busy.show("pressed.join()")
    assert eventually(lambda: busy.held() == before), (before, busy.held())
    assert busy.show(NEXT_CELL) == r"'next\nstill here\n'"


@pytest.mark.req("SE-3", "SE-7")
@pytest.mark.parametrize("tool", ["blocks", "waits"])
def test_a_prompt_interrupted_inside_a_tool_ends_and_so_does_the_tool(
    busy: Kernel, tool: str
) -> None:
    busy.show("""
        entered, let_go = threading.Event(), threading.Event()

        @session.tool
        def blocks() -> str:
            "Block a thread."
            entered.set()
            let_go.wait(30)
            return "late"

        @session.tool
        async def waits() -> str:
            "Wait in the tool loop."
            entered.set()
            await asyncio.Event().wait()

        @session.tool
        async def quick() -> str:
            "Answer at once."
            return "quick"

        def press_inside():
            entered.wait(30)
            os.kill(os.getpid(), signal.SIGINT)

        session.prompt("connect kandev\\ncall kandev quick {}").text
    """)
    before = busy.held()

    reply = busy.run(f"""
        entered.clear()
        pressed = threading.Thread(target=press_inside)
        pressed.start()
        try:
            session.prompt("call kandev {tool} {{}}")
        finally:
            pressed.join()
    """)
    busy.show("let_go.set()")

    assert reply["ename"] == "KeyboardInterrupt"
    assert eventually(lambda: busy.show("kandev.health().is_well") == "True")
    assert eventually(lambda: busy.held() == before), (before, busy.held())
    assert busy.show("session.prompt('call kandev quick {}').text") == r"'quick\n'"
    assert busy.show(NEXT_CELL) == r"'next\nstill here\n'"


@pytest.mark.req("SE-7")
def test_an_interrupt_that_another_thread_receives_ends_the_call_too(busy: Kernel) -> None:
    reply = busy.run("""
        pressed = interrupt("prompt")
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            session.prompt("wait 600")
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            pressed.join()
    """)

    assert reply["ename"] == "KeyboardInterrupt"
    assert busy.show(NEXT_CELL) == r"'next\nstill here\n'"


@pytest.mark.req("SE-6")
def test_running_the_quickstart_again_leaves_one_of_everything(kernel: Kernel) -> None:
    notebook = json.loads(QUICKSTART.read_text())
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    *cells, closing = cells
    listening = kernel.ports()

    for cell in cells:
        kernel.show(cell)
    kernel.show(TOOLS)
    first = kernel.held()
    twice_each = [cell for cell in cells for _ in range(2)]
    for cell in [*twice_each, closing, *cells]:
        kernel.show(cell)

    assert eventually(lambda: kernel.held() == first), (first, kernel.held())
    assert ("kandev-nb", 1) in first["threads"]
    assert len(kernel.agents()) == 1
    assert len(kernel.ports() - listening) == 1


def test_importing_loads_nothing_heavy(kernel: Kernel) -> None:
    heavy = "{'mcp', 'acp', 'pandas', 'anywidget', 'tiktoken', 'uvicorn', 'pydantic'}"

    assert kernel.show(f"import kandev_nb, sys\nsorted({heavy} & set(sys.modules))") == "[]"


def test_a_cell_shows_the_widget_and_the_table(kernel: Kernel) -> None:
    kernel.show(START)

    bundle = kernel.show("sorted(session._repr_mimebundle_())")

    assert bundle == "['application/vnd.jupyter.widget-view+json', 'text/plain']"
