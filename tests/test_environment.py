"""What `make lab` says on a machine that lacks something, before it installs anything."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def environment(stubs: Path) -> subprocess.CompletedProcess[str]:
    """Run the script with ``stubs`` first on PATH, into an environment that is not there yet."""
    return subprocess.run(
        [str(ROOT / ".ci" / "environment"), str(stubs / "venv"), "lab"],
        env={"PATH": f"{stubs}:{os.defpath}", "HOME": str(stubs)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def stub(folder: Path, name: str, script: str) -> None:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)


@pytest.fixture
def stubs(tmp_path: Path) -> Path:
    """A folder in which every Python that is looked for is too old."""
    for version in ("", ".11", ".12", ".13", ".14"):
        stub(tmp_path, f"python3{version}", "exit 1")
    return tmp_path


def test_windows_is_sent_to_wsl(stubs: Path) -> None:
    stub(stubs, "uname", "echo MINGW64_NT-10.0")

    done = environment(stubs)

    assert done.returncode == 1
    assert "On Windows, run it in WSL 2." in done.stderr


def test_a_machine_with_an_old_python_only_is_told_what_to_install(stubs: Path) -> None:
    done = environment(stubs)

    assert done.returncode == 1
    assert "kandev-nb needs Python 3.11 or newer" in done.stderr
    assert "apt-get install python3 python3-venv" in done.stderr


def test_a_python_without_venv_is_told_which_package_has_it(stubs: Path) -> None:
    stub(stubs, "python3.12", 'case "$*" in *venv*) exit 1;; *print*) echo 3.12;; esac')

    done = environment(stubs)

    assert done.returncode == 1
    assert "apt-get install python3.12-venv" in done.stderr
    assert not (stubs / "venv").exists()
