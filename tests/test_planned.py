"""What will reach which agent, seen before anything starts."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

import kandev_nb
from kandev_nb import ConfigError, frames, plan
from kandev_nb.agents import registry
from kandev_nb.agents.registry import AgentSpec
from kandev_nb.cli import main

DOCUMENT: Final[dict[str, Any]] = {
    "mcpServers": {
        "files": {"command": "/bin/sh", "args": ["--token", "planted-1234"]},
        "github": {"url": "https://user:planted-1234@mcp.test:8443/x?key=planted-1234"},
        "off": {"command": "/bin/sh", "disabled": True},
        "typo": {"ulr": "https://mcp.test"},
        "kandev": {"command": "/bin/sh"},
        "gone": {"command": "no-such-program"},
    }
}
TABLE: Final = """\
MCP servers · planned for Scripted reference agent · read as mcpServers JSON
◐ kandev            http   http://127.0.0.1       deliver      assumed
◐ files             stdio  sh                     deliver
◐ github            http   https://mcp.test:8443  deliver      assumed
○ off               stdio  sh                     filtered     The profile switches this server off.
    Enable it in its document.
○ typo                                            unavailable  Nothing says how to reach the server.
    Add a command, or a url and its type.
    Not used: ulr (meant as url?). Check their spelling.
○ kandev (profile)  stdio  sh                     filtered     The name kandev belongs to the \
built-in server.
    Rename the server in the profile.
◐ gone              stdio  no-such-program        deliver
    The command was not found. Install it, or give its full path; the agent's own PATH may differ.
assumed: The registry says what the agent takes; the agent itself has not. Its handshake, or a \
connection, would settle it."""


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "servers.json"
    path.write_text(json.dumps(DOCUMENT))
    return path


@pytest.mark.req("CF-1", "CF-2", "AC.3")
def test_the_table_has_every_server_with_its_decision_and_what_to_do() -> None:
    assert str(plan(DOCUMENT, agent="scripted")) == TABLE


@pytest.mark.req("FR/plan")
def test_the_frame_has_one_schema_also_for_no_servers() -> None:
    made = plan(DOCUMENT, agent="scripted").frame

    assert dict(made.dtypes.astype(str)) == dict(frames.PLAN)
    assert list(made["server"])[:2] == ["kandev", "files"]
    assert list(plan(None).frame["decision"]) == ["deliver"]


@pytest.mark.req("CF-2")
def test_without_an_agent_network_transports_are_unconfirmed() -> None:
    rows = plan(DOCUMENT).to_json()

    assert "is not known before it starts" in rows[2]["hint"]
    assert rows[1]["hint"] == ""


@pytest.mark.req("CF-3")
def test_an_agent_that_takes_no_network_transport_gets_the_built_in_server_bridged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stdio = AgentSpec(id="stdio", title="S", command=("s",), advertises=frozenset())
    monkeypatch.setattr(registry, "_added", lambda: iter([stdio]))

    made = plan(DOCUMENT, agent="stdio")

    assert [row["decision"] for row in made.rows[:3]] == ["deliver", "deliver", "filtered"]
    assert made.rows[0]["transport"] == "stdio"
    assert "◐ kandev            stdio" in str(made)
    assert str(made).splitlines()[1].endswith("deliver      bridged")


@pytest.mark.req("CF-1")
def test_a_policy_is_part_of_the_plan() -> None:
    made = plan(DOCUMENT, "deny_all", "scripted")

    assert {row["decision"] for row in made.rows[1:]} == {"filtered", "unavailable"}
    assert made.rows[0]["decision"] == "deliver", "the built-in server is not the profile's"


@pytest.mark.req("CF-1")
def test_a_name_on_both_lists_of_a_policy_is_said() -> None:
    policy = {"allowlist_servers": ["files"], "denylist_servers": ["files"]}

    made = plan(DOCUMENT, policy)

    assert made.notes == ("The policy allows and denies 'files': it is allowed.",)
    assert made.notes[0] in str(made)


@pytest.mark.req("CF-5")
def test_placeholders_are_filled_in_from_the_environment_that_is_given() -> None:
    servers = {"a": {"url": "https://${HOST_1}/mcp"}, "b": {"url": "https://${HOST_2}/mcp"}}

    rows = plan(servers, env={"HOST_1": "h.test"}).to_json()

    assert rows[1]["target"] == "https://h.test"
    assert rows[2]["reason_code"] == "placeholder_unresolved"


@pytest.mark.req("CF-1")
def test_an_agent_that_is_not_registered_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"No agent 'nobody' is registered. Known: .*scripted"):
        plan(DOCUMENT, agent="nobody")


@pytest.mark.req("CF-1")
@pytest.mark.req("CF-4")
def test_a_plan_for_a_cli_says_how_it_is_given_its_servers_and_which_it_cannot_be_given() -> None:
    servers = {"not bare": {"command": "true"}, "fine": {"url": "http://127.0.0.1:9/mcp"}}

    planned = plan(servers, strategy="codex")

    assert planned.heading.startswith("MCP servers · planned for Codex CLI in a terminal · by -c ")
    decisions = {row["server"]: (row["decision"], row["reason_code"]) for row in planned.rows}
    assert decisions == {
        "kandev": ("deliver", ""),
        "fine": ("deliver", ""),
        "not bare": ("filtered", "name_not_accepted"),
    }


@pytest.mark.req("CF-4")
def test_the_command_plans_for_a_cli(document: Path) -> None:
    result = CliRunner().invoke(main, ["plan", str(document), "--strategy", "claude"])
    unknown = CliRunner().invoke(main, ["plan", str(document), "--strategy", "emacs"])
    both = CliRunner().invoke(
        main, ["plan", str(document), "--strategy", "claude", "--agent", "claude"]
    )

    assert result.exit_code == 0
    assert (
        "Claude Code in a terminal · by a file of its own, named by --mcp-config" in result.output
    )
    assert "There is no passthrough strategy 'emacs'. Known: claude, codex" in unknown.output
    assert "Give one of them" in both.output
    assert (unknown.exit_code, both.exit_code) == (1, 1)


def test_the_command_prints_the_table(document: Path) -> None:
    result = CliRunner().invoke(main, ["plan", str(document), "--agent", "scripted"])

    assert result.exit_code == 0
    assert result.output.rstrip() == TABLE


@pytest.mark.req("CF-1")
def test_the_command_prints_a_list_of_objects(document: Path) -> None:
    result = CliRunner().invoke(main, ["plan", str(document), "--agent", "scripted", "--json"])

    rows = json.loads(result.output)
    assert rows == plan(DOCUMENT, agent="scripted").to_json()
    keys = ["server", "transport", "target", "decision", "reason_code", "hint"]
    assert all(list(row) == keys for row in rows)


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-file.json"], "no-such-file.json"),
        (["{}", "--agent", "nobody"], "No agent 'nobody' is registered"),
        (["{}", "--policy", "denyall"], "deny_all"),
        (["{}", "--format", "netscape"], "netscape"),
        (["{}", "--policy", "scripted"], "is an agent and no policy"),
    ],
)
def test_the_command_says_what_it_cannot_read(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "empty.json").write_text('{"mcpServers": {}}')
    arguments = [str(tmp_path / "empty.json") if a == "{}" else a for a in arguments]

    result = CliRunner().invoke(main, ["plan", *arguments])

    assert result.exit_code == 1
    assert message in result.output


@pytest.mark.req("CF-1")
def test_the_command_reads_a_document_from_its_input_and_says_notes_aside() -> None:
    arguments = ["plan", "-", "--json", "--format", "claude_code"]

    result = CliRunner().invoke(main, arguments, input='{"mcpServer": {}}')

    assert [row["server"] for row in json.loads(result.stdout)] == ["kandev"]
    assert "key 'mcpServer' is not used (meant as mcpServers?)" in result.stderr


@pytest.mark.req("CA-5")
def test_the_command_writes_what_a_console_without_unicode_can_show(document: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kandev_nb.cli", "plan", str(document)],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "kandev (profile)" in done.stdout


@pytest.mark.req("SA-1")
def test_no_form_of_a_plan_holds_a_value() -> None:
    made = plan(DOCUMENT, agent="scripted")

    assert "planted" not in f"{made} {made.to_json()} {made.frame.to_string()} {made.rows}"


@pytest.mark.req("CF-1")
def test_a_plan_starts_and_contacts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket
    import subprocess

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was started or contacted")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)

    assert len(kandev_nb.plan(DOCUMENT).rows) == 7
