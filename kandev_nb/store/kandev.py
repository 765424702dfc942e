"""Attachment reports out of a database of Kandev itself, which is only read (EV-11).

:func:`read_kandev` gets the path of Kandev's SQLite file or the URL of its PostgreSQL database;
:class:`KandevReports` leaves, a sequence of :class:`KandevSession`. Each has what a session of this
kernel has of its report: the same rows, words and frames. Nothing of it is live.
"""

import logging
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pydantic_core import from_json

from kandev_nb.attachment import History, View, display
from kandev_nb.attachment.columns import AttemptEvidence, evidence_of_wire
from kandev_nb.attachment.words import verbatim
from kandev_nb.shown import ShowsReports, ShowsStored, Whose
from kandev_nb.store.kandev_open import reading
from kandev_nb.store.kandev_rows import Row, rows
from kandev_nb.store.records import Skipped

if TYPE_CHECKING:
    from sqlalchemy import Connection

_log = logging.getLogger("kandev_nb.store")


class KandevSession(ShowsStored):
    """One session of a Kandev database that has a report.

    As the last line of a cell it shows its servers, as a session of this kernel does. Names that
    the database does not have are empty; ``started_at`` is RFC 3339 in UTC.
    """

    def __init__(self, row: Row, report: bytes, database: str) -> None:
        self.session_id = row.session_id
        self.task_id = row.task_id
        self.task_title = row.task_title
        self.agent_name = row.agent_name
        self.name = row.name
        self.started_at = row.started_at
        self._database = database
        # Thousands of reports as models would fill the memory of the kernel.
        self._report = zlib.compress(report, 1)

    @property
    def report(self) -> History:
        """The report as Kandev stored it, bounded and sanitized."""
        return History.model_validate_json(zlib.decompress(self._report))

    def evidence(self) -> Iterable[AttemptEvidence]:
        """Return the evidence of each kept attempt as columns, the oldest first."""
        return evidence_of_wire(from_json(zlib.decompress(self._report)))

    @property
    def view(self) -> View:
        """What a person is shown of the report."""
        view = display(self.report, session=self._heading, agent=self.agent_name)
        stored = verbatim(f"Stored by Kandev in {self._database}; nothing here is live.")
        return view.model_copy(update={"notes": (*view.notes, stored)})

    @property
    def whose(self) -> Whose:
        """What tells the session from others, as frames of many sessions say it."""
        return Whose(self.session_id, self.name, self.task_title, self.agent_name)

    @property
    def _heading(self) -> str:
        named = {"task": self.task_title, "session": self.name}
        words = [f'{what} "{name}"' for what, name in named.items() if name]
        return " · ".join(words) or f"session {self.session_id}"


class KandevReports(ShowsReports[KandevSession]):
    """What :func:`read_kandev` read: sessions, the oldest first."""

    def __init__(
        self,
        database: str,
        sessions: Sequence[KandevSession],
        skipped: Sequence[Skipped],
        notes: Sequence[str],
    ) -> None:
        super().__init__(sessions)
        self.database = database
        """What the database is called: its file, or its server and name."""
        self.skipped = tuple(skipped)
        """The sessions whose reports could not be read, and why."""
        self.notes = tuple(notes)
        """What is to say of the database as a whole."""

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        read = f"{len(self):,} report{'' if len(self) == 1 else 's'} read"
        yield f"Kandev · {self.database} · {read} · {len(self.skipped):,} skipped"
        for reason, count in Counter(gone.reason for gone in self.skipped).most_common():
            yield f"{count:,} skipped: {reason}."
        yield from self.notes


def read_kandev(path_or_url: str | os.PathLike[str]) -> KandevReports:
    """Return the attachment reports that Kandev stored, out of its own database.

    The database is only read; Kandev may go on working with it. Reports of another schema version
    and rows that cannot be read are skipped: ``.skipped`` says which and why.

    Args:
        path_or_url: the path of Kandev's ``kandev.db``, or ``postgresql://…``.

    Raises:
        StoreError: there is no such database, it is not Kandev's, or it cannot be read.
    """
    found = reading(path_or_url, _reports)
    sessions, skipped = found.result
    if skipped:
        _log.warning("skipped %d reports of a Kandev database", len(skipped))
    sessions.sort(key=lambda session: (session.started_at, session.session_id))
    return KandevReports(found.name, sessions, skipped, found.notes)


def _reports(connection: "Connection", database: str) -> tuple[list[KandevSession], list[Skipped]]:
    sessions, skipped = [], []
    for row in rows(connection):
        if isinstance(row.report, str):
            skipped.append(Skipped(row.session_id, row.report))
        else:
            sessions.append(KandevSession(row, row.report, database))
    return sessions, skipped
