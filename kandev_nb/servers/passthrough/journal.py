"""What files of projects were before sessions put their servers in, so that they get back there.

There is one record a file. It is written before the file is, so that whoever comes next can put the
file back, however this process ends. While sessions use a file, it is made anew from what it was
before and the entries of each session in turn; they may end in any order. A file that somebody
edited meanwhile is never overwritten: our entries are taken out of it, and the rest is what the
file was before from then on.
"""

import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from kandev_nb.errors import ConfigError
from kandev_nb.servers.passthrough.members import Unsafe
from kandev_nb.servers.passthrough.owned import owner_only, sweep
from kandev_nb.servers.passthrough.project import ProjectFile, failed, naming
from kandev_nb.servers.passthrough.record import MERGED, Holder, Record, digest, rebased
from kandev_nb.servers.passthrough.strategy import Merge

_PATIENCE: Final = 10.0
"""Seconds to wait for another process that is at the journal."""

_log = logging.getLogger(__name__)


class Journal:
    """The records of one folder, which all sessions of this user share."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._records = root / "journal"

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes, and other threads, away from the journal and its files.

        Raises:
            ConfigError: another process does not leave it.
        """
        owner_only(self._root)
        owner_only(self._records)
        path = self._root / "lock"
        with naming(path):
            lock = path.open("w")
        with lock:
            _wait_for(lock.fileno(), path)
            try:
                yield
            finally:
                # Not closing alone: a child that was forked meanwhile has a copy.
                fcntl.flock(lock, fcntl.LOCK_UN)

    def merge(self, project: Path, merge: Merge, folder: Path) -> tuple[str, ...]:
        """Put the entries of a session into a file; call it :meth:`alone`.

        Returns what is to say of it.

        Raises:
            ConfigError: the file cannot be edited, or could not be put back (CF-4).
        """
        target = ProjectFile(project, merge.file)
        record = self._load(self._path(target)) or Record(
            project=str(project), file=merge.file, key=merge.key, syntax=merge.syntax
        )
        holder = Holder(folder=str(folder), entries=dict(merge.entries))
        shared = {name for each in record.holders for name in each.entries} & set(merge.entries)
        notes = self._put(record, (*record.holders, holder))
        if shared:
            names = ", ".join(sorted(shared))
            notes += (f"{target.path}: another session gives it {names} too; the last one counts.",)
        return notes

    def release(self, folder: Path) -> tuple[str, ...]:
        """Take the entries of a session out of its files; call it :meth:`alone`."""
        ended = str(folder)
        return tuple(
            note
            for record in self._all()
            if any(holder.folder == ended for holder in record.holders)
            for note in self._settled(record, record.without(ended).living())
        )

    def recover(self) -> tuple[str, ...]:
        """Put back what sessions that ended without a word left; call it :meth:`alone`."""
        notes = list[str]()
        for record in self._all():
            living = record.living()
            if living != record.holders or not living:
                notes += self._settled(record, living)
        sweep(self._root)
        return tuple(notes)

    def _settled(self, record: Record, holders: tuple[Holder, ...]) -> tuple[str, ...]:
        """Do what can be done; the record of a file that cannot be put back now is kept."""
        try:
            return self._put(record, holders)
        except ConfigError as error:
            names = ", ".join(record.ours())
            return (f"{error} Until then it still holds the entries {names}.",)

    def _put(self, record: Record, holders: tuple[Holder, ...]) -> tuple[str, ...]:
        """Make a file what it is with these sessions, and return what is to say of it."""
        target, path = record.target, self._path(record.target)
        found = target.read()
        with _editing(target.path):
            record, notes = rebased(record, found, target)
            record = record.changed(holders=holders)
            content = record.merged().encode()
        if holders:
            record = record.changed(written=(*record.written, digest(content))[-2:])
            self._save(path, record)
            target.write(content, MERGED)
            return notes
        if record.before is None:
            target.remove(with_folder=record.made_folder)
        elif found is None or found.content != content:
            target.write(content, record.mode, record.mtime)
        with naming(path):
            path.unlink(missing_ok=True)
        return notes

    def _path(self, target: ProjectFile) -> Path:
        return self._records / f"{digest(os.fsencode(target.path))}.json"

    def _all(self) -> list[Record]:
        loaded = list[Record]()
        for path in sorted(self._records.glob("*.json")):
            with contextlib.suppress(ConfigError):
                if record := self._load(path):
                    loaded.append(record)
        return loaded

    def _load(self, path: Path) -> Record | None:
        with naming(path):
            if not path.exists():
                return None
            text = path.read_text(encoding="utf-8")
        try:
            return Record.model_validate_json(text)
        except ValidationError:
            words = "this record cannot be read, so what a file was before is not known. Look at "
            error = failed(path, words + "the file's servers yourself, then remove the record.")
            _log.warning("%s", error)
            raise error from None

    def _save(self, path: Path, record: Record) -> None:
        new = path.with_suffix(".new")
        with naming(path):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(new, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(record.model_dump_json())
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)


@contextlib.contextmanager
def _editing(path: Path) -> Iterator[None]:
    way_out = "Mend the file, or start the agent over ACP."
    try:
        yield
    except UnicodeDecodeError:
        raise failed(path, f"it is no UTF-8 text. {way_out}") from None
    except Unsafe as fault:
        raise failed(path, f"{fault}. {way_out}") from None


def _wait_for(lock: int, path: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not _locked(lock):
        if time.monotonic() > deadline:
            words = f"another process has held it for {_PATIENCE:g} s. End that process."
            raise failed(path, words)
        time.sleep(0.02)


def _locked(number: int) -> bool:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
