"""The text files that an agent may read and write through us: those of its session's directory.

A path comes in, text comes out or goes into the file (ACP, "File System"). A path is resolved
first and must lie inside, so that symbolic links may be used but lead nowhere else. Then it is
walked from the directory on, one component at a time, and no component may be a link: one that
was exchanged since is an error and never followed. An error tells the agent what is wrong.
"""

import io
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final, NoReturn

from acp import RequestError
from anyio import to_thread

FILE_BYTES: Final = 8 * 2**20
"""The largest file that is read or written."""

INVALID: Final = -32602
NOT_FOUND: Final = -32002
FAILED: Final = -32603

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Nonblocking, or the opening of a FIFO waits for a writer.
_READABLE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_WRITABLE: Final = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class Files:
    """The text files of one directory."""

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)

    async def read(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        """Return the file's text, or ``limit`` lines of it from ``line``, counted from 1.

        Raises:
            RequestError: -32002 there is no such file; -32602 it is outside, no regular file, too
                large or no UTF-8; -32603 the operating system refuses.
        """
        text = await to_thread.run_sync(_read, self._root, path)
        if line is None and limit is None:
            return text
        first = max((line or 1) - 1, 0)
        # Not splitlines, which takes more characters than the newline for the end of a line.
        lines = io.StringIO(text, newline="\n")
        return "".join(islice(lines, first, None if limit is None else first + limit))

    async def write(self, path: str, text: str) -> None:
        """Make ``text`` the file's content, whole or not at all; its directories are made.

        Raises:
            RequestError: as :meth:`read`.
        """
        await to_thread.run_sync(_write, self._root, path, _encoded(text))


def inside(root: str, path: str) -> str:
    """Return the real path of ``path``, which is ``root``, itself real, or in it.

    Raises:
        RequestError: -32602 it is not absolute, cannot be a path, or lies elsewhere.
    """
    with _said():
        if "\0" in path or not os.path.isabs(os.fsencode(path)):
            raise RequestError(INVALID, "The path must be absolute.")
        real = os.path.realpath(path)
    if real != root and not real.startswith(root.rstrip("/") + "/"):
        raise RequestError(
            INVALID,
            "The path is outside the session's directory. Only files in that directory can be "
            "used.",
        )
    return real


def _read(root: str, path: str) -> str:
    *parents, name = _components(root, path)
    with _said(), _folder(root, parents) as folder:
        file = os.open(name, _READABLE, dir_fd=folder)
        try:
            _check(os.fstat(file))
            with open(file, "rb", closefd=False) as reader:
                content = reader.read(FILE_BYTES + 1)
        finally:
            os.close(file)
    if len(content) > FILE_BYTES:
        _refuse_size()
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise RequestError(INVALID, "The file is not UTF-8 text.") from None


def _write(root: str, path: str, content: bytes) -> None:
    *parents, name = _components(root, path)
    with _said(), _folder(root, parents, make=True) as folder:
        _replace(folder, name, content, _existing(folder, name))


def _components(root: str, path: str) -> Sequence[str]:
    real = inside(root, path)
    if real == root:
        raise RequestError(INVALID, "The path is a directory.")
    return os.path.relpath(real, root).split("/")


@contextmanager
def _folder(root: str, parents: Sequence[str], make: bool = False) -> Iterator[int]:
    """Open the directory that ``parents`` lead to; without a link on the way."""
    folder = os.open(root, _DIRECTORY)
    try:
        for name in parents:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=folder)
            inner = os.open(name, _DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _existing(folder: int, name: str) -> os.stat_result | None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _check(status)
    # A replaced file is never opened, so that its being read-only would be passed over.
    os.close(os.open(name, _WRITABLE, dir_fd=folder))
    return status


def _check(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise RequestError(INVALID, "The path is a directory.")
    if not stat.S_ISREG(status.st_mode):
        raise RequestError(INVALID, "The path is no regular file.")


def _replace(folder: int, name: str, content: bytes, before: os.stat_result | None) -> None:
    temporary = f".{secrets.token_hex(8)}.tmp"
    try:
        with open(os.open(temporary, _NEW, 0o666, dir_fd=folder), "wb") as file:
            if before is not None:
                _keep_access(file.fileno(), before)
            file.write(content)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _keep_access(file: int, before: os.stat_result) -> None:
    with suppress(PermissionError):
        os.fchown(file, before.st_uid, before.st_gid)
    # After the owner, for a change of the owner takes bits away.
    os.fchmod(file, stat.S_IMODE(before.st_mode))


def _encoded(text: str) -> bytes:
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise RequestError(INVALID, "content holds half a surrogate pair.") from None
    if len(content) > FILE_BYTES:
        _refuse_size()
    return content


def _refuse_size() -> NoReturn:
    raise RequestError(INVALID, f"The text is larger than {FILE_BYTES // 2**20} MiB.")


@contextmanager
def _said() -> Iterator[None]:
    """Turn what the operating system says into an answer, without the path."""
    try:
        yield
    except UnicodeEncodeError:
        raise RequestError(INVALID, "The path holds half a surrogate pair.") from None
    except FileNotFoundError:
        raise RequestError(NOT_FOUND, "There is no such file.") from None
    except NotADirectoryError:
        raise RequestError(INVALID, "A part of the path is no directory.") from None
    except OSError as error:
        raise RequestError(FAILED, f"The file cannot be used: {error.strerror}.") from None
