"""Sessions of the agent's own: loaded, resumed, forked, given up; modes, models and permissions."""

import threading
from pathlib import Path
from typing import Any, Literal

import pytest

from kandev_nb import AgentError, ConfigError, PermissionRequest, Session, Task, Unsupported
from kandev_nb.agents import registry
from kandev_nb.agents.registry import find_agent
from tests.processes import eventually

IGNORES = ["--scenario", "ignores"]
CALL = 'call kandev create_task_plan_kandev {"content": "1. Look."}'


def current(session: Session) -> tuple[str, str, str]:
    """Kind and cause of the current attempt, and the agent's ID of its session."""
    attempt = session.report.current
    assert attempt
    return attempt.kind, attempt.cause, attempt.acp_session_id


@pytest.mark.req("SE-2", "EV-7")
@pytest.mark.parametrize("way", ["load", "resume"])
def test_a_session_is_loaded_or_resumed_as_a_new_attempt(task: Task, way: str) -> None:
    session = task.start("scripted", args=IGNORES)
    first = session.acp_session_id
    session.reset()

    getattr(session, way)(first)

    assert current(session) == (way, "", first)
    assert [attempt.kind for attempt in session.report.previous] == ["reset", "new"]
    assert session.status("kandev") == "delivered"
    assert session.prompt("say hello").text == "hello\n"


@pytest.mark.req("SE-2", "EV-7")
@pytest.mark.parametrize("way", ["load", "resume"])
def test_a_session_of_an_earlier_process_is_opened_at_the_start(task: Task, way: str) -> None:
    arguments: dict[str, Any] = {way: "scripted-1"}

    session = task.start("scripted", args=IGNORES, **arguments)

    assert current(session) == (way, "", "scripted-1")
    assert session.prompt("say hello").text == "hello\n"


@pytest.mark.req("SE-2", "EV-7")
def test_a_fork_goes_on_under_another_id(task: Task) -> None:
    session = task.start("scripted", args=IGNORES)
    before = session.acp_session_id

    session.fork()

    kind, cause, after = current(session)
    assert (kind, cause) == ("new", "fork of the session before it")
    assert after not in ("", before)


@pytest.mark.req("SE-2")
@pytest.mark.parametrize("way", ["load", "resume", "fork"])
def test_what_is_not_advertised_is_refused_and_nothing_changes(task: Task, way: str) -> None:
    session = task.start("scripted", args=[*IGNORES, "--session-capabilities", "none"])
    before = session.report

    with pytest.raises(Unsupported, match=f"does not offer session/{way}") as refused:
        getattr(session, way)()

    assert refused.value.reason_code == "not_offered"
    assert session.report == before
    with pytest.raises(Unsupported):
        task.start("scripted", args=["--session-capabilities", "none"], load="scripted-1")
    assert task.sessions[-1].state == "failed"


@pytest.mark.req("SE-2", "EV-3")
def test_a_session_that_the_agent_does_not_know_is_an_error_of_the_attempt(task: Task) -> None:
    session = task.start("scripted", args=IGNORES)

    with pytest.raises(AgentError) as refused:
        session.load("nobody-knows-it")

    assert refused.value.reason_code == "session_request_failed"
    report = session.report.current
    assert report
    assert report.kind == "load"
    assert report.session_error
    with pytest.raises(AgentError, match="has no open session of its agent"):
        session.prompt("say hello")
    session.reset()
    assert session.prompt("say hello").text == "hello\n"


@pytest.mark.req("SE-2")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"load": "a", "resume": "b"}, "not both"), ({"load": ""}, "is empty"), ({"load": 5}, "text")],
)
def test_a_session_to_be_opened_is_named_once(
    task: Task, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        task.start("scripted", **arguments)

    assert task.sessions == ()


@pytest.mark.req("EV-7", "AC.2")
def test_an_agent_that_keeps_its_first_connection_is_late_traffic_after_a_reset(
    task: Task,
) -> None:
    session = task.start("scripted", args=["--after-reset", "keeps-first"])
    session.wait_for("kandev", "active")

    session.reset()
    session.prompt(CALL)

    now = session.report.current
    assert now
    assert session.status("kandev") == "delivered"
    assert now.late_traffic
    assert now.late_traffic.count >= 1
    assert "An earlier connection of this session is still in use" in str(session.view)
    row = session.report.previous[0].server("kandev")
    assert row
    assert not row.used_at, "what comes late is not stored"


@pytest.mark.req("EV-3")
def test_a_refused_second_session_is_the_refusal_of_the_server_that_it_names(task: Task) -> None:
    session = task.start("scripted", args=["--after-reset", "refuses-twice"])
    session.wait_for("kandev", "active")

    with pytest.raises(AgentError, match="already registered with different settings"):
        session.reset()

    assert session.status("kandev") == "failed"
    assert session.report.previous[0].servers[0].status == "active"


@pytest.mark.req("SE-2")
def test_modes_and_models_are_those_that_the_agent_offers(task: Task) -> None:
    session = task.start("scripted", args=IGNORES)

    assert (session.mode, session.modes) == ("default", ("default", "plan"))
    assert (session.model, session.models) == ("fast", ("fast", "careful"))
    session.set_mode("plan")
    session.set_model("careful")

    assert (session.mode, session.model) == ("plan", "careful")
    assert session.prompt("mode\nmodel").text == "mode plan\nmodel careful\n"
    with pytest.raises(ConfigError, match=r"has no mode 'yolo'\. It has: default, plan"):
        session.set_mode("yolo")


@pytest.mark.req("SE-2", "SE-7")
def test_a_turn_is_cancelled_from_another_thread_and_the_session_goes_on(task: Task) -> None:
    session = task.start("scripted", args=IGNORES)
    ended: list[str] = []
    asking = threading.Thread(target=lambda: ended.append(session.prompt("wait 60").stop_reason))
    asking.start()
    assert eventually(lambda: session._core._is_prompting)

    session.cancel()

    asking.join(10)
    assert ended == ["cancelled"]
    session.cancel()
    assert session.prompt("say hello").text == "hello\n"


@pytest.mark.req("SA-1")
def test_words_are_told_as_they_come_and_printed_only_when_asked_to(
    task: Task, capsys: pytest.CaptureFixture[str]
) -> None:
    session = task.start("scripted", args=IGNORES)
    heard: list[str] = []

    session.prompt("say quiet", on_text=heard.append)
    silent = capsys.readouterr().out
    session.prompt("say loud", echo=True)

    assert heard == ["quiet\n"]
    assert silent == ""
    assert capsys.readouterr().out == "loud\n"


@pytest.mark.req("SE-4")
@pytest.mark.parametrize(
    ("permissions", "used"),
    [("allow", True), ("deny", False), ("ask", False), (lambda _: True, True), (lambda _: None, 0)],
)
def test_a_tool_is_called_as_far_as_it_is_permitted(
    task: Task, permissions: Any, used: bool
) -> None:
    session = task.start("scripted", args=["--ask-permission"], permissions=permissions)
    session.wait_for("kandev", "active")

    session.prompt(CALL)

    row = session.wait_for("kandev", "active")
    assert bool(row.used_at) == bool(used)
    counts = session.permission_counts
    assert counts
    assert (counts.asked, counts.allowed) == (1, int(used))


@pytest.mark.req("SA-1", "SE-4")
def test_who_is_asked_sees_the_tool_and_its_arguments_and_a_cell_does_not(task: Task) -> None:
    asked: list[PermissionRequest] = []

    async def ask(request: PermissionRequest) -> Literal["allow_always"]:
        asked.append(request)
        return "allow_always"

    session = task.start("scripted", args=["--ask-permission"], permissions=ask)
    session.wait_for("kandev", "active")
    session.prompt(f"{CALL}\n{CALL}")

    (request,) = asked
    assert "create_task_plan_kandev" in request.title
    assert "1. Look." not in repr(request)


@pytest.mark.req("SE-4")
def test_files_are_read_and_written_inside_the_folder_and_not_beside_it(
    task: Task, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "secret").write_text("hidden")
    session = task.start("scripted", args=IGNORES, cwd=tmp_path / "work")

    said = session.prompt("write note.txt hello\nread note.txt\nread ../secret").text

    assert (tmp_path / "work" / "note.txt").read_text().strip() == "hello"
    assert "hello" in said
    assert "hidden" not in said


@pytest.mark.req("SE-4")
@pytest.mark.parametrize("offered", [True, False])
def test_commands_are_run_only_where_that_is_offered(
    task: Task, tmp_path: Path, offered: bool
) -> None:
    session = task.start("scripted", args=IGNORES, cwd=tmp_path, terminal=offered)

    session.prompt("run touch made")

    assert (tmp_path / "made").exists() == offered


@pytest.mark.req("SE-4")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"permissions": "yes"}, "permissions"), ({"ask_timeout": -1}, "timeout")],
)
def test_permissions_that_cannot_be_used_start_nothing(
    task: Task, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        task.start("scripted", **arguments)

    assert task.sessions == ()


@pytest.mark.req("EV-3")
def test_an_agent_that_wants_a_login_says_how(task: Task) -> None:
    with pytest.raises(AgentError, match="Log in with the agent's own command") as refused:
        task.start("scripted", args=["--scenario", "auth-required"])

    assert refused.value.reason_code == "auth_required"
    assert "MCP servers · session" in refused.value.__notes__[0]
    assert "It offers: " in str(refused.value)


@pytest.mark.req("EV-3", "EV-12")
def test_a_failed_startup_that_the_agent_tells_fails_that_server_and_is_no_tool_use(
    task: Task,
) -> None:
    servers = {"github": {"url": "http://127.0.0.1:9/"}}
    session = task.start("scripted", args=["--scenario", "reports-startup"], servers=servers)

    assert eventually(lambda: session.status("github") == "failed")
    assert session.prompt("say hello").tool_names == ()
    assert session.wait_for("kandev", "active")


@pytest.mark.req("EV-3", "EV-12")
@pytest.mark.parametrize("wording", ["auggie", "qwen"])
def test_a_documented_line_on_standard_error_fails_the_one_server_that_it_names(
    task: Task, monkeypatch: pytest.MonkeyPatch, wording: str
) -> None:
    spec = find_agent("scripted").model_copy(
        update={"id": "quiet", "failure_lines": find_agent(wording).failure_lines}
    )
    monkeypatch.setattr(registry, "_added", lambda: iter([spec]))
    args = ["--scenario", "reports-on-stderr", "--wording", wording]
    servers = {"github": {"url": "http://127.0.0.1:9/"}}

    session = task.start("quiet", args=args, servers=servers)
    told = task.start("scripted", args=args, servers=servers)

    assert eventually(lambda: session.status("github") == "failed")
    assert session.wait_for("kandev", "active")
    evidence = session.report.current
    assert evidence
    (said,) = [event for event in evidence.evidence if event.kind == "explicit_error"]
    assert said.known_by == "agent_reported"
    assert eventually(lambda: "github" in told.recent_output().text)
    assert told.status("github") == "delivered", "of this agent no wording is known"
