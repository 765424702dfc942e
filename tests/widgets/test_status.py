"""The status widget, as the kernel sees it. What the page makes of it: ``tests/e2e``."""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anywidget
import pytest

import kandev_nb
from kandev_nb.widgets import StatusWidget
from kandev_nb.widgets.status import INTERVAL
from tests.widgets.source import FakeSource, row

Seen = list[tuple[float, dict[str, Any]]]


class Watched:
    """A widget of a source, and every state that was sent to the page, with its time."""

    def __init__(self, source: FakeSource) -> None:
        self.seen: Seen = []
        self._changed = threading.Condition()
        self.widget = StatusWidget(source)
        self.widget.observe(self._see, "rows")

    def _see(self, change: dict[str, Any]) -> None:
        with self._changed:
            self.seen.append((time.monotonic(), change["new"]))
            self._changed.notify_all()

    def wait_until(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, timeout=10)

    def last_status(self) -> str:
        return str(self.widget.rows["rows"][0]["status"])


@pytest.fixture
def source() -> FakeSource:
    return FakeSource(row("kandev"))


@pytest.fixture
def watched(source: FakeSource) -> Iterator[Watched]:
    watched = Watched(source)
    yield watched
    watched.widget.close()


@pytest.mark.req("UI")
def test_a_new_widget_shows_what_its_source_has(watched: Watched) -> None:
    assert watched.last_status() == "delivered"


@pytest.mark.req("UI")
def test_a_change_of_the_source_reaches_the_page(source: FakeSource, watched: Watched) -> None:
    source.show(row("kandev", "active"))

    watched.wait_until(lambda: watched.last_status() == "active")


@pytest.mark.req("UI")
def test_given_a_burst_from_many_threads_the_page_gets_at_most_ten_a_second_and_the_last_one(
    source: FakeSource, watched: Watched
) -> None:
    def burst(number: int) -> None:
        for step in range(200):
            source.show(row(f"server-{number}-{step}"))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(burst, range(8)))
    source.show(row("the last one", "active"))

    watched.wait_until(lambda: watched.widget.rows["rows"][0]["name"] == "the last one")
    times = [at for at, _ in watched.seen]
    assert 2 <= len(times) <= (times[-1] - times[0]) / INTERVAL + 2


@pytest.mark.req("SE-5")
def test_a_change_is_drawn_on_another_thread_than_that_of_the_source(source: FakeSource) -> None:
    drawn_by: list[threading.Thread] = []
    drawn = threading.Event()

    class Noticed(FakeSource):
        def rows(self) -> dict[str, Any]:
            drawn_by.append(threading.current_thread())
            if len(drawn_by) == 2:
                drawn.set()
            return super().rows()

    noticed = Noticed(row("kandev"))
    widget = StatusWidget(noticed)
    noticed.subscribers[0](None)
    assert drawn.wait(10)
    widget.close()

    assert drawn_by[1] is not threading.main_thread()


@pytest.mark.req("SE-5")
def test_a_failing_read_harms_neither_the_source_nor_the_next_change(
    source: FakeSource, watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    failed = threading.Event()

    def fail() -> dict[str, Any]:
        failed.set()
        raise OSError("secret-4711")

    source.rows = fail  # type: ignore[method-assign]
    source.show(row("kandev", "failed"))
    assert failed.wait(10)
    assert watched.last_status() == "delivered"

    del source.rows
    source.show(row("kandev", "active"))
    watched.wait_until(lambda: watched.last_status() == "active")
    assert "secret-4711" not in caplog.text


@pytest.mark.req("SE-5")
def test_a_closed_widget_reads_nothing_keeps_nothing_and_runs_nothing(source: FakeSource) -> None:
    before = threading.active_count()
    widget = StatusWidget(source)
    callback = source.subscribers[0]
    callback(None)

    widget.close()
    _wait_for_threads(before)
    reads = source.reads
    callback(None)

    assert source.subscribers == []
    assert threading.active_count() == before
    assert source.reads == reads


@pytest.mark.req("SE-5")
def test_a_widget_closes_even_when_its_source_cannot_be_left(source: FakeSource) -> None:
    widget = StatusWidget(source)
    source.subscribers.clear()

    widget.close()

    assert widget.comm is None


@pytest.mark.req("UI")
def test_the_text_of_a_widget_is_the_same_in_every_run(watched: Watched) -> None:
    assert repr(watched.widget) == "StatusWidget()"


@pytest.mark.req("SA-1")
def test_the_state_of_a_widget_is_its_rows_and_its_own_code_only(watched: Watched) -> None:
    ours = {"rows", "_esm", "_anywidget_id"}
    inherited = set(anywidget.AnyWidget.class_trait_names(sync=True))

    assert set(watched.widget.get_state()) - inherited == ours


def test_importing_the_package_loads_no_widget_library() -> None:
    heavy = "{'anywidget', 'ipywidgets', 'pandas', 'kandev_nb.widgets'}"
    program = f"import kandev_nb, sys; print(sorted({heavy} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert done.stdout.strip() == b"[]"


def test_given_an_unbuilt_front_end_the_error_says_what_to_run(tmp_path: Path) -> None:
    package = Path(kandev_nb.__file__).parent
    shutil.copytree(package / "widgets", tmp_path / "kandev_nb" / "widgets")
    (tmp_path / "kandev_nb" / "__init__.py").touch()

    done = subprocess.run(
        [sys.executable, "-c", "import kandev_nb.widgets"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "widget.js is missing" in done.stderr
    assert "`pip install .`" in done.stderr


def _wait_for_threads(count: int) -> None:
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(10)
    assert threading.active_count() == count
