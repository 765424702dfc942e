"""Looking at real processes, and waiting for what they do."""

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


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []
