"""An interpreter that ends beside live sessions, in each of its ways: nothing is left, or said."""

import signal
import subprocess
import sys

import psutil
import pytest

from tests.agents.conftest import fake_agent
from tests.kernel import TOOLS
from tests.processes import eventually

pytestmark = pytest.mark.req("SE-3", "SE-7")

STUBBORN = fake_agent("""
    able = {"mcpCapabilities": {"http": True}}
    answer(receive(), {"protocolVersion": 1, "agentCapabilities": able})
    answer(receive(), {"sessionId": "s"})
    time.sleep(600)
""")
"""Does not end with its input, and answers no prompt."""

LOADED = "from kandev_nb import tokens; tokens.problem()"
"""The tokenizer is loaded beside a session's start; here the end must not come in the middle."""

BUSY = f"""
import sys
{LOADED}
kandev = Controller()
session = kandev.task("t").start(exec={STUBBORN})
session.subscribe(lambda report: None)
threading.Thread(target=lambda: session.prompt("wait 600"), daemon=True).start()
threading.Thread(target=lambda: session.wait_for("kandev", timeout=None), daemon=True).start()
while not (is_inside("prompt") and is_inside("wait_for")):
    threading.Event().wait(0.01)
print(session._core.agent.pid, flush=True)
"""


def run(script: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("sys.exit(3)", 3, ""),
        ("raise ValueError('mine')", 1, "ValueError: mine"),
        ("os._exit(4)", 4, ""),
        ("os.kill(os.getpid(), signal.SIGTERM); signal.pause()", -signal.SIGTERM, ""),
    ],
    ids=["exit", "exception", "_exit", "SIGTERM"],
)
def test_an_end_beside_calls_that_wait_leaves_no_agent_and_no_noise(
    end: str, code: int, said: str
) -> None:
    done = run(TOOLS + BUSY + end)

    assert done.returncode == code
    assert done.stderr.strip().split("\n")[-1] == said
    assert done.stderr.count("Traceback") == (1 if said else 0)
    assert eventually(lambda: not psutil.pid_exists(int(done.stdout)))


def test_an_agent_that_takes_its_time_to_end_is_not_complained_of() -> None:
    slow = fake_agent("""
        signal.signal(signal.SIGTERM, lambda *_: None)
        serve_session()
        sys.stdin.read()
        time.sleep(0.3)
    """)
    done = run(f"""
import atexit, threading

def outlast():
    for thread in threading.enumerate():
        if thread.name.startswith("asyncio-waitpid"):
            thread.join()

# What is registered first runs last.
atexit.register(outlast)
{LOADED}
from kandev_nb import Controller
kandev = Controller()
session = kandev.task("t").start(exec={slow})
print(session._core.agent.pid)
""")

    assert (done.returncode, done.stderr) == (0, "")
    assert not psutil.pid_exists(int(done.stdout))
