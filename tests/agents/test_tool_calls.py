"""What a listener hears of a turn, beside its result."""

from typing import Any

import pytest

from kandev_nb.agents.turn import Listener, ToolCall, Turn
from tests.agents.conftest import Words


class Heard(Listener):
    """Keeps what it hears, in order."""

    def __init__(self) -> None:
        self.all: list[str | ToolCall] = []

    def __call__(self, words: str, /) -> None:
        self.all.append(words)

    def tool_call(self, call: ToolCall, /) -> None:
        self.all.append(call)


def hear(*updates: dict[str, Any]) -> list[str | ToolCall]:
    heard = Heard()
    turn = Turn(heard)
    for update in updates:
        turn.take(update)
    return heard.all


def started(call_id: str, title: object, **more: object) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call", "toolCallId": call_id, "title": title, **more}


def updated(call_id: object, **more: object) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **more}


def said(text: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


@pytest.mark.req("SA-1")
def test_a_listener_hears_words_and_tool_calls_in_order() -> None:
    heard = hear(
        said("I look. "),
        started("a", "read", status="in_progress"),
        started("b", "search"),
        updated("a", status="completed"),
        said("Done."),
    )

    assert heard == [
        "I look. ",
        ToolCall(1, "read", "in_progress"),
        ToolCall(2, "search", "pending"),
        ToolCall(1, "read", "completed"),
        "Done.",
    ]


@pytest.mark.req("SA-1")
def test_a_tool_call_keeps_its_first_title_and_a_status_that_is_known() -> None:
    heard = hear(
        started("a", "run", status="in_progress"),
        updated("a", title="run rm -rf /", status="of the future"),
        updated("a", status=["failed"]),
        updated("a", status="failed"),
    )

    running = ToolCall(1, "run", "in_progress")
    assert heard == [running, running, running, ToolCall(1, "run", "failed")]


@pytest.mark.req("SE-4")
@pytest.mark.parametrize(
    "update",
    [
        updated("unknown", status="failed"),
        updated(5, title="x"),
        started("a", None),
        started("mcp_startup.github.1", "mcp__github__startup", status="failed"),
    ],
)
def test_what_names_no_tool_call_is_passed_over(update: dict[str, Any]) -> None:
    assert hear(update) == []


@pytest.mark.req("SA-1")
def test_a_name_is_bounded() -> None:
    (call,) = hear(started("a", "x" * 5000))

    assert isinstance(call, ToolCall)
    assert len(call.name) == 1024


def test_a_function_hears_the_words_only() -> None:
    heard = Words()
    turn = Turn(heard)

    turn.take(started("a", "read"))
    turn.take(said("words"))

    assert heard == ["words"]
    assert turn.result({}).tool_names == ("read",)
