"""What the tests of passthrough share: servers of every transport, a project, and sessions."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kandev_nb.servers import (
    Decision,
    HttpServer,
    Server,
    SseServer,
    StdioServer,
    StreamableHttpServer,
)
from kandev_nb.servers.passthrough import Materialized, materialize, strategy

SECRETS = ("s3cr3t-of-the-session", "s3cr3t-of-a-header", "s3cr3t-of-a-variable", "s3cr3t-argument")
_OWN, _HEADER, _VARIABLE, _ARGUMENT = SECRETS


def decided(server: Server) -> Decision:
    target = server.command if isinstance(server, StdioServer) else server.url
    return Decision(server.name, server.name, server.type, target, server=server)


def kandev(secret: str = _OWN) -> Decision:
    headers = {"Authorization": f"Bearer {secret}"}
    return decided(HttpServer(name="kandev", url="http://127.0.0.1:7/mcp", headers=headers))


ALL = (
    kandev(),
    decided(
        StdioServer(
            name="local",
            command="/bin/echo",
            args=("--key", _ARGUMENT),
            env={"KEY": _VARIABLE, "MY-VAR": "ü"},
        )
    ),
    decided(StreamableHttpServer(name="web", url="https://h.test/v1/mcp", headers={"X": _HEADER})),
    decided(SseServer(name="events", url="https://h.test/sse")),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where the journal is, and the folders of sessions are made."""
    return tmp_path / "passthrough"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


class Sessions:
    """Materializes one session after the other, each with a folder of its own."""

    def __init__(self, root: Path, project: Path) -> None:
        self.root, self.project = root, project
        self.made: list[Materialized] = []

    def start(self, cli: str, *decisions: Decision, **options: Any) -> Materialized:
        folder = self.root / f"session-{len(self.made) + 1}"
        given: dict[str, Any] = {"folder": folder, "cwd": self.project, "environ": {}} | options
        self.made.append(materialize(strategy(cli), decisions or ALL, **given))
        return self.made[-1]


@pytest.fixture
def sessions(root: Path, project: Path) -> Iterator[Sessions]:
    sessions = Sessions(root, project)
    yield sessions
    for made in sessions.made:
        made.close()


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return what a folder holds: mode, modification time and content of every file."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            status = path.lstat()
            # The time of a folder tells that a file was there, and cannot be undone.
            time = status.st_mtime_ns if path.is_file() else 0
            content = path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(folder))] = (status.st_mode, time, content)
    return found
