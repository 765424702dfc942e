"""One file of a user's project, read and written without following a symbolic link.

A link in the project could name any file of the user's, so the folder and the file are opened by
name below the project's own folder, and whatever is no plain file is refused. A write replaces the
file in one step: nobody reads half of it.
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError

_LARGEST: Final = 4 * 2**20
"""Bytes that a configuration file may have."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def failed(path: Path, words: str) -> ConfigError:
    """Return the error for a file that stops the whole materialization."""
    return ConfigError(f"{path}: {words}", reason_code=ReasonCode.MATERIALIZATION_FAILED)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file in whatever error the operating system has with it."""
    try:
        yield
    except OSError as error:
        cause = error.strerror or type(error).__name__
        words = f"it cannot be used ({cause}). Check the file, its folder and their permissions."
        raise failed(path, words) from None


class Found(NamedTuple):
    """A file as it was found; ``mtime`` is in nanoseconds."""

    content: bytes
    mode: int
    mtime: int


class ProjectFile:
    """The file ``FOLDER/NAME`` of a project; ``project`` holds no link any more."""

    def __init__(self, project: Path, file: str) -> None:
        self._project = project
        self._folder, _, self._name = file.partition("/")
        self.path: Final = project / file

    def read(self) -> Found | None:
        """Return the file, or None where there is none.

        Raises:
            ConfigError: it is no plain file of this user's that can be put back as it was.
        """
        with naming(self.path), self._opened() as folder:
            if folder is None or not self._is_there(folder):
                return None
            number = os.open(self._name, _FILE, dir_fd=folder)
            try:
                found = os.fstat(number)
                self._refuse(found)
                with open(number, "rb", closefd=False) as file:
                    return Found(file.read(), stat.S_IMODE(found.st_mode), found.st_mtime_ns)
            finally:
                os.close(number)

    @property
    def has_folder(self) -> bool:
        """Whether the project has the folder of the file."""
        with naming(self.path), self._opened() as folder:
            return folder is not None

    def write(self, content: bytes, mode: int, mtime: int | None = None) -> None:
        """Replace the file, or make it and its folder."""
        with naming(self.path), self._opened(make=True) as folder:
            assert folder is not None, "it was made"
            new = f".{self._name}.{secrets.token_hex(8)}"
            try:
                self._fill(folder, new, content, mode, mtime)
                os.replace(new, self._name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(new, dir_fd=folder)
                raise
            os.fsync(folder)

    def remove(self, *, with_folder: bool) -> None:
        """Remove the file, and its folder where nothing else is in it."""
        with naming(self.path), self._opened() as folder:
            if folder is not None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._name, dir_fd=folder)
        if with_folder:
            with contextlib.suppress(OSError):
                (self._project / self._folder).rmdir()

    @contextlib.contextmanager
    def _opened(self, *, make: bool = False) -> Iterator[int | None]:
        """Open the folder of the file; None where there is none."""
        if not make and not self._project.is_dir():
            yield None
            return
        project = os.open(self._project, _FOLDER)
        folder = None
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(self._folder, dir_fd=project)
            self._refuse_link(self._folder, project, self._project / self._folder)
            with contextlib.suppress(FileNotFoundError):
                folder = os.open(self._folder, _FOLDER | os.O_NOFOLLOW, dir_fd=project)
            yield folder
        finally:
            os.close(project)
            if folder is not None:
                os.close(folder)

    def _is_there(self, folder: int) -> bool:
        self._refuse_link(self._name, folder, self.path)
        with contextlib.suppress(FileNotFoundError):
            os.lstat(self._name, dir_fd=folder)
            return True
        return False

    def _refuse_link(self, name: str, parent: int, path: Path) -> None:
        """Say it in words; opening with O_NOFOLLOW is what keeps a link from being followed."""
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode):
                words = "it is a symbolic link, which may lead out of the project. Replace it by "
                raise failed(path, words + "what it names, or start the agent over ACP.")

    def _refuse(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise failed(self.path, "it is no plain file. Move it away.")
        if found.st_uid != os.geteuid() or found.st_nlink > 1:
            words = "it belongs to another user, or has a second name (a hard link), and could not "
            raise failed(self.path, words + "be put back as it was. Replace it by a copy.")
        if found.st_size > _LARGEST:
            raise failed(self.path, f"it is larger than {_LARGEST >> 20} MiB.")

    def _fill(self, folder: int, new: str, content: bytes, mode: int, mtime: int | None) -> None:
        number = os.open(new, _NEW, 0o600, dir_fd=folder)
        with open(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(number, mode)
            if mtime is not None:
                os.utime(number, ns=(mtime, mtime))
            os.fsync(number)
