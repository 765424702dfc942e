"""Agents never outlive the kernel: kernels here are real processes that end in every way."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = pytest.mark.req("SE-3")

KERNEL = """
import asyncio, atexit, json, os, signal, sys, time
from pathlib import Path
from kandev_nb.agents.process import AgentProcess
from kandev_nb.agents.watchdog import watchdog

# A shell that runs the tests in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"

async def start(code="import time; time.sleep(600)"):
    return await AgentProcess.start((sys.executable, "-c", code), cwd=Path.cwd())

def tell(**facts):
    os.write(1, json.dumps(facts).encode() + b"\\n")

"""

WITHIN = 5.0


class Kernel:
    """A Python process that starts agents and tells their process IDs."""

    def __init__(self, behaviour: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", KERNEL + textwrap.dedent(behaviour)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )

    def told(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        facts = json.loads(self.process.stdout.readline())
        assert isinstance(facts, dict)
        return facts

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def kernel() -> Iterator[Callable[[str], Kernel]]:
    kernels: list[Kernel] = []

    def start(behaviour: str) -> Kernel:
        kernels.append(Kernel(behaviour))
        return kernels[-1]

    yield start
    for each in kernels:
        each.close()


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


TWO_AGENTS = """
    async def main():
        agents = [await start(), await start(STUBBORN)]
        tell(agents=[agent.pid for agent in agents], watchdog=watchdog.pid)
        {then}

    asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_agent_outlives_a_kernel_that_is_killed(
    kernel: Callable[[str], Kernel], number: signal.Signals
) -> None:
    killed = kernel(TWO_AGENTS.format(then="await asyncio.sleep(600)"))
    told = killed.told()
    assert all(alive(pid) for pid in told["agents"])
    killed.process.send_signal(number)
    until(lambda: not any(alive(pid) for pid in (*told["agents"], told["watchdog"])))


@pytest.mark.parametrize("then", ["return", "raise SystemExit(1)", "os._exit(1)"])
def test_no_agent_outlives_a_kernel_that_ends(kernel: Callable[[str], Kernel], then: str) -> None:
    ending = kernel(TWO_AGENTS.format(then=then))
    told = ending.told()
    until(lambda: not any(alive(pid) for pid in (*told["agents"], told["watchdog"])))


def test_agents_and_watchdog_stand_outside_the_kernels_group(
    kernel: Callable[[str], Kernel],
) -> None:
    told = kernel(TWO_AGENTS.format(then="await asyncio.sleep(600)")).told()
    for pid in (*told["agents"], told["watchdog"]):
        assert os.getpgid(pid) == pid


def test_a_forked_child_owns_nothing_and_keeps_nothing_alive(
    kernel: Callable[[str], Kernel],
) -> None:
    forking = kernel("""
        async def main():
            agent = await start("import sys; print(sys.stdin.readline()); sys.stdin.read()")
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                watched = watchdog.pid
                # The exit handlers of the kernel run here too.
                atexit._run_exitfuncs()
                os.write(writer, json.dumps(watched).encode())
                time.sleep(600)
            watched = json.loads(os.read(reader, 100))
            await agent.write(b"still here\\n")
            echo = (await agent.read_line() or b"").decode()
            tell(agent=agent.pid, child=child, watched=watched, echo=echo)
            await asyncio.sleep(600)

        asyncio.run(main())
    """)
    told = forking.told()
    try:
        assert told["watched"] is None
        assert told["echo"] == "still here\n"
        forking.process.kill()
        until(lambda: not alive(told["agent"]))
        assert alive(told["child"])
    finally:
        os.kill(told["child"], signal.SIGKILL)


def test_a_watchdog_that_died_is_replaced_and_knows_every_agent(
    kernel: Callable[[str], Kernel],
) -> None:
    watched = kernel("""
        async def main():
            first = await start()
            os.kill(watchdog.pid, signal.SIGKILL)
            while watchdog.pid is not None:
                await asyncio.sleep(0.01)
            second = await start()
            tell(agents=[first.pid, second.pid], watchdog=watchdog.pid)
            await asyncio.sleep(600)

        asyncio.run(main())
    """)
    told = watched.told()
    watched.process.kill()
    until(lambda: not any(alive(pid) for pid in told["agents"]))


def test_one_watchdog_serves_all_agents_and_forgets_those_that_ended(
    kernel: Callable[[str], Kernel],
) -> None:
    serving = kernel("""
        async def main():
            first = await start()
            watchdog_pid = watchdog.pid
            await first.close()
            second = await start()
            tell(same=watchdog.pid == watchdog_pid, groups=sorted(watchdog._groups),
                 second=second.pid)
            await asyncio.sleep(600)

        asyncio.run(main())
    """)
    told = serving.told()
    assert told["same"]
    assert told["groups"] == [told["second"]]
