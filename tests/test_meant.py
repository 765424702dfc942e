"""What was meant, in a session: every decision is evidence, and every row says why."""

import sys
from pathlib import Path
from typing import Any, Final

import pytest

from kandev_nb import Task
from kandev_nb.agents import registry
from kandev_nb.agents.registry import AgentSpec

WEB: Final = {"url": "http://127.0.0.1:9/mcp"}
LEFT_OUT: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "reserved_name": ({"kandev": WEB}, "filtered"),
    "disabled": ({"a": {**WEB, "disabled": True}}, "filtered"),
    "policy_denied": ({"denied": WEB}, "filtered"),
    "transport_denied": ({"a": {"type": "streamable_http", **WEB}}, "filtered"),
    "http_unsupported": ({"a": WEB}, "filtered"),
    "sse_unsupported": ({"a": {"type": "sse", **WEB}}, "filtered"),
    "acp_unsupported": ({"a": {"type": "acp"}}, "filtered"),
    "profile_disabled": ({"enabled": False, "servers": {"a": WEB}}, "filtered"),
    "missing_type": ({"a": {"timeout": 3, "type": ""}}, "unavailable"),
    "unknown_transport": ({"a": {"type": "carrier-pigeon"}}, "unavailable"),
    "missing_command": ({"a": {"type": "stdio"}}, "unavailable"),
    "missing_url": ({"a": {"type": "http"}}, "unavailable"),
    "invalid_entry": ({"a": {"command": 5}}, "unavailable"),
    "shared_stdio": ({"a": {"command": "/bin/sh", "mode": "shared"}}, "unavailable"),
    "placeholder_unresolved": ({"a": {"url": "http://127.0.0.1/${NO_SUCH}"}}, "unavailable"),
    "relative_command": ({"a": {"command": "./server"}}, "unavailable"),
}
POLICY: Final = {"denylist_servers": ["denied"], "allow_streamable_http": False}


@pytest.mark.req("CF-1", "CF-2", "EV-14", "AC.3")
@pytest.mark.parametrize("reason", LEFT_OUT)
def test_what_does_not_reach_the_agent_is_evidence_and_a_gray_row_with_its_reason(
    task: Task, reason: str
) -> None:
    servers, outcome = LEFT_OUT[reason]
    args = ["--scenario", "ignores"]
    if reason.endswith("_unsupported"):
        args += ["--mcp-capabilities", "none"]

    session = task.start("scripted", args=args, servers=servers, policy=POLICY)

    attempt = session.report.current
    assert attempt
    (evidence,) = [event for event in attempt.evidence if event.kind == outcome]
    row = session.view.row(evidence.server_name)
    assert evidence.reason_code == reason
    assert row
    assert (row.status, row.dot) == (outcome, "gray")
    assert row.summary
    assert row.advice
    assert "[redacted]" not in row.summary.text, "our own words hold no secret"
    assert row.summary.text in str(session.view)
    assert row.advice.text in session.explain(evidence.server_name)
    shown = row.model_dump(mode="json", exclude={"checklist", "hints", "tested", "steps"})
    assert shown in session._core.rows()["rows"]


@pytest.mark.req("CF-1", "EV-14")
def test_the_same_name_twice_in_a_document_is_two_rows(task: Task) -> None:
    text = '{"mcpServers": {"a": {"command": "/bin/sh"}, "a": {"command": "/bin/true"}}}'

    session = task.start("scripted", args=["--scenario", "ignores"], servers=text)

    assert {row.name: row.status for row in session.view.rows} == {
        "kandev": "delivered",
        "a": "delivered",
        "a (2)": "unavailable",
    }


@pytest.mark.req("CF-1")
def test_a_hint_stands_beside_a_delivered_row_and_in_its_explanation(task: Task) -> None:
    servers = {"a": {"command": "no-such-program", "timeout": 3, "cwd": "x"}}

    session = task.start("scripted", args=["--scenario", "ignores"], servers=servers)

    row = session.view.row("a")
    assert row
    assert row.label.text == "Delivered · connection unverified"
    assert [detail.text for detail in row.details] == [
        "command not found here",
        "some keys are not passed on",
        "some keys are not used",
    ]
    explained = session.explain("a")
    assert "Note: The command was not found." in explained
    assert "Note: Not passed on: cwd (the folder it starts in)." in explained
    assert "Note: Not used: timeout." in explained


@pytest.mark.req("EV-9", "CF-1")
def test_no_hint_is_lost_where_the_evidence_is_bounded(task: Task) -> None:
    servers = {f"s{n}": {"command": "no-such-program"} for n in range(80)}
    args = ["--mcp-capabilities", "none", "--scenario", "ignores"]

    session = task.start("scripted", args=args, servers=servers)

    rows = [row for row in session.view.rows if row.details]
    assert len(rows) == 81
    assert rows[0].details[0].text == "over the stdio bridge"
    assert {row.details[0].text for row in rows[1:]} == {"command not found here"}


@pytest.mark.req("CF-2")
def test_a_transport_that_only_the_registry_vouches_for_is_delivered_and_marked(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = (sys.executable, "-P", "-m", "kandev_nb.agents.scripted")
    quiet = AgentSpec(
        id="quiet",
        title="Takes what it does not advertise",
        command=(*command, "--mcp-capabilities", "none"),
        takes=frozenset({"http"}),
        name_characters="a-z_",
    )
    monkeypatch.setattr(registry, "_added", lambda: iter([quiet]))

    session = task.start("quiet", servers={"my web": WEB, "events": {"type": "sse", **WEB}})
    session.wait_for("kandev", "active")

    rows = {row.name: row for row in session.view.rows}
    assert [detail.text for detail in rows["my_web"].details] == [
        "transport assumed",
        "configured as my web",
    ]
    assert rows["my_web"].status == "delivered"
    assert rows["events"].status == "filtered"
    assert "transport assumed" in [detail.text for detail in rows["kandev"].details]


@pytest.mark.req("CF-3")
def test_an_agent_that_takes_only_stdio_gets_the_built_in_server_over_the_bridge(
    task: Task,
) -> None:
    session = task.start("scripted", args=["--mcp-capabilities", "none"])

    row = session.wait_for("kandev", "active")
    result = session.prompt('call kandev create_task_plan_kandev {"content": "1. Look."}')

    assert result.stop_reason == "end_turn"
    assert session.status("kandev") == "active"
    assert row.transport == "stdio"
    assert row.tool_count == 7
    attempt = session.report.current
    assert attempt
    used = attempt.server("kandev")
    assert used
    assert used.used_at
    assert "over the stdio bridge" in str(session.view)


@pytest.mark.req("CF-1")
def test_a_file_is_a_profile(task: Task, tmp_path: Path) -> None:
    path = tmp_path / ".vscode" / "mcp.json"
    path.parent.mkdir()
    path.write_text(
        '{"servers": {"web": {"type": "http", "url": "http://127.0.0.1:9/"}}, } // mine'
    )

    session = task.start("scripted", args=["--scenario", "ignores"], servers=str(path))

    assert session.status("web") == "delivered"
