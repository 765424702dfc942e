"""A kernel under load: ``python -m tests.store.load DATABASE SESSION EVENTS``.

It waits for a line, records the events in a ledger whose reports go to a store, and prints the
report that it holds in memory at the end.
"""

import json
import sys
import threading

from kandev_nb.attachment import Attempt, Evidence
from kandev_nb.attachment.model import utc_now
from kandev_nb.ledger import Ledger
from kandev_nb.store import Store, StoreWriter
from tests.store.stories import TOOLS, record

KINDS = ("initialize_observed", "tools_list_observed", "tool_call_observed")
AT_ONCE = 20


def main(database: str, session: str, events: int) -> None:
    store = Store(database)
    writer, ledger = StoreWriter(store), Ledger()
    ledger.subscribe(lambda history: writer.offer(record(session), history))
    say("ready")
    sys.stdin.readline()
    ledger.start(Attempt(attachment_attempt_id=f"attempt-{session}", started_at=utc_now()))
    pace = threading.Event()
    for number in range(events):
        ledger.record(event(f"attempt-{session}", number))
        if number % AT_ONCE == 0:
            pace.wait(0.01)
    history = ledger.drain(60)
    ledger.close()
    writer.offer(record(session, state="closed"), history)
    flushed = writer.close(60)
    told = {"flushed": flushed, "problem": writer.problem, "refused": writer.refused}
    say(json.dumps({**told, "report": history.to_wire()}))
    store.close()


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def event(attempt: str, number: int) -> Evidence:
    kind = KINDS[number % len(KINDS)]
    tools = TOOLS[: number % 4] if kind == "tools_list_observed" else ()
    return Evidence(
        attachment_attempt_id=attempt,
        server_name=f"server-{number % 5}",
        kind=kind,
        occurred_at=utc_now(),
        connection_id=f"connection-{number % 50}",
        tool_count=len(tools),
        tools=tools,
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
