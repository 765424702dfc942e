"""A PostgreSQL server of the tests' own, from the binaries of this machine.

It listens on loopback only, asks for a password, and lives in a temporary folder. As root it runs
as an unprivileged user, for PostgreSQL refuses root.
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

import psycopg

from tests.processes import eventually

USER: Final = "kandev"
_SETTINGS: Final = ("fsync=off", "full_page_writes=off", "listen_addresses=127.0.0.1")


def binaries() -> Path | None:
    """The folder of the newest server that is installed, if there is one."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=_version)
    found = debian[-1] if debian else shutil.which("postgres")
    return Path(found).parent if found else None


def _version(program: Path) -> int:
    name = program.parent.parent.name
    return int(name) if name.isdecimal() else 0


class PostgresServer:
    """One server. A context manager: it makes its cluster, starts, and leaves nothing behind."""

    def __init__(self) -> None:
        found = binaries()
        assert found is not None, "ask binaries() first"
        self._binaries = found
        self._folder = Path(tempfile.mkdtemp(prefix="kandev-nb-postgres-"))
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self._folder, nobody.pw_uid, nobody.pw_gid)
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self.password = secrets.token_hex(16)
        self.port = _free_port()
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        words = self._folder / "password"
        words.write_text(self.password)
        words.chmod(0o644)
        secret = ["--auth=scram-sha-256", f"--pwfile={words}"]
        try:
            self._run("initdb", "-D", "cluster", "-U", USER, "-E", "UTF8", "--no-sync", *secret)
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder)

    def start(self) -> None:
        """Start it, on the same port each time, and wait until it answers."""
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        place = ["-D", "cluster", "-p", str(self.port), "-k", str(self._folder)]
        # It ends with the tests, also with those that are killed.
        tied = ["setpriv", "--pdeathsig", "INT"] if shutil.which("setpriv") else []
        with (self._folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [*tied, str(self._binaries / "postgres"), *place, *settings],
                cwd=self._folder,
                stdout=log,
                stderr=log,
                **self._as,
            )
        assert eventually(self._answers, 60), (self._folder / "log").read_text()

    def stop(self) -> None:
        """Stop it at once: whoever is connected loses the connection."""
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)
            self._server.wait(60)
            self._server = None

    def url(self, database: str = "postgres") -> str:
        """The URL of a database, with the password."""
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """Create a database and return its URL."""
        name = f"test_{secrets.token_hex(6)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def _answers(self) -> bool:
        assert self._server is not None
        assert self._server.poll() is None, (self._folder / "log").read_text()
        try:
            psycopg.connect(self.url(), connect_timeout=10).close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *arguments: str) -> None:
        command: Sequence[str] = [str(self._binaries / program), *arguments]
        run = subprocess.run(command, cwd=self._folder, capture_output=True, **self._as)
        assert run.returncode == 0, run.stderr.decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
