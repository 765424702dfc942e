"""A project gets its files back however the processes of its sessions end, and however many."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kandev_nb.servers.passthrough import recover
from tests.servers.passthrough.conftest import SECRETS, Sessions, kandev, tree

pytestmark = pytest.mark.req("CF-4")

PROCESS = """
import os, signal, sys
from pathlib import Path
from kandev_nb.servers import Decision, HttpServer
from kandev_nb.servers.passthrough import materialize, strategy
ROOT, PROJECT = Path({root!r}), Path({project!r})

def server(name):
    url = "https://h.test/mcp"
    made = HttpServer(name=name, url=url, headers={{"X": {secret!r}}})
    return Decision(name, name, "http", url, server=made)

def start(cli, name):
    return materialize(strategy(cli), (server(name),), cwd=PROJECT, folder=ROOT / name)

"""

Run = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def run(root: Path, project: Path) -> Iterator[Run]:
    """Start a Python process that may start sessions."""
    processes: list[subprocess.Popen[str]] = []

    def run(behaviour: str) -> subprocess.Popen[str]:
        head = PROCESS.format(root=str(root), project=str(project), secret=SECRETS[1])
        command = [sys.executable, "-W", "error", "-c", head + textwrap.dedent(behaviour)]
        processes.append(
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[3],
                start_new_session=True,
            )
        )
        return processes[-1]

    yield run
    for process in processes:
        # With what it forked, which holds its output open.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def ended(process: subprocess.Popen[str]) -> int:
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGKILL), errors
    return process.returncode


@pytest.fixture
def theirs(project: Path) -> Path:
    path = project / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"theirs": true} // mine\n')
    os.utime(path, ns=(10**18, 10**18))
    return path


CRASH = """
gemini, claude = start("gemini", "one"), start("claude", "two")
start("cursor", "three")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.req("SA-5", "SE-3")
def test_what_a_killed_kernel_left_is_put_back_and_its_secrets_are_removed(
    run: Run, root: Path, project: Path, theirs: Path
) -> None:
    before = tree(project)

    assert ended(run(CRASH)) == -signal.SIGKILL
    assert SECRETS[1] in theirs.read_text()

    assert recover(root) == ()
    assert tree(project) == before
    assert sorted(path.name for path in root.iterdir()) == ["journal", "lock"]


def test_the_next_session_of_anybody_puts_it_back(
    run: Run, sessions: Sessions, project: Path, theirs: Path
) -> None:
    before = tree(project)
    ended(run(CRASH))

    made = sessions.start("claude")

    assert tree(project) == before
    assert made.files[0].exists()


def test_an_edit_after_the_crash_survives(run: Run, root: Path, theirs: Path) -> None:
    ended(run(CRASH))
    theirs.write_text(theirs.read_text().replace("true", "false"))

    (note,) = recover(root)

    assert "was edited meanwhile" in note
    assert theirs.read_text() == '{"theirs": false} // mine\n'


# Each step that a crash may come before: a record is written, a file of the project is, it goes.
STEPS = {
    "before the record": "journal.Journal._save",
    "before the file": "project.ProjectFile.write",
    "before it is put back": "project.ProjectFile.write",
    "before the record goes": "Path.unlink",
}


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_any_step_leaves_nothing(
    run: Run, root: Path, project: Path, theirs: Path, step: str
) -> None:
    before = tree(project)
    is_end = step in ("before it is put back", "before the record goes")

    process = run(f"""
        from kandev_nb.servers.passthrough import journal, project

        def crash(*_, **__):
            os.kill(os.getpid(), signal.SIGKILL)

        made = start("gemini", "one") if {is_end} else None
        {STEPS[step]} = crash
        made.close() if made else start("gemini", "one")
    """)

    assert ended(process) == -signal.SIGKILL
    assert recover(root) == ()
    assert tree(project) == before


def test_a_crash_after_an_edit_leaves_the_edit_and_nothing_else(
    run: Run, root: Path, theirs: Path
) -> None:
    process = run("""
        from kandev_nb.servers.passthrough import project

        def crash(*_, **__):
            os.kill(os.getpid(), signal.SIGKILL)

        first, second = start("gemini", "one"), start("gemini", "two")
        path = PROJECT / ".gemini/settings.json"
        path.write_text(path.read_text().replace("true", "false"))
        project.ProjectFile.write = crash
        first.close()
    """)

    assert ended(process) == -signal.SIGKILL
    recover(root)
    assert theirs.read_text() == '{"theirs": false} // mine\n'


def test_a_kernel_that_ends_without_closing_puts_everything_back(
    run: Run, root: Path, project: Path, theirs: Path
) -> None:
    before = tree(project)

    assert ended(run('start("gemini", "one"), start("claude", "two")')) == 0

    assert tree(project) == before
    assert sorted(path.name for path in root.iterdir()) == ["journal", "lock"]


def test_a_session_that_lives_in_another_process_is_not_disturbed(
    run: Run, sessions: Sessions, root: Path, theirs: Path
) -> None:
    other = run('made = start("gemini", "other"); print("up", flush=True); input(); made.close()')
    assert other.stdout is not None
    assert other.stdout.readline() == "up\n"

    mine = sessions.start("gemini", kandev())
    assert recover(root) == ()
    mine.close()

    assert "other" in theirs.read_text()
    assert "kandev" not in theirs.read_text()
    other.communicate("go\n", timeout=60)
    assert theirs.read_text() == '{"theirs": true} // mine\n'


def test_a_session_that_ends_takes_along_what_a_killed_one_left(
    run: Run, sessions: Sessions, project: Path, theirs: Path
) -> None:
    before = tree(project)
    mine = sessions.start("gemini", kandev())
    ended(run('start("gemini", "other"); os.kill(os.getpid(), signal.SIGKILL)'))
    assert "other" in theirs.read_text()

    mine.close()

    assert tree(project) == before


@pytest.mark.req("SE-6")
def test_a_forked_child_owns_nothing_and_a_session_does_not_live_on_in_it(
    run: Run, root: Path, project: Path, theirs: Path
) -> None:
    before = tree(project)
    process = run("""
        made = start("gemini", "one")
        if os.fork() == 0:
            made.close()
            sys.exit()
        os.wait()
        is_up, tells = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(tells, b".")
            signal.pause()
        os.read(is_up, 1)
        print("merged" if "one" in (PROJECT / ".gemini/settings.json").read_text() else "gone")
        print(child, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert process.stdout is not None
    assert process.stdout.readline() == "merged\n"
    child = int(process.stdout.readline())
    try:
        process.wait(60)
        assert recover(root) == ()
        assert tree(project) == before
    finally:
        os.kill(child, signal.SIGKILL)


def test_many_processes_at_one_file_lose_nothing(
    run: Run, root: Path, project: Path, theirs: Path
) -> None:
    before = tree(project)
    processes = [
        run(f"""
            for n in range(12):
                made = start("gemini", f"p{number}-{{n}}")
                text = (PROJECT / ".gemini/settings.json").read_text()
                assert f"p{number}-{{n}}" in text, text
                if n == 11 and {number} == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                assert made.close() == ()
        """)
        for number in range(3)
    ]

    assert sorted(map(ended, processes)) == [-signal.SIGKILL, 0, 0]
    recover(root)
    assert tree(project) == before


def test_nothing_is_done_where_no_session_ever_was(root: Path) -> None:
    assert recover(root) == ()
    assert not root.exists()
