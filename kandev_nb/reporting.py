"""``kandev-nb report``: the diagnostics of a stored session, out of whatever database has it.

A database of ours and one of Kandev's are told apart by their tables. Both are only read: nothing
is made, migrated or locked, so another program may go on writing. What is heavy is loaded when the
command runs.
"""

import json
import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import click

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from kandev_nb.diagnose.diagnostics import Diagnostics
    from kandev_nb.errors import StoreError
    from kandev_nb.shown import ShowsStored
    from kandev_nb.store import Skipped, StoredSessions

Format = Literal["text", "json", "markdown"]

_NAMED: Final = 10
"""Sessions that an error names."""


class Read(NamedTuple):
    """What a database holds: ``where`` is what it is called, ``notes`` what is to say of it."""

    where: str
    sessions: Sequence["ShowsStored"]
    notes: tuple[str, ...]


@click.command()
@click.argument("subject", metavar="SESSION|DATABASE")
@click.option("--session", "wanted", metavar="SESSION", help="Pick this one of DATABASE.")
@click.option("--store", metavar="URL", help="Look SESSION up here: a file or a PostgreSQL URL.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="json is of the schema kandev_nb/diagnose/diagnostics.schema.json.",
)
def report(subject: str, wanted: str | None, store: str | None, form: Format) -> None:
    """Print what is known of a stored session and its MCP servers, safe to paste.

    SESSION is the ID of a session, the beginning of one that no other has, or a session's name; it
    is looked up in the store of this user, or the one that KANDEV_NB_STORE names. DATABASE is a
    file or a URL, of a store or of Kandev itself: its sessions are listed where it has several.
    Everything is only read. Leaves with 1 when there is no such session or it cannot be read.
    """
    from kandev_nb.errors import KandevError

    # What is amiss is said once, by the command.
    logging.getLogger("kandev_nb").addHandler(logging.NullHandler())
    file = os.path.expanduser(subject)
    is_database = store is None and ("://" in subject or os.path.isfile(file))
    if wanted is not None and not is_database:
        raise click.UsageError("--session picks one of a DATABASE. Name the session once.")
    try:
        read = _read(file) if is_database else _read_store(store, subject)
        for note in read.notes:
            _echo(note, err=True)
        picked = wanted if is_database else subject
        if picked is None and len(read.sessions) != 1:
            _print_list(read, form)
            return
        session = read.sessions[0] if picked is None else _find(read, picked)
        _echo(_formed(session.diagnostics(), form))
    except KandevError as error:
        raise click.ClickException(str(error)) from None


def _read_store(where: str | None, wanted: str) -> Read:
    from kandev_nb.attachment.reasons import ReasonCode
    from kandev_nb.errors import StoreError
    from kandev_nb.store.place import find_place

    place = find_place(where)
    if place.path is None:
        return _read(place.url.render_as_string(hide_password=False))
    if not place.path.is_file():
        raise StoreError(
            f"There is no session {wanted!r}: there is no store {place.path}, nor a database of "
            "that name. Name the store with --store or KANDEV_NB_STORE, or give the path of a "
            "database.",
            reason_code=ReasonCode.DATABASE_NOT_FOUND,
        )
    return _read(str(place.path))


def _read(database: str) -> Read:
    from kandev_nb.store.kandev import read_kandev
    from kandev_nb.store.kandev_open import reading

    found = reading(database, _stored)
    if found.result is not None:
        stored = found.result
        return Read(found.name, stored, (*found.notes, *map(_skipped, stored.skipped)))
    kandev = read_kandev(database)
    return Read(found.name, kandev, (*kandev.notes, *map(_skipped, kandev.skipped)))


def _stored(connection: "Connection", name: str) -> "StoredSessions | None":
    """Return the sessions of a store of ours, or ``None`` for another database."""
    from sqlalchemy import inspect, text

    from kandev_nb.attachment.words import visible
    from kandev_nb.store import reading
    from kandev_nb.store.migrations import HEAD, VERSIONS

    if connection.dialect.name == "sqlite":
        # Sessions and their catalogs are of one moment, whoever writes meanwhile.
        connection.exec_driver_sql("BEGIN")
    if not inspect(connection).has_table(VERSIONS):
        return None
    version = connection.execute(text(f"SELECT version_num FROM {VERSIONS}")).scalar()  # noqa: S608 - our own name
    if version != HEAD:
        raise _other_version(name, visible(str(version)), HEAD)
    return reading.assemble(reading.fetch(connection, None, None, None), "")


def _other_version(name: str, version: str, ours: str) -> "StoreError":
    from kandev_nb.attachment.reasons import ReasonCode
    from kandev_nb.errors import StoreError

    way_out = "Update kandev-nb."
    if version < ours:
        way_out = "Open it once with Controller(store=…).sessions(), which brings it up to date."
    return StoreError(
        f"The store {name} is of version {version}, and this kandev-nb reads {ours}. Nothing was "
        f"changed. {way_out}",
        reason_code=ReasonCode.STORE_TOO_NEW if version > ours else ReasonCode.STORE_FAILED,
    )


def _skipped(skipped: "Skipped") -> str:
    return f"skipped {skipped.session_id}: {skipped.reason}"


def _find(read: Read, wanted: str) -> "ShowsStored":
    """Return the session that is meant: by its ID, by its name, or by how its ID begins."""
    from kandev_nb.attachment.reasons import ReasonCode
    from kandev_nb.errors import StoreError

    named = [(session, session.whose) for session in read.sessions]
    found = (
        [session for session, whose in named if whose.session_id == wanted]
        or [session for session, whose in named if wanted and whose.session == wanted]
        or [session for session, whose in named if wanted and whose.session_id.startswith(wanted)]
    )
    if len(found) == 1:
        return found[0]
    if found:
        what = f"{read.where} has {len(found)} sessions {wanted!r}. Give the ID of one"
    else:
        what = f"{read.where} has no session {wanted!r}"
        what += ". It has" if read.sessions else ", nor any other that can be read"
    raise StoreError(
        _with_names(what, found or read.sessions), reason_code=ReasonCode.SESSION_UNKNOWN
    )


def _with_names(what: str, sessions: Sequence["ShowsStored"]) -> str:
    lines = [f"  {line}" for line in map(_listed, sessions[:_NAMED])]
    if len(sessions) > _NAMED:
        lines.append(f"  and {len(sessions) - _NAMED} more")
    return "\n".join([f"{what}:", *lines]) if lines else f"{what}."


def _print_list(read: Read, form: Format) -> None:
    if form == "json":
        rows = [session.whose._asdict() for session in read.sessions]
        _echo(json.dumps(rows, indent=2))
        return
    count = len(read.sessions)
    found = f"has {count} sessions. Pick one with --session" if count else "has no session to show"
    _echo(f"{read.where} {found}.")
    for session in read.sessions:
        _echo(_listed(session))


def _listed(session: "ShowsStored") -> str:
    from kandev_nb.attachment.words import visible

    whose = session.whose
    told = (whose.session_id, whose.task, whose.session, whose.agent)
    return visible(" · ".join(filter(None, told)))


def _formed(diagnostics: "Diagnostics", form: Format) -> str:
    if form == "json":
        return json.dumps(diagnostics.to_json(), indent=2)
    return diagnostics.markdown.rstrip("\n") if form == "markdown" else diagnostics.text


def _echo(text: str, *, err: bool = False) -> None:
    """Print what the stream can show of ``text``, with the rest of it escaped."""
    encoding = (sys.stderr if err else sys.stdout).encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), err=err)
