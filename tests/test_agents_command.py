"""What `kandev-nb agents` says of the agents that can be started by name."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from kandev_nb.agents.registry import registered_agents

KEYS: Final = [
    "id",
    "title",
    "installed",
    "path",
    "npx",
    "advertises",
    "takes",
    "needs",
    "install",
    "passthrough",
    "reset_by_restart",
    "notes",
]
PLUGIN: Final = r"""
from kandev_nb.agents.registry import AgentSpec

HERE = __file__.rpartition("/")[0]
own_path = AgentSpec(id="eta", title="Eta", command=("eta",), env={"PATH": HERE, "KEY": "planted"})
odd = AgentSpec(id="iota\x1b[31m", title="I\u202eota", command=("iota",), needs=("bell\x07",))
"""

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the command in a directory with an empty PATH and a home of its own."""
    (tmp_path / "home" / "here").mkdir(parents=True)

    def run(*words: str, **env: str) -> str:
        given = {"PATH": "/nowhere", "HOME": str(tmp_path / "home"), "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            [sys.executable, "-m", "kandev_nb.cli", "agents", *words],
            cwd=tmp_path / "home" / "here",
            env=os.environ | given | env,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


def executable(file: Path) -> None:
    """Make a program that leaves a trace when it is started."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n: > {file}.started\n")
    file.chmod(0o700)


def plugin(folder: Path) -> str:
    package = folder / "a_plugin-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: a-plugin\nVersion: 1\n")
    names = "eta = an_agents_plugin:own_path\nodd = an_agents_plugin:odd\n"
    (package / "entry_points.txt").write_text(f"[kandev_nb.agents]\n{names}")
    (folder / "an_agents_plugin.py").write_text(PLUGIN)
    executable(folder / "eta")
    return str(folder)


def rows(printed: str) -> dict[str, list[str]]:
    """Return the lines of each agent by its ID, with their words one space apart."""
    blocks = re.split(r"\n(?=\S)", printed.partition("\n\n")[0])
    lines = [[" ".join(line.split()) for line in block.splitlines()] for block in blocks]
    return {block[0].split()[1]: block for block in lines}


def test_every_agent_has_a_row_with_its_transports_its_needs_and_how_to_get_it(run: Run) -> None:
    table = rows(run())

    assert list(table) == [spec.id for spec in registered_agents()]
    assert table["gemini"] == [
        "· gemini Gemini CLI stdio, http, sse not installed",
        "Install it: npm install --global @google/gemini-cli@0.61.0",
        "Needs: Log in once with `gemini`, or set GEMINI_API_KEY.",
        "Needs: Trust the folder in `gemini`, or set GEMINI_CLI_TRUST_WORKSPACE=true.",
        "Note: 0.61.0 connects to no server in a folder that is not trusted.",
    ]
    assert table["auggie"][0] == "· auggie Auggie stdio, http (assumed) not installed"
    assert table["cline"][0] == "· cline Cline stdio not installed"
    assert table["scripted"] == [
        f"✓ scripted Scripted reference agent stdio, http, sse {sys.executable}"
    ]


def test_an_agent_is_found_as_a_session_here_would_find_it(run: Run, tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "opencode")
    executable(tmp_path / "home" / "node_modules" / ".bin" / "gemini")

    printed = run(PATH=str(tmp_path / "bin"))

    table = rows(printed)
    assert table["opencode"][0].endswith(f"stdio, http, sse {tmp_path}/bin/opencode")
    assert table["gemini"][0].endswith("stdio, http, sse ~/node_modules/.bin/gemini")
    assert not table["gemini"][1].startswith("Install"), "it is there"
    assert "\n3 of 12 agents are installed. " in printed


def test_npx_is_offered_where_it_is_there_and_has_the_agent(run: Run, tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "npx")
    executable(tmp_path / "bin" / "qwen")

    table = rows(run(PATH=str(tmp_path / "bin")))

    assert table["codex"][1] == (
        "Start it with npx=True, or install it: "
        "npm install --global @agentclientprotocol/codex-acp@2.6.0"
    )
    assert table["fast-agent"][1].startswith("Install it: uv tool install ")
    assert table["qwen"][1].startswith("Needs: "), "it is installed"


def test_nothing_is_started(run: Run, tmp_path: Path) -> None:
    for name in ("npx", "node", "gemini", "codex-acp"):
        executable(tmp_path / "bin" / name)

    run(PATH=str(tmp_path / "bin"))
    run("--json", PATH=str(tmp_path / "bin"))

    assert list(tmp_path.rglob("*.started")) == []


def test_the_columns_stand_below_each_other_and_no_line_ends_in_a_space(run: Run) -> None:
    lines = run(COLUMNS="40").splitlines()

    heads = [line for line in lines if line[:1] in set("·✓")]
    assert len({line.index("stdio") for line in heads}) == 1
    assert len({line.rindex("  ") for line in heads}) == 1
    below = [line for line in lines if line.startswith(" ")]
    assert {len(line) - len(line.lstrip()) for line in below} == {heads[0].index("Claude Code")}
    assert [line for line in lines if line != line.rstrip()] == []


def test_json_is_a_list_of_objects_with_the_same_keys(run: Run, tmp_path: Path) -> None:
    executable(tmp_path / "home" / "node_modules" / ".bin" / "auggie")
    executable(tmp_path / "bin" / "npx")

    listed: list[dict[str, Any]] = json.loads(run("--json", PATH=str(tmp_path / "bin")))

    assert [one["id"] for one in listed] == [spec.id for spec in registered_agents()]
    assert all(list(one) == KEYS for one in listed)
    by_id = {one["id"]: one for one in listed}
    assert by_id["auggie"] == {
        "id": "auggie",
        "title": "Auggie",
        "installed": True,
        "path": f"{tmp_path.resolve()}/home/node_modules/.bin/auggie",
        "npx": False,
        "advertises": [],
        "takes": ["http"],
        "needs": ["Log in once with `auggie login`, or set AUGMENT_SESSION_AUTH."],
        "install": "npm install --global @augmentcode/auggie@0.36.0",
        "passthrough": "",
        "reset_by_restart": True,
        "notes": [
            "0.36.0 connects only when its permission request has been answered.",
            "0.36.0 gives a second session of its process the first one's servers of that name.",
        ],
    }
    assert (by_id["kilo"]["installed"], by_id["kilo"]["path"], by_id["kilo"]["npx"]) == (
        False,
        "",
        True,
    )
    assert by_id["kilo"]["reset_by_restart"]
    assert by_id["codex"]["passthrough"] == "codex"


@pytest.mark.req("SA-1")
def test_an_added_agent_is_found_with_its_own_environment_which_is_not_shown(
    run: Run, tmp_path: Path
) -> None:
    added = plugin(tmp_path / "plugin")

    table = rows(run(PYTHONPATH=added))
    listed = {one["id"]: one for one in json.loads(run("--json", PYTHONPATH=added))}

    assert table["eta"] == [f"✓ eta Eta stdio, others not known {added}/eta"]
    assert listed["eta"]["advertises"] is None
    assert "planted" not in f"{table} {listed}"


@pytest.mark.req("CA-5")
def test_control_characters_of_an_added_agent_are_shown_escaped(run: Run, tmp_path: Path) -> None:
    printed = run(PYTHONPATH=plugin(tmp_path / "plugin"))

    assert not {"\x1b", "\x07", "\u202e"} & set(printed)
    row = rows(printed)["iota\\u001b[31m"]
    assert row[0].startswith("· iota\\u001b[31m I\\u202eota stdio")
    assert row[1] == "Needs: bell\\u0007"


def test_a_terminal_without_unicode_gets_what_it_can_show(run: Run, tmp_path: Path) -> None:
    executable(tmp_path / "bén" / "opencode")

    printed = run(PYTHONIOENCODING="ascii", PATH=str(tmp_path / "bén"))

    assert rows(printed)["opencode"][0].startswith("+ opencode ")
    assert rows(printed)["opencode"][0].endswith("/b\\xe9n/opencode")
    assert rows(printed)["gemini"][0].startswith("- gemini ")
