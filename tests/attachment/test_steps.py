"""What is advised for a row: the calls that would settle it, likeliest first."""

import ast
import shlex
from typing import Any, Final

import click
import pytest

from kandev_nb import Controller, Session
from kandev_nb.attachment import EndpointTestResult, display, words
from kandev_nb.attachment.reducer import note_endpoint_test
from kandev_nb.attachment.steps import STEPS, Situation
from kandev_nb.cli import main
from kandev_nb.controller import Task
from tests.attachment.story import Story

LIVE: Final = Situation("gemini", "live")


def steps(story: Story, situation: Situation = LIVE, server: str = "kandev") -> list[str]:
    row = display(story.history, situation=situation).row(server)
    assert row is not None
    return [step.key.removeprefix("step.") for step in row.steps]


def told(*kinds: str, server: str = "kandev", **facts: Any) -> Story:
    story = Story().start()
    for kind in kinds:
        story.tell(kind, server=server, **facts)
    return story


@pytest.mark.req("DI-4")
@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["configured", "delivered", "session_accepted"], ["prompt_first", "output", "probe"]),
        (["delivered", "session_accepted", "initialize_observed"], ["prompt_list"]),
        (["delivered", "initialize_observed", "tools_list_observed"], ["use"]),
        (["explicit_error"], ["output", "try_again"]),
        (["filtered"], ["plan", "apply"]),
        (["unavailable"], ["plan", "apply"]),
    ],
)
def test_kandevs_own_server_is_advised_on_by_what_is_not_observed(
    kinds: list[str], expected: list[str]
) -> None:
    assert steps(told(*kinds))[: len(expected)] == expected


@pytest.mark.req("DI-4")
@pytest.mark.parametrize(
    ("transport", "first"), [("stdio", "test_command"), ("http", "test"), ("sse", "test")]
)
@pytest.mark.parametrize("kind", ["delivered", "explicit_error"])
def test_a_server_of_others_is_to_be_tested_and_the_agent_asked(
    transport: str, first: str, kind: str
) -> None:
    said = steps(told(kind, server="github", transport=transport), server="github")

    assert said[0] == first
    assert ("ask" in said) == (kind == "delivered")


@pytest.mark.req("DI-4")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("placeholder_unresolved", "variable"),
        ("transport_denied", "policy"),
        ("policy_denied", "policy"),
        ("passthrough_strategy_missing", "strategy"),
        ("missing_url", "plan"),
    ],
)
def test_what_was_left_out_is_advised_on_by_its_reason(code: str, expected: str) -> None:
    assert steps(told("unavailable", server="x", reason_code=code), server="x")[0] == expected


@pytest.mark.req("DI-4", "SE-2")
@pytest.mark.parametrize("state", ["live", "ended", "failed", "over"])
@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("kind", ["delivered", "explicit_error", "unavailable", "filtered"])
def test_no_step_is_advised_that_the_session_cannot_take(
    state: Any, passthrough: bool, kind: str
) -> None:
    situation = Situation("gemini", state, passthrough)
    for server in ("kandev", "github"):
        row = display(told(kind, server=server).history, situation=situation).row(server)
        assert row is not None
        calls = " ".join(step.text for step in row.steps)
        assert row.steps
        if state != "live":
            assert "test_endpoint" not in calls
            assert "session.prompt" not in calls
            assert "session.reset" not in calls
        if state in ("failed", "over"):
            assert "session.restart" not in calls
            assert "task.start" in calls
        if state == "over":
            assert "recent_output" not in calls
        if passthrough:
            assert "session.prompt" not in calls
            assert "kandev-nb" not in calls
        else:
            assert "session.write" not in calls


@pytest.mark.req("DI-4")
def test_what_is_known_of_the_agent_comes_before_what_can_be_tried() -> None:
    gemini = Situation("gemini", "live", False, ("It connects only in trusted folders.",))

    assert steps(told("delivered"), gemini)[0] == "fact"
    assert steps(told("delivered", server="x"), gemini, "x")[1] == "fact"
    assert "fact" not in steps(told("delivered", "tools_list_observed"), gemini)


@pytest.mark.req("DI-4", "CA-5")
@pytest.mark.parametrize("name", ['a "b"', "ü", "a\u202eb", "{x}", "a\\b", "a'b"])
def test_calls_can_be_run_as_they_stand_whatever_a_server_is_called(name: str) -> None:
    row = display(told("delivered", server=name).history, situation=LIVE).row(name)
    assert row is not None

    (call,) = [s.params["call"] for s in row.steps if "test_endpoint" in str(s.params["call"])]
    parsed = ast.parse(str(call), mode="eval").body
    assert isinstance(parsed, ast.Call)
    assert ast.literal_eval(parsed.args[0]) == name


@pytest.mark.req("DI-4")
def test_every_call_is_one_that_there_is() -> None:
    fields = {"name": '"x"', "agent": "gemini", "agent_word": '"gemini"', "question": '"?"'}
    commands = set()
    for step in STEPS:
        assert step.key in words.ENGLISH
        call = step.call.format(**fields).replace("…", "0")
        if call.startswith("kandev-nb"):
            commands.add(shlex.split(call)[1])
            continue
        for node in ast.walk(ast.parse(call)) if call else ():
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert hasattr({"session": Session, "task": Task}[node.value.id], node.attr)
    context = click.Context(main)
    assert commands <= set(main.list_commands(context))


@pytest.mark.req("DI-1", "DI-4")
@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            EndpointTestResult(outcome="ok", at="2026-08-01T09:00:00Z", tool_count=12),
            "A test reached it at 2026-08-01T09:00:00Z: 12 tools",
        ),
        (
            EndpointTestResult(outcome="failed", at="2026-08-01T09:00:00Z", summary="No."),
            "A test failed at 2026-08-01T09:00:00Z: No.",
        ),
    ],
)
def test_the_last_test_stands_in_the_explanation_and_in_no_label(
    result: EndpointTestResult, said: str
) -> None:
    story = told("delivered", server="x", transport="http")
    before = display(story.history).row("x")
    tested = note_endpoint_test(story.history, story.attempt.attachment_attempt_id, "x", result)
    row = display(tested).row("x")

    assert before is not None
    assert row is not None
    assert said in row.explanation
    assert (row.label, row.dot, row.status) == (before.label, before.dot, before.status)


@pytest.mark.req("DI-4")
@pytest.mark.parametrize(("outcome", "last"), [("ok", "output"), ("failed", "test_again")])
def test_a_server_that_was_tested_is_not_tested_first_of_all_again(outcome: str, last: str) -> None:
    story = told("delivered", server="x", transport="http")
    result = EndpointTestResult(outcome=outcome, at="2026-08-01T09:00:00Z")
    attempt = story.attempt.attachment_attempt_id
    story.history = note_endpoint_test(story.history, attempt, "x", result)

    said = steps(story, server="x")

    assert (said[0], said[-1], "test" in said) == ("ask", last, False)


@pytest.mark.req("DI-4")
def test_a_live_session_advises_what_a_closed_and_a_stored_one_cannot() -> None:
    with Controller() as kandev:
        task = kandev.task("advice")
        session = task.start(
            "scripted",
            args="--scenario ignores",
            servers={"github": {"url": "http://127.0.0.1:9/mcp"}},
        )
        live = session.explain("kandev"), session.explain("github")
        session.close()
        closed = session.explain("kandev")

    assert "Next: prompt it once, for some agents connect only then: session.prompt(" in live[0]
    assert "kandev-nb probe scripted" in live[0]
    assert 'session.test_endpoint("github")' in live[1]
    assert 'task.start("scripted", servers=…)' in closed
    assert "session.prompt" not in closed
