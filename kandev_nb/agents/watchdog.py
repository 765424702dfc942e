"""No agent outlives the kernel (SE-3), not even a kernel that is killed with SIGKILL.

One watchdog process per kernel holds the list of the agents' process groups and reads a pipe whose
only other end is here. Process groups come in when an agent starts and leave when its group is
gone. When the kernel ends, the pipe ends, and the watchdog ends the groups. A forked child of the
kernel gives its copy of the pipe up at once: it owns no agent and keeps none alive.
"""

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

_CHILD: Final = Path(__file__).with_name("_watchdog_child.py")


class Watchdog:
    """The kernel's end of the death watch. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The watchdog's process ID while one runs."""
        return self._process.pid if self._alive() and self._process else None

    def start(self) -> None:
        """Make sure that a watchdog runs; called before the first agent is started."""
        with self._lock:
            self._ensure()

    def add(self, group: int) -> None:
        """Watch a process group from now on."""
        with self._lock:
            self._ensure()
            self._groups.add(group)
            self._tell(f"+{group}")

    def discard(self, group: int) -> None:
        """Forget a process group that is gone."""
        with self._lock:
            if group in self._groups:
                self._groups.discard(group)
                self._tell(f"-{group}")

    def end_groups(self) -> None:
        """Ask every group to end; the watchdog kills what does not once this process is gone."""
        number = signal.SIGTERM if self._alive() else signal.SIGKILL
        for group in tuple(self._groups):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)

    def disown(self) -> None:
        """Give up, in a forked child, what belongs to the kernel."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            # The process is the kernel's child: there is nothing to wait for here.
            self._process.returncode = 0
        # Another thread may have held the lock at the fork; it does not exist here to release it.
        self._lock = threading.Lock()
        self._groups = set()
        self._process = None

    def _alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _ensure(self) -> None:
        if self._alive():
            return
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            bufsize=0,
            start_new_session=True,
        )
        for group in self._groups:
            self._tell(f"+{group}")

    def _tell(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        # A watchdog that died a moment ago is replaced, with all groups, before the next agent.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n".encode())


watchdog: Final = Watchdog()
"""The one watchdog of this process."""

atexit.register(watchdog.end_groups)
os.register_at_fork(after_in_child=watchdog.disown)
