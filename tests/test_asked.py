"""What an agent asks its user: questions by a tool of ours, and permissions."""

import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

import pytest

from kandev_nb import PromptResult, Session
from kandev_nb.controller import Task
from kandev_nb.session.person import Asked, Person
from tests.processes import eventually

OPTIONS: Final = [
    {"label": "SQLite", "description": "A file."},
    {"label": "PostgreSQL", "description": "A server."},
]
QUESTION: Final = {"id": "db", "title": "Database", "prompt": "Which one?", "options": OPTIONS}


def call(*questions: Any, **more: Any) -> str:
    return f"call kandev ask_user_question_kandev {json.dumps({'questions': questions, **more})}"


def result(prompted: PromptResult) -> Any:
    """The tool's result, as the scripted agent tells it."""
    return json.loads(prompted.text[prompted.text.index("{") : prompted.text.rindex("}") + 1])


@pytest.fixture
def session(task: Task) -> Session:
    session = task.start("scripted")
    session.wait_for("kandev", "active")
    return session


def prompted(session: Session, words: str) -> "Future[PromptResult]":
    return ThreadPoolExecutor(1).submit(session.prompt, words)


def waiting(person: Person, what: Asked) -> dict[str, Any]:
    assert eventually(lambda: bool(person.asked(what)))
    (asked,) = person.asked(what)
    return asked


@pytest.mark.req("UI/Actions")
def test_the_answers_of_a_view_come_back_by_the_questions_ids(session: Session) -> None:
    person = session._core.person
    person.attend()
    other = {"prompt": "How many?", "options": [*OPTIONS, {"label": "Both", "description": ""}]}

    turn = prompted(session, call(QUESTION, other, context="We begin."))
    asked = waiting(person, "questions")
    assert asked["context"] == "We begin."
    assert [question["id"] for question in asked["questions"]] == ["db", "q2"]
    assert person.answer("questions", asked["id"], {"db": "PostgreSQL", "q2": "Both"})

    assert result(turn.result(30)) == {
        "db": {"selected_option": "db_opt2", "label": "PostgreSQL"},
        "q2": {"selected_option": "q2_opt3", "label": "Both"},
    }
    assert person.asked("questions") == []
    assert not person.answer("questions", asked["id"], None), "it was answered already"


@pytest.mark.req("UI/Actions")
def test_a_bundle_can_be_declined_as_a_whole(session: Session) -> None:
    person = session._core.person
    person.attend()

    turn = prompted(session, call(QUESTION))
    person.answer("questions", waiting(person, "questions")["id"], None)

    said = result(turn.result(30))
    assert said["rejected"] is True
    assert said["reject_reason"] == "The user declined to answer."
    assert said["db"] == {"answered": False, "rejected": True}


def no_view(_: Person) -> str:
    return "No view of this session is open, so nobody could be asked."


def a_closed_view(person: Person) -> str:
    person.attend()()
    return no_view(person)


def a_view_that_nobody_looks_at(person: Person) -> str:
    person.attend()
    person._patience = 0.2
    return "Nobody answered within 0.2 s."


@pytest.mark.req("UI/Actions")
@pytest.mark.parametrize("who", [no_view, a_closed_view, a_view_that_nobody_looks_at])
def test_nobody_there_is_a_clear_result_and_no_endless_wait(
    session: Session, who: Callable[[Person], str]
) -> None:
    reason = who(session._core.person)

    said = result(session.prompt(call(QUESTION), timeout=30))

    assert (said["rejected"], said["reject_reason"]) == (True, reason)
    assert session._core.person.asked("questions") == []


@pytest.mark.parametrize(
    ("questions", "fault"),
    [
        ([], "minItems"),
        ([QUESTION] * 5, "maxItems"),
        ([QUESTION] * 2, "Two questions have the same id"),
        ([{**QUESTION, "options": OPTIONS[:1]}], "minItems"),
        ([{**QUESTION, "options": OPTIONS * 4}], "maxItems"),
        ([{**QUESTION, "options": [OPTIONS[0]] * 2}], "same label"),
        ([{"options": OPTIONS}], "required"),
        ([{**QUESTION, "options": [{"label": "A"}, {"label": "B"}]}], "required"),
    ],
)
def test_questions_that_nobody_could_answer_are_refused(
    session: Session, questions: list[Any], fault: str
) -> None:
    session._core.person.attend()

    assert fault in session.prompt(call(*questions), timeout=30).text


@pytest.mark.req("SA-1")
def test_nothing_of_a_question_or_its_answer_is_kept(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    person = session._core.person
    person.attend()

    with caplog.at_level("DEBUG"):
        turn = prompted(session, call(QUESTION, context="hunter2"))
        person.answer("questions", waiting(person, "questions")["id"], {"db": "SQLite"})
        turn.result(30)

    kept = f"{session.report.to_wire()}{session.diagnostics()}{caplog.text}{session.view}"
    assert "hunter2" not in kept
    assert "Which one?" not in kept
    assert "SQLite" not in kept


@pytest.mark.req("SE-2")
def test_a_call_that_is_given_up_asks_no_longer(session: Session) -> None:
    person = session._core.person
    person.attend()

    prompted(session, call(QUESTION))
    waiting(person, "questions")
    session.close()

    assert eventually(lambda: not person.asked("questions"))


@pytest.mark.req("SE-4")
@pytest.mark.parametrize(
    ("answer", "allowed", "denied"), [("allow_once", 1, 0), ("reject_once", 0, 1), (None, 0, 1)]
)
def test_a_permission_is_asked_in_a_view_where_nothing_else_decides(
    task: Task, answer: str | None, allowed: int, denied: int
) -> None:
    session = task.start("scripted", args=["--ask-permission"])
    session.wait_for("kandev", "active")
    person, told = session._core.person, []
    person.watch(lambda: told.append(len(person.asked("permissions"))))
    leave = person.attend()

    turn = prompted(session, "call kandev get_task_plan_kandev")
    asked = waiting(person, "permissions")
    assert "get_task_plan_kandev" in asked["title"]
    assert {option["kind"] for option in asked["options"]} >= {"allow_once", "reject_once"}
    person.answer("permissions", asked["id"], answer)
    turn.result(30)

    counts = session.permission_counts
    assert counts
    assert (counts.allowed, counts.denied) == (allowed, denied)
    assert told[-1] == 0
    leave()
    session.prompt("call kandev get_task_plan_kandev")
    assert counts.denied == denied + 1, "nobody looks any more"
