"""In a real Jupyter kernel: what survives, what does not, what a re-run leaves behind."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

from tests.processes import eventually, scripted_agents

START = """
from kandev_nb import Controller
kandev = Controller()
session = kandev.task("t").start("scripted")
"""
QUICKSTART = Path(__file__).parent.parent / "notebooks" / "quickstart.ipynb"


class Kernel:
    """A kernel and what its cells answer."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager = manager
        self.client = client

    @property
    def process(self) -> psutil.Process:
        assert self.manager.provisioner is not None
        return psutil.Process(self.manager.provisioner.pid)  # type: ignore[attr-defined]

    def agents(self) -> list[psutil.Process]:
        return scripted_agents(self.process)

    def ports(self) -> set[int]:
        """The ports that the kernel listens at."""
        connections = self.process.net_connections()
        return {c.laddr.port for c in connections if c.status == psutil.CONN_LISTEN}

    def run(self, code: str) -> dict[str, Any]:
        """Run a cell to its end and return the reply; ``text`` holds what it printed or showed."""
        shown: list[str] = []

        def collect(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                shown.append(content["text"])
            elif message["msg_type"] == "execute_result":
                shown.append(content["data"]["text/plain"])

        reply = self.client.execute_interactive(code, timeout=60, output_hook=collect)
        return {**reply["content"], "text": "".join(shown)}

    def start(self, code: str) -> None:
        """Send a cell and do not wait for its end."""
        self.client.execute(code)


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    manager, client = start_new_kernel(kernel_name="python3")
    yield Kernel(manager, client)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.req("SE-3")
def test_a_killed_kernel_leaves_no_agent_behind(kernel: Kernel) -> None:
    assert kernel.run(START)["status"] == "ok"
    agents = kernel.agents()
    assert agents

    kernel.process.send_signal(signal.SIGKILL)

    _, alive = psutil.wait_procs(agents, timeout=5)
    assert alive == []


@pytest.mark.req("SE-3")
@pytest.mark.parametrize("restart", [True, False], ids=["restart", "shutdown"])
def test_an_orderly_end_of_the_kernel_leaves_no_agent_behind(kernel: Kernel, restart: bool) -> None:
    assert kernel.run(START)["status"] == "ok"
    agents = kernel.agents()
    assert agents

    kernel.manager.shutdown_kernel(restart=restart)

    _, alive = psutil.wait_procs(agents, timeout=5)
    assert alive == []


@pytest.mark.req("SE-7")
def test_an_interrupted_prompt_is_cancelled_and_the_next_cell_works(kernel: Kernel) -> None:
    assert kernel.run(START)["status"] == "ok"

    kernel.start(
        "import os, signal, threading\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "session.prompt('wait 60')"
    )
    reply = kernel.client.get_shell_msg(timeout=30)["content"]

    assert (reply["status"], reply["ename"]) == ("error", "KeyboardInterrupt")
    assert kernel.run("session.prompt('say hello').text")["text"] == "'hello\\n'"
    assert len(kernel.agents()) == 1


@pytest.mark.req("SE-6")
def test_running_the_quickstart_twice_leaves_one_of_everything(kernel: Kernel) -> None:
    notebook = json.loads(QUICKSTART.read_text())
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    *cells, _ = cells
    listening = kernel.ports()

    for cell in [cell for cell in cells for _ in range(2)]:
        assert kernel.run(cell)["status"] == "ok", cell

    loops = "[t.name for t in threading.enumerate()].count('kandev-nb')"
    assert kernel.run(f"import threading\n{loops}")["text"] == "1"
    assert len(kernel.ports() - listening) == 1
    assert eventually(lambda: len(kernel.agents()) == 1)


def test_importing_loads_nothing_heavy(kernel: Kernel) -> None:
    heavy = "{'mcp', 'acp', 'pandas', 'anywidget', 'tiktoken', 'uvicorn', 'pydantic'}"
    loaded = kernel.run(f"import kandev_nb, sys\nsorted({heavy} & set(sys.modules))")

    assert loaded["text"] == "[]"


def test_a_cell_shows_the_widget_and_the_table(kernel: Kernel) -> None:
    kernel.run(START)

    bundle = kernel.run("sorted(session._repr_mimebundle_())")["text"]

    assert bundle == "['application/vnd.jupyter.widget-view+json', 'text/plain']"
