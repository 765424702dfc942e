"""Processes that write until they are killed: ``python -m tests.store.doomed DATABASE``.

Everything is imported once; each line on standard input forks one. It says its process ID, and then
when it offered which revision of which session. When it is gone, that is said too.
"""

import importlib
import os
import sys
import threading
from time import monotonic

from sqlalchemy import create_engine

from kandev_nb import StoreError
from kandev_nb.attachment import History
from kandev_nb.store import Store, StoreWriter
from kandev_nb.store.place import find_place
from tests.store.stories import full, grown, record

SESSIONS = [f"session-{number}" for number in range(3)]
OFFERS_EVERY = 0.004


def main(database: str) -> None:
    # What opening a database imports is imported here, before the first child.
    create_engine(find_place(database).url).dispose()
    importlib.import_module("alembic.command")
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            write_until_killed(database)
        os.waitpid(child, 0)
        say("dead")


def write_until_killed(database: str) -> None:
    say(os.getpid())
    store = Store(database)
    writer = StoreWriter(store)
    reports = {session: begun(store, session) for session in SESSIONS}
    pace, number = threading.Event(), 0
    while True:
        for session, history in reports.items():
            reports[session] = grown(history, number)
            writer.offer(record(session), reports[session])
            say(monotonic(), session, reports[session].revision)
        number += 1
        pace.wait(OFFERS_EVERY)


def say(*words: object) -> None:
    """Print a line, whole or not at all."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def begun(store: Store, session: str) -> History:
    """The report that the one before left, or a new one."""
    try:
        return store.session(session).report
    except StoreError:
        return full(attempts=1, events=0, prefix=session)


if __name__ == "__main__":
    main(sys.argv[1])
