"""Stores that fail: what was offered meanwhile is written when they work again."""

import logging
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kandev_nb.store import Store, StoreWriter
from tests.postgres import PostgresServer
from tests.processes import eventually
from tests.store.conftest import run_sql
from tests.store.stories import full, record, revised, story

pytestmark = pytest.mark.req("SE-5")


@contextmanager
def writing(place: Path | str) -> Iterator[StoreWriter]:
    store = Store(place)
    writer = StoreWriter(store)
    yield writer
    writer.close(10)
    store.close()


def is_stored(writer: StoreWriter, *sessions: str) -> bool:
    """Tell whether those sessions, and nothing less, come to be on disk."""

    def holds() -> bool:
        works = writer.flush(1) and not writer.problem and writer.waiting == 0
        return works and {each.session_id for each in writer._opened().sessions()} == set(sessions)

    return eventually(holds, 60)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING, "kandev_nb.store")
    return caplog


LOCKER = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.readline()
"""


def test_a_file_that_another_program_has_locked_is_written_once_it_is_free(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "kandev.sqlite3"
    command = [sys.executable, "-c", LOCKER, str(path)]
    with writing(path) as writer:
        writer.offer(record("session-1"), story().history)
        assert writer.flush(10)
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as locker:
            assert locker.stdout
            assert locker.stdout.readline() == b"locked\n"
            for revision in range(5):
                writer.offer(record("session-1"), revised(story().history, revision))
                writer.offer(record("session-2"), revised(story().history, revision))
            assert eventually(lambda: "locked" in writer.problem, 60)
            assert len(writer._opened().sessions()) == 1, "readers are not kept waiting"
            assert writer.waiting == 2
            locker.communicate(b"\n")

        assert is_stored(writer, "session-1", "session-2")
    assert len(log.messages) == 1


def test_a_deleted_file_is_made_anew_with_the_sessions_that_are_open(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "data"
    with writing(folder / "kandev.sqlite3") as writer:
        writer.offer(record("open"), story().history)
        writer.offer(record("closed", state="closed"), story().history)
        assert writer.flush(10)
        shutil.rmtree(folder)

        writer.offer(record("new"), story().history)

        assert is_stored(writer, "open", "new")
        assert writer.refused == ()
        assert writer._opened().session("open").report.to_wire() == story().history.to_wire()


def test_a_file_that_was_put_in_the_place_of_ours_is_the_store_from_now_on(
    tmp_path: Path,
) -> None:
    path, other = tmp_path / "kandev.sqlite3", tmp_path / "other.sqlite3"
    with writing(other) as writer:
        writer.offer(record("there", state="closed"), story().history)
    with writing(path) as writer:
        writer.offer(record("open"), story().history)
        assert writer.flush(10)
        other.replace(path)

        writer.offer(record("new"), story().history)

        assert is_stored(writer, "open", "new", "there")


def test_a_deleted_file_is_noticed_also_when_nothing_is_offered(tmp_path: Path) -> None:
    path = tmp_path / "kandev.sqlite3"
    with writing(path) as writer:
        writer.offer(record("open"), story().history)
        assert writer.flush(10)
        path.unlink()

        assert eventually(path.exists, 40)
        assert is_stored(writer, "open")


SMALL = 512 * 1024


@contextmanager
def small_disk() -> Iterator[Path]:
    """A folder for :data:`SMALL` bytes: a file system of its own where this may mount one."""
    folder = Path(tempfile.mkdtemp())
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(folder)]
    is_mounted = os.geteuid() == 0 and not subprocess.run(mount, capture_output=True).returncode
    try:
        yield folder
    finally:
        if is_mounted:
            subprocess.run(["umount", str(folder)], check=True)
        shutil.rmtree(folder)


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Leave no room in that folder; elsewhere than on a small disk, in files altogether."""
    ballast = folder / "ballast"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if not os.path.ismount(folder):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match=r"No space|too large"):
            ballast.write_bytes(b"0" * 2 * SMALL)
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        ballast.unlink()


def test_a_full_disk_keeps_what_is_there_and_takes_the_rest_when_there_is_room(
    log: pytest.LogCaptureFixture,
) -> None:
    with small_disk() as folder, writing(folder / "kandev.sqlite3") as writer:
        writer.offer(record("before"), story().history)
        assert writer.flush(10)
        sessions = [f"session-{number}" for number in range(4)]
        with filled(folder):
            for session in sessions:
                writer.offer(record(session), full(1, 8))
            assert not writer.flush(2)
            assert "full" in writer.problem or "I/O" in writer.problem
            assert writer.waiting == 4

        assert is_stored(writer, "before", *sessions)
        with closing(sqlite3.connect(folder / "kandev.sqlite3")) as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert writer.close(10)
        writer._opened().close()
    assert len(log.messages) == 1


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nothing be written in the folder; root is not bound by its mode, so it is no root."""
    folder.chmod(0o555)
    user = os.geteuid()
    os.seteuid(user or 65534)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o755)


@pytest.mark.parametrize("exists", [False, True], ids=["no file yet", "with a file"])
def test_a_folder_that_cannot_be_written_is_used_when_it_can(
    tmp_path: Path, log: pytest.LogCaptureFixture, *, exists: bool
) -> None:
    path = tmp_path / "data" / "kandev.sqlite3"
    path.parent.mkdir()
    if exists:
        with writing(path) as writer:
            writer.offer(record("before", state="closed"), story().history)
    with writing(path) as writer:
        with read_only(path.parent):
            writer.offer(record("session-1"), story().history)
            assert not writer.flush(2)
            assert str(path) in writer.problem
            assert writer.waiting == 1

        assert is_stored(writer, "session-1", *["before"] * exists)
    assert len(log.messages) == 1


def test_a_server_that_stops_and_starts_again_loses_nothing(
    postgres: PostgresServer, log: pytest.LogCaptureFixture
) -> None:
    with writing(postgres.database()) as writer:
        writer.offer(record("before"), story().history)
        assert writer.flush(10)
        postgres.stop()
        try:
            writer.offer(record("meanwhile"), story().history)
            writer.offer(record("before"), revised(story().history, 2))
            assert not writer.flush(1)
            assert writer.problem
            assert writer.waiting == 2
        finally:
            postgres.start()

        assert is_stored(writer, "before", "meanwhile")
        assert writer._opened().session("before").revision == 2
    assert len(log.messages) == 1
    assert postgres.password not in log.text


def test_a_server_that_is_lost_between_two_reports_is_not_noticed(
    postgres: PostgresServer, log: pytest.LogCaptureFixture
) -> None:
    with writing(postgres.database()) as writer:
        writer.offer(record("session-1"), story().history)
        assert writer.flush(10)
        postgres.stop()
        postgres.start()

        writer.offer(record("session-2"), story().history)

        assert is_stored(writer, "session-1", "session-2")
    assert log.messages == []


def test_a_server_that_hangs_keeps_no_session_and_no_flush(postgres: PostgresServer) -> None:
    with writing(postgres.database()) as writer:
        writer.offer(record("session-1"), story().history)
        assert writer.flush(10)
        (pid,) = run_sql(
            postgres.url(), "SELECT pid FROM pg_stat_activity WHERE application_name = 'kandev-nb'"
        )
        os.kill(pid[0], signal.SIGSTOP)
        try:
            writer.offer(record("session-2"), story().history)
            assert not writer.flush(0.5)
            assert writer.waiting == 1
        finally:
            os.kill(pid[0], signal.SIGCONT)

        assert is_stored(writer, "session-1", "session-2")
