"""Agents by name, those of other packages included."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from pydantic import ValidationError

from kandev_nb import plan
from kandev_nb.agents import registry
from kandev_nb.agents.registry import AgentSpec, find_agent, registered_agents
from kandev_nb.agents.scripted import command
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError

NPM: Final = "npm install --global "


class Measured(NamedTuple):
    """A row of what was measured: how it is started, and what it says of MCP servers."""

    install: str
    command: str
    advertises: str
    takes: str = ""
    passthrough: str = ""
    reset_by_restart: bool = False
    env: str = ""


MEASURED: Final = {
    "claude": Measured(
        f"{NPM}@agentclientprotocol/claude-agent-acp@0.101.0",
        "claude-agent-acp",
        advertises="http sse",
        passthrough="claude",
    ),
    "codex": Measured(
        f"{NPM}@agentclientprotocol/codex-acp@2.6.0",
        "codex-acp",
        advertises="http",
        passthrough="codex",
    ),
    "gemini": Measured(
        f"{NPM}@google/gemini-cli@0.61.0",
        "gemini --acp",
        advertises="http sse",
        passthrough="gemini",
        env="GEMINI_CLI_NO_RELAUNCH=true",
    ),
    "opencode": Measured(
        f"{NPM}opencode-ai@1.18.33",
        "opencode acp",
        advertises="http sse",
        passthrough="opencode",
        reset_by_restart=True,
        env="OPENCODE_DISABLE_AUTOUPDATE=1",
    ),
    "kilo": Measured(
        f"{NPM}@kilocode/cli@7.7.7", "kilo acp", advertises="http sse", reset_by_restart=True
    ),
    "copilot": Measured(f"{NPM}@github/copilot@1.0.102", "copilot --acp", advertises="http sse"),
    "qwen": Measured(f"{NPM}@qwen-code/qwen-code@0.24.4", "qwen --acp", advertises="http sse"),
    "auggie": Measured(
        f"{NPM}@augmentcode/auggie@0.36.0",
        "auggie --acp",
        advertises="",
        takes="http",
        reset_by_restart=True,
    ),
    "cline": Measured(f"{NPM}cline@3.0.65", "cline --acp", advertises=""),
    "pi": Measured(f"{NPM}pi-acp@0.0.34", "pi-acp", advertises="", passthrough="pi"),
    "fast-agent": Measured(
        "uv tool install --python 3.12 fast-agent-mcp==0.10.48",
        "fast-agent-acp --model passthrough",
        advertises="http sse",
        reset_by_restart=True,
    ),
    "scripted": Measured("comes with kandev-nb", " ".join(command()[:4]), advertises="http sse"),
}

SERVERS: Final = {
    "local": {"command": "/bin/sh"},
    "web": {"url": "http://127.0.0.1:9/mcp"},
    "events": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
}

PLUGIN = """
from kandev_nb.agents.registry import AgentSpec

good = AgentSpec(id="zeta", title="Zeta", command=("zeta", "--acp"), install="pip install zeta")
shadow = AgentSpec(id="scripted", title="Not ours", command=("evil",))
no_spec = "zeta"
"""

ENTRY_POINTS = """
[kandev_nb.agents]
zeta = a_plugin:good
shadow = a_plugin:shadow
nonsense = a_plugin:no_spec
missing = a_plugin:nothing
gone = no_such_module:agent
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "a_plugin.py").write_text(PLUGIN)
    package = tmp_path / "a_plugin-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: a-plugin\nVersion: 1\n")
    (package / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    registry._load.cache_clear()
    yield
    sys.modules.pop("a_plugin", None)
    registry._load.cache_clear()


def test_the_built_in_agents_are_those_that_were_measured() -> None:
    assert [spec.id for spec in registered_agents()] == list(MEASURED)


@pytest.mark.req("CF-2")
@pytest.mark.parametrize("agent_id", MEASURED)
def test_a_built_in_agent_is_registered_as_it_was_measured(agent_id: str) -> None:
    spec, measured = find_agent(agent_id), MEASURED[agent_id]

    assert spec.install == measured.install
    assert spec.npm == measured.install.removeprefix(NPM) * measured.install.startswith(NPM)
    assert " ".join(spec.command) == measured.command
    assert spec.advertises == frozenset(measured.advertises.split())
    assert spec.takes == frozenset(measured.takes.split())
    assert spec.passthrough == measured.passthrough
    assert spec.reset_by_restart == measured.reset_by_restart
    assert [f"{name}={value}" for name, value in spec.env.items()] == measured.env.split()


@pytest.mark.parametrize("agent_id", MEASURED)
def test_a_note_names_the_version_that_the_install_line_installs(agent_id: str) -> None:
    spec = find_agent(agent_id)
    version = spec.install.replace("==", "@").rpartition("@")[2]

    assert [note for note in spec.notes if not note.startswith(f"{version} ")] == []
    assert spec.needs or agent_id == "scripted", "no other one works as it comes"


@pytest.mark.req("CF-2", "CF-3")
@pytest.mark.parametrize(
    ("agent_id", "decisions"),
    [
        ("claude", "kandev:http:assumed local:stdio web:http:assumed events:sse:assumed"),
        ("codex", "kandev:http:assumed local:stdio web:http:assumed -events:sse_unsupported"),
        ("auggie", "kandev:http:assumed local:stdio web:http:assumed -events:sse_unsupported"),
        ("cline", "kandev:stdio local:stdio -web:http_unsupported -events:sse_unsupported"),
        ("pi", "kandev:stdio local:stdio -web:http_unsupported -events:sse_unsupported"),
    ],
)
def test_a_plan_for_a_built_in_agent_rests_on_what_was_measured(
    agent_id: str, decisions: str
) -> None:
    made = plan(SERVERS, agent=agent_id)

    words = []
    for row in made.rows:
        assumed = ":assumed" if "The registry says what the agent takes" in row["hint"] else ""
        if row["decision"] == "deliver":
            words.append(f"{row['server']}:{row['transport']}{assumed}")
        else:
            words.append(f"-{row['server']}:{row['reason_code']}")
            assert assumed, "left out on the registry's word alone, and not said so"
    assert " ".join(words) == decisions
    assert find_agent(agent_id).title in str(made)


def test_an_unknown_agent_is_answered_with_those_that_are_known() -> None:
    with pytest.raises(ConfigError, match=r"'clod'.*scripted.*exec=") as failure:
        find_agent("clod")
    assert failure.value.reason_code == ReasonCode.AGENT_UNKNOWN


@pytest.mark.usefixtures("plugin")
def test_agents_of_other_packages_are_found() -> None:
    assert find_agent("zeta").install == "pip install zeta"
    assert [spec.id for spec in registered_agents()] == [*MEASURED, "zeta"]


@pytest.mark.usefixtures("plugin")
def test_a_built_in_agent_keeps_its_id() -> None:
    assert find_agent("scripted").command[0] == sys.executable


@pytest.mark.usefixtures("plugin")
def test_what_cannot_be_loaded_is_said_once_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        registered_agents()
        registered_agents()
    messages = [record.getMessage() for record in caplog.records]
    assert sorted(messages) == [
        "agent 'gone' cannot be loaded (ModuleNotFoundError)",
        "agent 'missing' cannot be loaded (AttributeError)",
        "agent 'nonsense' is no AgentSpec",
    ]


@pytest.mark.req("SA-1")
def test_a_spec_is_frozen_and_does_not_show_its_environment() -> None:
    spec = AgentSpec(id="x", title="X", command=("x",), env={"KEY": "hidden-value"})
    assert "hidden-value" not in repr(spec)
    with pytest.raises(ValidationError):
        setattr(spec, "id", "y")  # noqa: B010 - mypy knows better than to allow it
    with pytest.raises(ValidationError):
        AgentSpec(id="x", title="X", command=())
