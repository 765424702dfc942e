"""Evidence: how many events a second are reduced, and how soon a subscriber knows."""

import statistics
import threading
import time

from kandev_nb.attachment import Attempt, Evidence, History, apply, start_attempt
from kandev_nb.attachment.model import NOTHING_STARTED, utc_now
from kandev_nb.ledger import Ledger

EVENTS = 5_000
ROUNDS = 200


def measure() -> dict[str, float]:
    """Return the figures by name."""
    waits = sorted(_evidence_to_subscriber())
    return {
        "reducer, events a second (64 kept, 3 servers)": EVENTS / _reduce(),
        "evidence to subscriber, warm, median ms (goal < 50)": statistics.median(waits) * 1000,
        "evidence to subscriber, warm, p99 ms": waits[int(len(waits) * 0.99)] * 1000,
    }


def _reduce() -> float:
    history = start_attempt(
        NOTHING_STARTED, Attempt(attachment_attempt_id="a", started_at=utc_now())
    )
    kinds = ("delivered", "initialize_observed", "tools_list_observed", "tool_call_observed")
    events = [_event(kinds[n % 4], server=f"s{n % 3}", connection_id="c") for n in range(EVENTS)]
    started = time.perf_counter()
    for event in events:
        history, _ = apply(history, event)
    return time.perf_counter() - started


def _evidence_to_subscriber() -> list[float]:
    ledger = Ledger()
    ledger.start(Attempt(attachment_attempt_id="a", started_at=utc_now()))
    ledger.drain()
    told = threading.Event()
    seen: list[float] = []

    def subscriber(_: History) -> None:
        seen.append(time.perf_counter())
        told.set()

    ledger.subscribe(subscriber)
    waits = []
    for _ in range(ROUNDS):
        told.clear()
        recorded = time.perf_counter()
        ledger.record(_event("tool_call_observed", connection_id="c"))
        told.wait(10)
        waits.append(seen[-1] - recorded)
    ledger.close()
    return waits


def _event(kind: str, server: str = "kandev", **facts: str) -> Evidence:
    return Evidence.model_validate(
        {
            "attachment_attempt_id": "a",
            "server_name": server,
            "kind": kind,
            "occurred_at": utc_now(),
            **facts,
        }
    )
