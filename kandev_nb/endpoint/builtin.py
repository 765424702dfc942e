"""The built-in ``*_kandev`` tools, under Kandev's own names and argument names.

They reach one session's own task and nothing else: an ID of another task is refused, and no
argument selects another session's report (EV-8).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import mcp_types as types

from kandev_nb.attachment import History
from kandev_nb.endpoint.plan import Plan
from kandev_nb.endpoint.tools import Arguments, Tool, ToolError, ToolRegistry

_TASK: Final = {
    "type": "string",
    "description": "ID of the task. Your own task when left out.",
}
_CONTENT: Final = {"type": "string", "description": "The whole plan, as Markdown."}
_OPTION: Final = {
    "type": "object",
    "properties": {
        "label": {"type": "string", "description": "1 to 5 words."},
        "description": {"type": "string", "description": "What picking it means."},
    },
    "required": ["label", "description"],
}
_QUESTION: Final = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "Its key in the answer."},
        "title": {"type": "string", "description": "A word or two."},
        "prompt": {"type": "string"},
        "options": {"type": "array", "minItems": 2, "maxItems": 6, "items": _OPTION},
    },
    "required": ["prompt", "options"],
}
_TITLE: Final = {"type": "string", "description": "Title of the plan."}


BUILT_IN_NAMES: Final = (
    "ask_user_question_kandev",
    "list_task_sessions_kandev",
    "get_attachment_report_kandev",
    "get_task_plan_kandev",
    "create_task_plan_kandev",
    "update_task_plan_kandev",
    "delete_task_plan_kandev",
)
"""The names that no tool of a user may have."""


Questions = Sequence[Mapping[str, Any]]
"""Each with ``id``, ``title``, ``prompt`` and ``options``, which have ``label`` and
``description``."""


class Unanswered(NamedTuple):
    """Why a user has not answered."""

    reason: str


Answers = Mapping[str, str] | Unanswered
"""The label that was chosen, by the question's ID."""


class Desk(Protocol):
    """What the built-in tools of one session work on."""

    @property
    def task_id(self) -> str:
        """The session's own task."""

    @property
    def plan(self) -> Plan:
        """The plan of that task."""

    def sessions(self) -> list[dict[str, Any]]:
        """The task's sessions, newest first, as JSON objects."""

    async def report(self) -> History:
        """The session's own report, with what was recorded so far."""

    async def ask(self, questions: Questions, context: str) -> Answers:
        """Put questions to the user. Waits a bounded time."""


def built_in_tools(desk: Desk) -> ToolRegistry:
    """Return the tools that the Kandev endpoint serves to one session."""
    return ToolRegistry(
        (
            _question_tool(desk),
            *_session_tools(desk),
            *_plan_tools(desk),
        )
    )


def _question_tool(desk: Desk) -> Tool:
    async def ask(arguments: Arguments) -> Any:
        questions = _questions(arguments["questions"])
        answers = await desk.ask(questions, arguments.get("context", ""))
        if isinstance(answers, Unanswered):
            gone = {question["id"]: {"answered": False, "rejected": True} for question in questions}
            return {"rejected": True, "reject_reason": answers.reason, **gone}
        return {question["id"]: _chosen(question, answers) for question in questions}

    return _tool(
        "ask_user_question_kandev",
        "Ask the user when you need a decision that you cannot infer: up to 4 questions at once, "
        "of which each has options to pick one from. Returns by question ID the label that was "
        "picked, or rejected and a reject_reason.",
        {
            "questions": {
                "type": "array",
                "minItems": 1,
                "maxItems": 4,
                "items": _QUESTION,
            },
            "context": {"type": "string", "description": "What the user should know beforehand."},
        },
        ask,
        required=("questions",),
    )


def _questions(asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the questions with an ID each; a given one stays."""
    questions = [
        {
            "id": question.get("id") or f"q{number}",
            "title": question.get("title", ""),
            "prompt": question["prompt"],
            "options": [
                {"label": option["label"], "description": option["description"]}
                for option in question["options"]
            ],
        }
        for number, question in enumerate(asked, 1)
    ]
    if len({question["id"] for question in questions}) < len(questions):
        raise ToolError("Two questions have the same id. Give each its own, or leave it out.")
    for question in questions:
        labels = [option["label"] for option in question["options"]]
        if len(set(labels)) < len(labels):
            raise ToolError(f"Two options of question {question['id']} have the same label.")
    return questions


def _chosen(question: Mapping[str, Any], answers: Mapping[str, str]) -> dict[str, Any]:
    labels = [option["label"] for option in question["options"]]
    label = answers.get(question["id"])
    if label not in labels:
        return {"answered": False}
    return {"selected_option": f"{question['id']}_opt{labels.index(label) + 1}", "label": label}


def _session_tools(desk: Desk) -> tuple[Tool, ...]:
    async def sessions(arguments: Arguments) -> Any:
        _own_task(desk, arguments)
        return {"task_id": desk.task_id, "sessions": desk.sessions()}

    async def report(_: Arguments) -> Any:
        return without_schemas((await desk.report()).to_wire())

    return (
        _tool(
            "list_task_sessions_kandev",
            "List the agent sessions of a task, the most recently started first: "
            "ID, name, state, agent profile and times. Your own is marked is_current.",
            {"task_id": {"type": "string", "description": "ID of the task."}},
            sessions,
            required=("task_id",),
        ),
        _tool(
            "get_attachment_report_kandev",
            "Get the attachment report of your own session: which MCP servers were configured, "
            "delivered, connected, loaded and used, as far as Kandev has evidence. "
            "Absence of evidence is not failure.",
            {},
            report,
        ),
    )


def _plan_tools(desk: Desk) -> tuple[Tool, ...]:
    async def get(arguments: Arguments) -> Any:
        return _saved_plan(desk, arguments).to_json()

    async def create(arguments: Arguments) -> Any:
        _own_task(desk, arguments)
        desk.plan.save(arguments["content"], arguments.get("title"))
        return desk.plan.to_json()

    async def update(arguments: Arguments) -> Any:
        plan = _saved_plan(desk, arguments)
        plan.save(arguments["content"], arguments.get("title"))
        return plan.to_json()

    async def delete(arguments: Arguments) -> Any:
        _saved_plan(desk, arguments).clear()
        return "The plan was deleted."

    written = {"task_id": _TASK, "content": _CONTENT, "title": _TITLE}
    return (
        _tool(
            "get_task_plan_kandev",
            "Get the current plan of a task.",
            {"task_id": _TASK},
            get,
        ),
        _tool(
            "create_task_plan_kandev",
            "Save the plan of a task. A plan that exists is replaced.",
            written,
            create,
            required=("content",),
        ),
        _tool(
            "update_task_plan_kandev",
            "Replace the content of an existing plan, and its title when one is given.",
            written,
            update,
            required=("content",),
        ),
        _tool(
            "delete_task_plan_kandev",
            "Delete the plan of a task.",
            {"task_id": _TASK},
            delete,
        ),
    )


def without_schemas(report: dict[str, Any]) -> dict[str, Any]:
    """Return the wire report with tools by name and estimate only: a model pays for each token."""
    current = report.get("current")
    if not current:
        return report
    kept = ("name", "estimated_tokens")
    servers = [
        {**row, "tools": [{k: t[k] for k in kept if k in t} for t in row["tools"]]}
        if "tools" in row
        else row
        for row in current.get("servers", ())
    ]
    return {**report, "current": {**current, "servers": servers}} if servers else report


def _own_task(desk: Desk, arguments: Arguments) -> None:
    if arguments.get("task_id", desk.task_id) != desk.task_id:
        raise ToolError(f"task_id is not your own task, which is {desk.task_id}.")


def _saved_plan(desk: Desk, arguments: Arguments) -> Plan:
    _own_task(desk, arguments)
    if not desk.plan.exists:
        raise ToolError("This task has no plan yet. Save one with create_task_plan_kandev.")
    return desk.plan


def _tool(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    call: Any,
    required: tuple[str, ...] = (),
) -> Tool:
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    schema["additionalProperties"] = False
    definition = types.Tool(name=name, description=description, input_schema=schema)
    return Tool(definition, call)
