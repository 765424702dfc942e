"""The acceptance criteria, each with real agent processes and real HTTP."""

import json
import logging
from typing import Any

import pytest

from kandev_nb import AgentError, AttachmentFailed, Controller, Task
from kandev_nb.attachment import display

TOOLS = 7
GITHUB = {
    "github": {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer s3cr3t-v4lue"}}
}


@pytest.mark.req("AC.1", "SE-1", "EV-8")
def test_of_two_sessions_of_one_task_only_the_one_that_listed_tools_is_active(task: Task) -> None:
    lists = task.start("scripted", args=["--scenario", "lists-only"])
    ignores = task.start("scripted", args=["--scenario", "ignores"])

    lists.wait_for("kandev", "active")
    ignores.prompt("say hello")

    assert lists.status("kandev") == "active"
    assert ignores.status("kandev") == "delivered"
    ownership = [session.report.current for session in (lists, ignores)]
    assert ownership[0]
    assert ownership[1]
    assert ownership[0].task_id == ownership[1].task_id == task.task_id
    assert ownership[0].session_id != ownership[1].session_id


@pytest.mark.req("AC.3", "EV-2")
def test_an_accepted_third_party_server_stays_delivered_and_unverified(task: Task) -> None:
    session = task.start("scripted", args=["--scenario", "ignores"], servers=GITHUB)

    row = session.view.row("github")

    assert session.status("github") == "delivered"
    assert row
    assert row.label.text == "Delivered · connection unverified"


@pytest.mark.req("AC.4")
def test_a_client_that_lists_tools_is_green_with_its_count_and_ownership(task: Task) -> None:
    session = task.start("scripted")

    row = session.wait_for("kandev", "active")

    shown = session.view.row("kandev")
    attempt = session.report.current
    assert row.tool_count == TOOLS
    assert shown
    assert shown.dot == "green"
    assert shown.details[0].text == "7 tools"
    assert session.view.heading.text.endswith("scripted · execution 1 · attempt 1")
    assert attempt
    assert attempt.execution_id.startswith("execution-")
    assert attempt.attachment_attempt_id.startswith("attempt-")
    assert attempt.acp_session_id
    assert attempt.kind == "new"


@pytest.mark.req("AC.5", "EV-3", "EV-12")
def test_a_refusal_that_the_agent_reports_reddens_that_server_only(task: Task) -> None:
    session = task.start("scripted", args=["--scenario", "reports-failed"], servers=GITHUB)
    assert session.status("github") == "delivered", "nothing was reported yet"

    session.prompt("say hello")

    assert session.status("github") == "failed"
    assert session.status("kandev") == "active"
    shown = session.view.row("github")
    assert shown
    assert shown.dot == "red"
    assert shown.summary
    with pytest.raises(AttachmentFailed, match="'github' is failed"):
        session.wait_for("github", "active")


@pytest.mark.req("AC.5", "EV-3")
def test_a_refused_session_that_names_a_server_reddens_that_server_only(task: Task) -> None:
    with pytest.raises(AgentError) as refused:
        task.start("scripted", args=["--scenario", "fails-session-new"], servers=GITHUB)

    (session,) = task.sessions
    assert session.state == "failed"
    assert session.status("github") == "failed"
    assert session.status("kandev") == "active", "it had connected before the refusal"
    assert session.view.banner is None
    assert "✕ github" in "".join(refused.value.__notes__)


@pytest.mark.req("EV-3", "UI/Labels and dots")
def test_an_unscoped_refusal_is_the_sessions_error_and_marks_no_server(task: Task) -> None:
    with pytest.raises(AgentError) as refused:
        task.start("scripted", args=["--scenario", "auth-required"], servers=GITHUB)

    (session,) = task.sessions
    assert refused.value.reason_code == "auth_required"
    assert session.report.current
    assert session.report.current.session_error_code == "auth_required"
    assert session.status("github") == session.status("kandev") == "delivered"
    assert "Session error" in repr(session)


@pytest.mark.req("AC.9", "EV-6")
def test_a_stateless_agent_is_active_without_a_connection(task: Task) -> None:
    session = task.start("scripted", args=["--scenario", "stateless"])

    row = session.wait_for("kandev", "active")
    session.prompt("call kandev get_task_plan_kandev {}")

    assert row.connection_id == ""
    assert "connection_closed" not in session.timeline()["kind"].tolist()
    assert set(session.timeline()["connection_id"]) == {""}


@pytest.mark.req("EV-2")
def test_initialize_alone_is_connected_and_no_more(task: Task) -> None:
    session = task.start("scripted", args=["--scenario", "initializes-only"])

    session.wait_for("kandev", "connected")
    session.prompt("say hello")

    assert session.status("kandev") == "connected"


@pytest.mark.req("EV-5")
@pytest.mark.parametrize(
    ("scenario", "label"), [("closes", "Disconnected"), ("reconnects", "Active")]
)
def test_a_client_that_closes_is_disconnected_until_it_connects_anew(
    task: Task, scenario: str, label: str
) -> None:
    session = task.start("scripted", args=["--scenario", scenario])

    session.prompt("say hello")

    row = session.view.row("kandev")
    assert row
    assert row.label.text == label
    assert "connection_closed" in session.timeline()["kind"].tolist()


@pytest.mark.req("EV-5")
def test_our_own_closing_is_no_evidence_and_rows_keep_their_status(task: Task) -> None:
    session = task.start("scripted")
    session.wait_for("kandev", "active")

    session.close()

    attempt = session.report.current
    assert attempt
    assert attempt.end_reason == "closed"
    assert session.status("kandev") == "active"
    assert "connection_closed" not in {event.kind for event in attempt.evidence}
    assert "ended" in repr(session)
    assert "nothing more will come of it." in session.explain("kandev")


@pytest.mark.req("SE-4", "UI/States every view must have")
def test_an_agent_that_dies_is_said_and_changes_no_row(task: Task) -> None:
    session = task.start("scripted")
    session.wait_for("kandev", "active")

    with pytest.raises(AgentError, match="exit code 7"):
        session.prompt("exit 7")

    assert session.state == "ended"
    assert session.status("kandev") == "active"
    assert "Session error: The agent ended with exit code 7" in repr(session)
    with pytest.raises(AgentError, match="Call its restart"):
        session.prompt("say hello")


@pytest.mark.req("EV-8")
def test_an_agent_reads_its_own_report_and_no_other(task: Task) -> None:
    mine = task.start("scripted", name="mine", servers=GITHUB)
    task.start("scripted", name="other")

    answer = mine.prompt("call kandev get_attachment_report_kandev {}")

    report = json.loads(answer.text[answer.text.index("{") :])
    assert report["current"]["session_id"] == mine.session_id
    rows = {row["name"]: row for row in report["current"]["servers"]}
    assert rows["kandev"]["status"] == "active"
    assert len(rows["kandev"]["tools"]) == TOOLS
    assert rows["github"]["status"] == "delivered"


@pytest.mark.req("EV-8")
def test_the_built_in_tools_reach_the_sessions_own_task(task: Task, kandev: Controller) -> None:
    session = task.start("scripted", name="writer")
    foreign = kandev.task("another")

    session.prompt('call kandev create_task_plan_kandev {"content": "1. Look.", "title": "Fix"}')
    plan = session.prompt("call kandev get_task_plan_kandev {}").text
    listed = session.prompt(
        f'call kandev list_task_sessions_kandev {{"task_id": "{task.task_id}"}}'
    ).text
    refused = session.prompt(
        f'call kandev get_task_plan_kandev {{"task_id": "{foreign.task_id}"}}'
    ).text

    assert '"title":"Fix"' in plan
    assert '"content":"1. Look."' in plan
    assert '"name":"writer"' in listed
    assert '"is_current":true' in listed
    assert "task_id is not your own task" in refused


@pytest.mark.req("SA-1", "SA-2")
def test_no_planted_secret_is_in_what_a_session_shows_or_logs(
    task: Task, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    planted: dict[str, dict[str, Any]] = {
        "query": {"url": "http://me:pl4nted-pw@127.0.0.1:9/pl4nted-path?key=pl4nted-query"},
        "header": {"type": "sse", "url": "http://127.0.0.1:9/", "headers": {"x": "pl4nted-header"}},
        "local": {
            "command": "/pl4nted-dir/server",
            "args": ["--key", "pl4nted-arg"],
            "env": {"KEY": "pl4nted-env"},
        },
    }
    session = task.start(
        "scripted",
        args=["--scenario", "reports-failed"],
        servers=planted,
        env={"AGENT_KEY": "pl4nted-agent-env"},
    )

    session.prompt("say pl4nted-answer")
    session.prompt('call kandev create_task_plan_kandev {"content": "pl4nted-argument"}')
    session.prompt('call kandev get_task_plan_kandev {"unknown": "pl4nted-argument"}')
    session.prompt("call kandev get_task_plan_kandev {}\ncall kandev pl4nted-tool {}")
    execution = session._core._execution
    assert execution
    (endpoint,) = execution._endpoints

    shown = [
        json.dumps(session.report.to_wire()),
        repr(session),
        str(display(session.report)),
        session.explain("query"),
        session.timeline().to_string(),
        session.servers().to_string(),
        str(session._repr_mimebundle_()),
        caplog.text,
    ]
    assert "sse_starlette" in caplog.text, "the libraries do log"
    assert "pl4nted" not in "".join(shown)
    assert endpoint.secret not in "".join(shown)
