"""Each CLI gets its servers in its own shape, and nothing secret on a command line."""

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kandev_nb.attachment.model import EvidenceKind
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError
from kandev_nb.servers import Decision, HttpServer, Note, StdioServer
from kandev_nb.servers.passthrough import materialize, registry, strategies, strategy
from kandev_nb.servers.passthrough.strategy import VARIABLE
from tests.servers.passthrough.conftest import ALL, SECRETS, Sessions, decided, kandev, tree

pytestmark = pytest.mark.req("CF-4")

OWN, HEADER, VALUE, ARGUMENT = SECRETS
STDIO = {
    "command": "/bin/echo",
    "args": ["--key", ARGUMENT],
    "env": {"KEY": VALUE, "MY-VAR": "ü"},
}
LOOPBACK = "http://127.0.0.1:7/mcp"
BEARER = {"Authorization": f"Bearer {OWN}"}


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_claude_gets_a_file_of_its_own_as_the_last_arguments(sessions: Sessions) -> None:
    made = sessions.start("claude")

    (path,) = made.files
    assert made.args == ("--mcp-config", str(path))
    assert made.env == {}
    assert read(path) == {
        "mcpServers": {
            "kandev": {"type": "http", "url": LOOPBACK, "headers": BEARER},
            "local": {"type": "stdio", **STDIO},
            "web": {"type": "http", "url": "https://h.test/v1/mcp", "headers": {"X": HEADER}},
            "events": {"type": "sse", "url": "https://h.test/sse", "headers": {}},
        }
    }


def test_claude_can_be_told_to_load_these_servers_only(sessions: Sessions) -> None:
    made = sessions.start("claude", strict=True)

    assert made.args[0] == "--strict-mcp-config"
    assert made.args[-1] == str(made.files[0])


def test_a_cli_that_cannot_be_strict_says_so_before_anything_is_made(
    sessions: Sessions, root: Path
) -> None:
    with pytest.raises(ConfigError, match="Leave strict= out") as refused:
        sessions.start("codex", strict=True)

    assert refused.value.reason_code == ReasonCode.WRONG_ARGUMENT
    assert not root.exists()


def test_codex_gets_overrides_that_hold_no_value_that_may_be_secret(sessions: Sessions) -> None:
    made = sessions.start("codex")

    (launch,) = made.files
    given = [argument for argument in made.args if argument != "-c"]
    assert made.args[::2] == ("-c",) * len(given)
    launcher = [sys.executable, *json.loads(given[4].partition("=")[2])]
    assert given == [
        f'mcp_servers.kandev.url="{LOOPBACK}"',
        f'mcp_servers.kandev.bearer_token_env_var="{VARIABLE}1"',
        'mcp_servers.kandev.default_tools_approval_mode="approve"',
        f'mcp_servers.local.command="{sys.executable}"',
        f"mcp_servers.local.args={json.dumps(launcher[1:])}",
        'mcp_servers.web.url="https://h.test/v1/mcp"',
        f'mcp_servers.web.env_http_headers={{"X" = "{VARIABLE}2"}}',
        "features.shell_snapshot=false",
    ]
    assert made.env == {f"{VARIABLE}1": OWN, f"{VARIABLE}2": HEADER}
    assert read(launch) == STDIO
    assert launcher[-1] == str(launch)


def test_a_server_that_codex_launches_gets_its_arguments_and_variables(
    sessions: Sessions, project: Path
) -> None:
    tells = "import os, sys; print(sys.argv[1:], os.environ['KEY'], os.environ['MY-VAR'])"
    server = StdioServer(
        name="local",
        command="python3",
        args=("-c", tells, "a b", "$HOME"),
        env={"KEY": VALUE, "MY-VAR": "ü", "PATH": str(Path(sys.executable).parent)},
    )

    made = sessions.start("codex", decided(server))

    command = made.args[1].partition("=")[2], made.args[3].partition("=")[2]
    words = [json.loads(command[0]), *json.loads(command[1])]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=project, env={})
    assert done.stdout == f"['a b', '$HOME'] {VALUE} ü\n"


def test_a_launched_command_that_is_not_there_is_said(sessions: Sessions) -> None:
    server = StdioServer(name="local", command="/nowhere/tool", args=(ARGUMENT,))

    made = sessions.start("codex", decided(server))

    words = [json.loads(made.args[n].partition("=")[2]) for n in (1, 3)]
    done = subprocess.run([words[0], *words[1]], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (127, "tool: No such file or directory\n")


def test_cursor_gets_the_projects_file(sessions: Sessions, project: Path) -> None:
    made = sessions.start("cursor")

    assert (made.args, made.env, made.files) == ((), {}, (project / ".cursor/mcp.json",))
    assert read(made.files[0]) == {
        "mcpServers": {
            "kandev": {"url": LOOPBACK, "headers": BEARER},
            "local": {"type": "stdio", **STDIO},
            "web": {"url": "https://h.test/v1/mcp", "headers": {"X": HEADER}},
            "events": {"url": "https://h.test/sse", "headers": {}},
        }
    }


def test_gemini_gets_the_projects_settings(sessions: Sessions, project: Path) -> None:
    made = sessions.start("gemini")

    assert (made.args, made.env, made.files) == ((), {}, (project / ".gemini/settings.json",))
    assert read(made.files[0]) == {
        "mcpServers": {
            "kandev": {"httpUrl": LOOPBACK, "headers": BEARER},
            "local": STDIO,
            "web": {"httpUrl": "https://h.test/v1/mcp", "headers": {"X": HEADER}},
            "events": {"url": "https://h.test/sse", "type": "sse", "headers": {}},
        }
    }


def test_opencode_gets_a_file_of_its_own_by_its_variable(sessions: Sessions) -> None:
    made = sessions.start("opencode")

    assert made.args == ()
    assert made.env == {"OPENCODE_CONFIG": str(made.files[0])}
    assert read(made.files[0]) == {
        "$schema": "https://opencode.ai/config.json",
        "mcp": {
            "kandev": {"type": "remote", "url": LOOPBACK, "headers": BEARER, "enabled": True},
            "local": {
                "type": "local",
                "command": ["/bin/echo", "--key", ARGUMENT],
                "environment": STDIO["env"],
                "enabled": True,
            },
            "web": {
                "type": "remote",
                "url": "https://h.test/v1/mcp",
                "headers": {"X": HEADER},
                "enabled": True,
            },
            "events": {
                "type": "remote",
                "url": "https://h.test/sse",
                "headers": {},
                "enabled": True,
            },
        },
    }


def test_an_opencode_configuration_of_the_users_own_is_not_pushed_aside(
    sessions: Sessions, root: Path
) -> None:
    with pytest.raises(ConfigError, match="OPENCODE_CONFIG is set already") as refused:
        sessions.start("opencode", environ={"OPENCODE_CONFIG": "/theirs.json"})

    assert refused.value.reason_code == ReasonCode.MATERIALIZATION_FAILED
    assert not root.exists()


def test_pi_gets_the_projects_file(sessions: Sessions, project: Path) -> None:
    made = sessions.start("pi")

    assert (made.args, made.env, made.files) == ((), {}, (project / ".pi/mcp.json",))
    web = {"transport": "streamable-http", "url": "https://h.test/v1/mcp", "headers": {"X": HEADER}}
    assert read(made.files[0]) == {
        "mcpServers": {
            "kandev": {"transport": "streamable-http", "url": LOOPBACK, "headers": BEARER},
            "local": STDIO,
            "web": web,
            "events": {"transport": "sse", "url": "https://h.test/sse", "headers": {}},
        }
    }


EVERY = [each.id for each in strategies()]


@pytest.mark.req("SA-1", "SA-5")
@pytest.mark.parametrize("cli", EVERY)
def test_nothing_secret_is_in_argv_or_a_repr_and_files_are_the_owners(
    sessions: Sessions, cli: str
) -> None:
    made = sessions.start(cli)

    shown = " ".join((*made.args, repr(made), *made.notes, *map(repr, made.decisions)))
    assert not [secret for secret in SECRETS if secret in shown]
    assert made.files
    for path in made.files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((sessions.root / "session-1").stat().st_mode) == 0o700


@pytest.mark.parametrize("cli", EVERY)
def test_nothing_is_left_when_it_is_closed(sessions: Sessions, project: Path, cli: str) -> None:
    made = sessions.start(cli)

    assert made.close() == ()
    assert made.close() == ()
    assert tree(project) == {}
    assert sorted(path.name for path in sessions.root.iterdir()) == ["journal", "lock"]
    assert not list((sessions.root / "journal").iterdir())


@pytest.mark.parametrize("cli", EVERY)
def test_with_nothing_to_deliver_nothing_is_written(
    sessions: Sessions, project: Path, cli: str
) -> None:
    left_out = Decision(
        "x", "x", "http", "", EvidenceKind.FILTERED, Note(ReasonCode.DISABLED), server=None
    )

    made = sessions.start(cli, left_out)

    assert (made.args, made.env, made.files) == ((), {}, ())
    assert made.decisions == (left_out,)
    assert tree(project) == {}


def refused(sessions: Sessions, cli: str, decision: Decision) -> str:
    made = sessions.start(cli, decision, kandev())
    first, second = made.decisions
    assert second.delivers
    assert first.server is None
    assert first.delivers == (first.reason is None)
    return f"{first.outcome} {first.reason_code}"


@pytest.mark.parametrize(
    ("cli", "name", "outcome"),
    [
        ("claude", "workspace", "filtered reserved_by_cli"),
        ("claude", "claude.ai", "filtered reserved_by_cli"),
        ("claude", "__proto__", "filtered name_not_accepted"),
        ("codex", "a b", "filtered name_not_accepted"),
        ("codex", 'x."y"', "filtered name_not_accepted"),
        ("codex", "ü", "filtered name_not_accepted"),
        ("codex", "codex_apps", "filtered reserved_by_cli"),
        ("gemini", "__proto__", "filtered name_not_accepted"),
        ("opencode", "__proto__", "filtered name_not_accepted"),
    ],
)
def test_a_name_that_the_cli_would_not_load_is_filtered(
    sessions: Sessions, cli: str, name: str, outcome: str
) -> None:
    server = HttpServer(name=name, url="https://h.test/mcp")

    assert refused(sessions, cli, decided(server)) == outcome


def test_codex_takes_no_server_over_sse(sessions: Sessions) -> None:
    assert refused(sessions, "codex", ALL[3]) == "filtered sse_unsupported"


@pytest.mark.req("SA-1")
@pytest.mark.parametrize(
    "url",
    [
        "https://user:word@h.test/mcp",
        "https://h.test/mcp?key=word",
        "https://h.test/mcp#word",
        "https://h.test/a/4f2d/mcp",
        "https://h.test/mcp/abcdefghijklmnopqrst",
    ],
)
def test_codex_is_not_given_a_url_that_may_hold_a_key(sessions: Sessions, url: str) -> None:
    server = HttpServer(name="web", url=url)

    assert refused(sessions, "codex", decided(server)) == "unavailable materialization_failed"
    assert not any("h.test" in argument for argument in sessions.made[0].args)


@pytest.mark.parametrize(
    ("cli", "value", "reference"),
    [
        ("cursor", "${env:HOME}", "${env:%s}"),
        ("opencode", "{env:HOME}", "{env:%s}"),
        ("opencode", "{file:/etc/passwd}", "{env:%s}"),
    ],
)
def test_a_value_that_the_cli_would_expand_arrives_as_it_is(
    sessions: Sessions, cli: str, value: str, reference: str
) -> None:
    server = HttpServer(name="web", url="https://h.test/mcp", headers={"X": value})

    made = sessions.start(cli, decided(server))

    text = made.files[0].read_text()
    assert made.env[f"{VARIABLE}1"] == value
    assert json.dumps({"X": reference % f"{VARIABLE}1"}, indent=2)[4:-2] in text
    assert value not in text


@pytest.mark.parametrize("cli", ["claude", "gemini"])
def test_an_argument_that_the_cli_would_expand_arrives_as_it_is(
    sessions: Sessions, cli: str
) -> None:
    server = StdioServer(name="x", command="/bin/sh", args=("-c", "${HOME}"), env={"A": "${B}"})

    made = sessions.start(cli, decided(server))

    entry = read(made.files[0])["mcpServers"]["x"]
    assert entry["args"] == ["-c", f"${{{VARIABLE}1}}"]
    assert entry["env"] == {"A": f"${{{VARIABLE}2}}"}
    assert made.env == {f"{VARIABLE}1": "${HOME}", f"{VARIABLE}2": "${B}"}


@pytest.mark.parametrize("cli", ["claude", "gemini"])
@pytest.mark.parametrize("field", [{"headers": {"X": "pa${HOME}"}}, {"url": "https://h.t/${HOME}"}])
def test_a_header_that_the_cli_would_expand_again_and_again_is_said(
    sessions: Sessions, cli: str, field: dict[str, Any]
) -> None:
    server = HttpServer(name="web", **{"url": "https://h.test/mcp"} | field)

    assert refused(sessions, cli, decided(server)) == "unavailable materialization_failed"
    (reason, _) = (decision.reason for decision in sessions.made[0].decisions)
    assert "HOME" not in str(reason)


def test_a_strategy_is_found_by_its_id_and_an_unknown_one_names_the_known() -> None:
    assert strategy("codex").title == "Codex CLI"
    assert all(each.mechanism and "\n" not in each.mechanism for each in strategies())

    with pytest.raises(ConfigError, match="claude, codex, cursor, gemini, opencode, pi") as unknown:
        strategy("vim")

    assert unknown.value.reason_code == ReasonCode.PASSTHROUGH_STRATEGY_MISSING


ADDED = """
from kandev_nb.servers.passthrough import Strategy

def write(decisions, room):
    room.args.append(str(room.own_file("names", " ".join(d.row for d in decisions))))

STRATEGY = Strategy("theirs", "Theirs", "a list of names", write)
CLAUDE = Strategy("claude", "Not Claude", "nothing", write)
NONE = "no strategy"
"""


def test_other_packages_add_strategies_and_replace_none(
    sessions: Sessions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    info = tmp_path / "added" / "added-1.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: added\nVersion: 1\n")
    lines = ["a = added:STRATEGY", "b = added:CLAUDE", "c = added:NONE", "d = missing:X"]
    info.joinpath("entry_points.txt").write_text("\n".join([f"[{registry.ENTRY_POINTS}]", *lines]))
    info.parent.joinpath("added.py").write_text(ADDED)
    monkeypatch.syspath_prepend(str(info.parent))

    made = sessions.start("theirs")

    assert strategy("claude").title == "Claude Code"
    assert Path(made.args[0]).read_text() == "kandev local web events"
    assert "'c' is no Strategy" in caplog.text
    assert "'d' cannot be loaded (ModuleNotFoundError)" in caplog.text


def test_by_default_a_session_lives_below_the_users_own_data(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))

    with materialize(strategy("claude"), ALL, cwd=project) as made:
        (path,) = made.files

    assert path.is_relative_to(tmp_path / "data" / "kandev-nb" / "passthrough")
    assert not path.parent.exists()
