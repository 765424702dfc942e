"""The command line."""

import re
import subprocess
import sys

import pytest


def kandev_nb(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kandev_nb.cli", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_demo_prints_the_report_and_the_timeline() -> None:
    done = kandev_nb("demo")

    assert done.returncode == 0, done.stderr
    assert re.search(r"● kandev +Active +7 tools · ~\d+ tokens · used · 1 call", done.stdout)
    assert re.search(r"◐ github +Delivered · connection unverified", done.stdout)
    assert re.search(r"kandev +tools_list_observed +\d+\.\d+ +observed +mcp-1 +7", done.stdout)
    assert done.stderr == ""


def test_the_version_is_the_packages() -> None:
    from kandev_nb import __version__

    assert kandev_nb("--version").stdout.strip().endswith(__version__)


@pytest.mark.parametrize("words", [["no-such-command"], ["demo", "--no-such-option"]])
def test_an_unknown_word_is_named_and_the_usage_shown(words: list[str]) -> None:
    done = kandev_nb(*words)

    assert done.returncode == 2
    assert words[-1] in done.stderr
    assert "Usage" in done.stderr
