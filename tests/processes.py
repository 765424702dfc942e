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
    return [child for child in children if "kandev_nb.agents.scripted" in _command(child)]


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


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []
