"""Agents by name, those of other packages included."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from kandev_nb.agents import registry
from kandev_nb.agents.registry import AgentSpec, find_agent, registered_agents
from kandev_nb.agents.scripted import command
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError

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


def test_the_reference_agent_is_registered() -> None:
    assert find_agent("scripted").command == tuple(command()[:4])
    assert find_agent("scripted") in registered_agents()


def test_an_unknown_agent_is_answered_with_those_that_are_known() -> None:
    with pytest.raises(ConfigError, match=r"'clod'.*scripted.*exec=") as failure:
        find_agent("clod")
    assert failure.value.reason_code == ReasonCode.AGENT_UNKNOWN


@pytest.mark.usefixtures("plugin")
def test_agents_of_other_packages_are_found() -> None:
    assert find_agent("zeta").install == "pip install zeta"
    assert [spec.id for spec in registered_agents()] == ["scripted", "zeta"]


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
