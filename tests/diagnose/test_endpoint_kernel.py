"""Tests of endpoints in a real kernel: an interrupt, and a kernel that is killed, leave nothing."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.diagnose.conftest import toy
from tests.diagnose.servers.web import EVENTS, Answer, SseScript, always, web_server
from tests.kernel import TOOLS, Kernel, real_kernel
from tests.processes import eventually

START = """
kandev = Controller()
task = kandev.task("t")
session = task.start("scripted", args="--scenario ignores", servers={servers!r}, cwd={cwd!r})
"""


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    with real_kernel() as kernel:
        kernel.show(TOOLS)
        yield kernel


@pytest.mark.req("DI-1", "SE-3", "SE-7")
def test_an_interrupted_test_leaves_no_process_no_socket_and_no_task(
    kernel: Kernel, tmp_path: Path
) -> None:
    hangs = always(Answer(headers=EVENTS, hangs=True))
    silent = SseScript(always(Answer(202)))
    with web_server(hangs) as web, web_server(silent) as sse:
        servers = {
            "stdio": toy("hanging"),
            "http": {"type": "http", "url": web.url},
            "sse": {"type": "sse", "url": f"{sse.origin}/sse"},
        }
        kernel.show(START.format(servers=servers, cwd=str(tmp_path)))
        kernel.show("session.test_endpoint('kandev')")
        before = kernel.held()

        for name in servers:
            reply = kernel.run(f"""
                pressed = interrupt("_list_tools" if {name!r} == "stdio" else "ask")
                try:
                    session.test_endpoint({name!r}, consent=True, timeout=600)
                finally:
                    pressed.join()
            """)
            assert reply["ename"] == "KeyboardInterrupt"
            assert eventually(lambda: kernel.held() == before), (name, before, kernel.held())

        assert eventually(lambda: web.open == sse.open == 0)
    assert "7 tools" in kernel.show("session.test_endpoint('kandev')")


@pytest.mark.req("DI-1", "SE-3")
def test_a_killed_kernel_ends_the_server_that_it_was_testing(
    kernel: Kernel, tmp_path: Path
) -> None:
    kernel.show(START.format(servers={"x": toy("hanging")}, cwd=str(tmp_path)))
    kernel.show("""
        test = threading.Thread(
            target=session.test_endpoint, args=["x"], kwargs={"consent": True, "timeout": 600},
            daemon=True,
        )
        test.start()
        while not is_inside("_list_tools"):
            threading.Event().wait(0.01)
    """)
    children = kernel.process.children(recursive=True)
    (server,) = [child for child in children if "hanging" in child.cmdline()]

    kernel.process.send_signal(signal.SIGKILL)

    _, alive = psutil.wait_procs([server], timeout=10)
    assert alive == []
