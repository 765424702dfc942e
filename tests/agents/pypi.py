"""Other people's agents that are written in Python, each in an environment of its own.

A pinned requirement comes in, the folder with its commands leaves. Environments are kept where the
packages from npm are.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.agents.npm import once

_VERSIONS: Final = ("3.12", "3.13")
_SECONDS: Final = 480
"""How long one environment may take."""


def installed(requirement: str) -> Path:
    """Return the folder with the commands; the test fails when they cannot be had."""
    return once("pypi", requirement, lambda folder: _install(requirement, folder)) / "bin"


def _install(requirement: str, folder: Path) -> None:
    python = next(_interpreters(), None)
    if python is None:
        pytest.fail(f"{requirement} needs one of Python {', '.join(_VERSIONS)}. Install one.")
    _run([python, "-m", "venv", str(folder)], requirement)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install"]
    _run([*pip, "--quiet", "--disable-pip-version-check", requirement], requirement)


def _run(command: list[str], requirement: str) -> None:
    # A virtual environment that the tests run in must not be taken for the new one.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"{requirement} was not installed within {_SECONDS} s. Check the network.")
    if done.returncode:
        pytest.fail(f"{requirement} could not be installed:\n{done.stderr[-2000:]}")


def _interpreters() -> Iterator[str]:
    """Yield Pythons that are new enough: this one, one on PATH, one of pyenv's."""
    if sys.version_info[:2] >= (3, 12):
        yield sys.executable
    for version in _VERSIONS:
        # One that pyenv puts on PATH may stand for a version that is not there.
        found = (shutil.which(f"python{version}"), *_of_pyenv(version))
        yield from (path for path in found if path and _runs(path))


def _of_pyenv(version: str) -> Iterator[str]:
    for path in sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python")):
        yield str(path)


def _runs(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
