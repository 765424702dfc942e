"""One session whose agent leaves its servers alone, and tests that leave nothing behind."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from kandev_nb import Controller, EndpointTest, Session
from tests.processes import eventually

TOY: Final = Path(__file__).parent / "servers" / "stdio.py"

Tested = Callable[..., EndpointTest]


def toy(*arguments: str, **entry: Any) -> dict[str, Any]:
    """The entry of a server that does one thing wrong."""
    return {"command": sys.executable, "args": [str(TOY), *arguments], **entry}


@pytest.fixture(scope="module")
def session(kandev: Controller, tmp_path_factory: pytest.TempPathFactory) -> Session:
    task = kandev.task("endpoint tests")
    folder = tmp_path_factory.mktemp("work")
    env = {"OF_THE_SESSION": "session-value"}
    return task.start("scripted", args=["--scenario", "ignores"], cwd=folder, env=env)


@pytest.fixture
def tested(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tested:
    """Test a server of that entry; afterwards no process, socket or temporary file is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def run(entry: dict[str, Any], **options: Any) -> EndpointTest:
        session.reset(servers={"x": entry})
        before = held(tmp_path)
        outcome = session.test_endpoint("x", **{"consent": True, **options})
        assert eventually(lambda: held(tmp_path) == before), held(tmp_path) ^ before
        row = session.report.current and session.report.current.server("x")
        assert row
        assert row.endpoint_test == outcome.stored
        return outcome

    return run


def held(folder: Path) -> set[object]:
    """Processes, sockets and temporary files of ours."""
    us = psutil.Process()
    processes = {child.pid for child in us.children(recursive=True)}
    sockets = {(c.fd, c.laddr, c.raddr, c.status) for c in us.net_connections("all") if c.fd != -1}
    return {*processes, *sockets, *folder.iterdir()}
