"""A scripted model on loopback, for agents that need one to take a prompt.

A prompt says which tools to call, a line each: ``call get_task_plan_kandev {}``. The model calls
each of them once, then it answers :data:`ANSWER`. It keeps nothing between two requests: an agent
sends its whole conversation every time, with the calls that were made so far. Agents put the
server into a tool's name, each in its own way, so the tool whose name ends with the wanted one is
called; where it is kept behind a search tool, the model searches for it first. To a prompt that
ends with :data:`HANG` it never answers.

It streams OpenAI's chat completions, Anthropic's messages and Gemini's content generation, as far
as agents look at them.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Semaphore, Thread
from typing import Any, Final, NamedTuple

ANSWER: Final = "The scripted model has nothing to add."
HANG: Final = "Think for ever."

_WANTED: Final = re.compile(r"^call (\S+) (\{.*\})$", re.MULTILINE)
_SEARCH: Final = "ToolSearch"
_MCP_PREFIX: Final = "mcp__kandev__"

Json = dict[str, Any]

_numbers: Final = count()
"""An agent takes two calls of one ID for the same call."""


class Call(NamedTuple):
    """A tool that the model calls."""

    tool: str
    arguments: Json


class Conversation(NamedTuple):
    """What an agent sent: the user's words, the calls made so far, the tools to choose from."""

    words: str
    called: list[str]
    offered: list[str]

    @property
    def hangs(self) -> bool:
        """Whether the newest prompt is to hang; one before it was given up."""
        return self.words.rstrip().endswith(HANG)

    def next_call(self) -> Call | None:
        """Return the first wanted call that was not made yet, if its tool can be had."""
        made = [tool for tool in self.called if tool != _SEARCH]
        wanted = _WANTED.findall(self.words)[len(made) :]
        if not wanted:
            return None
        tool, arguments = wanted[0]
        for name in self.offered:
            if name.endswith(tool):
                return Call(name, json.loads(arguments))
        if _SEARCH in self.offered and _SEARCH not in self.called:
            return Call(_SEARCH, {"query": f"select:{_MCP_PREFIX}{tool}"})
        return None


def read_chat(body: Json) -> Conversation:
    """Read a request for a chat completion."""
    messages = body["messages"]
    words = [_text(m["content"]) for m in messages if m["role"] == "user"]
    calls = [call for m in messages for call in m.get("tool_calls") or ()]
    return Conversation(
        "\n".join(words),
        [call["function"]["name"] for call in calls],
        [tool["function"]["name"] for tool in body.get("tools", ())],
    )


def stream_chat(call: Call | None) -> Iterator[Json | str]:
    """Yield the chunks of a chat completion."""
    delta: Json = {"role": "assistant", "content": ANSWER}
    if call:
        function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
        calls = [
            {"index": 0, "id": f"call_{next(_numbers)}", "type": "function", "function": function}
        ]
        delta = {"role": "assistant", "tool_calls": calls}
    for part, reason in ((delta, None), ({}, "tool_calls" if call else "stop")):
        choice = {"index": 0, "delta": part, "finish_reason": reason}
        chunk = {"id": "chat-1", "object": "chat.completion.chunk", "created": 0, "model": "fake"}
        yield chunk | {"choices": [choice]}
    yield "[DONE]"


def read_messages(body: Json) -> Conversation:
    """Read a request for an Anthropic message."""
    words = [_text(m["content"]) for m in body["messages"] if m["role"] == "user"]
    blocks = [b for m in body["messages"] if m["role"] == "assistant" for b in m["content"]]
    return Conversation(
        "\n".join(words),
        [block["name"] for block in blocks if isinstance(block, dict) and "name" in block],
        [tool["name"] for tool in body.get("tools", ())],
    )


def stream_messages(call: Call | None) -> Iterator[Json | str]:
    """Yield the events of an Anthropic message."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    block: Json = {"type": "text", "text": ""}
    delta: Json = {"type": "text_delta", "text": ANSWER}
    if call:
        block = {
            "type": "tool_use",
            "id": f"toolu_{next(_numbers)}",
            "name": call.tool,
            "input": {},
        }
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake"}
    stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    yield {"type": "message_start", "message": message | {"content": [], "usage": usage}}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": stop, "usage": usage}
    yield {"type": "message_stop"}


def read_contents(body: Json) -> Conversation:
    """Read a request for content of Gemini's."""
    parts = [(c.get("role"), part) for c in body["contents"] for part in c["parts"]]
    groups = [tool.get("functionDeclarations", ()) for tool in body.get("tools", ())]
    return Conversation(
        "\n".join(part.get("text", "") for role, part in parts if role == "user"),
        [part["functionCall"]["name"] for _, part in parts if "functionCall" in part],
        [declared["name"] for group in groups for declared in group],
    )


def stream_contents(call: Call | None) -> Iterator[Json | str]:
    """Yield the one chunk of Gemini's content."""
    part: Json = {"text": ANSWER}
    if call:
        part = {"functionCall": {"name": call.tool, "args": call.arguments}}
    content = {"role": "model", "parts": [part]}
    yield {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}


def _text(content: str | list[Json]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if "text" in block)


class _Dialect(NamedTuple):
    path: str
    read: Callable[[Json], Conversation]
    stream: Callable[[Call | None], Iterator[Json | str]]


_DIALECTS: Final = (
    _Dialect("/chat/completions", read_chat, stream_chat),
    _Dialect("/messages", read_messages, stream_messages),
    _Dialect(":streamGenerateContent", read_contents, stream_contents),
)


class ScriptedModel:
    """The model as it is served."""

    def __init__(self, address: str) -> None:
        self.address = address
        """``http://127.0.0.1:PORT``."""

        self.given_up = Semaphore(0)
        """Released for each request without an answer whose agent goes away."""


class _Server(ThreadingHTTPServer):
    @cached_property
    def model(self) -> ScriptedModel:
        return ScriptedModel(f"http://127.0.0.1:{self.server_port}")


class _Request(BaseHTTPRequestHandler):
    """One request. What no dialect knows is answered 404: agents live with that."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.partition("?")[0]
        dialect = next((d for d in _DIALECTS if path.endswith(d.path)), None)
        if dialect is None:
            self.send_error(404)
            return
        conversation = dialect.read(json.loads(body))
        # An agent may go away at any moment.
        with suppress(ConnectionError):
            if conversation.hangs:
                self._wait_until_given_up()
            else:
                self._send(dialect.stream(conversation.next_call()))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class
        """Requests are not logged."""

    def _wait_until_given_up(self) -> None:
        assert isinstance(self.server, _Server)
        try:
            self.rfile.read(1)
        finally:
            self.server.model.given_up.release()

    def _send(self, events: Iterator[Json | str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(_server_sent(event).encode())


def _server_sent(event: Json | str) -> str:
    if isinstance(event, str):
        return f"data: {event}\n\n"
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    """Serve the model on loopback."""
    with _Server(("127.0.0.1", 0), _Request) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.model
        finally:
            server.shutdown()
            thread.join()
