"""The body of one request, read within bounds and judged before the MCP SDK may see it.

The SDK answers a malformed message with its own validation text, which quotes the message, takes a
request with a broken ID for a notification, and lets the last of two equal keys win. So what
reaches it is one well-formed JSON-RPC message; all else is answered here, in the SDK's own error
shape and in words of our own. :func:`admitted_body` reads, :func:`replay` hands on.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import pydantic_core
from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from mcp.server.streamable_http import GET_STREAM_KEY
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope

BODY_BYTES: Final = 4 * 1024 * 1024
"""The largest body that is read."""

BODY_SECONDS = 15.0
"""How long a client may take to send one whole body."""

NESTING: Final = 128
"""How deep the objects and arrays of a message may nest."""

MARKS: Final = 200_000
"""How many brackets and commas a message may have: the values between them take a hundred times
the memory of their bytes."""

_ON_THE_BODY: Final = frozenset(
    (b"content-encoding", b"content-length", b"content-type", b"transfer-encoding")
)
_BYTES_ON_THE_LOOP: Final = 32 * 1024
_LIMITER: Final[RunVar[CapacityLimiter | None]] = RunVar("kandev_nb.endpoint.body")
_ID_CHARACTERS: Final = 1024
_METHOD_CHARACTERS: Final = 1024
_ID_BOUND: Final = 2**63

_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600


class Body(NamedTuple):
    """A body that was let in, and the ID of the JSON-RPC request in it, if it is one.

    The ID is text: the SDK keeps ``1`` and ``"1"`` apart on the wire and confuses their answers.
    """

    content: bytes
    request_id: str | None = None


class Refusal(NamedTuple):
    """Why a request is not served: a status, and a JSON-RPC error that quotes nothing of it."""

    status: int
    code: int
    message: str
    closes: bool = False

    def response(self) -> Response:
        """Return the answer. The ID is null, for the message that it belongs to was not read."""
        error = {"code": self.code, "message": self.message}
        return JSONResponse(
            {"jsonrpc": "2.0", "id": None, "error": error},
            self.status,
            {"connection": "close"} if self.closes else None,
        )


ID_UNDER_WAY: Final = Refusal(400, _INVALID_REQUEST, "A request with this ID is under way")
"""For the second of two requests of one session: the SDK would give it the first one's answer."""

_INCOMPLETE: Final = Refusal(400, _INVALID_REQUEST, "The request body is incomplete")
# Where the body ends is in doubt, so nothing behind it can be read as a request.
_AMBIGUOUS: Final = Refusal(
    400, _INVALID_REQUEST, "Transfer-Encoding and Content-Length exclude each other", closes=True
)
_TOO_SLOW: Final = Refusal(408, _INVALID_REQUEST, "The request body took too long", closes=True)
_TOO_LARGE: Final = Refusal(413, _INVALID_REQUEST, "The request body is larger than 4 MiB")
_NO_JSON_TYPE: Final = Refusal(415, _INVALID_REQUEST, "Content-Type must be application/json")
_ENCODED: Final = Refusal(415, _INVALID_REQUEST, "Content-Encoding must be identity")
_NO_JSON: Final = Refusal(400, _PARSE_ERROR, "The body is not valid JSON in UTF-8")
_TOO_DEEP: Final = Refusal(400, _INVALID_REQUEST, f"The body nests deeper than {NESTING} levels")
_TOO_MANY: Final = Refusal(400, _INVALID_REQUEST, "The body holds too many values")
_DUPLICATE_KEY: Final = Refusal(400, _INVALID_REQUEST, "An object has the same key twice")
_BATCH: Final = Refusal(400, _INVALID_REQUEST, "Batches are not served: send one message a request")
_NO_MESSAGE: Final = Refusal(
    400, _INVALID_REQUEST, "The body is not one usable JSON-RPC 2.0 message"
)


async def admitted_body(scope: Scope, receive: Receive) -> Body | Response:
    """Return the body of one request, or the answer that refuses it.

    The body of a POST is one JSON-RPC message then; others are bounded only. A client that left
    before its body was whole is refused too, which nobody reads.
    """
    body = await _bounded(scope["headers"], scope["method"] == "POST", receive)
    return body.response() if isinstance(body, Refusal) else body


def replay(body: Body, receive: Receive) -> Receive:
    """Return a ``receive`` that gives this body, and then what the real one still has to tell.

    That is the client's leaving, for which an answer that streams is waiting.
    """
    messages: list[Message] = [{"type": "http.request", "body": body.content, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


async def _bounded(
    headers: Iterable[tuple[bytes, bytes]], is_post: bool, receive: Receive
) -> Body | Refusal:
    if refusal := _header_fault(headers, is_post):
        return refusal
    try:
        async with asyncio.timeout(BODY_SECONDS):
            content = await _read(receive)
    except TimeoutError:
        return _TOO_SLOW
    if isinstance(content, Refusal):
        return content
    if not is_post:
        return Body(content)
    if len(content) > _BYTES_ON_THE_LOOP:
        return await to_thread.run_sync(judged, content, limiter=_one_at_a_time())
    return judged(content)


def _one_at_a_time() -> CapacityLimiter:
    """Return the loop's own limiter: of many threads, each would take the loop's turn."""
    limiter = _LIMITER.get(None)
    if limiter is None:
        limiter = CapacityLimiter(1)
        _LIMITER.set(limiter)
    return limiter


async def _read(receive: Receive) -> bytes | Refusal:
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return _INCOMPLETE
        body += message.get("body", b"")
        if len(body) > BODY_BYTES:
            return _TOO_LARGE
        more = message.get("more_body", False)
    return bytes(body)


def _header_fault(headers: Iterable[tuple[bytes, bytes]], is_post: bool) -> Refusal | None:
    """Return what the headers already say against the body."""
    given: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        if name in _ON_THE_BODY:
            given.setdefault(name, []).append(value.lower())
    length = given.get(b"content-length", [b""])[0]
    if length and b"transfer-encoding" in given:
        return _AMBIGUOUS
    if length.isdigit() and int(length) > BODY_BYTES:
        return _TOO_LARGE
    if not is_post:
        return None
    types = [value.partition(b";")[0].strip() for value in given.get(b"content-type", ())]
    if types != [b"application/json"]:
        return _NO_JSON_TYPE
    return None if set(given.get(b"content-encoding", ())) <= {b"identity"} else _ENCODED


def judged(content: bytes) -> Body | Refusal:
    """Return the body of a POST, or what is wrong with it, in time linear in its length."""
    if refusal := _shape_fault(content):
        return refusal
    try:
        # Its refusals are the SDK's own: a lone surrogate, for one, which the decoder below takes.
        pydantic_core.from_json(content, allow_inf_nan=False)
        message = _DECODER.decode(content.decode())
    except _DuplicateKeyError:
        return _DUPLICATE_KEY
    except ValueError:
        return _NO_JSON
    if isinstance(message, list):
        return _BATCH
    if not isinstance(message, dict) or not _is_message(message):
        return _NO_MESSAGE
    return Body(content, str(message["id"]) if "method" in message and "id" in message else None)


# Possessive all through: it never goes back, so no body makes it slower than its length.
_TO_NEXT_MARK: Final = re.compile(
    rb'[^"\[\]{},]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"?+[^"\[\]{},]*+)*+', re.DOTALL
)


def _shape_fault(content: bytes) -> Refusal | None:
    """Return what is wrong with the nesting and number of values, without making one of them."""
    openings = content.count(b"{") + content.count(b"[")
    if openings <= NESTING and content.count(b",") <= MARKS - 2 * NESTING:
        return None
    depth = marks = position = 0
    while (position := _next_mark(content, position)) < len(content):
        mark = content[position]
        depth += (mark in b"{[") - (mark in b"}]")
        marks += 1
        if depth > NESTING:
            return _TOO_DEEP
        if marks > MARKS:
            return _TOO_MANY
        position += 1
    return None


def _next_mark(content: bytes, start: int) -> int:
    """Return where the next bracket or comma outside a string is, or the end of the body."""
    run = _TO_NEXT_MARK.match(content, start)
    return run.end() if run else len(content)


class _DuplicateKeyError(ValueError):
    """An object has the same key twice."""


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(members)
    if len(unique) != len(members):
        raise _DuplicateKeyError
    return unique


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number out of range")
    return number


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite)


def _is_message(message: Mapping[str, Any]) -> bool:
    """Tell whether an object is a JSON-RPC 2.0 message, by the rules of the MCP schema."""
    if message.get("jsonrpc") != "2.0":
        return False
    answers = ("result" in message) + ("error" in message)
    return _is_call(message) if "method" in message else answers == 1 and _is_answer(message)


def _is_call(message: Mapping[str, Any]) -> bool:
    method = message["method"]
    return (
        isinstance(method, str)
        and len(method) <= _METHOD_CHARACTERS
        and isinstance(message.get("params"), dict | None)
        and ("id" not in message or _is_id(message["id"]))
        and "result" not in message
        and "error" not in message
    )


def _is_answer(message: Mapping[str, Any]) -> bool:
    if "result" in message:
        return isinstance(message["result"], dict) and _is_id(message.get("id"))
    error = message["error"]
    return (
        isinstance(error, dict)
        and type(error.get("code")) is int
        and isinstance(error.get("message"), str)
        and "id" in message
        and (message["id"] is None or _is_id(message["id"]))
    )


def _is_id(value: object) -> bool:
    if isinstance(value, str):
        # A request of that ID would take the place of the session's own stream in the SDK.
        return len(value) <= _ID_CHARACTERS and value != GET_STREAM_KEY
    return type(value) is int and abs(value) < _ID_BOUND
