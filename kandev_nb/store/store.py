"""The store of one process: everything that is done with the database, as methods."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Final

from kandev_nb.attachment import newer
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import StoreError
from kandev_nb.store import exchange, leases, reading, retention, writing
from kandev_nb.store.database import Database
from kandev_nb.store.leases import Hold
from kandev_nb.store.place import find_place
from kandev_nb.store.records import (
    Imported,
    Offer,
    Skipped,
    StoredSession,
    StoredSessions,
    StoredTest,
)
from kandev_nb.store.referred import Prepared
from kandev_nb.store.split import split
from kandev_nb.store.writing import Written

_AT_ONCE: Final = 256
"""Sessions of one transaction that imports or prunes: none is long."""


class Store:
    """One database, opened on first use. May be used from any thread, but not on an event loop.

    Args:
        where: the path of a SQLite file or a ``postgresql://`` URL; by default what the environment
            variable ``KANDEV_NB_STORE`` names, else a file below Jupyter's data directory.

    Every method raises :class:`~kandev_nb.errors.StoreError` where the database cannot be used;
    its message names the place without its password.
    """

    def __init__(self, where: str | Path | None = None) -> None:
        self._database = Database(find_place(where))
        self.owner: Final = token_hex(8)
        """Who writes: the leases of this store's sessions are under this name."""

    @property
    def name(self) -> str:
        """The path of the file, or host and database."""
        return self._database.place.name

    def sessions(self, *, task_id: str | None = None, limit: int | None = None) -> StoredSessions:
        """Return the stored sessions, the one that changed last first.

        A session that cannot be read is in ``.skipped`` of the result, with the reason.
        """
        with self._database.reading() as connection:
            found = reading.fetch(connection, None, task_id, limit)
        return self._assembled(found)

    def session(self, session_id: str) -> StoredSession:
        """Return one session. One that is not there or cannot be read is a ``StoreError``."""
        with self._database.reading() as connection:
            found = reading.fetch(connection, session_id, None, None)
        sessions = self._assembled(found)
        if sessions:
            return sessions[0]
        reason = sessions.skipped[0].reason if sessions.skipped else "there is none of this ID"
        raise StoreError(
            f"The store {self.name} cannot show session {session_id!r}: {reason}.",
            reason_code=ReasonCode.SESSION_UNKNOWN,
        )

    def endpoint_tests(self, session_id: str) -> tuple[StoredTest, ...]:
        """Return the last endpoint tests of a session's servers, the newest first."""
        with self._database.reading() as connection:
            rows = reading.fetch_tests(connection, session_id)
        return reading.read_tests(rows)

    def write(self, batch: Sequence[Prepared], terms: Mapping[str, int]) -> Written:
        """Write sessions in one transaction, as their live writer. For :class:`StoreWriter`.

        ``terms`` are those that the writer holds.
        """
        with self._database.writing() as connection:
            return writing.write(connection, batch, Hold(self.owner, terms))

    def renew(self, terms: Mapping[str, int]) -> set[str]:
        """Renew the leases of those sessions, and return the sessions that have none any more."""
        with self._database.writing() as connection:
            return leases.renew(connection, Hold(self.owner, terms))

    def release(self) -> None:
        """Give up every lease of this store."""
        with self._database.writing() as connection:
            leases.release(connection, self.owner)

    def delete_session(self, session_id: str) -> bool:
        """Delete a session and all that belongs to it; tell whether there was one.

        An open session is a ``StoreError``, here and in :meth:`delete_task`.
        """
        with self._database.writing() as connection:
            return bool(retention.delete_sessions(connection, [session_id], self.owner))

    def delete_task(self, task_id: str) -> int:
        """Delete a task and its sessions, and return how many those were."""
        with self._database.writing() as connection:
            sessions = retention.sessions_of(connection, task_id)
            return retention.delete_sessions(connection, sessions, self.owner)

    def prune(self, *, older_than: timedelta | None = None, keep: int | None = None) -> int:
        """Delete sessions that did not change for that long, and those beyond the newest ``keep``.

        Open sessions stay. Returns how many were deleted.
        """
        if keep is not None and keep < 0:
            raise StoreError(
                "keep= is negative. Give how many sessions are to stay.",
                reason_code=ReasonCode.WRONG_ARGUMENT,
            )
        total = 0
        while True:
            with self._database.writing() as connection:
                deleted = retention.prune(connection, older_than, keep, _AT_ONCE)
            total += deleted
            if not deleted:
                return total

    def vacuum(self) -> None:
        """Give the room of what was deleted back to the disk."""
        self._database.vacuum()

    def export(self, path: str | Path) -> int:
        """Write every session to a ``.jsonl`` or ``.parquet`` file, and return how many."""
        target = Path(path).expanduser()
        exchange.check(target)
        return exchange.write_file(target, self.sessions())

    def import_(self, path: str | Path) -> Imported:
        """Take the sessions of such a file; of one that is here already, the newer report stays."""
        source = Path(path).expanduser()
        exchange.check(source)
        entries = exchange.read_file(source)
        imported, older, skipped = 0, 0, list[Skipped]()
        while chunk := list(islice(entries, _AT_ONCE)):
            skipped += [entry for entry in chunk if isinstance(entry, Skipped)]
            written = self._import(_newest_of_each(chunk))
            imported += len(written.written)
            older += len(written.older)
            skipped += [Skipped(session_id, "it is open") for session_id in written.refused]
        return Imported(imported, older, tuple(skipped))

    def close(self) -> None:
        """Close the database; the next call opens it again."""
        self._database.close()

    def _assembled(self, found: reading.Found) -> StoredSessions:
        sessions = reading.assemble(found, self.owner)
        for session in sessions:
            session.followed_in(self)
        return sessions

    def _import(self, offers: Iterable[Offer]) -> Written:
        batch = [(offer, split(offer)) for offer in offers]
        with self._database.writing() as connection:
            return writing.write(connection, batch, Hold("", {}), tie=False)

    def __repr__(self) -> str:
        return f"<Store {self.name}>"


def _newest_of_each(entries: Iterable[Offer | Skipped]) -> Iterator[Offer]:
    found: dict[str, Offer] = {}
    for entry in entries:
        if isinstance(entry, Offer):
            before = found.get(entry.session_id)
            if before is None or newer(entry.history, before.history) is entry.history:
                found[entry.session_id] = entry
    return iter(found.values())
