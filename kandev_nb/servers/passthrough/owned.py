"""A session's own folder: its files, and the sign that the session still lives.

The sign is a lock that the operating system takes back however the process ends, so a folder whose
lock is free belongs to nobody any more. A forked child gives its copy of the lock up at once.
"""

import contextlib
import fcntl
import os
import shutil
import stat
from pathlib import Path
from typing import Final
from weakref import WeakSet

from kandev_nb.servers.passthrough.project import failed, naming

_SIGN: Final = "alive"
_OPEN: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class OwnFolder:
    """Made for one session and removed with everything in it."""

    def __init__(self, path: Path) -> None:
        """Make the folder, or take one that its owner alone can enter.

        Raises:
            ConfigError: it is used already, or others could read what is written there.
        """
        self.path: Final = owner_only(path)
        with naming(path):
            self._lock: int | None = os.open(path / _SIGN, _OPEN | os.O_CREAT, 0o600)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._lock)
                raise failed(path, "another session uses this folder.") from None
        _live.add(self)

    def write(self, name: str, content: str) -> Path:
        """Write a file that its owner alone can read, and return its path."""
        path = self.path / name
        with naming(path):
            number = os.open(path, _OPEN | os.O_CREAT | os.O_EXCL, 0o600)
            with open(number, "w", encoding="utf-8") as file:
                file.write(content)
        return path

    def remove(self) -> None:
        """Remove the folder; the session is over."""
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        shutil.rmtree(self.path, ignore_errors=True)
        # Not closing alone: a child that was forked a moment ago may have a copy.
        fcntl.flock(lock, fcntl.LOCK_UN)
        os.close(lock)

    def disown(self) -> None:
        """In a forked child: leave the folder to the session."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


_live: Final[WeakSet[OwnFolder]] = WeakSet()


def _disown_after_fork() -> None:
    for folder in _live:
        folder.disown()


os.register_at_fork(after_in_child=_disown_after_fork)


def owner_only(path: Path) -> Path:
    """Make a folder, or check one: nobody else may enter it.

    Raises:
        ConfigError: it is a link, another user's, or open to others.
    """
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        found = path.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if not is_ours or stat.S_IMODE(found.st_mode) & 0o077:
        words = "it must be a folder that you alone can enter. Run `chmod 700` on it, or move it."
        raise failed(path, words)
    return path


def lives(folder: Path) -> bool:
    """Tell whether the session of a folder still lives."""
    try:
        number = os.open(folder / _SIGN, _OPEN)
    except OSError:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(number)
    return False


def sweep(root: Path) -> None:
    """Remove the folders below ``root`` that dead sessions left."""
    for folder in root.iterdir():
        if not folder.is_symlink() and (folder / _SIGN).is_file() and not lives(folder):
            shutil.rmtree(folder, ignore_errors=True)
