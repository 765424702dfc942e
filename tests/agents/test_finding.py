"""Where a registered agent is found, with real executables, and what is said when it is nowhere."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kandev_nb import AgentError, ConfigError, Task
from kandev_nb.agents.finding import find_command
from kandev_nb.agents.registry import AgentSpec, find_agent
from kandev_nb.session.launch import Launch, read_launch

GEMINI = find_agent("gemini")
RECORDING = f"""#!/bin/sh
printf '%s\\n' "$0" "$@" "relaunch: $GEMINI_CLI_NO_RELAUNCH" > "$RECORD"
exec {sys.executable} -P -m kandev_nb.agents.scripted
"""
"""A program that writes down how it was started, and goes on as the reference agent."""


def executable(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RECORDING)
    path.chmod(0o700)
    return str(path)


def in_project(folder: Path) -> str:
    return executable(folder / "node_modules" / ".bin" / "gemini")


def path_of(*folders: Path | str) -> dict[str, str]:
    return {"PATH": os.pathsep.join(map(str, folders))}


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """A directory inside a project."""
    cwd = tmp_path.resolve() / "project" / "src" / "deep"
    cwd.mkdir(parents=True)
    return cwd


def launch(cwd: Path, agent: str = "gemini", **arguments: Any) -> Launch:
    env = arguments.pop("env", {})
    return read_launch(agent, None, arguments.pop("args", ()), None, None, env, cwd, **arguments)


def test_a_command_on_the_path_comes_before_one_of_the_project(cwd: Path, tmp_path: Path) -> None:
    in_project(cwd)
    on_path = executable(tmp_path / "bin" / "gemini")

    assert find_command(GEMINI, path_of("/nowhere", tmp_path / "bin"), cwd) == (on_path, "--acp")


def test_of_several_projects_the_nearest_one_counts(cwd: Path) -> None:
    far = in_project(cwd.parents[1])

    assert find_command(GEMINI, path_of("/nowhere"), cwd)[0] == far
    near = in_project(cwd.parent)
    assert find_command(GEMINI, path_of("/nowhere"), cwd)[0] == near


def test_a_link_to_a_project_is_searched_from_where_it_leads(cwd: Path, tmp_path: Path) -> None:
    found = in_project(cwd.parent)
    link = tmp_path / "link"
    link.symlink_to(cwd)

    assert find_command(GEMINI, path_of("/nowhere"), link)[0] == found


@pytest.mark.parametrize("folder", ["bin", "./bin", "../deep/bin"])
def test_a_relative_folder_of_the_path_counts_from_where_the_agent_starts(
    cwd: Path, folder: str
) -> None:
    executable(cwd / "bin" / "gemini")

    [found, *_] = find_command(GEMINI, path_of("/nowhere", folder), cwd)

    assert os.path.isabs(found)
    assert os.path.samefile(found, cwd / "bin" / "gemini")


def test_what_cannot_be_executed_is_passed_over(cwd: Path, tmp_path: Path) -> None:
    Path(executable(tmp_path / "first" / "gemini")).chmod(0o600)
    (tmp_path / "second" / "gemini").mkdir(parents=True)
    third = executable(tmp_path / "third" / "gemini")

    environ = path_of(*(tmp_path / name for name in ("first", "second", "third")))

    assert find_command(GEMINI, environ, cwd)[0] == third


@pytest.mark.parametrize("program", ["tools/agent", "{cwd}/tools/agent"])
def test_a_command_that_is_a_path_is_looked_for_there_only(
    cwd: Path, tmp_path: Path, program: str
) -> None:
    spec = AgentSpec(id="x", title="X", command=(program.format(cwd=cwd), "acp"))
    executable(tmp_path / "bin" / "tools" / "agent")

    with pytest.raises(AgentError) as refused:
        find_command(spec, path_of(tmp_path / "bin"), cwd)
    found = executable(cwd / "tools" / "agent")

    assert str(refused.value) == "The command 'agent' of X was not found. Install it."
    assert find_command(spec, path_of("/nowhere"), cwd) == (found, "acp")


def test_without_a_path_the_systems_own_is_searched(cwd: Path) -> None:
    spec = AgentSpec(id="x", title="X", command=("sh",))

    assert os.path.samefile(find_command(spec, {}, cwd)[0], "/bin/sh")


# npx


def test_npx_comes_only_when_the_user_says_so_and_nothing_is_installed(
    cwd: Path, tmp_path: Path
) -> None:
    npx = executable(tmp_path / "bin" / "npx")
    environ = path_of(tmp_path / "bin")

    with pytest.raises(AgentError, match="npx=True"):
        find_command(GEMINI, environ, cwd)
    assert find_command(GEMINI, environ, cwd, npx=True) == (
        npx,
        "--yes",
        "@google/gemini-cli@0.61.0",
        "--acp",
    )
    installed = in_project(cwd)
    assert find_command(GEMINI, environ, cwd, npx=True) == (installed, "--acp")


def test_an_npx_of_the_project_downloads_nothing(cwd: Path) -> None:
    executable(cwd / "node_modules" / ".bin" / "npx")

    with pytest.raises(AgentError, match="install Node: npx was not found either"):
        find_command(GEMINI, path_of("/nowhere"), cwd, npx=True)


def test_what_is_not_on_npm_is_not_offered_over_npx(cwd: Path, tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "npx")

    with pytest.raises(AgentError) as refused:
        find_command(find_agent("fast-agent"), path_of(tmp_path / "bin"), cwd, npx=True)

    assert "uv tool install" in str(refused.value)
    assert "npx" not in str(refused.value)


def test_npx_is_refused_for_a_command_of_the_users_own(task: Task) -> None:
    with pytest.raises(ConfigError, match="npx=True is for a registered agent") as refused:
        task.start(exec="npx --yes thing", npx=True)

    assert refused.value.reason_code == "wrong_argument"
    assert task.sessions == ()


# In a session


def test_a_session_starts_what_is_found_with_its_quiet_environment(
    task: Task, cwd: Path, tmp_path: Path
) -> None:
    found = in_project(cwd.parent)
    record = tmp_path / "record"

    session = task.start("gemini", cwd=cwd, env={**path_of("/nowhere"), "RECORD": str(record)})

    session.wait_for("kandev", "active")
    assert record.read_text().splitlines() == [found, "--acp", "relaunch: true"]


def test_the_path_that_is_given_is_the_one_that_is_searched(
    task: Task, cwd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "kernel"))
    executable(tmp_path / "kernel" / "gemini")
    given = executable(tmp_path / "given" / "gemini")
    record = tmp_path / "record"

    task.start("gemini", cwd=cwd, env={**path_of(tmp_path / "given"), "RECORD": str(record)})

    assert record.read_text().splitlines()[0] == given


def test_a_session_over_npx_gets_the_measured_package(
    task: Task, cwd: Path, tmp_path: Path
) -> None:
    npx, record = executable(tmp_path / "bin" / "npx"), tmp_path / "record"
    env = {**path_of(tmp_path / "bin"), "RECORD": str(record)}

    session = task.start("gemini", cwd=cwd, env=env, npx=True, args="--debug")

    session.wait_for("kandev", "active")
    assert record.read_text().splitlines()[:-1] == [
        npx,
        "--yes",
        "@google/gemini-cli@0.61.0",
        "--acp",
        "--debug",
    ]


def test_an_agent_that_is_nowhere_is_a_failed_session_that_says_how_to_get_it(
    task: Task, cwd: Path
) -> None:
    with pytest.raises(AgentError) as refused:
        task.start("gemini", cwd=cwd, env=path_of("/nowhere"))

    assert refused.value.reason_code == "command_not_found"
    assert str(refused.value) == (
        "The command 'gemini' of Gemini CLI was not found on PATH or in node_modules/.bin. "
        "Install it (`npm install --global @google/gemini-cli@0.61.0`), or start it with npx=True. "
        "Then: Log in once with `gemini`, or set GEMINI_API_KEY. "
        "Trust the folder in `gemini`, or set GEMINI_CLI_TRUST_WORKSPACE=true."
    )
    (session,) = task.sessions
    attempt = session.report.current
    assert session.state == "failed"
    assert attempt
    assert attempt.session_error_code == "command_not_found"
    assert "npm install --global @google/gemini-cli@0.61.0" in str(session.view)


def test_each_execution_looks_anew(cwd: Path) -> None:
    waiting = launch(cwd, env=path_of("/nowhere"), args=["--debug"], npx=False)

    with pytest.raises(AgentError):
        _ = waiting.command
    found = in_project(cwd)

    assert waiting.command == (found, "--acp", "--debug")
