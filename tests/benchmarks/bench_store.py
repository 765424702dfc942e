"""The store: writing and reading many full reports, and many processes on one database."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from kandev_nb.store import Store, StoreWriter
from tests.postgres import PostgresServer, binaries
from tests.store.stories import full, record, revised

SESSIONS = 2_000
KERNELS = 8
EVENTS = 2_000
ROUNDS = 50

READING = """
import sys, time, psutil
from kandev_nb.store import Store
me = psutil.Process()
before = me.memory_info().rss
started = time.perf_counter()
store = Store(sys.argv[1])
sessions = store.sessions()
read = time.perf_counter()
held = me.memory_info().rss - before
for session in sessions[:100]:
    session.report
decoded = time.perf_counter()
print(len(sessions), read - started, (decoded - read) / 100, held / 2**20)
store.close()
"""


TIMELINE = """
import json, resource, statistics, sys, time
import pandas as pd
from kandev_nb import Controller

kandev = Controller(store=sys.argv[1])
kandev.sessions()[0].timeline()
lines = []

def normalized():
    reports = [json.loads(line) for line in lines]
    attempts = [one for each in reports for one in (*each.get("previous", ()), each["current"])]
    return pd.json_normalize(attempts, "evidence", ["started_at"], meta_prefix="attempt_")

def timed(make):
    started = time.perf_counter()
    frame = make()
    return time.perf_counter() - started, frame

first, frame = timed(kandev.timeline)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
lines += [json.dumps(session.report.to_wire()) for session in kandev.sessions()]
rounds = []
for _ in range(int(sys.argv[2])):
    ours, frame = timed(kandev.timeline)
    theirs, same = timed(normalized)
    rounds.append((ours, theirs))
superseded = int((frame["kind"] == "attempt_superseded").sum())
assert len(same) == len(frame) - superseded, (len(same), len(frame))
ours, theirs = map(statistics.median, zip(*rounds))
print(first, ours, theirs, peak)
"""
READINGS = 5


def measure() -> dict[str, float]:
    """Return the figures by name."""
    with tempfile.TemporaryDirectory() as folder:
        figures = _measure("SQLite", str(Path(folder) / "kandev.sqlite3"))
    if binaries() is not None:
        with PostgresServer() as server:
            figures |= _measure("PostgreSQL", server.database())
    return figures


def _measure(kind: str, where: str) -> dict[str, float]:
    figures = {**_latency(where), **_many_sessions(where), **_read(where), **_timeline(where)}
    figures |= _kernels(where)
    return {f"{kind}: {name}": value for name, value in figures.items()}


def _latency(where: str) -> dict[str, float]:
    """How soon one report is on disk, when its writer is asked for it."""
    store, history, waits = Store(where), full(), []
    writer = StoreWriter(store)
    for revision in range(ROUNDS):
        offered = time.perf_counter()
        writer.offer(record("session"), revised(history, 1_000 + revision))
        writer.flush(60)
        waits.append(time.perf_counter() - offered)
    writer.close(60)
    store.close()
    return {"one report to disk, median ms": statistics.median(waits[1:]) * 1000}


def _many_sessions(where: str) -> dict[str, float]:
    """Full reports: three attempts of 64 events each."""
    store, history = Store(where), full()
    writer, process = StoreWriter(store), psutil.Process()
    before, started = process.memory_info().rss, time.perf_counter()
    for number in range(SESSIONS):
        writer.offer(record(f"session-{number}"), history)
    writer.flush(600)
    took, grown = time.perf_counter() - started, process.memory_info().rss - before
    writer.close(60)
    store.close()
    return {
        "2,000 full reports, written a second": SESSIONS / took,
        "2,000 full reports, memory of their writer, MiB": grown / 2**20,
    }


def _read(where: str) -> dict[str, float]:
    """In a process of its own, as a notebook that looks back."""
    out = subprocess.check_output([sys.executable, "-c", READING, where], text=True)
    _, read, decoded, held = map(float, out.split())
    return {
        "2,000 full reports, opened and listed, s": read,
        "2,000 full reports, memory of their reader, MiB": held,
        "one of them decoded, ms": decoded * 1000,
    }


def _timeline(where: str) -> dict[str, float]:
    """``controller.timeline()``, against pandas on the same reports, whose reading is not timed."""
    command = [sys.executable, "-c", TIMELINE, where, str(READINGS)]
    first, ours, normalized, peak = map(float, subprocess.check_output(command, text=True).split())
    return {
        "controller.timeline() of 2,000 full reports, the first, s": first,
        "controller.timeline() of 2,000 full reports, median s": ours,
        "json_normalize of the same, median s": normalized,
        "controller.timeline() ÷ json_normalize, speed (goal >= 5)": normalized / ours,
        "controller.timeline(), peak of its process, MiB": peak,
    }


def _kernels(where: str) -> dict[str, float]:
    """Processes that each record events of a session of their own, all into this database."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "tests.store.load", where]
    kernels = [
        subprocess.Popen([*command, f"load-{n}", str(EVENTS)], stdin=pipe, stdout=pipe)
        for n in range(KERNELS)
    ]
    for kernel in kernels:
        assert kernel.stdout
        kernel.stdout.readline()
    started = time.perf_counter()
    for kernel in kernels:
        assert kernel.stdin
        kernel.stdin.write(b"\n")
        kernel.stdin.flush()
    for kernel in kernels:
        kernel.communicate()
    return {"8 kernels, 2,000 events each, s": time.perf_counter() - started}
