"""Loading: not on import, offline, once, in any thread, and never in the way of an exit."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kandev_nb.tokens import _estimator
from kandev_nb.tokens._estimator import Estimator
from kandev_nb.tokens._vocabulary import read_ranks

TOOLS = [b'{"name":"tool_%d"}' % n for n in range(64)]

OFFLINE = """
import socket, sys

def refuse(event, args):
    if event.startswith("socket."):
        raise AssertionError(event)

sys.addaudithook(refuse)
from kandev_nb import tokens

print(tokens.estimate_tool(tokens.tool_json({"name": "ping", "inputSchema": {"type": "object"}})))
try:
    socket.socket()
except AssertionError as refused:
    print(refused)
"""

LIGHT = """
import sys
from kandev_nb import tokens

print("tiktoken" in sys.modules, tokens.ESTIMATOR)
"""

LEAVING = "from kandev_nb import tokens; tokens.warm(); tokens.warm()"


@dataclass
class Loads:
    """The threads that began to load a vocabulary, and whether they may go on."""

    threads: list[str] = field(default_factory=list)
    allowed: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loads]:
    seen = Loads()
    seen.allowed.set()

    def noted(bundle: Path) -> dict[bytes, int]:
        seen.threads.append(threading.current_thread().name)
        seen.allowed.wait()
        return read_ranks(bundle)

    monkeypatch.setattr(_estimator, "read_ranks", noted)
    yield seen
    seen.allowed.set()


def in_fresh_process(script: str, cache: Path) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), "TIKTOKEN_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr == ""
    return ended.stdout


@pytest.mark.req("CA-3")
def test_given_a_fresh_process_then_an_estimate_opens_no_socket_and_needs_no_cache(
    tmp_path: Path,
) -> None:
    assert in_fresh_process(OFFLINE, tmp_path) == "12\nsocket.__new__\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("CA-3")
def test_given_only_an_import_then_tiktoken_is_not_imported(tmp_path: Path) -> None:
    assert in_fresh_process(LIGHT, tmp_path) == "False o200k_base:mcp-tool-json-v1\n"


@pytest.mark.req("CA-3")
def test_given_a_process_that_ends_while_warming_then_it_ends_quietly(tmp_path: Path) -> None:
    assert in_fresh_process(LEAVING, tmp_path) == ""


@pytest.mark.req("CA-3")
def test_given_eight_threads_at_once_then_one_loads_and_all_agree(
    estimator: Estimator, loads: Loads
) -> None:
    together = threading.Barrier(8)

    def estimate(_: int) -> list[int | None]:
        together.wait()
        return [estimator.estimate(tool) for tool in TOOLS]

    with ThreadPoolExecutor(8) as threads:
        first, *others = threads.map(estimate, range(8))

    assert len(loads.threads) == 1
    assert None not in first
    assert all(other == first for other in others)


def threads_since(before: set[threading.Thread]) -> set[threading.Thread]:
    return set(threading.enumerate()) - before


@pytest.mark.req("CA-3")
def test_given_warm_then_it_returns_while_one_daemon_loads(
    estimator: Estimator, loads: Loads
) -> None:
    loads.allowed.clear()
    before = set(threading.enumerate())

    estimator.warm()
    estimator.warm()

    started = threads_since(before)
    assert [(thread.name, thread.daemon) for thread in started] == [("kandev-nb-tokens", True)]
    loads.allowed.set()
    assert estimator.estimate(TOOLS[0]) is not None
    for thread in started:
        thread.join()
    assert len(loads.threads) == 1


@pytest.mark.req("CA-3")
def test_given_an_estimate_before_warm_then_nothing_is_loaded_again(
    estimator: Estimator, loads: Loads
) -> None:
    estimator.estimate(TOOLS[0])
    before = set(threading.enumerate())

    estimator.warm()

    for thread in threads_since(before):
        thread.join()
    assert len(loads.threads) == 1
