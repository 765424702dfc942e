"""What is known of one file of a project: what it was before, and which sessions are in it."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from kandev_nb.servers.documents.text import JsonSyntax
from kandev_nb.servers.passthrough.members import put_in, take_out
from kandev_nb.servers.passthrough.owned import lives
from kandev_nb.servers.passthrough.project import Found, ProjectFile

MERGED: Final = 0o600
"""The mode of a file while it holds our entries: they may hold secrets."""

_EMPTY: Final = re.compile(r"\s*(?:\{\s*\}\s*)?")


class Holder(BaseModel):
    """A session that has entries in a file."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    folder: str
    entries: dict[str, Any] = Field(repr=False)


class Record(BaseModel):
    """One file: what it was, who uses it, and what was last written to it."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    version: Literal[1] = 1
    project: str
    file: str
    key: str
    syntax: JsonSyntax
    before: str | None = Field(default=None, repr=False)
    """None where there was no file."""
    mode: int = MERGED
    mtime: int | None = None
    made_folder: bool = False
    written: tuple[str, ...] = ()
    """Digests of the last two contents that are ours: the newer may not have been written yet."""
    holders: tuple[Holder, ...] = ()

    @property
    def target(self) -> ProjectFile:
        """The file itself."""
        return ProjectFile(Path(self.project), self.file)

    def changed(self, **fields: Any) -> "Record":
        """Return the record with these fields."""
        return self.model_copy(update=fields)

    def without(self, folder: str) -> "Record":
        """Return the record without one session."""
        return self.changed(holders=tuple(h for h in self.holders if h.folder != folder))

    def living(self) -> tuple[Holder, ...]:
        """Return the sessions that have not ended without a word."""
        return tuple(holder for holder in self.holders if lives(Path(holder.folder)))

    def merged(self) -> str:
        """Return the text with the entries of every session, the latest winning."""
        text = self.before or ""
        for holder in self.holders:
            text = put_in(text, self.key, holder.entries, self.syntax)
        return text

    def ours(self) -> dict[str, list[Any]]:
        """Return every value that sessions put in, by name."""
        values = dict[str, list[Any]]()
        for holder in self.holders:
            for name, value in holder.entries.items():
                values.setdefault(name, []).append(value)
        return values


def rebased(
    record: Record, found: Found | None, target: ProjectFile
) -> tuple[Record, tuple[str, ...]]:
    """Return the record as the file is now: whatever is not ours is the file's own."""
    if not record.written:
        return _as_found(record, found, target), ()
    if found is None:
        is_news = record.before is not None
        note = f"{target.path} was removed meanwhile, and stays removed."
        return record.changed(before=None, written=()), (note,) if is_news else ()
    if digest(found.content) in record.written:
        return record, ()
    text = found.content.decode()
    if text == record.before:
        return record, ()
    text, kept = take_out(text, record.key, record.ours(), record.before or "", record.syntax)
    is_empty = record.before is None and _EMPTY.fullmatch(text)
    mode = found.mode if found.mode != MERGED else record.mode
    before = None if is_empty else text
    # What was found is dealt with: it must not be taken for one more edit after a crash.
    written = (digest(found.content),)
    edited = record.changed(before=before, mode=mode, mtime=None, written=written)
    return edited, tuple(_told(target, kept))


def _as_found(record: Record, found: Found | None, target: ProjectFile) -> Record:
    if found is None:
        return record.changed(made_folder=not target.has_folder)
    return record.changed(before=found.content.decode(), mode=found.mode, mtime=found.mtime)


def _told(target: ProjectFile, kept: tuple[str, ...]) -> Iterator[str]:
    yield f"{target.path} was edited meanwhile: only the session's entries were taken out."
    if kept:
        names = ", ".join(kept)
        yield f"{target.path}: {names} was changed there by hand, and was left as it is."


def digest(content: bytes) -> str:
    """Return what a content is recognized by."""
    return hashlib.sha256(content).hexdigest()
