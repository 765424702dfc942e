"""The component tests of the front end, and its types: vitest and TypeScript."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOLCHAIN = Path(__file__).parents[2] / "labextension" / "toolchain.py"


def _run(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, str(TOOLCHAIN), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.req("UI")
@pytest.mark.req("CA-5")
def test_the_views_pass_their_component_tests() -> None:
    assert "passed" in _run("test")


def test_the_front_end_passes_the_type_check() -> None:
    _run("run", "check")
