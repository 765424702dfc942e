"""What is deleted when a user says so, and files that carry sessions elsewhere."""

import json
import stat
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kandev_nb import StoreError
from kandev_nb.attachment import Attempt, start_attempt
from kandev_nb.attachment.model import NOTHING_STARTED
from kandev_nb.store import Store, StoreWriter
from tests.store.conftest import Sql
from tests.store.stories import full, record, revised, story

TABLES = ("sessions", "reports", "catalogs", "tasks")


def of_age(days: int):  # type: ignore[no-untyped-def]
    """A report that changed last so many days ago."""
    at = datetime.now(UTC) - timedelta(days=days)
    return start_attempt(
        NOTHING_STARTED, Attempt(attachment_attempt_id="a", started_at=at.isoformat())
    )


def names(store: Store) -> list[str]:
    return [session.session_id for session in store.sessions()]


@pytest.mark.req("SE-5")
def test_old_sessions_and_those_beyond_a_number_are_pruned(
    store: Store, writer: StoreWriter
) -> None:
    for days in (1, 3, 10, 40):
        writer.offer(record(f"{days} days", state="closed"), of_age(days))
    writer.offer(record("open and old"), of_age(90))
    assert writer.flush(10)

    assert store.prune() == 0
    assert store.prune(older_than=timedelta(days=30)) == 1
    assert names(store) == ["1 days", "3 days", "10 days", "open and old"]
    assert store.prune(older_than=timedelta(days=30), keep=2) == 1
    assert names(store) == ["1 days", "3 days", "open and old"]
    with pytest.raises(StoreError, match="keep= is negative"):
        store.prune(keep=-1)
    store.vacuum()
    assert names(store) == ["1 days", "3 days", "open and old"]


@pytest.mark.req("SE-5")
def test_nothing_of_a_deleted_session_or_task_is_left(
    store: Store, writer: StoreWriter, sql: Sql
) -> None:
    for number, task in enumerate(("one", "one", "two", "two")):
        name = f"session-{number}"
        writer.offer(record(name, task_id=task, state="closed"), story().history)
    assert writer.flush(10)

    assert store.delete_session("session-0")
    assert not store.delete_session("session-0")
    assert sql("SELECT count(*) FROM kandev_nb_tasks") == [(2,)]
    assert store.delete_task("one") == 1
    assert names(store) == ["session-2", "session-3"]
    assert store.delete_task("two") == 2

    assert [sql(f"SELECT count(*) FROM kandev_nb_{table}") for table in TABLES] == [[(0,)]] * 4


@pytest.mark.req("SE-5")
def test_vacuum_gives_the_room_of_deleted_sessions_back(tmp_path: Path) -> None:
    path = tmp_path / "kandev.sqlite3"
    with closing(Store(path)) as store:
        writer = StoreWriter(store)
        for number in range(100):
            writer.offer(record(f"session-{number}", state="closed"), full(1))
        assert writer.close(30)
        store.vacuum()
        before = path.stat().st_size

        assert store.prune(keep=1) == 99
        store.vacuum()

        assert path.stat().st_size < before / 5
        assert names(store)


@pytest.mark.req("EV-11")
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_exported_sessions_come_back_in_another_store(
    store: Store, writer: StoreWriter, tmp_path: Path, suffix: str
) -> None:
    reports = {"session-1": story().history, "session-2": full(), "session-3": NOTHING_STARTED}
    for name, history in reports.items():
        writer.offer(record(name, name="Ünï\n\u202e"), history)
    assert writer.close(10)
    path = tmp_path / f"sessions{suffix}"

    assert store.export(path) == 3
    with closing(Store(tmp_path / "other.sqlite3")) as other:
        first = other.import_(path)
        again = other.import_(path)
        taken = {each.session_id: each for each in other.sessions()}

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.glob("*.part")] == []
    assert first == (3, 0, ())
    assert again == (0, 3, ())
    for session in store.sessions():
        assert taken[session.session_id].report.to_wire() == session.report.to_wire()
        assert taken[session.session_id].model_dump() == session.model_dump()


@pytest.mark.req("EV-11")
def test_an_import_takes_what_is_newer_and_leaves_what_is_open(
    store: Store, writer: StoreWriter, tmp_path: Path
) -> None:
    for name in ("newer there", "newer here", "open here"):
        writer.offer(record(name, state="closed"), revised(story().history, 5))
    assert writer.flush(10)
    path = tmp_path / "sessions.jsonl"
    assert store.export(path) == 3
    writer.offer(record("newer here", state="closed"), revised(story().history, 6))
    writer.offer(record("open here"), revised(story().history, 5))
    assert writer.flush(10)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["session_id"] != "newer here":
            line["report"] = line["report"].replace('"revision":5', '"revision":8')
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *lines]))

    imported, older, skipped = store.import_(path)

    assert (imported, older, skipped) == (1, 1, (("open here", "it is open"),))
    found = {each.session_id: each.revision for each in store.sessions()}
    assert found == {"newer there": 8, "newer here": 6, "open here": 5}


@pytest.mark.req("EV-11", "SA-1")
def test_what_cannot_be_imported_is_skipped_with_its_place_and_reason(
    store: Store, tmp_path: Path
) -> None:
    good = record("good").model_dump() | {"report": story().history.to_wire()}
    target = "https://me:hunter2secret@host.test/path"
    row = {"name": "x", "status": "active", "transport": "http", "target": target}
    attempt = {"attachment_attempt_id": "a", "started_at": "2026-08-01T09:00:00Z", "servers": [row]}
    lines: list[object] = [
        good,
        good | {"session_id": "later", "report": {"version": 2}},
        good | {"session_id": "empty", "report": None},
        good | {"session_id": "timeless", "started_at": "yesterday"},
        good | {"session_id": "", "report": {}},
        good | {"session_id": "wild", "report": {"version": 1, "current": attempt}},
        [1],
    ]
    path = tmp_path / "sessions.jsonl"
    path.write_bytes(b"\n".join(json.dumps(line).encode() for line in lines) + b"\n{cut\n\xff\n")

    imported, older, skipped = store.import_(path)

    assert (imported, older) == (2, 0)
    assert [place for place, _ in skipped] == [
        "later",
        "empty",
        "timeless",
        "line 5",
        "line 7",
        "line 8",
        "line 9",
    ]
    wild = store.session("wild").report.current
    assert wild
    assert wild.servers[0].target == "https://host.test"


@pytest.mark.req("SE-5")
@pytest.mark.parametrize(
    ("name", "message"),
    [("a.csv", "no suffix"), ("none.jsonl", "No such file"), ("bad.parquet", "cannot be read")],
)
def test_a_file_that_cannot_be_imported_is_named(tmp_path: Path, name: str, message: str) -> None:
    path = tmp_path / name
    if path.stem == "bad":
        path.write_bytes(b"no parquet")
    with closing(Store(tmp_path / "kandev.sqlite3")) as store, pytest.raises(StoreError) as refused:
        store.import_(path)

    assert message in str(refused.value)
    assert name in str(refused.value)
