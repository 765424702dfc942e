"""One prompt turn: what the agent says and which tools it uses between a prompt and its answer.

Raw ``session/update`` objects come in (ACP, "Prompt Turn"); a :class:`PromptResult` leaves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kandev_nb.attachment.limits import TOOL_NAME_BYTES, cut_utf8
from kandev_nb.attachment.sanitize import sanitize_summary

_STARTUP_REPORTS: Final = "mcp_startup."
"""Tool call IDs under which codex reports that a server did not start: no tool was used."""

_STATUSES: Final = ("pending", "in_progress", "completed", "failed")
"""What a tool call can be; another word of an agent changes nothing."""


@dataclass(frozen=True, repr=False)
class PromptResult:
    """How a prompt turn ended.

    ``tool_names`` are the titles of the tool calls, as the agent spells them, in order of first
    appearance. A cell shows the names sanitized, for some agents put arguments there, and that
    there is ``text`` but not the text, so that a notebook does not save it.
    """

    stop_reason: str
    text: str
    tool_names: tuple[str, ...]

    def __repr__(self) -> str:
        tools = ", ".join(sanitize_summary(name) for name in self.tool_names) or "none"
        return (
            f"<PromptResult: {self.stop_reason}; tool calls: {tools}; "
            f"{'.text has its words' if self.text else 'it said nothing'}>"
        )


@dataclass(frozen=True)
class ToolCall:
    """One tool call, as the agent says it.

    ``number`` is its place in the turn, from 1; ``name`` its first title; ``status`` one of ACP's:
    pending, in_progress, completed, failed.
    """

    number: int
    name: str
    status: str = "pending"


class Listener:
    """Hears a turn as it goes on. Called on the event loop; its methods return at once."""

    def __call__(self, words: str, /) -> None:
        """Called with the agent's words as they come."""

    def tool_call(self, call: ToolCall, /) -> None:
        """Called for each tool call, and again whenever the agent says how it goes."""


class Turn:
    """A prompt that is under way; ``listener`` hears how it goes on."""

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._words: list[str] = []
        self._calls: dict[str, ToolCall] = {}

    def take(self, update: Mapping[str, Any]) -> None:
        """Take one update of the session; kinds that say nothing here are passed over."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self._take_words(update.get("content"))
            case "tool_call" | "tool_call_update":
                self._take_tool(*map(update.get, ("toolCallId", "title", "status")))

    def result(self, answer: object) -> PromptResult:
        """Return the turn as it stands, with the stop reason of ``session/prompt``'s answer."""
        reason = answer.get("stopReason") if isinstance(answer, Mapping) else None
        return PromptResult(
            stop_reason=reason if isinstance(reason, str) else "unknown",
            text="".join(self._words),
            tool_names=tuple(dict.fromkeys(call.name for call in self._calls.values())),
        )

    def _take_words(self, content: object) -> None:
        words = content.get("text") if isinstance(content, Mapping) else None
        if isinstance(words, str):
            self._words.append(words)
            if self._listener is not None:
                self._listener(words)

    def _take_tool(self, call_id: object, title: object, status: object) -> None:
        if not isinstance(call_id, str) or call_id.startswith(_STARTUP_REPORTS):
            return
        call = self._calls.get(call_id)
        if call is None:
            if not isinstance(title, str):
                return
            # The first title counts: agents refine it later, up to showing the arguments.
            call = ToolCall(len(self._calls) + 1, cut_utf8(title, TOOL_NAME_BYTES))
        if status in _STATUSES:
            call = replace(call, status=str(status))
        self._calls[call_id] = call
        if self._listener is not None:
            self._listener.tool_call(call)
