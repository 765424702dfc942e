"""Looking at real processes, and waiting for what they do."""

import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable

import psutil


def scripted_agents(parent: psutil.Process) -> list[psutil.Process]:
    """The reference agents that a process runs and that have not ended."""
    children = parent.children(recursive=True)
    return [child for child in children if "kandev_nb.agents.scripted" in command(child)]


def children() -> list[psutil.Process]:
    """Return the processes below this one that have not ended.

    Neither the watchdog nor the tests' own PostgreSQL, which stay for other tests.
    """
    below = psutil.Process().children(recursive=True)
    return [child for child in below if not _stays(child)]


def _stays(process: psutil.Process) -> bool:
    words = " ".join(command(process))
    # A process without a command line is one that has ended.
    return not words or "_watchdog_child.py" in words or "postgres" in words


def eventually(holds: Callable[[], bool], seconds: float = 10) -> bool:
    """Tell whether something comes true in time."""
    changed, deadline = threading.Event(), time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        changed.wait(0.02)
    return True


def run_script(script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script, indented as it may be, in an interpreter of its own to its end."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []
