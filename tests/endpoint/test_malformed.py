"""Whatever comes with a right secret: it is answered, and costs nobody else anything.

A :class:`Visitor` writes bytes that no client library would send. When it has gone, the session
that it found is as it was: served, without new evidence, and without its bytes in any log.
"""

import asyncio
import gzip
import json
import logging
import random
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import mcp_types as types
import pydantic_core
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.jsonrpc import jsonrpc_message_adapter

from kandev_nb.attachment import limits
from kandev_nb.endpoint import AttemptEndpoint, Tool, ToolRegistry, body
from tests.endpoint.conftest import House, reached
from tests.endpoint.test_observation import INITIALIZE, MODERN

pytestmark = [pytest.mark.anyio, pytest.mark.req("SA-4", "SA-1", "EV-3", "EV-4")]

CANARY = "sk-canary-4f1d9c07"
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
LOGGERS = ("", "asyncio", "kandev_nb", "mcp", "sse_starlette", "uvicorn", "uvicorn.error")
JSON = b"content-type: application/json"
ACCEPT = b"accept: application/json, text/event-stream"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
}
IDLE_SECONDS = "kandev_nb.endpoint.wire.IDLE_SECONDS"
PING = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def code(self) -> int:
        error: dict[str, Any] = json.loads(self.content)["error"]
        return int(error["code"])


async def read_answer(reader: asyncio.StreamReader, *, to_head: bool = False) -> Answer:
    """Read one answer; an event stream is read to its end."""
    async with asyncio.timeout(20):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        lines = [line.partition(": ") for line in head[1:] if line]
        headers = {name.lower(): value for name, _, value in lines}
        content = b"" if to_head else await _content(reader, headers)
    return Answer(int(head[0].split()[1]), headers, content)


async def _content(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "content-length" in headers:
        return await reader.readexactly(int(headers["content-length"]))
    if headers.get("transfer-encoding") != "chunked":
        return await reader.read()
    content = b""
    while size := int(await reader.readline(), 16):
        content += (await reader.readexactly(size + 2))[:-2]
    await reader.readline()
    return content


class Visitor:
    """Somebody who knows an attempt's URL, and a session in it."""

    def __init__(self, house: House, endpoint: AttemptEndpoint, session: bytes = b"") -> None:
        address = urlsplit(house.server.url(endpoint))
        self.port = address.port
        self.path = address.path.encode()
        self.host = f"host: {address.netloc}".encode()
        self.session = b"mcp-session-id: " + session

    def request(
        self,
        content: bytes,
        *headers: bytes,
        method: bytes = b"POST",
        target: bytes | None = None,
        version: bytes = b"HTTP/1.1",
        typed: tuple[bytes, ...] = (JSON, ACCEPT),
        length: bool = True,
    ) -> bytes:
        lines = [b" ".join((method, target or self.path, version)), self.host, *typed, *headers]
        if length:
            lines.append(b"content-length: %d" % len(content))
        return b"\r\n".join((*lines, b"", content))

    def in_era(self, era: str, content: bytes) -> bytes:
        return self.request(content, self.session if era == "session" else _MODERN_HEADERS)

    def stateless(
        self, method: str, params: object, *headers: bytes, version: str = MODERN
    ) -> bytes:
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        version_header = b"mcp-protocol-version: " + version.encode("latin-1")
        return self.request(json.dumps(message).encode(), version_header, *headers)

    @asynccontextmanager
    async def connected(
        self, sent: bytes = b""
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(sent)
            yield reader, writer
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def answer(self, sent: bytes, *, to_head: bool = False) -> Answer:
        async with self.connected(sent) as (reader, _):
            return await read_answer(reader, to_head=to_head)

    async def last_answer(self, sent: bytes) -> Answer:
        """Return the answer, behind which the connection must be closed."""
        async with self.connected(sent) as (reader, _):
            answer = await read_answer(reader)
            async with asyncio.timeout(20):
                assert await reader.read() == b"", "a second answer"
            return answer


_MODERN_HEADERS = f"mcp-protocol-version: {MODERN}\r\nmcp-method: ping".encode()


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {self.format(record)}")


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """Every line that is logged at debug level, by whomever, with its traceback."""
    for name in LOGGERS:
        caplog.set_level(logging.DEBUG, logger=name or None)
    lines = _Lines()
    logging.getLogger().addHandler(lines)
    yield lines.lines
    logging.getLogger().removeHandler(lines)


@pytest.fixture
async def visitor(house: House, log: list[str]) -> AsyncIterator[Visitor]:
    """A visitor of a session that has shaken hands; what it does must leave no trace."""
    endpoint = await house.attempt("attempt-1")
    opened = await Visitor(house, endpoint).answer(
        Visitor(house, endpoint).request(json.dumps(INITIALIZE).encode())
    )
    visitor = Visitor(house, endpoint, opened.headers["mcp-session-id"].encode())
    yield visitor
    assert house.kinds() == ["initialize_observed"]
    assert_quiet(log, endpoint)
    listed = await visitor.answer(
        visitor.request(b'{"jsonrpc":"2.0","id":8,"method":"tools/list"}', visitor.session)
    )
    assert listed.status == 200
    assert house.row
    assert house.row.status == "active"


def assert_quiet(log: list[str], endpoint: AttemptEndpoint) -> None:
    for line in log:
        assert not line.startswith(("ERROR", "CRITICAL")), line
        assert "Traceback" not in line
        assert CANARY not in line
        assert endpoint.secret not in line


def assert_refused(answer: Answer, status: int, code: int) -> None:
    assert (answer.status, answer.code) == (status, code)
    assert json.loads(answer.content)["id"] is None
    assert CANARY.encode() not in answer.content


def ping(**params: object) -> bytes:
    message = {"jsonrpc": "2.0", "id": 7, "method": "ping", "params": params}
    return json.dumps(message).encode()


NO_JSON = {
    "nothing": b"",
    "white space": b" \r\n\t",
    "cut": b'{"jsonrpc":"2.0","id":7,"method":"' + CANARY.encode(),
    "a comma too many": b'{"a":"sk-canary-4f1d9c07",}',
    "two values": PING + PING,
    "a comment": b"/* */" + PING,
    "single quotes": PING.replace(b'"', b"'"),
    "a byte order mark": b"\xef\xbb\xbf" + PING,
    "UTF-16": PING.decode().encode("utf-16"),
    "UTF-32": PING.decode().encode("utf-32-be"),
    "no UTF-8": ping(a="X").replace(b"X", b"\xff"),
    "overlong UTF-8": ping(a="X").replace(b"X", b"\xc0\xaf"),
    "a surrogate in UTF-8": ping(a="X").replace(b"X", b"\xed\xa0\x80"),
    "a lone high surrogate": ping(a="X").replace(b"X", rb"\ud800"),
    "a lone low surrogate": ping(a="X").replace(b"X", rb"\udc00"),
    "a lone surrogate in a key": ping(X=1).replace(b"X", rb"\ud800"),
    "NaN": ping(a=float("nan")),
    "Infinity": ping(a=float("inf")),
    "-Infinity": ping(a=float("-inf")),
    "a number out of range": ping(a=1).replace(b"1}", b"1e999}"),
    "an integer of 5000 digits": ping(a=1).replace(b"1}", b"9" * 5000 + b"}"),
    "a leading zero": ping(a=1).replace(b"1}", b"01}"),
    "a line break in a string": ping(a="X").replace(b"X", b"\n"),
    "a NUL in a string": ping(a="X").replace(b"X", b"\0"),
    "a NUL at the end": PING + b"\0",
    "an unknown escape": ping(a="X").replace(b"X", rb"\x41"),
    "gzip": gzip.compress(PING),
    "quotes without end": b'"' + rb"\"" * 100_000,
}


@pytest.mark.parametrize("era", ["session", "stateless"])
@pytest.mark.parametrize("content", NO_JSON.values(), ids=NO_JSON)
async def test_what_is_no_json_is_a_parse_error(visitor: Visitor, content: bytes, era: str) -> None:
    answer = await visitor.answer(visitor.in_era(era, content))

    assert_refused(answer, 400, PARSE_ERROR)


def changed(**members: object) -> bytes:
    return json.dumps({**json.loads(PING), **members}).encode()


def without(name: str) -> bytes:
    return json.dumps({k: v for k, v in json.loads(PING).items() if k != name}).encode()


def reply(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, **members}).encode()


FAULT = {"code": -1, "message": CANARY}
VERSIONS: list[object] = ["1.0", "2", "", 2, 2.0, None, True, ["2.0"], {}, CANARY]
IDS: list[object] = [None, 1.0, 1.5, True, False, [], {}, {"a": CANARY}, 2**63, -(2**64)]
METHODS: list[object] = [None, 1, True, [], {}, ["ping"], {"a": CANARY}]
PARAMS: list[object] = [[], [1], 1, 1.5, True, CANARY, ""]
RESULTS: list[object] = [None, 1, CANARY, [], True]
ERRORS: list[object] = [None, 1, CANARY, [], {}, {"code": 1}]
NO_MESSAGE = {
    "an empty batch": b"[]",
    "a batch of one": b"[" + PING + b"]",
    "a batch of many": b"[" + b",".join([PING] * 500) + b"]",
    "a batch of no messages": b"[1, null]",
    **{f"the scalar {value}": value.encode() for value in ("null", "true", "1", "1.5", '"x"')},
    "an empty object": b"{}",
    **{f"jsonrpc {value!r}": changed(jsonrpc=value) for value in VERSIONS},
    "no jsonrpc": without("jsonrpc"),
    **{f"id {value!r}": changed(id=value) for value in IDS},
    "an ID of 4000 digits": PING.replace(b"7", b"7" * 4000),
    "an ID of 1 MB": changed(id="i" * 1_000_000),
    "the ID of the session's own stream": changed(id="_GET_stream"),
    **{f"method {value!r}": changed(method=value) for value in METHODS},
    "no method": without("method"),
    "a method of 1 MB": changed(method="m" * 1_000_000),
    **{f"params {value!r}": changed(params=value) for value in PARAMS},
    "a request with a result": changed(result={}),
    "a request with an error": changed(error=FAULT),
    "a result and an error": reply(result={}, error=FAULT),
    **{f"result {value!r}": reply(result=value) for value in RESULTS},
    "a result without ID": reply(id=None, result={}),
    **{f"error {value!r}": reply(error=value) for value in ERRORS},
    "an error code of text": reply(error={**FAULT, "code": "1"}),
    "an error code that is true": reply(error={**FAULT, "code": True}),
    "an error message that is none": reply(error={**FAULT, "message": None}),
    "an error with a false ID": reply(id=[], error=FAULT),
}


@pytest.mark.parametrize("era", ["session", "stateless"])
@pytest.mark.parametrize("content", NO_MESSAGE.values(), ids=NO_MESSAGE)
async def test_json_that_is_no_message_is_an_invalid_request(
    visitor: Visitor, content: bytes, era: str
) -> None:
    answer = await visitor.answer(visitor.in_era(era, content))

    assert_refused(answer, 400, INVALID_REQUEST)


async def test_a_batch_is_refused_with_what_to_do_instead(visitor: Visitor) -> None:
    answer = await visitor.answer(visitor.request(b"[" + PING + b"]", visitor.session))

    assert b"send one message a request" in answer.content


@pytest.mark.parametrize(
    "content",
    [
        PING,
        changed(params=None),
        changed(params={}),
        changed(id="seven"),
        changed(id=""),
        changed(id=-(2**63) + 1),
        changed(id="\0\r\n"),
        ping(a="\U0001f600\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")),
        b" \r\n" + PING + b"\n ",
        ping(a={"x": 1}, b={"x": 1}, c=[{"x": 1}, {"x": 1}]),
    ],
)
async def test_an_odd_message_that_is_well_formed_is_served(
    visitor: Visitor, content: bytes
) -> None:
    answer = await visitor.answer(visitor.request(content, visitor.session))

    assert answer.status == 200
    assert b'"result":{}' in answer.content


@pytest.mark.parametrize("message", [reply(result={}), reply(id=None, error=FAULT)])
async def test_an_answer_to_nothing_is_accepted_and_dropped(
    visitor: Visitor, message: bytes
) -> None:
    answer = await visitor.answer(visitor.request(message, visitor.session))

    assert (answer.status, answer.content) == (202, b"")


def nested(opening: str, closing: str, levels: int) -> bytes:
    """Return a ping in which the objects and arrays nest this deep, the message included."""
    inner = levels - 2
    return ping(a="X").replace(b'"X"', (opening * inner + "0" + closing * inner).encode())


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
async def test_what_nests_too_deep_is_refused(visitor: Visitor, opening: str, closing: str) -> None:
    step = opening.count("[") + opening.count("{")
    levels = body.NESTING // step

    deepest = nested(opening, closing, (body.NESTING - 2) // step + 2)
    served = await visitor.answer(visitor.request(deepest, visitor.session))
    deeper = nested(opening, closing, levels + 2)
    refused = await visitor.answer(visitor.request(deeper, visitor.session))

    assert served.status == 200
    assert_refused(refused, 400, INVALID_REQUEST)
    assert b"128 levels" in refused.content


@pytest.mark.parametrize(
    "content",
    [b"[" * 1_000_000, b'{"a":' * 200_000, b'{"a":[' * 150_000, nested("[", "]", 1_000_000)],
    ids=["arrays", "objects", "both", "closed"],
)
async def test_a_million_levels_are_refused_like_one_too_many(
    visitor: Visitor, content: bytes
) -> None:
    answer = await visitor.answer(visitor.request(content, visitor.session))

    assert_refused(answer, 400, INVALID_REQUEST)


@pytest.mark.parametrize(
    "text", ["[" * 500, "{[" * 500, '"[' * 500, "\\" * 501 + "[" * 500, '\\"' * 200 + "{" * 500]
)
async def test_brackets_in_a_string_are_no_levels(visitor: Visitor, text: str) -> None:
    answer = await visitor.answer(visitor.request(ping(**{"a": text, text: 1}), visitor.session))

    assert answer.status == 200


@pytest.mark.parametrize("value", ["[{},[]]", '{"a":1}', "0"])
async def test_what_holds_too_many_values_is_refused(visitor: Visitor, value: str) -> None:
    def many(times: int) -> bytes:
        return ping(a="X").replace(b'"X"', b"[" + b",".join([value.encode()] * times) + b"]")

    served = await visitor.answer(visitor.request(many(1000), visitor.session))
    refused = await visitor.answer(visitor.request(many(body.MARKS), visitor.session))

    assert served.status == 200
    assert_refused(refused, 400, INVALID_REQUEST)
    assert b"too many values" in refused.content


async def test_commas_in_a_string_are_no_values(visitor: Visitor) -> None:
    content = ping(a=',"' * body.MARKS)

    answer = await visitor.answer(visitor.request(content, visitor.session))

    assert answer.status == 200


CALL = b'{"name":"create_task_plan_kandev","arguments":{"content":"x","content":"y"}}'


@pytest.mark.parametrize("era", ["session", "stateless"])
@pytest.mark.parametrize(
    "content",
    [
        PING.replace(b"}", b',"id":8}'),
        PING.replace(b"}", rb',"\u0069d":8}'),
        PING.replace(b"}", b',"method":"tools/list"}'),
        PING.replace(b"}", b',"params":{"a":1,"b":2,"a":1}}'),
        PING.replace(b"}", b',"params":{"_meta":{"a":1,"a":1}}}'),
        PING.replace(b"}", b',"params":{"a":[[{"a":{"":1,"":1}}]]}}'),
        PING.replace(b"ping", b"tools/call").replace(b"}", b',"params":' + CALL + b"}"),
    ],
    ids=["top", "escaped", "method", "params", "meta", "deep", "arguments"],
)
async def test_the_same_key_twice_is_refused(visitor: Visitor, content: bytes, era: str) -> None:
    answer = await visitor.answer(visitor.in_era(era, content))

    assert_refused(answer, 400, INVALID_REQUEST)
    assert b"same key twice" in answer.content


def padded(size: int) -> bytes:
    empty = ping(a="")
    return ping(a="x" * (size - len(empty)))


async def test_the_largest_body_is_served_and_one_byte_more_is_refused(visitor: Visitor) -> None:
    largest, larger = padded(body.BODY_BYTES), padded(body.BODY_BYTES + 1)

    served = await visitor.answer(visitor.request(largest, visitor.session))
    refused = await visitor.answer(visitor.request(larger, visitor.session))

    assert served.status == 200
    assert_refused(refused, 413, INVALID_REQUEST)


@pytest.mark.parametrize("method", [b"POST", b"GET", b"DELETE", b"PUT"])
@pytest.mark.parametrize("size", [body.BODY_BYTES + 1, 10**19])
async def test_a_body_that_is_announced_too_large_is_not_asked_for(
    visitor: Visitor, method: bytes, size: int
) -> None:
    length = b"content-length: %d" % size
    for headers in ([length], [length, b"expect: 100-continue"]):
        sent = visitor.request(b"", visitor.session, *headers, method=method, length=False)

        assert_refused(await visitor.answer(sent), 413, INVALID_REQUEST)


@pytest.mark.parametrize("method", [b"POST", b"GET"])
async def test_a_body_without_end_is_answered_before_its_end(
    visitor: Visitor, method: bytes
) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    chunked = b"transfer-encoding: chunked"
    head = visitor.request(b"", visitor.session, chunked, method=method, length=False)

    async with visitor.connected(head) as (reader, writer):
        answered = asyncio.create_task(read_answer(reader))
        while not answered.done():
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(0)

    assert_refused(answered.result(), 413, INVALID_REQUEST)


@pytest.mark.parametrize("method", [b"POST", b"GET", b"DELETE", b"PUT"])
@pytest.mark.parametrize("start", [b"", b"{"])
async def test_a_body_that_does_not_come_is_given_up(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, method: bytes, start: bytes
) -> None:
    monkeypatch.setattr(body, "BODY_SECONDS", 0.2)
    length = b"content-length: 50"
    sent = visitor.request(start, visitor.session, length, method=method, length=False)

    assert_refused(await visitor.last_answer(sent), 408, INVALID_REQUEST)


async def test_a_body_that_trickles_has_one_deadline_for_all_of_it(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "BODY_SECONDS", 0.2)
    chunked = b"transfer-encoding: chunked"
    head = visitor.request(b"", visitor.session, chunked, length=False)

    async with visitor.connected(head) as (reader, writer):
        answered = asyncio.create_task(read_answer(reader))
        while not answered.done():
            writer.write(b"1\r\n \r\n")
            await asyncio.wait([answered], timeout=0.02)

    assert_refused(answered.result(), 408, INVALID_REQUEST)


async def test_who_is_slow_delays_nobody(visitor: Visitor) -> None:
    length = b"content-length: 50"
    slow = visitor.request(b"{", visitor.session, length, length=False)

    async with visitor.connected(slow) as (reader, writer):
        served = await visitor.answer(visitor.request(PING, visitor.session))
        writer.write(b" " * 49)
        answer = await read_answer(reader)

    assert served.status == 200
    assert_refused(answer, 400, PARSE_ERROR)


@pytest.mark.parametrize("method", [b"POST", b"GET", b"DELETE"])
@pytest.mark.parametrize(
    ("framing", "start"),
    [
        (b"content-length: 5000", PING),
        (b"transfer-encoding: chunked", b"1388\r\n" + PING),
        (b"transfer-encoding: chunked", b"1"),
    ],
)
async def test_who_leaves_before_its_body_is_whole_is_not_answered(
    visitor: Visitor, method: bytes, framing: bytes, start: bytes
) -> None:
    sent = visitor.request(start, visitor.session, framing, method=method, length=False)

    async with visitor.connected(sent) as (reader, writer):
        writer.write_eof()
        async with asyncio.timeout(20):
            assert await reader.read() == b""


async def test_large_bodies_are_judged_beside_the_loop_and_one_at_a_time(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_the_loop: list[int] = []
    judged, turn = body.judged, threading.Lock()

    def noting(content: bytes) -> body.Body | body.Refusal:
        if threading.current_thread() is threading.main_thread():
            on_the_loop.append(len(content))
            return judged(content)
        assert turn.acquire(blocking=False), "two at a time"
        try:
            return judged(content)
        finally:
            turn.release()

    monkeypatch.setattr(body, "judged", noting)
    objects = b'{"a":' + b"[" + b"{}," * 20_000 + b"{}]}"
    large = PING.replace(b"}", b',"params":' + objects + b"}")
    twice = PING.replace(b"}", b',"params":{"b":' + objects + b',"b":1}}')

    *answers, small = await asyncio.gather(
        *(visitor.answer(visitor.request(twice, visitor.session)) for _ in range(3)),
        visitor.answer(visitor.request(large, visitor.session)),
        visitor.answer(visitor.request(changed(id=9), visitor.session)),
    )

    assert [answer.status for answer in answers] == [400, 400, 400, 200]
    assert small.status == 200
    assert on_the_loop == [len(changed(id=9))]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [b"content-type:"],
        [b"content-type: text/plain"],
        [b"content-type: application/jsonp"],
        [b"content-type: application/json-rpc"],
        [b"content-type: text/plain, application/json"],
        [b"content-type: multipart/form-data; boundary=application/json"],
        [b"content-type: \xff"],
        [JSON, JSON],
        [JSON, b"content-type: text/plain"],
        [JSON, b"content-encoding: gzip"],
        [JSON, b"content-encoding: identity", b"content-encoding: br"],
    ],
)
async def test_a_body_of_another_type_is_unsupported(
    visitor: Visitor, headers: list[bytes]
) -> None:
    content = gzip.compress(PING) if any(b"gzip" in header for header in headers) else PING
    sent = visitor.request(content, visitor.session, typed=(ACCEPT, *headers))

    assert_refused(await visitor.answer(sent), 415, INVALID_REQUEST)


@pytest.mark.parametrize(
    "content_type",
    [b"application/json; charset=utf-8", b"application/json;charset=UTF-8", b"application/json "],
)
async def test_json_may_name_its_charset(visitor: Visitor, content_type: bytes) -> None:
    typed = (ACCEPT, b"content-type: " + content_type, b"content-encoding: identity")

    answer = await visitor.answer(visitor.request(PING, visitor.session, typed=typed))

    assert answer.status == 200


@pytest.mark.parametrize("era", ["session", "stateless"])
@pytest.mark.parametrize(
    "accept", [[], [b"accept:"], [b"accept: text/html"], [b"accept: ;;,,\xff"], [b"accept: json"]]
)
async def test_an_answer_that_the_client_does_not_accept_is_not_made(
    visitor: Visitor, accept: list[bytes], era: str
) -> None:
    of_era = visitor.session if era == "session" else _MODERN_HEADERS
    sent = visitor.request(PING, of_era, typed=(JSON, *accept))

    assert (await visitor.answer(sent)).status == 406


def framed(visitor: Visitor, *headers: bytes, content: bytes = PING) -> bytes:
    return visitor.request(content, visitor.session, *headers, length=False)


NOT_UNDERSTOOD = b"Invalid HTTP request received."
NO_HTTP = {
    "a negative length": [b"content-length: -5"],
    "a signed length": [b"content-length: +5"],
    "a length in hexadecimal": [b"content-length: 0x5"],
    "a length of many digits": [b"content-length: " + b"9" * 5000],
    "a length with a space": [b"content-length: 4 0"],
    "an empty length": [b"content-length:"],
    "two lengths": [b"content-length: 40", b"content-length: 41"],
    "two lengths in one": [b"content-length: 40, 41"],
    "gzip, chunked": [b"transfer-encoding: gzip, chunked"],
    "two encodings": [b"transfer-encoding: chunked", b"transfer-encoding: identity"],
    "an encoding that is none": [b"transfer-encoding: sk-canary-4f1d9c07"],
    "a bare CR": [b"x-canary: sk-canary-4f1d9c07\rx: y"],
    "a NUL": [b"x-canary: sk-canary-4f1d9c07\0"],
    "a NUL in a name": [b"x\0: sk-canary-4f1d9c07"],
    "a space before the colon": [b"x-canary : sk-canary-4f1d9c07"],
    "no colon": [b"sk-canary-4f1d9c07"],
    "no name": [b": sk-canary-4f1d9c07"],
    "a second host": [b"host: sk-canary-4f1d9c07"],
    "a size that is none": [b"transfer-encoding: chunked", b"", b"zz", b"sk-canary-4f1d9c07"],
    "a negative size": [b"transfer-encoding: chunked", b"", b"-1", b"sk-canary-4f1d9c07"],
    "a size without end": [b"transfer-encoding: chunked", b"", b"f" * 100],
    "a chunk that is too long": [b"transfer-encoding: chunked", b"", b"1", b"sk-canary-4f1d9c07"],
}


@pytest.mark.parametrize("lines", NO_HTTP.values(), ids=NO_HTTP)
async def test_what_is_no_http_ends_the_connection(visitor: Visitor, lines: list[bytes]) -> None:
    answer = await visitor.last_answer(framed(visitor, *lines))

    assert (answer.status, answer.content) == (400, NOT_UNDERSTOOD)


@pytest.mark.parametrize(
    "line",
    [
        b"POST",
        b"POST /",
        b"POST / HTTP/x.y",
        b"POST  / HTTP/1.1",
        b"POST /\xff HTTP/1.1",
        b"PO ST / HTTP/1.1",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\r\n\r\n\r\n\r\nsk-canary-4f1d9c07",
    ],
)
async def test_a_first_line_that_is_none_ends_the_connection(visitor: Visitor, line: bytes) -> None:
    answer = await visitor.last_answer(line + b"\r\n\r\n")

    assert (answer.status, answer.content) == (400, NOT_UNDERSTOOD)


async def test_without_a_host_nothing_is_served(visitor: Visitor) -> None:
    with_host = visitor.request(PING, visitor.session)

    answer = await visitor.last_answer(with_host.replace(visitor.host + b"\r\n", b""))

    assert answer.status == 400


@pytest.mark.parametrize("length", [4, 5, 400])
async def test_a_request_behind_a_body_of_two_lengths_is_not_smuggled_in(
    visitor: Visitor, length: int
) -> None:
    hidden = visitor.request(b'{"jsonrpc":"2.0","id":8,"method":"tools/list"}', visitor.session)
    both = [b"content-length: %d" % length, b"transfer-encoding: chunked"]

    for headers in (both, both[::-1]):
        answer = await visitor.last_answer(framed(visitor, *headers, content=b"0\r\n\r\n" + hidden))

        assert_refused(answer, 400, INVALID_REQUEST)


async def test_pipelined_requests_are_answered_in_order(visitor: Visitor) -> None:
    sent = b"".join(
        visitor.request(content, visitor.session) for content in (PING, b"[]", PING, PING, b"{")
    )

    async with visitor.connected(sent + b"sk-canary-4f1d9c07\r\n\r\n") as (reader, _):
        answers = [await read_answer(reader) for _ in range(6)]
        assert await reader.read() == b""

    assert [answer.status for answer in answers] == [200, 400, 200, 200, 400, 400]
    assert [answers[1].code, answers[4].code] == [INVALID_REQUEST, PARSE_ERROR]


async def test_a_bad_chunk_behind_an_early_answer_only_ends_the_connection(
    visitor: Visitor,
) -> None:
    chunked = b"transfer-encoding: chunked"
    for target in (visitor.path + b"/else", b"/mcp", visitor.path):
        sent = visitor.request(
            b"2\r\n{}\r\n", visitor.session, chunked, target=target, typed=(), length=False
        )

        async with visitor.connected(sent) as (reader, writer):
            answer = await read_answer(reader)
            writer.write(b"sk-canary-4f1d9c07\r\n")
            assert await reader.read() == b""

        assert answer.status in (401, 404, 415)


@pytest.mark.parametrize("sent", [b"", b"POST", b"POST / HTTP/1.1\r\nhost: x\r\nx-a: b"])
async def test_a_header_that_does_not_end_is_given_up(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(IDLE_SECONDS, 0.2 if not sent else 1000)

    async with visitor.connected() as (reader, writer):
        if sent:
            writer.write(visitor.request(PING, visitor.session))
            assert (await read_answer(reader)).status == 200
            monkeypatch.setattr(IDLE_SECONDS, 0.2)
            writer.write(sent)
        async with asyncio.timeout(20):
            assert await reader.read() == b""


async def test_a_body_that_trickles_behind_its_refusal_is_given_up(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(IDLE_SECONDS, 0.2)
    length = b"content-length: %d" % (2 * body.BODY_BYTES)
    sent = visitor.request(b"{", visitor.session, length, length=False)

    async with visitor.connected(sent) as (reader, writer):
        assert (await read_answer(reader)).status == 413
        closed = asyncio.create_task(reader.read())
        while not closed.done():
            writer.write(b" ")
            await asyncio.wait([closed], timeout=0.02)

        with suppress(ConnectionError):
            assert await closed == b""


async def test_http_1_0_is_served_and_closed(visitor: Visitor) -> None:
    sent = visitor.request(PING, visitor.session, version=b"HTTP/1.0")

    answer = await visitor.last_answer(sent)

    assert answer.status == 200
    assert b'"result":{}' in answer.content


async def test_who_asks_before_it_sends_is_told_to_go_on(visitor: Visitor) -> None:
    head, _, content = visitor.request(PING, visitor.session, b"expect: 100-continue").partition(
        b"\r\n\r\n"
    )

    async with visitor.connected(head + b"\r\n\r\n") as (reader, writer):
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(content)
        answer = await read_answer(reader)

    assert answer.status == 200


@pytest.mark.parametrize("era", ["session", "stateless"])
@pytest.mark.parametrize(
    "method", ["PUT", "PATCH", "TRACE", "OPTIONS", "HEAD", "CONNECT", "BREW", "post", "QUERY"]
)
async def test_a_method_that_is_not_served_is_refused_with_those_that_are(
    visitor: Visitor, method: str, era: str
) -> None:
    of_era = visitor.session if era == "session" else _MODERN_HEADERS
    sent = visitor.request(b"", of_era, b"x-canary: sk-canary-4f1d9c07", method=method.encode())

    answer = await visitor.answer(sent, to_head=method == "HEAD")

    assert answer.status == 405
    assert "POST" in answer.headers["allow"]
    assert CANARY.encode() not in answer.content


@pytest.mark.parametrize(
    ("before", "behind", "status"),
    [
        (b"http://127.0.0.1", b"", 401),
        (b"http://evil.example", b"", 401),
        (b"/.", b"", 401),
        (b"/x/..", b"", 401),
        (b"/%2e%2e", b"", 401),
        (b"/", b"", 401),
        (b"", b"/", 404),
        (b"", b"/../mcp", 404),
        (b"", b"/%2e%2e/mcp", 404),
        (b"", b"%00", 404),
        (b"", b"%ff", 404),
        (b"", b"%", 404),
        (b"", b"#fragment", 404),
        (b"", b"/sk-canary-4f1d9c07", 404),
    ],
)
async def test_a_path_around_the_secret_leads_nowhere(
    visitor: Visitor, before: bytes, behind: bytes, status: int
) -> None:
    sent = visitor.request(PING, visitor.session, target=before + visitor.path + behind)

    answer = await visitor.answer(sent)

    assert (answer.status, answer.content) == (status, b"")


@pytest.mark.parametrize("target", [b"*", b"/", b"/a", b"/a/", b"/a//mcp", b"/a/../mcp", b"//mcp"])
async def test_a_path_without_the_secret_leads_nowhere(visitor: Visitor, target: bytes) -> None:
    answer = await visitor.answer(visitor.request(PING, visitor.session, target=target))

    assert (answer.status, answer.content) == (401, b"")


async def test_the_secrets_path_may_be_percent_encoded(visitor: Visitor) -> None:
    encoded = b"".join(b"%%%02x" % byte if byte != ord("/") else b"/" for byte in visitor.path)

    answer = await visitor.answer(visitor.request(PING, visitor.session, target=encoded + b"?a=b"))

    assert answer.status == 200


@pytest.mark.parametrize(
    "session",
    [b"unknown", b"\xff\xfe", b"a b", b"a" * 30_000, b"sk-canary-4f1d9c07", b"0" * 32],
)
@pytest.mark.parametrize("method", [b"POST", b"GET", b"DELETE"])
async def test_a_session_that_was_not_given_is_not_found(
    visitor: Visitor, session: bytes, method: bytes
) -> None:
    content = PING if method == b"POST" else b""
    sent = visitor.request(content, b"mcp-session-id: " + session, method=method)

    answer = await visitor.answer(sent)

    assert (answer.status, answer.content) == (404, b"")


@pytest.mark.parametrize("session", [b"mcp-session-id:", b"mcp-session-id:  "])
async def test_a_session_without_a_name_is_not_found(visitor: Visitor, session: bytes) -> None:
    answer = await visitor.answer(visitor.request(PING, session))

    assert answer.status == 404


@pytest.mark.parametrize("method", [b"POST", b"GET", b"DELETE"])
async def test_of_two_sessions_none_is_chosen(visitor: Visitor, method: bytes) -> None:
    unknown = b"mcp-session-id: unknown"
    for sessions in (
        [visitor.session, unknown],
        [unknown, visitor.session],
        [visitor.session, visitor.session],
    ):
        sent = visitor.request(PING, *sessions, method=method)

        assert (await visitor.answer(sent)).status == 400


async def test_of_two_protocol_versions_none_is_chosen(visitor: Visitor) -> None:
    versions = [b"mcp-protocol-version: 2025-06-18", b"mcp-protocol-version: 2026-07-28"]

    for headers in (versions, versions[::-1]):
        sent = visitor.request(PING, visitor.session, *headers)

        assert (await visitor.answer(sent)).status == 400


@pytest.mark.parametrize(
    "header", [b"authorization: Bearer sk-canary-4f1d9c07", b"last-event-id: 1"]
)
async def test_what_may_stand_once_is_not_taken_twice(visitor: Visitor, header: bytes) -> None:
    once = await visitor.answer(visitor.request(PING, visitor.session, header))
    twice = await visitor.answer(visitor.request(PING, visitor.session, header, header))

    assert (once.status, twice.status) == (200, 400)


@pytest.mark.parametrize(
    "headers",
    [[b"x" * 100_000], [b"x-canary: " + b"x" * 100_000], [b"x-canary: sk-canary-4f1d9c07"] * 5000],
    ids=["a name", "a value", "many"],
)
async def test_headers_of_100_kb_are_not_served(visitor: Visitor, headers: list[bytes]) -> None:
    status = 0
    # Refused while they still come, they may be answered by a reset alone.
    with suppress(ConnectionError):
        status = (await visitor.answer(visitor.request(PING, visitor.session, *headers))).status

    assert status in (0, 400, 431)


@pytest.mark.parametrize("version", ["2099-01-01", "2026-07-29", "x", "\xff", "", "2026-07-28, x"])
async def test_a_protocol_version_that_is_not_served_is_refused(
    visitor: Visitor, version: str
) -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": version}

    answer = await visitor.answer(
        visitor.stateless("tools/list", {"_meta": meta}, b"mcp-method: tools/list", version=version)
    )

    assert (answer.status, answer.code) == (400, UNSUPPORTED_VERSION)


NAME = "get_task_plan_kandev"
TOOL = b"mcp-name: " + NAME.encode()
CALLED = b"mcp-method: tools/call"


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [CALLED],
        [TOOL],
        [b"mcp-method: tools/list", TOOL],
        [b"mcp-method: TOOLS/CALL", TOOL],
        [CALLED, CALLED, TOOL],
        [CALLED, TOOL, TOOL],
        [CALLED, b"mcp-name: sk-canary-4f1d9c07"],
        [CALLED, b"mcp-name: =?base64?!!!?="],
        [CALLED, b"mcp-name: =?base64?/w==?="],
        [CALLED, b"mcp-name: \xff"],
        [CALLED, TOOL, b"mcp-protocol-version: 2025-06-18"],
    ],
)
async def test_headers_that_contradict_the_message_are_refused(
    visitor: Visitor, headers: list[bytes]
) -> None:
    params = {"name": NAME, "arguments": {}, "_meta": META}

    answer = await visitor.answer(visitor.stateless("tools/call", params, *headers))

    assert answer.status == 400
    assert not answer.content or answer.code == HEADER_MISMATCH
    assert CANARY.encode() not in answer.content


_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"


@pytest.mark.parametrize(
    "meta",
    [
        None,
        [],
        CANARY,
        {},
        {**META, _CAPABILITIES: None},
        {**META, _CAPABILITIES: CANARY},
        {**META, _CAPABILITIES: {"sampling": CANARY}},
        {**META, _CLIENT_INFO: CANARY},
        {**META, _CLIENT_INFO: {}},
        {**META, _CLIENT_INFO: {"name": [CANARY], "version": 1}},
    ],
)
async def test_a_stateless_request_that_does_not_say_who_asks_is_refused(
    visitor: Visitor, meta: object
) -> None:
    answer = await visitor.answer(
        visitor.stateless("tools/list", {"_meta": meta}, b"mcp-method: tools/list")
    )

    assert (answer.status, answer.code) == (400, INVALID_PARAMS)
    assert CANARY.encode() not in answer.content


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {"cursor": 5}),
        ("tools/list", {"cursor": CANARY}),
        ("tools/list", {"_meta": CANARY}),
        ("tools/list", {"_meta": {"progressToken": {"a": CANARY}}}),
        ("tools/call", {}),
        ("tools/call", {"name": {"a": CANARY}}),
        ("tools/call", {"name": CANARY}),
        ("tools/call", {"name": "n" * 1_000_000}),
        ("tools/call", {"name": NAME, "arguments": [CANARY]}),
        ("initialize", None),
        ("initialize", {}),
        ("initialize", {"protocolVersion": 5}),
        ("initialize", {**INITIALIZE["params"], "clientInfo": CANARY}),  # type: ignore[dict-item]
        ("initialize", {**INITIALIZE["params"], "capabilities": [CANARY]}),  # type: ignore[dict-item]
    ],
)
async def test_parameters_of_another_shape_are_the_clients_own_fault(
    visitor: Visitor, method: str, params: object
) -> None:
    content = changed(method=method, params=params)

    answer = await visitor.answer(visitor.request(content, visitor.session))

    assert answer.status == 200
    data = answer.content.partition(b"data: ")[2]
    assert json.loads(data)["error"]["code"] == INVALID_PARAMS
    assert CANARY.encode() not in answer.content


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("notifications/cancelled", {"requestId": {"a": CANARY}}),
        ("notifications/cancelled", {"requestId": CANARY}),
        ("notifications/progress", {"progressToken": [CANARY], "progress": CANARY}),
        ("notifications/initialized", {"_meta": CANARY}),
        ("notifications/" + CANARY, {}),
        ("initialize", {}),
        ("tools/call", {"name": NAME}),
    ],
)
async def test_a_notification_of_nonsense_is_accepted_and_dropped(
    visitor: Visitor, method: str, params: object
) -> None:
    message = {"jsonrpc": "2.0", "method": method, "params": params}

    answer = await visitor.answer(visitor.request(json.dumps(message).encode(), visitor.session))

    assert (answer.status, answer.content) == (202, b"")


async def test_without_a_session_only_an_initialize_is_served(visitor: Visitor) -> None:
    notified = json.dumps({"jsonrpc": "2.0", "method": "initialize"}).encode()
    for sent in (
        visitor.request(PING),
        visitor.request(notified),
        visitor.request(b"", method=b"GET"),
        visitor.request(b"", method=b"DELETE"),
    ):
        assert_refused(await visitor.answer(sent), 400, INVALID_REQUEST)


async def test_a_wish_to_become_a_websocket_is_not_heard(visitor: Visitor) -> None:
    upgrade = [
        b"connection: upgrade",
        b"upgrade: websocket",
        b"sec-websocket-version: 13",
        b"sec-websocket-key: c2stY2FuYXJ5LTRmMWQ5Yw==",
    ]

    for method, headers, status in (
        (b"GET", [visitor.session], 406),
        (b"GET", [_MODERN_HEADERS], 405),
        (b"POST", [visitor.session, JSON, ACCEPT], 200),
    ):
        content = PING if method == b"POST" else b""
        sent = visitor.request(content, *upgrade, *headers, method=method, typed=())

        assert (await visitor.answer(sent)).status == status


@pytest.mark.parametrize("event", [b"1", b"sk-canary-4f1d9c07", b"\xff", b"x" * 5000])
async def test_a_stream_that_is_asked_to_resume_begins_anew(visitor: Visitor, event: bytes) -> None:
    sent = visitor.request(b"", visitor.session, b"last-event-id: " + event, method=b"GET")

    answer = await visitor.answer(sent, to_head=True)

    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")


async def test_the_end_of_a_stream_is_noticed(visitor: Visitor) -> None:
    stream = visitor.request(b"", visitor.session, method=b"GET")
    async with visitor.connected(stream) as (reader, _):
        assert (await read_answer(reader, to_head=True)).status == 200
        assert (await visitor.answer(stream)).status == 409

    async with asyncio.timeout(20):
        while (await visitor.answer(stream, to_head=True)).status == 409:
            pass


async def test_two_requests_of_one_id_never_get_each_others_answer(
    house: House, log: list[str]
) -> None:
    may_end = asyncio.Event()

    async def slow(arguments: Any) -> str:
        await may_end.wait()
        return f"of {arguments['whom']}"

    definition = types.Tool(name="slow", input_schema={"type": "object"})
    endpoint = await house.attempt("attempt-1", ToolRegistry((Tool(definition, slow),)))
    opening = Visitor(house, endpoint)
    opened = await opening.answer(opening.request(json.dumps(INITIALIZE).encode()))
    visitor = Visitor(house, endpoint, opened.headers["mcp-session-id"].encode())

    def call(request_id: object, whom: str) -> bytes:
        params = {"name": "slow", "arguments": {"whom": whom}}
        return visitor.request(
            changed(id=request_id, method="tools/call", params=params), visitor.session
        )

    async with visitor.connected(call(1, "the first")) as (reader, _):
        first = await read_answer(reader, to_head=True)
        refused = [await visitor.answer(call(again, "another")) for again in (1, "1")]
        may_end.set()
        content = await _content(reader, first.headers)
    later = await visitor.answer(call(1, "a later one"))

    for answer in refused:
        assert_refused(answer, 400, INVALID_REQUEST)
    assert b"of the first" in content
    assert b"of a later one" in later.content
    assert_quiet(log, endpoint)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", changed(id=None), changed(method=CANARY * 99)]
)
async def test_a_malformed_message_beside_an_sse_stream_does_not_end_it(
    house: House, log: list[str], content: bytes
) -> None:
    endpoint = await house.attempt("attempt-1")
    visitor = Visitor(house, endpoint)
    sse = urlsplit(house.server.sse_url(endpoint)).path.encode()
    stream = visitor.request(b"", method=b"GET", target=sse)

    async with visitor.connected(stream) as (reader, _):
        await reader.readuntil(b"data: ")
        target = (await reader.readline()).strip()
        refused = await visitor.answer(visitor.request(content, target=target))
        opened = await visitor.answer(
            visitor.request(json.dumps(INITIALIZE).encode(), target=target)
        )
        async with asyncio.timeout(20):
            await reader.readuntil(b"serverInfo")

    assert refused.status == 400
    assert refused.code in (PARSE_ERROR, INVALID_REQUEST)
    assert opened.status == 202
    assert house.row
    assert house.row.status == "connected"
    assert await reached(lambda: "connection_closed" in house.kinds())
    assert_quiet(log, endpoint)


async def test_what_a_client_says_of_itself_is_bounded(house: House, log: list[str]) -> None:
    endpoint = await house.attempt("attempt-1")
    visitor = Visitor(house, endpoint)
    said = {"name": "n" * 1_000_000, "version": "\0\x1b[31m\u202e" * 1000}
    params = {**INITIALIZE["params"], "clientInfo": said}  # type: ignore[dict-item]

    answer = await visitor.answer(visitor.request(changed(method="initialize", params=params)))

    assert answer.status == 200
    row = house.row
    assert row
    assert (row.status, len(row.client_name)) == ("connected", limits.NAME_BYTES)
    assert len(row.client_version.encode()) <= limits.NAME_BYTES
    assert_quiet(log, endpoint)


async def test_bytes_that_were_changed_at_random_are_answered_or_the_connection_ends(
    house: House, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "BODY_SECONDS", 0.3)
    monkeypatch.setattr(IDLE_SECONDS, 0.3)
    endpoint = await house.attempt("attempt-1")
    visitor = Visitor(house, endpoint)
    chance = random.Random(20)
    requests = [
        visitor.request(PING, b"mcp-session-id: x"),
        visitor.request(json.dumps(INITIALIZE).encode()),
        visitor.stateless("tools/list", {"_meta": META}, b"mcp-method: tools/list"),
        visitor.request(
            b"5\r\n" + PING[:5] + b"\r\n23\r\n" + PING[5:] + b"\r\n0\r\n\r\n",
            b"transfer-encoding: chunked",
            length=False,
        ),
    ]

    async def status_of(sent: bytes) -> int:
        try:
            return (await visitor.answer(sent, to_head=True)).status
        except (asyncio.IncompleteReadError, ConnectionError):
            return 0

    sent = [_mutated(chance, chance.choice(requests)) for _ in range(400)]
    for start in range(0, len(sent), 40):
        statuses = await asyncio.gather(*map(status_of, sent[start : start + 40]))
        assert all(status < 500 for status in statuses)

    assert (await visitor.answer(requests[2])).status == 200
    assert house.row
    assert house.row.status != "failed"
    assert_quiet(log, endpoint)


def _mutated(chance: random.Random, request: bytes) -> bytes:
    mutated = bytearray(request)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(mutated))
        match chance.randrange(4):
            case 0:
                mutated[at] = chance.randrange(256)
            case 1:
                del mutated[at : at + chance.randint(1, 20)]
            case 2:
                mutated[at:at] = chance.randbytes(chance.randint(1, 20))
            case _:
                mutated[at:at] = chance.choice([b"\r\n", b"\0", b'"', b"{", b"[", b"0", b"\xff"])
    return bytes(mutated)


TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.sampled_from(['"[', "\\{"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
)
MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | VALUES,
        "id": st.integers() | TEXT | VALUES,
        "method": TEXT | VALUES,
        "params": st.dictionaries(TEXT, VALUES, max_size=3) | VALUES,
        "result": st.dictionaries(TEXT, VALUES, max_size=3) | VALUES,
        "error": st.just({"code": 1, "message": ""}) | VALUES,
    },
)


@given(MEMBERS)
def test_the_sdk_takes_every_message_that_is_let_in(members: dict[str, Any]) -> None:
    content = json.dumps(members).encode()

    judged = body.judged(content)

    if isinstance(judged, body.Body):
        message = jsonrpc_message_adapter.validate_python(
            pydantic_core.from_json(content), by_name=False
        )
        request_id = str(message.id) if isinstance(message, types.JSONRPCRequest) else None
        assert judged.request_id == request_id


@given(st.binary(max_size=200) | st.text(alphabet='[]{}",:\\ua0', max_size=200).map(str.encode))
def test_any_bytes_are_judged(content: bytes) -> None:
    assert isinstance(body.judged(content), body.Refusal)


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@given(VALUES, st.integers(body.NESTING - 8, body.NESTING))
def test_levels_are_counted_as_they_nest(value: object, around: int) -> None:
    content = b"[" * around + json.dumps([value, *["{}"] * 99]).encode() + b"]" * around

    judged = body.judged(content)

    too_deep = around + 1 + depth_of(value) > body.NESTING
    assert isinstance(judged, body.Refusal)
    assert (f"{body.NESTING} levels" in judged.message) is too_deep
