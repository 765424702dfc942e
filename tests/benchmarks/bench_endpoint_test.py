"""What an endpoint test costs a user who waits for it, beside the command line of MCP Inspector.

Both start the same server over stdio, list its tools and end it, in turns; the medians count. The
Inspector is a program of its own, as a user would run it, so its start is part of what it takes.
"""

import os
import statistics
import subprocess
import time
from collections.abc import Callable

from kandev_nb import Controller
from tests.agents import npm
from tests.diagnose.test_endpoint_real import everything

INSPECTOR = ("@modelcontextprotocol/inspector", "2.12.0")
RUNS = 7


def measure() -> dict[str, float]:
    """Return the figures by name."""
    entry = everything("stdio")
    with Controller() as kandev:
        task = kandev.task("endpoint test")
        args = ["--scenario", "ignores"]
        session = task.start("scripted", args=args, servers={"everything": entry})

        def ours() -> None:
            outcome = session.test_endpoint("everything", consent=True, timeout=60)
            assert outcome.reachable, outcome

        def theirs() -> None:
            _inspect([entry["command"], *entry["args"]], entry["env"])

        mine, others = list[float](), list[float]()
        for _ in range(RUNS):
            mine.append(_seconds(ours))
            others.append(_seconds(theirs))
    test, beside = statistics.median(mine), statistics.median(others)
    return {
        "test_endpoint, whole call, ms": test * 1000,
        "test_endpoint ÷ mcp-inspector --cli tools/list (goal <= 0.5)": test / beside,
    }


def _inspect(server: list[str], env: dict[str, str]) -> None:
    program = str(npm.installed(*INSPECTOR) / "mcp-inspector")
    done = subprocess.run(
        [program, "--cli", *server, "--method", "tools/list"],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert '"tools"' in done.stdout, done.stdout


def _seconds(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
