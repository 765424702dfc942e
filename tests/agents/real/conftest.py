"""Coding agents that other people wrote, with a scripted model and without a login."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from kandev_nb import Controller, Session
from tests.agents.model import ScriptedModel, scripted_model
from tests.agents.real.starting import Start, starting


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as model:
        yield model


@pytest.fixture(scope="module")
def start(
    kandev: Controller, model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Start]:
    """Starts agents in one task, and checks what they leave when the task is closed."""
    with starting(kandev, "real agents", tmp_path_factory) as start:
        yield start


def _opencode(model: ScriptedModel) -> dict[str, str]:
    fake = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": f"{model.address}/v1", "apiKey": "dummy"},
        "models": {"model": {"name": "Fake", "tool_call": True}},
    }
    settings = {
        "provider": {"fake": fake},
        "model": "fake/model",
        "small_model": "fake/model",
        # It asks for nothing unless it is told to.
        "permission": {"kandev_*": "ask"},
    }
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


def _gemini(model: ScriptedModel) -> dict[str, str]:
    # Without a model's name it has another model choose one, which ours is not made for.
    return {
        "GEMINI_API_KEY": "dummy",
        "GEMINI_MODEL": "gemini-2.5-flash",
        "GOOGLE_GEMINI_BASE_URL": model.address,
    }


def _trusted_gemini(model: ScriptedModel) -> dict[str, str]:
    return _gemini(model) | {"GEMINI_CLI_TRUST_WORKSPACE": "true"}


def _claude(model: ScriptedModel) -> dict[str, str]:
    # Run by root, it refuses to start outside a sandbox.
    return {"ANTHROPIC_API_KEY": "dummy", "ANTHROPIC_BASE_URL": model.address, "IS_SANDBOX": "1"}


_ENVIRONMENTS: Final = {"opencode": _opencode, "gemini": _trusted_gemini, "claude": _claude}

AGENTS: Final = tuple(_ENVIRONMENTS)
"""Those that can be started without a login, prompts included, and that connect."""


class StartModelled(Protocol):
    """Starts one of :data:`AGENTS` with the model."""

    def __call__(self, agent: str, **options: Any) -> Session: ...


@pytest.fixture(scope="module")
def start_modelled(start: Start, model: ScriptedModel) -> StartModelled:
    def modelled(agent: str, **options: Any) -> Session:
        return start(agent, _ENVIRONMENTS[agent](model), **options)

    return modelled


@pytest.fixture(scope="module")
def opencode(start_modelled: StartModelled) -> Session:
    return start_modelled("opencode", permissions="allow")


@pytest.fixture(scope="module")
def gemini(start: Start, model: ScriptedModel) -> Session:
    """Gemini CLI in a folder that nobody trusted."""
    return start("gemini", _gemini(model))


@pytest.fixture(scope="module")
def trusted_gemini(start_modelled: StartModelled) -> Session:
    return start_modelled("gemini")


@pytest.fixture(scope="module")
def claude(start_modelled: StartModelled) -> Session:
    return start_modelled("claude")


@pytest.fixture(scope="module")
def gemini_while_trusted(
    start: Start, model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Session, Path]:
    """Gemini CLI and the file that trusts its folder, as one that a user edits."""
    trusted = tmp_path_factory.mktemp("trust") / "trustedFolders.json"
    trusted.write_text(json.dumps({str(tmp_path_factory.getbasetemp()): "TRUST_FOLDER"}))
    env = _gemini(model) | {"GEMINI_CLI_TRUSTED_FOLDERS_PATH": str(trusted)}
    return start("gemini", env), trusted
