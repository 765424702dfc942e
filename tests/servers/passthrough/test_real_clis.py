"""The CLIs themselves, from npm: each takes what it was given, in a home that stays as it was."""

import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pytest

from kandev_nb import Task
from kandev_nb.agents.terminal import Terminal
from kandev_nb.servers import Decision, HttpServer, SseServer, StdioServer
from kandev_nb.servers.documents.text import parse_json, parse_toml
from tests.agents.conftest import until
from tests.agents.mcp_server import TinyServer, tiny_server
from tests.agents.npm import installed, search_path
from tests.servers.passthrough.conftest import SECRETS, Sessions, decided, tree

pytestmark = [pytest.mark.real_agent, pytest.mark.req("CF-4"), pytest.mark.anyio]

OWN, HEADER, VALUE, ARGUMENT = SECRETS
WITHIN: Final = 90.0
"""Seconds that a CLI may take on a busy machine."""


class Cli(NamedTuple):
    """One CLI: where it comes from, how it tells its servers, and the user's own configuration."""

    package: str
    version: str
    command: tuple[str, ...]
    config: str
    content: str
    read: Callable[[str], Any] = parse_json
    env: Mapping[str, str] = MappingProxyType({})
    refused: str = "__proto__"
    literal: str = "pa$$word ${HOME} {env:HOME}"
    connects: bool = True


NOWHERE = "http://127.0.0.1:9"
CLIS = {
    "claude": Cli(
        "@anthropic-ai/claude-code",
        "2.1.332",
        ("claude", "-p", "hi", "--output-format", "stream-json", "--verbose"),
        ".claude.json",
        '{"mcpServers": {"theirs": {"type": "http", "url": "http://127.0.0.1:9/mcp"}}}',
        env={"ANTHROPIC_API_KEY": "dummy", "ANTHROPIC_BASE_URL": NOWHERE},
        refused="workspace",
        literal="pa$$word $HOME {env:HOME}",
    ),
    "codex": Cli(
        "@openai/codex",
        "0.171.0",
        ("codex", "mcp", "list"),
        ".codex/config.toml",
        '[mcp_servers.theirs]\nurl = "http://127.0.0.1:9/mcp"\n',
        read=parse_toml,
        refused="not bare",
        connects=False,
    ),
    "gemini": Cli(
        "@google/gemini-cli",
        "0.61.0",
        ("gemini", "mcp", "list"),
        ".gemini/settings.json",
        '{"mcpServers": {"theirs": {"httpUrl": "http://127.0.0.1:9/mcp"}}}',
        env={"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"},
        literal="pa$$ {env:HOME}",
    ),
    "opencode": Cli(
        "opencode-ai",
        "1.18.33",
        ("opencode", "mcp", "list"),
        ".config/opencode/opencode.json",
        '{"$schema": "https://opencode.ai/config.json", '
        '"mcp": {"theirs": {"type": "remote", "url": "http://127.0.0.1:9/mcp"}}}',
        env={"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
    ),
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def server() -> AsyncIterator[TinyServer]:
    async with tiny_server() as tiny:
        yield tiny


@pytest.fixture(params=CLIS)
def cli(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def home(tmp_path: Path, cli: str) -> Path:
    """A home with the user's own configuration of the CLI."""
    config = tmp_path / "home" / CLIS[cli].config
    config.parent.mkdir(parents=True)
    config.write_text(CLIS[cli].content)
    return tmp_path / "home"


def environment(
    cli: str, home: Path, more: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    places = {f"XDG_{name}_HOME": f"{home}/.{name.lower()}" for name in ("CACHE", "DATA", "STATE")}
    bin_folder = installed(CLIS[cli].package, CLIS[cli].version)
    own = {"HOME": str(home), "XDG_CONFIG_HOME": f"{home}/.config", "PATH": search_path(bin_folder)}
    return {**places, **own, **CLIS[cli].env, **more}


# Tells what it was started with, then is a server.
TELLS = f"""
import json, os, pathlib, runpy, sys
pathlib.Path(sys.argv[1]).write_text(json.dumps([sys.argv[2:], os.environ["KEY"]]))
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
runpy.run_module("tests.agents.mcp_server", run_name="__main__")
"""


def given(cli: str, server: TinyServer, told: Path) -> tuple[Decision, ...]:
    headers = {"Authorization": f"Bearer {OWN}", "X-Literal": CLIS[cli].literal}
    stdio = StdioServer(
        name="local",
        command=sys.executable,
        args=("-c", TELLS, str(told), ARGUMENT, "${HOME}"),
        env={"KEY": VALUE},
    )
    return (
        decided(HttpServer(name="kandev", url=server.url, headers=headers)),
        decided(stdio),
        decided(SseServer(name="events", url=server.sse_url)),
        decided(HttpServer(name=CLIS[cli].refused, url=server.url)),
    )


async def shows(terminal: Terminal, *words: str) -> None:
    def text() -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.recent_output.text)

    try:
        await until(lambda: all(word in text() for word in words), WITHIN)
    except TimeoutError:
        pytest.fail(f"the CLI shows not all of {words}:\n{text()}")


def held_secrets(folder: Path) -> list[str]:
    """Return the files in which something of ours was left."""
    return [
        name
        for name, (_, _, content) in tree(folder).items()
        if any(secret.encode() in content for secret in SECRETS)
    ]


async def test_it_takes_its_servers_and_the_home_stays_as_it_was(
    cli: str, sessions: Sessions, server: TinyServer, home: Path, project: Path, tmp_path: Path
) -> None:
    spec, told = CLIS[cli], tmp_path / "told"
    made = sessions.start(cli, *given(cli, server, told))
    delivered = [decision.row for decision in made.decisions if decision.delivers]
    before = tree(project)

    terminal = await Terminal.start(
        (*spec.command, *made.args), env=environment(cli, home, made.env), cwd=project, cols=400
    )
    try:
        await shows(terminal, "theirs", *delivered)
        if spec.connects:
            await until(lambda: bool(server.requests()) and told.exists(), WITHIN)
    finally:
        await terminal.close()

    if spec.connects:
        assert parse_json(told.read_text()) == [[ARGUMENT, "${HOME}"], VALUE]
        assert any(as_given(cli, headers) for headers in server.headers)
    assert spec.refused not in terminal.recent_output.text
    assert tree(project) == before
    made.close()
    config = (home / spec.config).read_text()
    key = next(key for key in spec.read(spec.content) if key.startswith("mcp"))
    assert spec.read(config)[key] == spec.read(spec.content)[key]
    assert (held_secrets(home), tree(project)) == ([], {})


def as_given(cli: str, headers: Mapping[str, str]) -> bool:
    wanted = {"authorization": f"Bearer {OWN}", "x-literal": CLIS[cli].literal}
    return wanted.items() <= headers.items()


@pytest.mark.req("AC.4", "EV-8")
@pytest.mark.parametrize("cli", [name for name in CLIS if CLIS[name].connects], indirect=True)
async def test_a_session_of_it_sees_it_connect(
    cli: str, task: Task, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    session = await task.aio.start(
        passthrough=CLIS[cli].command, strategy=cli, env=environment(cli, home), cwd=project
    )

    row = await session.aio.wait_for("kandev", "connected", timeout=WITHIN)
    await session.aio.close()

    assert row.client_name
    assert session.acp_session_id == ""
    assert tree(project) == {}


@pytest.mark.parametrize("cli", ["codex"], indirect=True)
async def test_codex_itself_connects_with_what_its_environment_holds(
    cli: str, sessions: Sessions, server: TinyServer, home: Path, project: Path, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    made = sessions.start(cli, *given(cli, server, told))
    provider = f'{{name="none", base_url="{NOWHERE}/v1", env_key="HOME"}}'
    options = ("-c", 'model_provider="none"', "-c", f"model_providers.none={provider}")

    terminal = await Terminal.start(
        ("codex", *options, *made.args), env=environment(cli, home, made.env), cwd=project
    )
    try:
        await until(lambda: bool(terminal.recent_output.text), WITHIN)
        # It may ask whether the folder is trusted.
        await terminal.write(b"\r")
        await until(lambda: "tools/list" in server.asked and told.exists(), WITHIN)
    finally:
        await terminal.close()

    assert parse_json(told.read_text()) == [[ARGUMENT, "${HOME}"], VALUE]
    assert any(as_given(cli, headers) for headers in server.headers)
    made.close()
    assert held_secrets(home) == []
