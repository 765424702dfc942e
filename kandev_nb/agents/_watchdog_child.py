"""The watchdog's own process: waits for the kernel's end, then ends the agents' process groups.

Run as a file with ``python -I -S``, so it imports the standard library only. Its standard input is
a pipe that the kernel alone holds open; each line is ``+GROUP`` or ``-GROUP``. The end of the pipe
is the end of the kernel, however it came about.
"""

import contextlib
import os
import signal
import sys
import time

TERMINATION_GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL."""


def watch() -> set[int]:
    """Return the groups that are still registered when the kernel is gone."""
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        change = groups.add if line.startswith(b"+") else groups.discard
        change(int(line[1:]))
    return groups


def signal_all(groups: set[int], number: signal.Signals) -> None:
    """Signal every group that still exists."""
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def main() -> None:
    """Wait, then end what is left."""
    # Whatever ends the kernel by a signal may reach this process too; it has work to do then.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups = watch()
    if groups:
        signal_all(groups, signal.SIGTERM)
        time.sleep(TERMINATION_GRACE)
        signal_all(groups, signal.SIGKILL)


if __name__ == "__main__":
    main()
