"""Forks beside a store: the child has connections of its own, and the parent's go on."""

import os
import signal
import threading
import warnings
from collections.abc import Callable
from contextlib import closing

import pytest

from kandev_nb.store import Store, StoreWriter
from tests.store.stories import record, revised, story

pytestmark = pytest.mark.req("SE-6")


def forked(work: Callable[[], None]) -> int:
    """Do that in a forked child and return its exit code; one that hangs is killed."""
    with warnings.catch_warnings():
        # Python warns of a fork beside threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    late = threading.Timer(60, os.kill, (child, signal.SIGKILL))
    late.start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    late.cancel()
    return code


def test_a_child_writes_with_a_store_of_its_own_and_reads_with_the_parents(
    database: str, store: Store, writer: StoreWriter
) -> None:
    writer.offer(record("parent"), story().history)
    assert writer.flush(10)

    def work() -> None:
        assert "parent" in {session.session_id for session in store.sessions()}
        with closing(Store(database)) as mine:
            own = StoreWriter(mine)
            own.offer(record("child"), story().history)
            assert own.close(20)

    assert [forked(work) for _ in range(3)] == [0, 0, 0]
    writer.offer(record("parent"), revised(story().history, 2))
    assert writer.flush(10)
    assert (writer.problem, writer.refused) == ("", ())
    assert {session.session_id for session in store.sessions()} == {"parent", "child"}
    assert store.session("parent").revision == 2


def test_a_child_writes_nothing_for_its_parent(store: Store, writer: StoreWriter) -> None:
    writer.offer(record("parent"), story().history)
    assert writer.flush(10)

    def work() -> None:
        writer.offer(record("child"), story().history)
        assert writer.waiting == 0
        assert writer.flush(1)
        assert writer.close(1)

    assert forked(work) == 0
    assert [session.session_id for session in store.sessions()] == ["parent"]
    assert store.session("parent").is_open


def test_forks_in_the_middle_of_writing_lose_nothing(database: str) -> None:
    with closing(Store(database)) as store:
        writer = StoreWriter(store)
        codes = []
        for number in range(20):
            for session in range(5):
                writer.offer(record(f"session-{session}"), revised(story().history, number + 1))
            codes.append(forked(lambda: store.vacuum()))
        assert writer.close(20)

        assert codes == [0] * 20
        assert {session.revision for session in store.sessions()} == {20}
        assert len(store.sessions()) == 5
