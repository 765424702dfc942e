"""An agent's own CLI, given its servers in its own configuration shape (CF-4).

Decisions come in; what to start the CLI with leaves, and one decision for each again, with what
this CLI cannot be given left out. Files are the session's own, or files of the project that are put
back as they were. The user's global configuration is never touched::

    with materialize(strategy("claude"), decisions, cwd=project) as made:
        start([*command, *made.args], env=made.env)

::

    registry     the strategies that can be used by name
    strategy     what a strategy is, and what it may make
    claude …     one CLI each
    owned        a session's own folder
    journal      what files of projects were before, and who uses them
      record       one such file, as it was and with everybody's entries
      project      one such file, without following a link
      members      its text, edited by position
      positions    where things stand in it

Everything here may wait for the disk, or for another process: call it in a thread.
"""

import atexit
import logging
import os
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from jupyter_core.paths import jupyter_data_dir

from kandev_nb.errors import KandevError
from kandev_nb.servers.passthrough.journal import Journal
from kandev_nb.servers.passthrough.owned import OwnFolder
from kandev_nb.servers.passthrough.project import naming
from kandev_nb.servers.passthrough.registry import ENTRY_POINTS, strategies, strategy
from kandev_nb.servers.passthrough.strategy import Room, Strategy, without_strategy
from kandev_nb.servers.resolution import Decision

__all__ = [
    "ENTRY_POINTS",
    "Materialized",
    "Room",
    "Strategy",
    "home",
    "materialize",
    "recover",
    "recover_soon",
    "strategies",
    "strategy",
    "without_strategy",
]

_log = logging.getLogger(__name__)


class Materialized:
    """What was made for one session of a CLI. Made by :func:`materialize`; close it after the CLI.

    As a context manager it closes at the end of the block.
    """

    def __init__(
        self, own: OwnFolder, journal: Journal, room: Room, decisions: tuple[Decision, ...]
    ) -> None:
        self._own, self._journal = own, journal
        self._process = os.getpid()
        self._closed = False
        self._closing = threading.Lock()
        self.args: Final = tuple(room.args)
        """To be appended to the command; they have to come last."""
        self.env: Final[Mapping[str, str]] = room.env
        """To be laid over the CLI's environment; it may hold secrets."""
        self.decisions: Final = decisions
        self.files: tuple[Path, ...] = ()
        """The files that hold servers now, the project's among them."""
        self.notes: tuple[str, ...] = ()
        """What is to say of the files. Never a value."""
        _live.add(self)

    def close(self) -> tuple[str, ...]:
        """Remove what was made and put files of the project back; return what is to say of them.

        Who comes second waits until that is done. A forked child closes nothing: it owns nothing.
        """
        if self._process != os.getpid():
            return ()
        with self._closing:
            if self._closed:
                return ()
            self._closed = True
            try:
                return self._put_back()
            finally:
                _live.discard(self)

    def _put_back(self) -> tuple[str, ...]:
        try:
            was_removed = not self._own.path.is_dir()
            with self._journal.alone():
                notes = self._journal.release(self._own.path)
            if was_removed:
                notes += tuple(self._lost())
        except KandevError as error:
            notes = (str(error),)
        finally:
            self._own.remove()
        return _said(notes)

    def _lost(self) -> Iterator[str]:
        for path in self.files:
            if self._own.path not in path.parents:
                yield (
                    f"{path}: {self._own.path} was removed meanwhile, and with it perhaps what the "
                    "file was before. Look whether it still holds the session's servers."
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Materialized: {len(self.decisions)} decisions in {len(self.files)} files>"


_live: Final = set[Materialized]()
"""Not weakly: what nobody closed is put back when the process ends."""


def _close_all() -> None:
    for made in tuple(_live):
        made.close()


atexit.register(_close_all)


def home() -> Path:
    """Return the folder of all sessions' own folders and of the journal, below Jupyter's data."""
    return Path(jupyter_data_dir()) / "kandev-nb" / "passthrough"


def materialize(
    strategy: Strategy,
    decisions: Sequence[Decision],
    *,
    cwd: Path,
    folder: Path | None = None,
    strict: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Materialized:
    """Give a CLI its servers, and return what it has to be started with.

    Args:
        strategy: how this CLI takes them.
        decisions: one a server; those that do not deliver come back as they are.
        cwd: the folder of the project, in which the CLI runs.
        folder: the session's own, made here and removed with everything in it; the journal lies
            beside it. By default a new one below :func:`home`.
        strict: let the CLI load these servers and no others.
        environ: the environment that the CLI will get; this process's by default.

    Raises:
        ConfigError: a file cannot be written, or could not be put back (``materialization_failed``;
            nothing is left of it), or the CLI cannot be strict (``wrong_argument``).
    """
    strategy.check_strict(strict)
    folder = (folder or home() / secrets.token_hex(8)).absolute()
    environ = os.environ if environ is None else environ
    judged = strategy.judge(decisions)
    room = Room(folder, strict, environ)
    strategy.write([decision for decision in judged if decision.delivers], room)
    journal = Journal(folder.parent)
    with naming(cwd):
        project = cwd.resolve(strict=True)
    with journal.alone():
        notes = journal.recover()
        made = Materialized(OwnFolder(folder), journal, room, judged)
    try:
        made.notes = _said(notes) + _made(made, room, journal, project)
    except BaseException:
        made.close()
        raise
    return made


def recover(root: Path | None = None) -> tuple[str, ...]:
    """Put back what sessions that crashed left in projects; return what is to say of it.

    Costs nothing where no session was ever started.
    """
    root = root or home()
    if not root.is_dir():
        return ()
    journal = Journal(root)
    with journal.alone():
        return _said(journal.recover())


def recover_soon() -> None:
    """Begin :func:`recover` on a thread of its own; what is wrong is logged."""
    if home().is_dir():
        threading.Thread(target=_recover, name="kandev-nb-recover", daemon=True).start()


def _recover() -> None:
    try:
        recover()
    except (KandevError, OSError) as error:
        _log.warning("what an earlier session left was not put back: %s", error)


def _made(made: Materialized, room: Room, journal: Journal, project: Path) -> tuple[str, ...]:
    own = made._own
    made.files = tuple(own.write(name, content) for name, content in room.files.items())
    merges = [merge for merge in room.merges if merge.entries]
    if not merges:
        return ()
    with journal.alone():
        notes = [note for merge in merges for note in journal.merge(project, merge, own.path)]
    made.files += tuple(project / merge.file for merge in merges)
    return tuple(notes)


def _said(notes: tuple[str, ...]) -> tuple[str, ...]:
    for note in notes:
        _log.warning("%s", note)
    return notes
