"""The command line: ``kandev-nb probe`` and ``kandev-nb matrix``."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import psutil
import pytest

from kandev_nb import probe_frame
from kandev_nb.agents import scripted
from tests.probe.conftest import CALL
from tests.processes import eventually, run_script

CELLS: Final = [
    ("scripted", "http"),
    ("scripted", "stdio"),
    ("auggie", "http"),
    ("auggie", "stdio"),
]

PLUGIN: Final = """
from kandev_nb.agents.registry import AgentSpec
from kandev_nb.agents.scripted import command
ignores = AgentSpec(id="ignores", title="Ignores", command=command("ignores"))
login = AgentSpec(id="login", title="Login", command=command("auth-required"))
"""


def kandev_nb(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kandev_nb.cli", *words],
        cwd=cwd,
        env=os.environ | {"JUPYTER_DATA_DIR": str(cwd / "data"), "PATH": "/nowhere"} | env,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def execute(scenario: str, **options: str) -> str:
    """Return the command line of the reference agent."""
    return " ".join(scripted.command(scenario, **options))


def plugin(folder: Path) -> str:
    """Make a package that adds two agents to the registry."""
    package = folder / "two_agents-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: two-agents\nVersion: 1\n")
    names = "ignores = two_agents_plugin:ignores\nlogin = two_agents_plugin:login\n"
    (package / "entry_points.txt").write_text(f"[kandev_nb.agents]\n{names}")
    (folder / "two_agents_plugin.py").write_text(PLUGIN)
    return str(folder)


@pytest.mark.req("DI-3")
def test_the_summary_is_printed_and_where_the_raw_frames_are(tmp_path: Path) -> None:
    done = kandev_nb("probe", "scripted", "--prompt", CALL, "--require", "call", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "data" / "kandev-nb" / "probes").iterdir()
    assert "tool call    observed" in done.stdout
    assert f"Raw frames, which may hold secrets, are in {file}" in done.stdout
    assert done.stderr.startswith("Recording raw frames")
    assert str(file) in done.stderr


@pytest.mark.req("DI-3")
def test_json_is_one_object_and_all_else_is_on_standard_error(tmp_path: Path) -> None:
    file = tmp_path / "here.jsonl"

    done = kandev_nb("probe", "scripted", "--json", "--verbose", "--file", str(file), cwd=tmp_path)

    summary = json.loads(done.stdout)
    assert (summary["tools_list"]["word"], summary["file"]) == ("observed", str(file))
    mirrored = done.stderr.splitlines()[1:]
    assert len(mirrored) == len(file.read_text().splitlines())
    assert mirrored[0].startswith('-- {"event":"start"')
    assert any(
        line.startswith('-> {"jsonrpc":"2.0","id":1,"method":"session/new"') for line in mirrored
    )
    assert any(line.startswith('<- {"jsonrpc"') for line in mirrored)
    assert "/a/<endpoint-secret>/mcp" in done.stderr


@pytest.mark.req("DI-3")
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--exec", execute("ignores"), "--timeout", "0"], 0),
        (["--exec", execute("ignores"), "--timeout", "0", "--require", "initialize"], 1),
        (["scripted", "--require", "tools"], 0),
        (["scripted", "--require", "call"], 1),
        (["--exec", execute("auth-required")], 3),
        (["--exec", execute("crashes"), "--require", "tools"], 3),
        (["--exec", "/nowhere/agent"], 3),
        (["scripted", "--model", "huge"], 3),
    ],
)
def test_the_exit_status_says_what_came_of_it_and_the_file_is_named_always(
    tmp_path: Path, words: list[str], status: int
) -> None:
    done = kandev_nb("probe", *words, cwd=tmp_path)

    (file,) = (tmp_path / "data" / "kandev-nb" / "probes").iterdir()
    assert (done.returncode, "Traceback" in done.stderr) == (status, False)
    assert str(file) in done.stdout
    assert list(probe_frame(file)["event"].iloc[[0, -1]]) == ["start", "close"]


@pytest.mark.req("DI-3")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Name one agent"),
        (["scripted", "--exec", "x"], "Name one agent"),
        (["nobody"], "No agent 'nobody' is registered"),
        (["scripted", "--transport", "pigeon"], "pigeon"),
        (["scripted", "--transport", "http", "--no-mcp"], "not both"),
        (["scripted", "--out", "a", "--file", "b"], "not both"),
        (["scripted", "--timeout", "-1"], "-1"),
        (["scripted", "--workdir", "nowhere"], "does not exist"),
        (["scripted", "--file", "/dev/null/x"], "cannot be written"),
        (["scripted", "--load", ""], "load= is empty"),
        (["--exec", "'"], "not a command line"),
    ],
)
def test_a_command_line_that_cannot_be_used_starts_and_writes_nothing(
    tmp_path: Path, words: list[str], message: str
) -> None:
    done = kandev_nb("probe", *words, cwd=tmp_path)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Usage" in done.stderr
    assert list(tmp_path.rglob("*.jsonl")) == []


@pytest.mark.req("DI-3", "SE-3")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_probe_leaves_its_file_and_no_process(
    tmp_path: Path, number: signal.Signals
) -> None:
    file, temporary = tmp_path / "here.jsonl", tmp_path / "temporary"
    temporary.mkdir()
    words = ("probe", "--exec", execute("ignores"), "--timeout", "600", "--file", str(file))
    process = subprocess.Popen(
        [sys.executable, "-m", "kandev_nb.cli", *words],
        env=os.environ | {"TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    watched = psutil.Process(process.pid)
    assert eventually(lambda: file.exists() and "session_accepted" in file.read_text(), 60)
    below = watched.children(recursive=True)

    process.send_signal(number)
    _, said = process.communicate(timeout=60)

    assert process.returncode == 1
    assert str(file) in said
    assert "Traceback" not in said
    assert eventually(lambda: not any(child.is_running() for child in below))
    assert list(temporary.iterdir()) == []
    assert list(probe_frame(file)["event"])[-1] == "close"
    assert "the probe was interrupted" in file.read_text()


@pytest.mark.req("DI-3")
def test_the_help_loads_nothing_heavy() -> None:
    done = run_script(
        """
        import sys
        from click.testing import CliRunner
        from kandev_nb.cli import main
        for words in (["--help"], ["probe", "--help"], ["matrix", "--help"]):
            assert CliRunner().invoke(main, words).exit_code == 0
        heavy = {"acp", "mcp", "pandas", "pydantic", "sqlalchemy", "uvicorn", "rich.progress"}
        print(sorted(heavy & sys.modules.keys()))
        """
    )

    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    "first", ["kandev_nb.probing", "kandev_nb.probing.commands", "kandev_nb.cli", "kandev_nb"]
)
def test_probe_is_the_function_whatever_was_imported_before(first: str) -> None:
    done = run_script(
        f"""
        import {first}
        from kandev_nb import probe, probe_frame, ProbeResult
        import kandev_nb.probing.running
        import kandev_nb
        print(probe is kandev_nb.probe, probe.__module__)
        print(probe_frame.__name__, ProbeResult.__name__)
        """
    )

    assert done.stdout.split() == ["True", "kandev_nb.probing.asking", "probe_frame", "ProbeResult"]


@pytest.mark.req("DI-3")
def test_the_matrix_probes_what_is_installed_over_every_transport(tmp_path: Path) -> None:
    report, table = tmp_path / "junit.xml", tmp_path / "matrix.json"
    words = [
        "--agent",
        "scripted",
        "--agent",
        "auggie",
        "--transport",
        "http",
        "--transport",
        "stdio",
    ]

    done = kandev_nb(
        "matrix", *words, "--prompt", CALL, "--require", "call",
        "--json", str(table), "--junit", str(report), cwd=tmp_path,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    cells: list[dict[str, Any]] = json.loads(table.read_text())
    assert [(cell["agent"], cell["transport"]) for cell in cells] == CELLS
    assert [cell["installed"] for cell in cells] == [True, True, False, False]
    assert [cell["result"]["transport"] for cell in cells[:2]] == ["http", "stdio"]
    assert [cell["result"]["tool_call"]["word"] for cell in cells[:2]] == ["observed", "observed"]
    assert "Not installed: auggie." in done.stdout
    assert "2 of 2 probes observed what is required." in done.stdout
    suites = ET.fromstring(report.read_text())
    assert [(s.get("name"), s.get("failures"), s.get("skipped")) for s in suites] == [
        ("scripted", "0", "0"),
        ("auggie", "0", "2"),
    ]
    assert len(list((tmp_path / "data" / "kandev-nb" / "probes").iterdir())) == 2


@pytest.mark.req("DI-3")
def test_in_the_matrix_failures_errors_and_what_is_not_there_are_told_apart(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    words = ["--agent", "ignores", "--agent", "login", "--agent", "pi", "--transport", "http"]
    added = plugin(tmp_path / "added")

    required = kandev_nb(
        "matrix", *words, "--timeout", "1", "--require", "tools", "--junit", str(report),
        "--json", "-", cwd=tmp_path, PYTHONPATH=added,
    )  # fmt: skip
    free = kandev_nb("matrix", *words, "--timeout", "0", cwd=tmp_path, PYTHONPATH=added)

    assert (required.returncode, free.returncode) == (1, 0)
    assert [cell["failed"] for cell in json.loads(required.stdout)] == [True, True, False]
    cases = ET.fromstring(report.read_text()).findall("*/testcase")
    assert [[part.tag for part in case] for case in cases] == [
        ["failure", "system-out"],
        ["error", "system-out"],
        ["skipped"],
    ]
    assert "0 of 2 probes observed what is required." in required.stderr
    assert "login over http: The agent refused session/new" in free.stdout


@pytest.mark.req("DI-3")
def test_the_matrix_names_an_agent_that_nobody_knows(tmp_path: Path) -> None:
    done = kandev_nb("matrix", "--agent", "nobody", cwd=tmp_path)

    assert done.returncode == 2
    assert "No agent 'nobody' is registered" in done.stderr


@pytest.mark.req("DI-3", "SA-5")
def test_a_matrix_whose_files_cannot_be_written_says_so_and_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    done = kandev_nb(
        "matrix", "--agent", "scripted", "--transport", "http", "--out", "file/x", cwd=tmp_path
    )

    assert done.returncode == 1
    assert "not probed" in done.stdout
    assert "cannot be written" in done.stdout


@pytest.mark.req("DI-3")
def test_a_file_that_cannot_be_written_costs_nobody_the_table(tmp_path: Path) -> None:
    words = ("--agent", "scripted", "--transport", "http", "--json", "nowhere/matrix.json")

    done = kandev_nb("matrix", *words, cwd=tmp_path)

    assert done.returncode == 1
    assert "nowhere/matrix.json cannot be written" in done.stderr
    assert "observed" in done.stdout


@pytest.mark.req("DI-3")
def test_an_agent_that_this_directory_has_installed_is_found(tmp_path: Path) -> None:
    program = tmp_path / "node_modules" / ".bin" / "pi-acp"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\nexec {execute('lists-and-calls')}\n")
    program.chmod(0o700)

    done = kandev_nb("matrix", "--agent", "pi", "--transport", "sse", "--json", "-", cwd=tmp_path)

    (cell,) = json.loads(done.stdout)
    assert (cell["installed"], cell["result"]["tools_list"]["word"]) == (True, "observed")
