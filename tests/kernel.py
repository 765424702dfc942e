"""A real Jupyter kernel: running its cells, interrupting them, and seeing what it holds."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

from tests.processes import eventually, scripted_agents

TOOLS = """
import asyncio, collections, contextlib, gc, os, re, signal, stat, threading
import psutil
from kandev_nb import Controller, runtime

def chain(coroutine):
    while coroutine is not None:
        yield getattr(coroutine, "__name__", "")
        coroutine = getattr(coroutine, "cr_await", None)

async def calls():
    return [list(chain(task.get_coro())) for task in asyncio.all_tasks()]

def is_inside(function):
    return any(function in call for call in runtime.call(calls, timeout=10, what="looking"))

def interrupt(function, times=1):
    "Interrupt this kernel as soon as a call stands in that coroutine function."
    pause = threading.Event()
    def press():
        while not is_inside(function):
            pause.wait(0.01)
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            pause.wait(0.05)
    thread = threading.Thread(target=press, name="press")
    thread.start()
    return thread

async def tasks():
    others = asyncio.all_tasks() - {asyncio.current_task()}
    return collections.Counter(task.get_coro().__qualname__ for task in others)

def channels():
    "The open pipes and sockets. The kernel opens other descriptors for each thread that prints."
    for number in range(1024):
        with contextlib.suppress(OSError):
            mode = os.fstat(number).st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                yield number

def held():
    "What grows when something is left behind."
    gc.collect()
    us = psutil.Process()
    threads = collections.Counter(re.sub(r"\\d+", "N", t.name) for t in threading.enumerate())
    # A pool's, which keeps an idle thread for some seconds.
    del threads["AnyIO worker thread"]
    return {
        "threads": sorted(threads.items()),
        "tasks": sorted(runtime.call(tasks, timeout=10, what="looking").items()),
        "channels": len(list(channels())),
        "ports": sum(c.status == "LISTEN" for c in us.net_connections()),
        "processes": len(us.children(recursive=True)),
    }
"""
"""A cell that defines ``interrupt`` and ``held``."""


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

    def held(self) -> dict[str, Any]:
        """Threads, tasks, pipes and sockets, ports, processes; :data:`TOOLS` has been run.

        Two looks in a row agree: what a cell has just ended takes a moment to be gone.
        """
        looks = [self.show("held()")]

        def rests() -> bool:
            looks.append(self.show("held()"))
            return looks[-1] == looks[-2]

        assert eventually(rests), looks
        held = ast.literal_eval(looks[-1])
        assert isinstance(held, dict)
        return held

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

    def show(self, code: str) -> str:
        """Run a cell that must succeed and return what it printed or showed."""
        reply = self.run(code)
        assert reply["status"] == "ok", "\n".join(reply["traceback"])
        text = reply["text"]
        assert isinstance(text, str)
        return text


@contextmanager
def real_kernel() -> Iterator[Kernel]:
    """Run a kernel for the block."""
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
