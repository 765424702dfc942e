"""Two kernels and one session: one of them writes it, the other is told."""

import logging

import pytest

from kandev_nb import StoreError
from kandev_nb.store import Store, StoreWriter
from tests.processes import eventually
from tests.store.conftest import Sql
from tests.store.stories import record, revised, story

EXPIRE = "UPDATE kandev_nb_sessions SET lease_until = 0 WHERE lease_owner <> ''"


@pytest.fixture
def other(database: str):  # type: ignore[no-untyped-def]
    """The writer of another kernel."""
    store = Store(database)
    writer = StoreWriter(store)
    yield writer
    writer.close(10)
    store.close()


@pytest.mark.req("SE-5")
def test_a_session_that_another_kernel_writes_is_refused_and_its_report_stays(
    store: Store, writer: StoreWriter, other: StoreWriter, caplog: pytest.LogCaptureFixture
) -> None:
    writer.offer(record("session-1"), revised(story().history, 1))
    assert writer.flush(10)

    with caplog.at_level(logging.WARNING, "kandev_nb.store"):
        for revision in (2, 3):
            other.offer(record("session-1"), revised(story().history, revision))
            other.offer(record("session-2"), story().history)
            assert other.flush(10)

    assert other.refused == ("session-1",)
    assert (other.problem, other.waiting) == ("", 0)
    assert len(caplog.messages) == 1
    assert "session-1" in caplog.messages[0]
    stored = {session.session_id: session for session in store.sessions()}
    assert stored["session-1"].revision == 1
    assert not stored["session-1"].is_live_elsewhere
    assert stored["session-2"].is_live_elsewhere


@pytest.mark.req("SE-5")
def test_an_expired_lease_is_taken_over_and_the_stale_writer_changes_nothing(
    store: Store, writer: StoreWriter, other: StoreWriter, sql: Sql
) -> None:
    writer.offer(record("session-1"), revised(story().history, 1))
    assert writer.flush(10)
    sql(EXPIRE)
    other.offer(record("session-1"), revised(story().history, 2))
    other.offer(record("session-1", state="closed"), revised(story().history, 3))
    assert other.flush(10)

    writer.offer(record("session-1"), revised(story().history, 9))
    assert writer.flush(10)

    assert (writer.refused, other.refused) == (("session-1",), ())
    session = store.session("session-1")
    assert (session.revision, session.state) == (3, "closed")


@pytest.mark.req("SE-5")
def test_a_stale_writer_is_refused_also_when_the_session_was_closed_meanwhile(
    store: Store, writer: StoreWriter, other: StoreWriter, sql: Sql
) -> None:
    writer.offer(record("session-1"), revised(story().history, 1))
    assert writer.flush(10)
    sql(EXPIRE)
    other.offer(record("session-1"), revised(story().history, 2))
    assert other.flush(10)
    assert other.close(10)

    writer.offer(record("session-1"), revised(story().history, 9))
    assert writer.flush(10)

    assert writer.refused == ("session-1",)
    assert store.session("session-1").revision == 2


@pytest.mark.req("SE-5")
def test_a_lease_that_ran_out_unnoticed_is_the_writers_own_again(
    store: Store, writer: StoreWriter, sql: Sql
) -> None:
    writer.offer(record("session-1"), revised(story().history, 1))
    assert writer.flush(10)
    sql(EXPIRE)

    writer.offer(record("session-1"), revised(story().history, 2))
    assert writer.flush(10)

    assert writer.refused == ()
    assert store.session("session-1").revision == 2


@pytest.mark.req("SE-5")
def test_an_open_session_that_has_nothing_to_say_keeps_its_lease(
    writer: StoreWriter, sql: Sql
) -> None:
    writer.offer(record("session-1"), story().history)
    assert writer.flush(10)
    (before,) = sql("SELECT lease_until, lease_term FROM kandev_nb_sessions")

    def is_renewed() -> bool:
        (now,) = sql("SELECT lease_until, lease_term FROM kandev_nb_sessions")
        return bool(now[0] > before[0] + 4 and now[1] == before[1])

    assert eventually(is_renewed, 40)


@pytest.mark.req("SE-5")
def test_a_closed_session_and_a_closed_writer_hold_no_lease(
    store: Store, writer: StoreWriter, sql: Sql
) -> None:
    writer.offer(record("closed", state="closed"), story().history)
    writer.offer(record("open"), story().history)
    assert writer.flush(10)
    held = sql("SELECT session_id FROM kandev_nb_sessions WHERE lease_owner <> ''")

    assert writer.close(10)

    assert held == [("open",)]
    assert sql("SELECT count(*) FROM kandev_nb_sessions WHERE lease_owner <> ''") == [(0,)]
    assert store.delete_session("open")


@pytest.mark.req("SE-5")
def test_an_open_session_is_not_deleted(
    store: Store, writer: StoreWriter, other: StoreWriter
) -> None:
    other.offer(record("elsewhere"), story().history)
    writer.offer(record("here"), story().history)
    writer.offer(record("closed", state="closed"), story().history)
    assert other.flush(10)
    assert writer.flush(10)

    with pytest.raises(StoreError, match="elsewhere is open in another process"):
        store.delete_session("elsewhere")
    with pytest.raises(StoreError, match="here is open here"):
        store.delete_session("here")
    with pytest.raises(StoreError, match="is open"):
        store.delete_task("task-1")
    assert store.prune(keep=0) == 1

    assert {session.session_id for session in store.sessions()} == {"elsewhere", "here"}
