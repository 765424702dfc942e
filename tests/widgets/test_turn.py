"""The view of a turn, as the kernel sees it. What the page makes of it: ``tests/e2e``."""

import gc
import weakref
from typing import Any

import anywidget
import pytest

from kandev_nb.agents.turn import ToolCall
from kandev_nb.widgets import TurnView
from kandev_nb.widgets.turn import TEXT_BYTES, TOOL_CALLS, TurnWidget


def progress(view: TurnView) -> dict[str, Any]:
    return view._progress("running")


@pytest.mark.req("SA-1")
def test_the_state_of_a_turn_on_the_page_is_its_own_code_only() -> None:
    widget = TurnWidget()
    inherited = set(anywidget.AnyWidget.class_trait_names(sync=True))

    own = {name: value for name, value in widget.get_state().items() if name not in inherited}
    widget.close()

    assert set(own) == {"view", "_esm", "_anywidget_id"}
    assert own["view"] == "turn"


def test_a_view_that_is_gone_leaves_nothing_in_the_kernel() -> None:
    widget = TurnWidget()
    kept = weakref.ref(widget)

    widget.close()
    del widget
    gc.collect()

    assert kept() is None


@pytest.mark.req("SA-1")
@pytest.mark.parametrize("words", ["a line\n" * 9, "é" * 7, "😀\n", "\ud800\n"])
def test_the_last_words_are_kept_whole_and_their_lines_counted(words: str) -> None:
    view = TurnView("triage")
    for _ in range(9000):
        view(words)

    shown = progress(view)
    assert TEXT_BYTES - 4 < len(shown["text"].encode()) <= TEXT_BYTES
    assert (words.replace("\ud800", "?") * 9000).endswith(shown["text"])
    assert shown["first_line"] + shown["text"].count("\n") == words.count("\n") * 9000


@pytest.mark.req("SA-1")
def test_one_long_chunk_is_kept_as_many_short_ones_are() -> None:
    at_once, in_parts = TurnView("triage"), TurnView("triage")
    at_once("line\n" * 9000)
    for _ in range(9000):
        in_parts("line\n")

    assert progress(at_once) == progress(in_parts)


@pytest.mark.req("SA-1", "SA-2")
def test_the_last_tool_calls_are_shown_and_their_names_are_sanitized() -> None:
    view = TurnView("triage")
    for number in range(1, 100):
        view.tool_call(ToolCall(number, f"\x1b[31mcurl -H 'Authorization: Bearer s3cr3t-{number}'"))
    view.tool_call(ToolCall(99, "read", "completed"))
    view.tool_call(ToolCall(1, "long ago", "completed"))

    shown = progress(view)
    assert shown["tool_call_count"] == 99
    assert [call["number"] for call in shown["tool_calls"]] == list(range(100 - TOOL_CALLS, 100))
    assert shown["tool_calls"][-1] == {"number": 99, "name": "read", "status": "completed"}
    assert "s3cr3t" not in str(shown)
    assert "\x1b" not in str(shown["tool_calls"][0]["name"])
