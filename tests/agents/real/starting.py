"""Starting other people's agents by their names, as a user does who has installed them.

An agent's ID comes in; a session of it leaves, in a task that all share. What is started is what
the registry names, in the version that it was measured with. Each agent has a home and a folder of
its own and no network: its proxies lead nowhere. When the task is closed, no process of theirs may
be left, and in the real home they may have left no trace.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import psutil
import pytest

from kandev_nb import Controller, Session, Task
from kandev_nb.agents.registry import find_agent
from tests.agents import npm, pypi
from tests.agents.npm import search_path
from tests.processes import eventually

NOWHERE: Final = "http://127.0.0.1:9"
"""Nobody listens there."""

_OF_A_DEVELOPER: Final = (
    "ANTHROPIC_",
    "AUGMENT_",
    "CLAUDE",
    "CODEX_",
    "COPILOT_",
    "GEMINI_",
    "GH_",
    "GITHUB_",
    "GOOGLE_",
    "OPENAI_",
    "OPENCODE_",
)
"""Keys and settings in the environment that must not reach an agent here."""

_TRACES: Final = (
    ".augment/*",
    ".claude.json",
    ".claude/projects/*",
    ".cline/*",
    ".codex/*",
    ".copilot/*",
    ".gemini/*",
    ".gemini/tmp/*",
    ".qwen/*",
    ".config/opencode/*",
    ".config/kilo/*",
    ".local/*/opencode/*",
    ".local/*/kilo/*",
    ".cache/opencode/*",
    ".cache/kilo/*",
    ".cache/claude-cli-nodejs/*",
)
"""Where the agents keep what they remember, in a home."""


class Start:
    """Starts agents in the task, each in a home of its own."""

    def __init__(self, task: Task, homes: pytest.TempPathFactory) -> None:
        self.homes: list[Path] = []
        self.task = task
        self._factory = homes

    def __call__(
        self,
        agent: str,
        env: dict[str, str],
        *,
        files: Mapping[str, str] = MappingProxyType({}),
        beside: Sequence[Path] = (),
        **options: Any,
    ) -> Session:
        """Install the agent unless that was done, and start it.

        ``files`` are what it finds in its home, by path; ``beside`` are folders of more commands.
        """
        commands = (commands_of(agent), *beside)
        home = self._factory.mktemp(agent)
        work = home / "work"
        work.mkdir()
        for name, content in files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(content)
        given = {"PATH": search_path(*commands), **_home(home), **_no_network(), **env}
        self.homes.append(home)
        return self.task.start(agent, env=given, cwd=work, **options)


def home_of(session: Session) -> Path:
    """Return the home that the session's agent was given."""
    return session._core.launch.cwd.parent


def commands_of(agent: str) -> Path:
    """Return the folder with an agent's command, which is installed unless that was done."""
    spec = find_agent(agent)
    # Of one that is not on npm, what is to be installed ends the command that installs it.
    return (
        npm.installed(*version_of(agent)) if spec.npm else pypi.installed(spec.install.split()[-1])
    )


def version_of(agent: str) -> tuple[str, str]:
    """Return an agent's package and version on npm, as the registry has them."""
    package, _, version = find_agent(agent).npm.rpartition("@")
    return package, version


@contextmanager
def starting(kandev: Controller, title: str, homes: pytest.TempPathFactory) -> Iterator[Start]:
    """Start agents in one task, and check what they leave when the task is closed."""
    traces = _traces()
    task = kandev.task(title)
    start = Start(task, homes)
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith(_OF_A_DEVELOPER)]:
            environment.delenv(name)
        yield start
    running = [session for session in task.sessions if session.state == "running"]
    unseen = [session.name for session in running if not processes(home_of(session))]
    task.close()
    assert not unseen, "the processes of these sessions cannot be seen"
    assert eventually(lambda: not any(map(processes, start.homes))), "processes are left"
    assert _traces() == traces, "an agent wrote into the real home"


def processes(home: Path) -> list[psutil.Process]:
    """Those that were started with that home, also when they left their process group."""
    return [process for process in psutil.process_iter() if _home_variable(process) == str(home)]


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
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE)
    return proxies | dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")


def _home_variable(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("HOME")
    except (psutil.Error, OSError):
        return None


def _traces() -> set[Path]:
    return {path for pattern in _TRACES for path in Path.home().glob(pattern)}
