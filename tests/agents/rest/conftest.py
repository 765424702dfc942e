"""The agents of the registry that ``make test-agents`` starts, and that ``make test`` does not.

They come to a gigabyte, so they are collected only where ``-m rest_agent`` asks for them.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil
import pytest

from kandev_nb import Controller
from tests.agents import npm
from tests.agents.model import ScriptedModel, scripted_model
from tests.agents.real.starting import Start, starting


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return None if "rest_agent" in config.option.markexpr else True


Settings = Callable[[ScriptedModel], dict[str, str]]


def _nothing(_model: ScriptedModel) -> dict[str, str]:
    return {}


class Case(NamedTuple):
    """One agent: what makes it open a session without a login, and what it then does."""

    env: Settings = _nothing
    files: Settings = _nothing
    beside: tuple[tuple[str, str], ...] = ()
    """More packages on npm."""

    needs_login: bool = True
    connects: bool = True
    starts_stdio: bool = True
    tells: bool = False
    """Whether it says that a server refused it."""

    stateless: bool = False
    assumed: bool = False
    leaves: str = ""
    """What is in the command line of a process that outlives it."""


def _codex_files(model: ScriptedModel) -> dict[str, str]:
    provider = f'name = "Fake"\nbase_url = "{model.address}/v1"\nwire_api = "responses"\n'
    chosen = 'model = "fake"\nmodel_provider = "fake"\n'
    return {".codex/config.toml": f"{chosen}[model_providers.fake]\n{provider}"}


def _copilot(model: ScriptedModel) -> dict[str, str]:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{model.address}/v1",
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_MODEL": "fake",
        "COPILOT_OFFLINE": "true",
    }


def _qwen(model: ScriptedModel) -> dict[str, str]:
    base = f"{model.address}/v1"
    return {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": base, "OPENAI_MODEL": "fake"}


def _auggie(model: ScriptedModel) -> dict[str, str]:
    login = {"accessToken": "dummy", "tenantURL": f"{model.address}/", "scopes": ["email"]}
    return {"AUGMENT_SESSION_AUTH": json.dumps(login)}


def _cline_files(model: ScriptedModel) -> dict[str, str]:
    tokens = {"accessToken": "dummy", "refreshToken": "dummy", "expiresAt": 10**13}
    settings = {"provider": "cline", "model": "fake", "baseUrl": f"{model.address}/v1"}
    account = {"settings": settings | {"auth": tokens}, "tokenSource": "oauth"}
    account["updatedAt"] = "2026-01-01T00:00:00.000Z"
    known = {"version": 1, "lastUsedProvider": "cline", "providers": {"cline": account}}
    return {".cline/data/settings/providers.json": json.dumps(known)}


def _pi_files(model: ScriptedModel) -> dict[str, str]:
    fake = {"baseUrl": f"{model.address}/v1", "apiKey": "dummy", "api": "openai-completions"}
    providers = {"fake": {**fake, "models": [{"id": "fake"}]}}
    return {".pi/agent/models.json": json.dumps({"providers": providers})}


CASES: Final[Mapping[str, Case]] = {
    "codex": Case(files=_codex_files, tells=True),
    "kilo": Case(needs_login=False),
    "copilot": Case(_copilot, starts_stdio=False, stateless=True),
    "qwen": Case(_qwen, tells=True),
    "auggie": Case(_auggie, tells=True, assumed=True),
    "cline": Case(files=_cline_files, connects=False, starts_stdio=False, leaves="hub-daemon"),
    "pi": Case(
        files=_pi_files,
        beside=(("@earendil-works/pi-coding-agent", "1.6.0"),),
        connects=False,
        starts_stdio=False,
    ),
    "fast-agent": Case(needs_login=False, stateless=True),
}


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as model:
        yield model


@pytest.fixture(scope="module")
def start(kandev: Controller, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    with starting(kandev, "the rest of the agents", tmp_path_factory) as start:
        yield start


def beside(agent: str) -> list[Path]:
    """Install what an agent needs beside it, and return the folders with the commands."""
    return [npm.installed(*package) for package in CASES[agent].beside]


def given(agent: str, model: ScriptedModel) -> dict[str, Any]:
    """Return the arguments that make an agent open sessions without a login."""
    case = CASES[agent]
    return {"env": case.env(model), "files": case.files(model), "beside": beside(agent)}


def end(left: list[psutil.Process]) -> None:
    """End the processes that an agent of these tests has left."""
    for process in left:
        process.kill()
    psutil.wait_procs(left, timeout=10)
