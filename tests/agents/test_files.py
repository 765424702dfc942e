"""The files that agents read and write through us, and those that they do not get."""

import asyncio
import logging
import os
import resource
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from acp import RequestError

from kandev_nb.agents.files import FILE_BYTES, Files, inside
from kandev_nb.agents.requests import Client
from tests.agents.asking import ASKING, ask, request
from tests.agents.conftest import Opening

pytestmark = [pytest.mark.anyio, pytest.mark.req("SE-4")]

SECRET = "do-not-tell-this"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The session's directory; beside it lies what agents must not get."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root2").mkdir()
    (tmp_path / "root2" / "secret").write_text(SECRET)
    return tmp_path / "root"


@pytest.fixture
def files(root: Path) -> Files:
    return Files(root)


@contextmanager
def refused(code: int, words: str) -> Iterator[None]:
    with pytest.raises(RequestError, match=words) as failure:
        yield
    assert failure.value.code == code
    assert SECRET not in str(failure.value)
    assert failure.value.data is None


@pytest.mark.parametrize(
    ("line", "limit", "text"),
    [
        (None, None, "a\r\nb\u2028b\fb\n\nd"),
        (1, None, "a\r\nb\u2028b\fb\n\nd"),
        (0, 1, "a\r\n"),
        (2, 1, "b\u2028b\fb\n"),
        (2, 2, "b\u2028b\fb\n\n"),
        (4, 9, "d"),
        (5, None, ""),
        (None, 1, "a\r\n"),
        (None, 0, ""),
    ],
)
async def test_a_file_is_read_whole_or_by_its_lines(
    root: Path, files: Files, line: int | None, limit: int | None, text: str
) -> None:
    (root / "file").write_bytes("a\r\nb\u2028b\fb\n\nd".encode())
    assert await files.read(str(root / "file"), line, limit) == text


async def test_a_file_is_written_as_it_is_with_the_directories_it_needs(
    root: Path, files: Files
) -> None:
    path = root / "new" / "newer" / "file"
    await files.write(str(path), "ä\r\n\x00")
    assert path.read_bytes() == "ä\r\n\x00".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()
    assert os.listdir(path.parent) == ["file"]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o4750])
async def test_a_file_that_is_written_again_keeps_its_access(
    root: Path, files: Files, mode: int
) -> None:
    path = root / "file"
    path.write_text("old and longer")
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    path.chmod(mode)
    before = path.stat()
    await files.write(str(path), "new")
    after = path.stat()
    assert path.read_text() == "new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )


async def test_links_inside_the_directory_are_used_and_stay_links(root: Path, files: Files) -> None:
    (root / "real").mkdir()
    (root / "linked").symlink_to("real")
    (root / "linked" / "link").symlink_to("file")
    through = root / "linked" / ".." / "linked" / "link"
    await files.write(str(through), "words")
    assert await files.read(str(through)) == "words"
    assert (root / "real" / "file").read_text() == "words"
    assert (root / "real" / "link").is_symlink()


async def test_a_directory_that_is_named_by_a_link_is_the_same_directory(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    files = Files(root.parent / "alias")
    await files.write(str(root.parent / "alias" / "file"), "words")
    assert await files.read(str(root / "file")) == "words"


OUTSIDE = [
    "{root}/../root2/secret",
    "{root}2/secret",
    "/etc/passwd",
    "/",
    "{root}/..",
    "{root}/file-link",
    "{root}/dir-link/secret",
    "{root}/chain/secret",
    "{root}/absolute/secret",
    "{root}/dangling",
    "{root}/dir-link/new/file",
]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_what_lies_outside_is_neither_read_nor_written(
    root: Path, files: Files, path: str
) -> None:
    (root / "file-link").symlink_to("../root2/secret")
    (root / "dir-link").symlink_to("../root2")
    (root / "chain").symlink_to("dir-link")
    (root / "absolute").symlink_to(root.parent / "root2")
    (root / "dangling").symlink_to("../root2/not-there")
    with refused(-32602, "outside the session's directory"):
        await files.read(path.format(root=root))
    with refused(-32602, "outside the session's directory"):
        await files.write(path.format(root=root), "mine")
    assert os.listdir(root.parent / "root2") == ["secret"]
    assert (root.parent / "root2" / "secret").read_text() == SECRET


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "absolute"),
        ("file", "absolute"),
        ("~/file", "absolute"),
        ("file:///file", "absolute"),
        ("{root}/a\0b", "absolute"),
        ("{root}/a\ud800", "surrogate"),
        ("{root}", "is a directory"),
        ("{root}/folder", "is a directory"),
        ("{root}/folder/", "is a directory"),
        ("{root}/fifo", "no regular file"),
        ("{root}/file/below", "no directory"),
    ],
)
async def test_a_path_that_is_no_text_file_is_told_so(
    root: Path, files: Files, path: str, words: str
) -> None:
    (root / "folder").mkdir()
    (root / "file").write_text("x")
    os.mkfifo(root / "fifo")
    before = sorted(os.listdir(root))
    with refused(-32602, words):
        await files.read(path.format(root=root))
    with refused(-32602, words):
        await files.write(path.format(root=root), "mine")
    assert sorted(os.listdir(root)) == before
    assert (root / "file").read_text() == "x"


@pytest.mark.parametrize("path", ["not-there", "not/there", "dangling"])
async def test_a_file_that_is_not_there_is_not_found(root: Path, files: Files, path: str) -> None:
    (root / "dangling").symlink_to("nothing")
    with refused(-32002, "no such file"):
        await files.read(str(root / path))
    assert os.listdir(root) == ["dangling"]


@pytest.mark.parametrize("name", ["loop", "x" * 300])
async def test_what_the_operating_system_refuses_is_said_without_the_path(
    root: Path, files: Files, name: str
) -> None:
    (root / "loop").symlink_to("loop")
    with refused(-32603, "cannot be used"):
        await files.read(str(root / name))


_NOBODY = 65534


@pytest.fixture
def own_folder() -> Iterator[Path]:
    """A folder of somebody who may not write everything, as root may, and being that one."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        if user == 0:
            os.chown(folder, _NOBODY, _NOBODY)
            os.seteuid(_NOBODY)
        try:
            yield Path(folder).resolve()
        finally:
            os.seteuid(user)


async def test_a_read_only_file_stays_as_it_is(own_folder: Path) -> None:
    file, free = own_folder / "file", own_folder / "free"
    file.write_text("old")
    file.chmod(0o444)
    files = Files(own_folder)

    with refused(-32603, "Permission denied"):
        await files.write(str(file), "new")
    await files.write(str(free), "new")

    assert (file.read_text(), free.read_text()) == ("old", "new")


async def test_a_file_that_is_no_text_or_too_large_is_told_so(root: Path, files: Files) -> None:
    path = root / "file"
    path.write_bytes(b"caf\xe9")
    with refused(-32602, "not UTF-8"):
        await files.read(str(path))
    path.write_bytes(b"x" * (FILE_BYTES + 1))
    with refused(-32602, "larger than 8 MiB"):
        await files.read(str(path), 1, 1)
    with refused(-32602, "larger than 8 MiB"):
        await files.write(str(path), "ä" * (FILE_BYTES // 2) + "x")
    with refused(-32602, "surrogate"):
        await files.write(str(path), "\ud800")
    assert path.stat().st_size == FILE_BYTES + 1


async def test_the_largest_file_goes_both_ways(opened: Opening, root: Path) -> None:
    text = ("\x01ä\u20ac\U0001f600\n" * (FILE_BYTES // 11))[: FILE_BYTES // 3]
    (root / "large").write_text(text)
    async with opened(ASKING, client=Client.in_directory(root)) as connection:
        answers = await ask(connection, request("fs/read_text_file", path=str(root / "large")))
        write = request("fs/write_text_file", path=str(root / "copy"), content=text)
        assert (await ask(connection, write))[0] == {"result": {}}
    assert answers[0] == {"result": {"content": text}}
    assert (root / "copy").read_text() == text


async def test_a_write_that_fails_leaves_the_file_and_nothing_else(
    root: Path, files: Files
) -> None:
    path = root / "file"
    path.write_text("old")
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, unlimited[1]))
    try:
        with refused(-32603, "File too large"):
            await files.write(str(path), "x" * 2**20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_text() == "old"
    assert os.listdir(root) == ["file"]


async def test_two_writes_at_once_leave_one_of_them_whole(root: Path, files: Files) -> None:
    path, texts = root / "file", ["a" * 2**20, "b" * 2**20]
    await files.write(str(path), texts[0])
    for _ in range(10):
        reads = [files.read(str(path)) for _ in range(3)]
        writes = [files.write(str(path), text) for text in texts]
        for read in await asyncio.gather(*reads, *writes):
            assert read is None or read in texts
    assert os.listdir(root) == ["file"]


@pytest.mark.parametrize("link", ["folder", "folder/inner", "folder/inner/secret"])
async def test_what_becomes_a_link_when_it_has_been_resolved_is_not_followed(
    root: Path, files: Files, monkeypatch: pytest.MonkeyPatch, link: str
) -> None:
    outside = root.parent / "root2"
    (outside / "inner").mkdir()
    (outside / "inner" / "secret").write_text(SECRET)
    path = root / "folder" / "inner" / "secret"

    def exchange_after(root_path: str, path: str) -> str:
        real = inside(root_path, path)
        place = root / link
        place.rename(root / "aside")
        place.symlink_to(outside / link.removeprefix("folder").lstrip("/"))
        assert Path(path).read_text() == SECRET
        return real

    monkeypatch.setattr("kandev_nb.agents.files.inside", exchange_after)
    for call in (files.read(str(path)), files.write(str(path), "mine")):
        shutil.rmtree(root)
        path.parent.mkdir(parents=True)
        path.write_text("inside")
        with pytest.raises(RequestError) as failure:
            await call
        assert failure.value.code in (-32602, -32603)
    assert (outside / "inner" / "secret").read_text() == SECRET
    assert os.listdir(outside / "inner") == ["secret"]


@pytest.mark.req("SA-1")
async def test_neither_path_nor_content_reaches_a_log(
    opened: Opening, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    at = [str(root / SECRET), f"/{SECRET}", SECRET]
    requests = [request("fs/read_text_file", path=path) for path in at]
    requests += [request("fs/write_text_file", path=path, content=SECRET) for path in at]
    async with opened(ASKING, client=Client.in_directory(root)) as connection:
        await ask(connection, *requests)
    assert (root / SECRET).exists()
    formatter = logging.Formatter("%(name)s %(message)s")
    assert SECRET not in "\n".join(map(formatter.format, caplog.records))
