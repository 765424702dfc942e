"""A prompt in a cell of a real kernel: what is shown while it runs, and what could be saved."""

import json
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.session import Session

from kandev_nb.widgets.status import INTERVAL
from kandev_nb.widgets.turn import TEXT_BYTES, TOOL_CALLS
from tests.kernel import Kernel, real_kernel

Message = dict[str, Any]

WORDS = "reading the code"
BACKWARDS = f"{WORDS[::-1]!r}[::-1]"
"""How a cell spells them: the kernel repeats its source."""

START = """
import pathlib
from kandev_nb import Controller

kandev = Controller()

@kandev.tool
def look(path: str) -> str:
    "Look until something is written to the pipe."
    return pathlib.Path(path).read_text()

session = kandev.task("t").start("scripted", name="triage")
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with real_kernel() as kernel:
        kernel.show(START)
        yield kernel


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """What the agent's tool call waits for."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def prompt(pipe: Path, more: str = "") -> str:
    """The arguments of a prompt that says the words and calls the tool that waits."""
    call = json.dumps(f"call kandev look {json.dumps({'path': str(pipe)})}")
    return f"(f'say {{{BACKWARDS.replace(chr(39), chr(34))}}}\\n' + {call}{more})"


def told(message: Message) -> Message:
    """What a message tells a page of a turn; empty for every other message."""
    data = message["content"].get("data", {})
    custom = message["msg_type"] == "comm_msg" and data.get("method") == "custom"
    content = data["content"] if custom else {}
    assert isinstance(content, dict)
    return content


class Seen:
    """A cell that was run to its end, and each message that the kernel published meanwhile."""

    def __init__(
        self,
        kernel: Kernel,
        code: str,
        then: Callable[[], object] = lambda: None,
        *,
        when: Callable[[Message], bool] = lambda content: bool(content.get("tool_calls")),
        **options: Any,
    ) -> None:
        self.messages: list[Message] = []
        self._then, self._when = then, when
        reply = kernel.client.execute_interactive(
            code, timeout=90, output_hook=self._see, **options
        )
        self.reply: Message = reply["content"]
        self._kernel = kernel

    def _see(self, message: Message) -> None:
        self.messages.append(message)
        if self._when(told(message)):
            self._when = lambda _: False
            self._then()

    def of(self, kind: str) -> list[Message]:
        return [message["content"] for message in self.messages if message["msg_type"] == kind]

    @property
    def told(self) -> list[Message]:
        return [content for content in map(told, self.messages) if content]

    @property
    def opened(self) -> set[str]:
        return {content["comm_id"] for content in self.of("comm_open")}

    @property
    def closed(self) -> set[str]:
        return {content["comm_id"] for content in self.of("comm_close")}

    def wait_until_gone(self) -> None:
        """Go on until the cell's last widget is closed."""
        while self.opened != self.closed:
            self.messages.append(self._kernel.client.get_iopub_msg(timeout=30))

    def elsewhere(self) -> str:
        """All that was published but what passes: a notebook could save it."""
        return json.dumps([m["content"] for m in self.messages if not told(m)])


@pytest.mark.req("SA-1")
@pytest.mark.parametrize("call", ["session.prompt", "await session.aio.prompt"])
def test_words_and_tool_calls_are_shown_in_passing_messages_only_and_are_gone_with_the_turn(
    kernel: Kernel, pipe: Path, call: str
) -> None:
    seen = Seen(kernel, call + prompt(pipe), lambda: pipe.write_text("it"))

    row = {"number": 1, "name": "mcp__kandev__look", "status": "in_progress"}
    shown = [content for content in seen.told if content["tool_calls"]]
    assert shown[0]["session"] == "triage"
    assert shown[0]["text"] == f"{WORDS}\n"
    assert shown[0]["tool_calls"] == [row]
    assert {content["state"] for content in seen.told} == {"running"}
    assert WORDS not in seen.elsewhere()
    (display,) = seen.of("display_data")
    assert list(display["data"]) == ["application/vnd.jupyter.widget-view+json"]
    (update,) = seen.of("update_display_data")
    assert (update["data"], update["transient"]) == ({}, display["transient"])
    assert seen.opened == seen.closed != set()
    (result,) = seen.of("execute_result")
    assert result["data"]["text/plain"].startswith("<PromptResult: end_turn; tool calls: mcp__")


@pytest.mark.req("SE-5")
def test_a_page_that_comes_late_is_told_of_a_turn_in_which_nothing_changes(
    kernel: Kernel, pipe: Path
) -> None:
    seen = Seen(
        kernel,
        "session.prompt" + prompt(pipe),
        lambda: pipe.write_text("it"),
        when=lambda content: content.get("seconds", 0) >= 2,
    )

    late = [content for content in seen.told if content["seconds"] >= 2]
    assert late[0]["text"] == f"{WORDS}\n"
    assert late[0]["tool_calls"][0]["status"] == "in_progress"


@pytest.mark.req("SE-7", "SA-1")
@pytest.mark.parametrize(
    ("call", "error"),
    [("session.prompt", "KeyboardInterrupt"), ("await session.aio.prompt", "CancelledError")],
)
def test_an_interrupted_prompt_says_so_and_goes_away_and_the_session_goes_on(
    kernel: Kernel, pipe: Path, call: str, error: str
) -> None:
    seen = Seen(kernel, call + prompt(pipe), kernel.manager.interrupt_kernel)
    seen.wait_until_gone()

    assert seen.reply["ename"] == error
    assert seen.told[-1]["state"] == "interrupted"
    assert [update["data"] for update in seen.of("update_display_data")] == [{}]
    assert WORDS not in seen.elsewhere()
    assert kernel.show("session.prompt('say hello').text") == r"'hello\n'"
    pipe.write_text("the tool's thread still waits")


@pytest.mark.req("SE-7")
def test_a_prompt_that_takes_too_long_ends_as_an_interrupted_one(
    kernel: Kernel, pipe: Path
) -> None:
    seen = Seen(kernel, "session.prompt" + prompt(pipe, ", timeout=2"))
    seen.wait_until_gone()

    assert seen.reply["ename"] == "WaitTimeout"
    assert seen.told[-1]["state"] == "interrupted"
    assert kernel.show("session.prompt('say hello').text") == r"'hello\n'"
    pipe.write_text("the tool's thread still waits")


@pytest.mark.req("SE-5", "SE-7")
def test_a_callback_that_raises_changes_nothing_of_what_is_shown(
    kernel: Kernel, pipe: Path
) -> None:
    kernel.show("def refuse(words): raise ValueError(words)")

    seen = Seen(
        kernel, "session.prompt" + prompt(pipe, ", on_text=refuse"), lambda: pipe.write_text("it")
    )

    assert seen.reply["status"] == "ok"
    assert seen.told[-1]["text"].startswith(WORDS)
    assert WORDS not in seen.elsewhere()
    assert seen.opened == seen.closed != set()


@pytest.mark.req("SE-5")
def test_a_view_that_cannot_be_drawn_changes_nothing_of_the_turn(kernel: Kernel) -> None:
    kernel.show(
        "import kandev_nb.widgets.turn as turn; kept = turn.TurnWidget; del turn.TurnWidget"
    )

    seen = Seen(kernel, "session.prompt('say hello\\nwait 1')")
    kernel.show("turn.TurnWidget = kept")

    assert seen.reply["status"] == "ok"
    assert seen.told == []
    assert "a turn could not be shown: NameError" in seen.of("stream")[0]["text"]


@pytest.mark.req("SA-1")
def test_a_turn_that_ends_at_once_leaves_no_place_in_the_notebook(kernel: Kernel) -> None:
    kernel.show("from kandev_nb.widgets import TurnView")

    # Ended first: how fast a machine is proves nothing.
    seen = Seen(kernel, "view = TurnView('t'); view.end(); view.start(); view.gone.result(60)")

    assert seen.reply["status"] == "ok"
    assert {message["msg_type"] for message in seen.messages} == {"status", "execute_input"}


@pytest.mark.req("SA-1")
def test_what_runs_a_notebook_by_itself_gets_the_result_only(kernel: Kernel) -> None:
    seen = Seen(kernel, "session.prompt('say hello\\nwait 1')", allow_stdin=False)

    kinds = {message["msg_type"] for message in seen.messages}
    assert kinds == {"status", "execute_input", "execute_result"}


@pytest.mark.req("SA-1")
def test_the_words_are_printed_and_not_shown_when_the_user_asks(kernel: Kernel) -> None:
    code = f"session.prompt('say ' + {BACKWARDS} + '\\nwait 1', echo=True)"

    seen = Seen(kernel, code)

    assert seen.of("stream")[0]["text"] == f"{WORDS}\n"
    assert seen.opened == set()
    assert seen.of("display_data") == []


@pytest.mark.req("SA-1")
def test_given_a_talkative_agent_the_page_gets_bounded_messages_at_most_ten_a_second(
    kernel: Kernel, pipe: Path
) -> None:
    count = 4000
    code = f"session.prompt('progress {count}\\n' + {prompt(pipe)[1:]}"

    seen = Seen(
        kernel,
        code,
        lambda: pipe.write_text("it"),
        when=lambda content: content.get("tool_call_count") == count,
    )

    assert seen.reply["status"] == "ok"
    assert max(len(content["text"].encode()) for content in seen.told) <= TEXT_BYTES
    assert max(len(content["tool_calls"]) for content in seen.told) == TOOL_CALLS
    last = next(c for c in seen.told if c["tool_call_count"] == count)
    assert last["text"].endswith(f"{count} of {count}\n{WORDS}\n")
    assert last["first_line"] + last["text"].count("\n") == count + 1
    assert [call["number"] for call in last["tool_calls"]][-1] == count
    times = [_when(message) for message in seen.messages if told(message)]
    assert len(times) <= (times[-1] - times[0]) / INTERVAL + 2


@pytest.mark.req("SE-5", "SE-7")
def test_a_front_end_that_goes_away_stops_no_prompt(pipe: Path) -> None:
    with real_kernel() as kernel:
        kernel.show(START)
        leaving = kernel.manager.client(session=Session(key=kernel.manager.session.key))
        leaving.start_channels()
        leaving.wait_for_ready(timeout=60)
        leaving.execute("result = session.prompt" + prompt(pipe))
        while not told(leaving.get_iopub_msg(timeout=60)).get("tool_calls"):
            pass
        leaving.stop_channels()

        pipe.write_text("it")

        assert kernel.show("result") == (
            "<PromptResult: end_turn; tool calls: mcp__kandev__look; .text has its words>"
        )


def _when(message: Message) -> float:
    date = message["header"]["date"]
    assert isinstance(date, datetime)
    return date.timestamp()
