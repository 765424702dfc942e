"""Other people's agents, installed from the npm registry for the tests that start them.

A pinned package comes in, the folder with its commands leaves. Packages live outside the tree and
are kept for the next run: ``${XDG_CACHE_HOME:-~/.cache}/kandev-nb/npm/<package>@<version>``. One
process installs at a time, the others wait. Nothing else of the home directory is written to.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.endpoint.node import NODE

_NPM: Final = NODE.parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
_OPTIONS: Final = (
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--loglevel=error",
    "--fetch-retry-maxtimeout=10000",
)
_SECONDS: Final = 240
"""How long one package may take: the largest have 400 MB."""


def installed(package: str, version: str) -> Path:
    """Return the folder with the package's commands; the test fails when it cannot be had."""
    wanted = f"{package}@{version}"
    folder = once("npm", wanted, lambda folder: _install(wanted, folder))
    return folder / "node_modules" / ".bin"


def once(registry: str, wanted: str, install: Callable[[Path], None]) -> Path:
    """Return the folder into which ``install`` has put what is wanted, now or earlier."""
    folder = _cache() / registry / wanted
    complete = folder / ".complete"
    with _alone(folder):
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            install(folder)
            complete.touch()
    return folder


def search_path(*commands: Path) -> str:
    """Return a ``PATH`` on which these folders and the Node that runs what is there come first."""
    folders = (*commands, NODE.parent, os.environ.get("PATH", os.defpath))
    return os.pathsep.join(map(str, folders))


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kandev-nb"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(wanted: str, folder: Path) -> None:
    scratch = folder / ".scratch"
    scratch.mkdir(parents=True)
    try:
        done = subprocess.run(
            [NODE, _NPM, "install", *_OPTIONS, "--prefix", str(folder), wanted],
            cwd=folder,
            env=_environment(scratch),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"npm did not install {wanted} within {_SECONDS} s. Check the network.")
    shutil.rmtree(scratch)
    if done.returncode:
        pytest.fail(
            f"npm could not install {wanted}. Check the network, or name your mirror with "
            f"`npm config set registry URL`. It said:\n{done.stderr[-2000:]}"
        )


def _environment(scratch: Path) -> dict[str, str]:
    """A home of its own for what the package runs while it is installed, with the user's npmrc."""
    settings = os.environ.get("NPM_CONFIG_USERCONFIG") or str(Path.home() / ".npmrc")
    return {
        **os.environ,
        "PATH": search_path(),
        "HOME": str(scratch),
        "NPM_CONFIG_USERCONFIG": settings,
        "NPM_CONFIG_CACHE": str(scratch / "cache"),
    }
