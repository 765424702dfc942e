"""Where reports outlive their kernel: SQLAlchemy Core over a SQLite file, or PostgreSQL by URL.

A :class:`StoreWriter` takes each new report of the sessions of this process and writes it in a
thread of its own; a :class:`Store` reads what every kernel wrote, prunes, exports and imports.
Nothing here belongs on the event loop::

    store = Store()                       # the file below Jupyter's data, or KANDEV_NB_STORE
    writer = StoreWriter(store)
    writer.offer(record, history)         # never blocks, never raises
    store.sessions()                      # StoredSession, the report decoded when asked for

::

    place        which database, and how it is named without its password
    records      what comes in and what leaves
    split        a report as rows, and rows as a report
    tables       the rows
    migrations   how a database gets these tables, step by step
    opening      a database opened: owner only, of our version, one migration at a time
    database     transactions, and none of them open across a fork
    leases       one live writer a session
    writing reading retention   what is done in a transaction
    statements   what the two databases say in words of their own
    referred     catalogs and endpoint tests, beside the reports
    exchange     files that carry sessions elsewhere
    store        all of that, as methods
    writer       the thread that writes

No secrets and no effective configuration are kept: a row holds what the report shows.
"""

from typing import TYPE_CHECKING, Any

from kandev_nb.store.records import (
    Imported,
    SessionRecord,
    Skipped,
    StoredSession,
    StoredSessions,
    StoredTest,
)
from kandev_nb.store.writer import StoreWriter

if TYPE_CHECKING:
    from kandev_nb.store.store import Store

__all__ = [
    "Imported",
    "SessionRecord",
    "Skipped",
    "Store",
    "StoreWriter",
    "StoredSession",
    "StoredSessions",
    "StoredTest",
]


def __getattr__(name: str) -> Any:
    if name != "Store":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # SQLAlchemy takes longer to import than all the rest.
    from kandev_nb.store.store import Store

    globals()["Store"] = Store
    return Store
