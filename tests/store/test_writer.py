"""Offers on their way to the disk: quick, the newest only, and never at a session's cost."""

import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from kandev_nb.attachment import History
from kandev_nb.store import Store, StoreWriter
from tests.processes import eventually
from tests.store.conftest import Sql, run_sql
from tests.store.stories import grown, record, revised, story


@pytest.mark.req("SE-5", "EV-11")
def test_what_is_offered_is_written_without_being_asked_for(
    store: Store, writer: StoreWriter
) -> None:
    writer.offer(record("session-1"), story().history)

    assert eventually(lambda: writer.waiting == 0)

    assert store.session("session-1").report.to_wire() == story().history.to_wire()
    assert writer.flush(0), "there is nothing left to wait for"


@pytest.mark.req("SE-5")
def test_many_offers_are_few_transactions_and_the_newest_report_is_written(
    store: Store, writer: StoreWriter, sql: Sql
) -> None:
    batches: list[int] = []
    write = store.write

    def counted(batch: Any, terms: Any) -> Any:
        batches.append(len(batch))
        return write(batch, terms)

    store.write = counted  # type: ignore[method-assign]
    sessions = [record(f"session-{number}") for number in range(100)]

    for history in [revised(story().history, revision) for revision in (1, 3, 2)]:
        for session in sessions:
            writer.offer(session, history)
    assert writer.flush(30)

    assert {session.revision for session in store.sessions()} == {3}
    assert len(batches) < 5
    assert sql("SELECT count(*) FROM kandev_nb_sessions") == [(100,)]


@pytest.mark.req("SE-5", "EV-10")
def test_offers_from_several_threads_all_arrive(store: Store, writer: StoreWriter) -> None:
    def tell(number: int) -> None:
        history = story().history
        for event in range(100):
            history = grown(history, event)
            writer.offer(record(f"session-{number}"), history)
        final[f"session-{number}"] = history

    final: dict[str, History] = {}
    threads = [threading.Thread(target=tell, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writer.flush(30)

    stored = {session.session_id: session.report.to_wire() for session in store.sessions()}
    assert stored == {name: history.to_wire() for name, history in final.items()}


@pytest.mark.req("SE-5")
def test_a_report_that_cannot_be_written_keeps_no_other_session(
    store: Store, writer: StoreWriter, caplog: pytest.LogCaptureFixture
) -> None:
    broken: Any = story().history.updated(previous=5)
    with caplog.at_level(logging.WARNING, "kandev_nb.store"):
        for session in ("broken", "good", "broken"):
            writer.offer(record(session), broken if session == "broken" else story().history)
        nothing: Any = None
        writer.offer(nothing, nothing)
        assert writer.flush(10)

    assert [session.session_id for session in store.sessions()] == ["good"]
    assert writer.refused == ("broken",)
    assert writer.problem == ""
    assert len(caplog.messages) == 2


@pytest.mark.req("SE-6")
def test_a_writer_that_was_closed_can_be_used_again(store: Store, writer: StoreWriter) -> None:
    assert writer.close(1), "nothing was offered yet"
    for revision in (1, 2):
        writer.offer(record("session-1"), revised(story().history, revision))
        assert writer.close(10)

    assert store.session("session-1").revision == 2


EXIT = """
import sys
from kandev_nb.store import Store, StoreWriter
from tests.store.stories import record, story
writer = StoreWriter(Store(sys.argv[1]))
writer.offer(record("session-1"), story().history)
"""


@pytest.mark.req("SE-6")
def test_what_was_offered_last_is_written_when_the_interpreter_ends(database: str) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", EXIT, database],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert run_sql(database, "SELECT session_id, lease_owner FROM kandev_nb_sessions") == [
        ("session-1", "")
    ]


@pytest.mark.req("SE-5")
def test_a_session_waits_for_no_store(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("no folder")
    writer = StoreWriter(Store(folder / "kandev.sqlite3"))

    writer.offer(record("session-1"), story().history)
    writer.offer(record("session-2"), story().history)

    assert not writer.flush(0.5)
    assert writer.waiting == 2
    assert "Not a directory" in writer.problem or "File exists" in writer.problem
    assert not writer.close(0.5)


@pytest.mark.req("SE-5")
def test_a_store_is_first_opened_when_something_is_to_be_written(database: str) -> None:
    threads: list[str] = []

    def opened() -> Store:
        threads.append(threading.current_thread().name)
        return store

    store = Store(database)
    writer = StoreWriter(opened)
    assert writer.flush(10)
    assert threads == []

    writer.offer(record("session-1"), story().history)
    assert writer.close(10)

    assert set(threads) == {"kandev-nb-store"}
    assert len(store.sessions()) == 1
    store.close()


@pytest.mark.req("SE-5")
def test_a_place_that_is_none_is_a_problem_and_no_exception() -> None:
    writer = StoreWriter(lambda: Store("mysql://host/db"))

    writer.offer(record("session-1"), story().history)

    assert not writer.flush(0.5)
    assert "cannot be kept in mysql" in writer.problem
    assert writer.waiting == 1
    assert not writer.close(0.5)
