"""A hundred sessions, one after the other and ten at once: nothing is left of any of them."""

import asyncio
import gc
import tempfile
import threading
from pathlib import Path
from typing import Final

import psutil
import pytest

from kandev_nb import Task
from kandev_nb.store.keeping import Keeping
from tests.processes import eventually

ROUNDS: Final = 10
AT_ONCE: Final = 10


def held() -> tuple[int, int]:
    """Open descriptors and threads that do not belong to a pool."""
    gc.collect()
    threads = [t for t in threading.enumerate() if not t.name.startswith("AnyIO worker")]
    return psutil.Process().num_fds(), len(threads)


async def start_and_close(task: Task, number: int) -> None:
    transports = ("http,sse", "sse", "none")[number % 3]
    session = await task.aio.start("scripted", args=["--mcp-capabilities", transports])
    await session.aio.wait_for("kandev", "active")
    await session.aio.close()


async def one_round(task: Task) -> None:
    await asyncio.gather(*(start_and_close(task, number) for number in range(AT_ONCE)))


@pytest.mark.req("SE-3")
@pytest.mark.timeout(300)
def test_a_hundred_sessions_leave_no_process_no_descriptor_no_thread_and_no_file(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    asyncio.run(one_round(task))
    keeper = task._core.keeper
    assert isinstance(keeper, Keeping)
    assert keeper.flush(30)
    before = held()

    for _ in range(ROUNDS - 1):
        asyncio.run(one_round(task))

    assert len(task.sessions) == ROUNDS * AT_ONCE
    assert eventually(lambda: held() <= before), (held(), before)
    children = psutil.Process().children(recursive=True)
    assert [child for child in children if "kandev_nb.agents.scripted" in child.cmdline()] == []
    assert list(tmp_path.iterdir()) == []
