"""What estimates cost: the first one of a process, and a catalog of 128 tools, new and cached.

Run it with ``python -m tests.benchmarks.bench_tokens``; it prints milliseconds.
"""

import json
import statistics
import subprocess
import sys
from time import perf_counter

import click

from kandev_nb import tokens

TOOLS = 128
PROCESSES = 7

FIRST = """
import json, sys
from time import perf_counter

start = perf_counter()
from kandev_nb import tokens
imported = perf_counter()
assert tokens.estimate_tool(tokens.tool_json({"name": "ping"})) == 5
used = perf_counter()
spent = {"import_ms": (imported - start) * 1e3, "first_use_ms": (used - imported) * 1e3}
json.dump(spent, sys.stdout)
"""


def measure() -> dict[str, float]:
    """Return milliseconds: medians of fresh processes, then one catalog in this process."""
    runs = [_fresh_process() for _ in range(PROCESSES)]
    fresh = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    tokens.problem()
    served = [tokens.tool_json(_tool(number)) for number in range(TOOLS)]
    return fresh | {
        "bytes_of_128_tools": float(sum(map(len, served))),
        "first_128_tools_ms": _milliseconds(served),
        "cached_128_tools_ms": _milliseconds(served),
    }


def _fresh_process() -> dict[str, float]:
    ended = subprocess.run(
        [sys.executable, "-c", FIRST], capture_output=True, text=True, check=True
    )
    measured: dict[str, float] = json.loads(ended.stdout)
    return measured


def _milliseconds(served: list[bytes]) -> float:
    start = perf_counter()
    for tool in served:
        tokens.estimate_tool(tool)
    return (perf_counter() - start) * 1e3


def _tool(number: int) -> dict[str, object]:
    """Return a tool of about a kilobyte, unlike the others."""
    properties = {
        f"field_{number}_{field}": {
            "type": "string",
            "description": f"What the caller wants in place {field} of request {number}, if any.",
        }
        for field in range(8)
    }
    return {
        "name": f"update_record_{number}",
        "description": "Change the fields that are given and leave the others as they are.",
        "inputSchema": {"type": "object", "properties": properties},
    }


if __name__ == "__main__":
    for name, value in measure().items():
        click.echo(f"{name:22} {value:10.1f}")
