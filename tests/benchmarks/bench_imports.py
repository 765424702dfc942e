"""How long an import takes, each in a fresh interpreter."""

import statistics
import subprocess
import sys

ROUNDS = 7
TIMED = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def measure() -> dict[str, float]:
    """Return the figures by name."""
    ours, theirs = _seconds("kandev_nb"), _seconds("mcp")
    return {
        "import kandev_nb, ms": ours * 1000,
        "import kandev_nb ÷ import mcp (goal <= 0.5)": ours / theirs,
        "import kandev_nb.controller, ms": _seconds("kandev_nb.controller") * 1000,
    }


def _seconds(module: str) -> float:
    command = [sys.executable, "-c", TIMED.format(module)]
    return statistics.median(float(subprocess.check_output(command)) for _ in range(ROUNDS))
