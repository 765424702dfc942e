"""Coding agents that other people wrote, each started once and all in one task.

They are pinned, come from npm, and run in a home and a folder of their own with a scripted model,
without a login; their proxies lead nowhere. When the task is closed, no process of theirs may be
left, and in the real home they may have left no trace.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import psutil
import pytest

from kandev_nb import Controller, Session, Task
from tests.agents.model import scripted_model
from tests.agents.npm import installed, search_path
from tests.processes import eventually


class Package(NamedTuple):
    """A pinned package and its command."""

    name: str
    version: str
    command: str
    argument: str = ""


OPENCODE: Final = Package("opencode-ai", "1.18.33", "opencode", "acp")
GEMINI: Final = Package("@google/gemini-cli", "0.61.0", "gemini", "--acp")
CLAUDE: Final = Package("@agentclientprotocol/claude-agent-acp", "0.101.0", "claude-agent-acp")

_OF_A_DEVELOPER: Final = ("ANTHROPIC_", "CLAUDE", "GEMINI_", "GOOGLE_", "OPENAI_", "OPENCODE_")
"""Keys and settings in the environment that must not reach an agent here."""

_NOWHERE: Final = "http://127.0.0.1:9"
"""Nobody listens there."""

_TRACES: Final = (
    ".claude.json",
    ".claude/projects/*",
    ".gemini/*",
    ".gemini/tmp/*",
    ".config/opencode/*",
    ".local/*/opencode/*",
    ".cache/opencode/*",
    ".cache/claude-cli-nodejs/*",
)
"""Where the agents keep what they remember, in a home."""


class Start:
    """Starts agents in the task, and knows the homes that they were given."""

    def __init__(self, task: Task, homes: pytest.TempPathFactory) -> None:
        self.homes: list[Path] = []
        self._task = task
        self._factory = homes

    def __call__(self, package: Package, env: dict[str, str]) -> Session:
        """Install the package unless that was done, and start its agent with ``env``."""
        commands = installed(package.name, package.version)
        home = self._factory.mktemp(package.command)
        work = home / "work"
        work.mkdir()
        self.homes.append(home)
        command = [str(commands / package.command), *filter(None, [package.argument])]
        given = {"PATH": search_path(commands), **_home(home), **_no_network(), **env}
        return self._task.start(exec=command, env=given, cwd=work)


def _home(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
    }


def _no_network() -> dict[str, str]:
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NOWHERE)
    return proxies | dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    """The address of the scripted model."""
    with scripted_model() as address:
        yield address


@pytest.fixture(scope="module")
def start(
    kandev: Controller, model: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Start]:
    """Starts agents in one task, and checks what they leave when the task is closed."""
    traces = _traces()
    task = kandev.task("real agents")
    start = Start(task, tmp_path_factory)
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith(_OF_A_DEVELOPER)]:
            environment.delenv(name)
        yield start
    idle = [home for home in start.homes if not _processes(home)]
    task.close()
    assert not idle, "an agent ended by itself, or its processes cannot be seen"
    assert eventually(lambda: not any(map(_processes, start.homes))), "processes are left"
    assert _traces() == traces, "an agent wrote into the real home"


@pytest.fixture(scope="module")
def opencode(start: Start, model: str) -> Session:
    fake = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": f"{model}/v1", "apiKey": "dummy"},
        "models": {"model": {"name": "Fake", "tool_call": True}},
    }
    names = {"model": "fake/model", "small_model": "fake/model"}
    env = {
        "OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"fake": fake}, **names}),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }
    return start(OPENCODE, env)


@pytest.fixture(scope="module")
def gemini(start: Start, model: str) -> Session:
    """Gemini CLI in a folder that nobody trusted."""
    return start(GEMINI, _gemini(model))


@pytest.fixture(scope="module")
def trusted_gemini(start: Start, model: str) -> Session:
    return start(GEMINI, _gemini(model) | {"GEMINI_CLI_TRUST_WORKSPACE": "true"})


def _gemini(model: str) -> dict[str, str]:
    # Without a model's name it has another model choose one, which ours is not made for.
    return {
        "GEMINI_API_KEY": "dummy",
        "GEMINI_MODEL": "gemini-2.5-flash",
        "GOOGLE_GEMINI_BASE_URL": model,
    }


@pytest.fixture(scope="module")
def claude(start: Start, model: str) -> Session:
    # Run by root, it refuses to start outside a sandbox.
    return start(
        CLAUDE, {"ANTHROPIC_API_KEY": "dummy", "ANTHROPIC_BASE_URL": model, "IS_SANDBOX": "1"}
    )


def _processes(home: Path) -> list[psutil.Process]:
    """Those that were started with that home, also when they left their process group."""
    return [process for process in psutil.process_iter() if _home_of(process) == str(home)]


def _home_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("HOME")
    except (psutil.Error, OSError):
        return None


def _traces() -> set[Path]:
    return {path for pattern in _TRACES for path in Path.home().glob(pattern)}
