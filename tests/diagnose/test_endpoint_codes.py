"""Every way in which a server can fail a test, from a scripted server to the public call."""

import gzip
import json
import socket
from typing import Any

import pytest

from kandev_nb import ConfigError, Session
from tests.diagnose.conftest import Tested, toy
from tests.diagnose.servers.web import (
    EVENTS,
    HELLO,
    JSON,
    MODERN,
    Answer,
    Request,
    Script,
    SseScript,
    always,
    answered,
    but,
    failed,
    mcp,
    tools,
    web_server,
)

SHORT = 0.7
"""Seconds for a test that has to run out of time."""


def pages(request: Request) -> Answer:
    """A list that never ends."""
    number = int(request.body["params"].get("cursor", "0"))
    return answered(request, {"tools": tools(f"t{number}"), "nextCursor": str(number + 1)})


def standing(request: Request) -> Answer:
    return answered(request, {"tools": tools("a"), "nextCursor": "again"})


def speaks(*versions: str) -> Script:
    """A server that speaks these versions alone, and says so."""
    data = {"supported": list(versions), "requested": MODERN}
    return lambda request: failed(request, -32022, 400, data=data)


def hello(**changes: Any) -> Script:
    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, **changes}
    return but("initialize", lambda request: answered(request, result))


def given(header: str, value: str) -> Script:
    """A server that has its client say this again with each request."""
    return but("initialize", lambda request: answered(request, {**HELLO}, **{header: value}))


def text(status: int, words: bytes = b"", **headers: str) -> Answer:
    return Answer(status, {"content-type": "text/plain", **headers}, words)


COMPRESSED = Answer(headers={**JSON, "content-encoding": "gzip"}, body=gzip.compress(b"x" * 10**7))
HANGS = Answer(headers=EVENTS, hangs=True)
LARGE = Answer(headers=JSON, body=b'{"jsonrpc": "2.0", "x": "' + b"x" * (9 << 20) + b'"}')
LARGE_EVENT = Answer(headers=EVENTS, body=b"data: " + b"x" * (9 << 20) + b"\n\n")
DEEP = Answer(headers=JSON, body=b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 10**6)

HTTP: dict[str, tuple[str, str, Script]] = {
    "401": ("auth_required", "initialize", always(text(401))),
    "403": ("forbidden", "initialize", always(text(403))),
    "404": ("endpoint_not_found", "initialize", always(text(404))),
    "405": ("not_streamable_http", "initialize", always(text(405))),
    "406": ("not_acceptable", "initialize", always(text(406))),
    "421": ("host_rejected", "initialize", always(text(421))),
    "403 of the host": ("host_rejected", "initialize", always(text(403, b"Invalid Host: x"))),
    "403 of the origin": ("origin_rejected", "initialize", always(text(403, b"Invalid Origin"))),
    "401 without an end": (
        "auth_required",
        "initialize",
        always(Answer(401, {"www-authenticate": "Bearer"}, hangs=True)),
    ),
    "500": ("http_error", "initialize", always(text(500))),
    "a page": (
        "bad_content_type",
        "initialize",
        always(Answer(200, {"content-type": "text/html"})),
    ),
    "hangs": ("timeout", "initialize", always(HANGS)),
    "hangs later": ("timeout", "list_tools", but("tools/list", HANGS)),
    "another version": ("version_unsupported", "initialize", speaks("2031-01-01", "2032-01-01")),
    "an old version": (
        "version_unsupported",
        "initialize",
        hello(protocolVersion="1999-12-31"),
    ),
    "hangs up": ("no_protocol_output", "initialize", always(Answer(raw=b""))),
    "an empty stream": ("no_protocol_output", "initialize", always(Answer(200, EVENTS))),
    "accepted": ("no_protocol_output", "initialize", always(Answer(202))),
    "not HTTP": ("malformed_response", "initialize", always(Answer(raw=b"SSH-2.0-x\r\n\r\n"))),
    "not JSON": ("malformed_response", "initialize", always(Answer(200, JSON, b"{nonsense"))),
    "NaN": (
        "malformed_response",
        "initialize",
        always(Answer(200, JSON, b'{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}')),
    ),
    "too deep": ("malformed_response", "initialize", always(DEEP)),
    "too large": ("malformed_response", "initialize", always(LARGE)),
    "too large an event": ("malformed_response", "initialize", always(LARGE_EVENT)),
    "compressed": ("malformed_response", "initialize", always(COMPRESSED)),
    "no object": ("malformed_response", "initialize", but("initialize", lambda r: answered(r, 1))),
    "no version": ("malformed_response", "initialize", hello(protocolVersion=None)),
    "no list": (
        "malformed_response",
        "list_tools",
        but("tools/list", lambda r: answered(r, {"tools": {}})),
    ),
    "an odd cursor": (
        "malformed_response",
        "list_tools",
        but("tools/list", lambda r: answered(r, {"tools": [], "nextCursor": 5})),
    ),
    "a refusal": ("initialize_refused", "initialize", but("initialize", lambda r: failed(r, -1))),
    "no tools/list": (
        "tools_list_failed",
        "list_tools",
        but("tools/list", lambda r: failed(r, -32603)),
    ),
    "a lost session": ("session_unknown", "list_tools", but("tools/list", text(404))),
    "another origin": (
        "other_origin",
        "initialize",
        always(text(307, location="http://127.0.0.1:9/mcp")),
    ),
    "an odd origin": ("other_origin", "initialize", always(text(307, location="http://[x"))),
    "a circle": ("http_error", "initialize", always(text(307, location="/mcp"))),
    "a session that no header can name": ("http_error", "initialize", given("mcp-session-id", "é")),
    "a cookie that no header can hold": ("http_error", "initialize", given("set-cookie", "a=é")),
    "a POST turned away": ("http_error", "initialize", always(text(302, location="/other"))),
}


@pytest.mark.req("DI-1")
@pytest.mark.parametrize("case", HTTP)
def test_a_server_over_http_that_goes_wrong_is_told_by_its_code_and_phase(
    tested: Tested, case: str
) -> None:
    code, phase, script = HTTP[case]
    with web_server(script) as server:
        timeout = SHORT if code == "timeout" else 30
        outcome = tested({"type": "http", "url": server.url}, timeout=timeout)

    assert (outcome.reason_code, outcome.phase) == (code, phase), outcome
    assert not outcome.reachable
    assert str(outcome).startswith(f"Test failed: {outcome.summary}\nWhat to do: ")


@pytest.mark.req("DI-1")
@pytest.mark.parametrize("code", [True, 10**1000])
def test_an_error_number_that_is_none_is_not_told(tested: Tested, code: int) -> None:
    with web_server(but("initialize", lambda request: failed(request, code))) as server:
        outcome = tested({"type": "http", "url": server.url}, timeout=30)

    assert outcome.summary == "The server refused the handshake (JSON-RPC error)."


SSE: dict[str, tuple[str, str, Script]] = {
    "401": ("auth_required", "await_endpoint", always(text(401))),
    "405": ("http_error", "await_endpoint", always(text(405))),
    "a page": ("bad_content_type", "await_endpoint", always(text(200))),
    "says nothing": ("timeout", "await_endpoint", always(HANGS)),
    "does not begin": ("timeout", "await_endpoint", always(Answer(raw=None, status=100))),
    "ends": ("no_protocol_output", "await_endpoint", always(Answer(200, EVENTS))),
    "compressed": (
        "malformed_response",
        "await_endpoint",
        always(Answer(headers={**EVENTS, "content-encoding": "gzip"}, body=b"x")),
    ),
    "another origin": (
        "other_origin",
        "await_endpoint",
        SseScript(endpoint="http://127.0.0.1:9/messages"),
    ),
    "an odd origin": ("other_origin", "await_endpoint", SseScript(endpoint="http://[x")),
    "no messages": ("session_unknown", "initialize", SseScript(always(text(404)))),
    "a refusal": ("initialize_refused", "initialize", SseScript(lambda r: failed(r, -5))),
}


@pytest.mark.req("DI-1")
@pytest.mark.parametrize("case", SSE)
def test_a_server_over_sse_that_goes_wrong_is_told_by_its_code_and_phase(
    tested: Tested, case: str
) -> None:
    code, phase, script = SSE[case]
    with web_server(script) as server:
        timeout = SHORT if code == "timeout" else 30
        outcome = tested({"type": "sse", "url": f"{server.origin}/sse"}, timeout=timeout)

    assert (outcome.reason_code, outcome.phase) == (code, phase), outcome


STDIO: dict[str, tuple[str, str, str]] = {
    "silent": ("no_protocol_output", "initialize", "the handshake within"),
    "mute": ("no_protocol_output", "initialize", "it closed its standard output"),
    "banner": ("non_protocol_output", "initialize", "2 lines were no messages"),
    "hanging": ("timeout", "list_tools", "tools/list within"),
    "exits": ("exited", "initialize", "status 3"),
    "killed": ("exited", "initialize", "signal 9"),
    "exits_later": ("exited", "list_tools", "status 4"),
    "endless": ("malformed_response", "initialize", "a line of more than 8 MiB"),
    "long_line": ("malformed_response", "initialize", "a line of more than 8 MiB"),
    "old": ("version_unsupported", "initialize", "it speaks 1999-12-31"),
    "odd_result": ("malformed_response", "initialize", "its result is no object"),
}
RUNS_OUT = ("silent", "banner", "hanging")


@pytest.mark.req("DI-1", "SE-3")
@pytest.mark.parametrize("case", STDIO)
def test_a_server_over_stdio_that_goes_wrong_is_told_by_its_code_and_phase(
    tested: Tested, case: str
) -> None:
    code, phase, words = STDIO[case]

    outcome = tested(toy(case), timeout=2 if case in RUNS_OUT else 60)

    assert (outcome.reason_code, outcome.phase) == (code, phase), outcome
    assert words in outcome.summary


@pytest.mark.req("DI-1")
@pytest.mark.parametrize(
    ("entry", "code", "phase"),
    [
        ({"command": "no-such-command-anywhere"}, "command_not_found", "spawn"),
        ({"command": "/etc/hostname"}, "spawn_failed", "spawn"),
        ({"type": "http", "url": "http://kandev.invalid/mcp"}, "dns_failed", "connect"),
        ({"type": "http", "url": "http://h/${NO_SUCH_VARIABLE}"}, "placeholder_unresolved", ""),
    ],
)
def test_what_cannot_even_be_reached_is_told_by_its_code(
    tested: Tested, entry: dict[str, Any], code: str, phase: str
) -> None:
    outcome = tested(entry, timeout=60)

    assert (outcome.reason_code, outcome.phase) == (code, phase), outcome


@pytest.mark.req("DI-1")
@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_closed_port_is_a_refused_connection(tested: Tested, kind: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        outcome = tested({"type": kind, "url": f"http://127.0.0.1:{taken.getsockname()[1]}/x"})

    assert (outcome.reason_code, outcome.phase) == ("connection_refused", "connect")


@pytest.mark.req("DI-1")
def test_a_port_that_speaks_no_tls_is_told_as_such(tested: Tested) -> None:
    with web_server(mcp, greeting=b"220 ready\r\n") as server:
        outcome = tested({"type": "http", "url": server.url.replace("http:", "https:")}, timeout=30)

    assert (outcome.reason_code, outcome.phase) == ("tls_failed", "connect")


@pytest.mark.req("DI-1")
def test_a_handshake_that_does_not_go_on_runs_out_of_time_while_connecting(tested: Tested) -> None:
    with web_server(mcp) as server:
        url = server.url.replace("http:", "https:")
        outcome = tested({"type": "http", "url": url}, timeout=SHORT)

    assert (outcome.reason_code, outcome.phase) == ("timeout", "connect")
    assert "the connection within 0.7 s" in outcome.summary


@pytest.mark.req("DI-1")
@pytest.mark.parametrize(
    ("script", "code", "count"),
    [
        (but("tools/list", pages), "partial_list", 64),
        (but("tools/list", standing), "cursor_not_advancing", 2),
    ],
)
def test_a_list_without_an_end_is_reached_and_told_as_what_it_is(
    tested: Tested, script: Script, code: str, count: int
) -> None:
    with web_server(script) as server:
        outcome = tested({"type": "http", "url": server.url}, timeout=60)

    assert outcome.reachable
    assert (outcome.reason_code, outcome.tool_count) == (code, count)
    assert server.methods().count("tools/list") == count
    assert "What to do: " in str(outcome)


@pytest.mark.req("DI-1")
def test_a_server_without_the_tools_capability_has_none_and_is_reached(tested: Tested) -> None:
    def script(request: Request) -> Answer:
        if request.asks == "tools/list":
            return failed(request, -32601)
        return hello(capabilities={})(request)

    with web_server(script) as server:
        outcome = tested({"type": "http", "url": server.url}, timeout=30)

    assert (outcome.reachable, outcome.tool_count, outcome.reason_code) == (True, 0, "")
    assert "it announces no tools" in str(outcome)


@pytest.mark.req("DI-1", "SA-1", "SA-2")
def test_nothing_that_a_server_says_of_its_secrets_is_shown_or_kept(
    tested: Tested, session: Session
) -> None:
    secret = "sk-secret-of-the-header"

    def script(request: Request) -> Answer:
        said = {"name": f"toy {request.headers['x-key']}", "version": "1"}
        if request.asks == "tools/list" and "cursor" not in request.body["params"]:
            page = tools(f"look.{secret}", f"{'a' * 70}{secret}")
            return answered(request, {"tools": page, "nextCursor": "more"})
        if request.asks == "tools/list":
            return failed(request, -32603, message=secret, data=secret)
        return hello(serverInfo=said)(request)

    with web_server(script) as server:
        entry = {"type": "http", "url": f"{server.url}/{secret}", "headers": {"x-key": secret}}
        outcome = tested(entry, timeout=30)

    assert outcome.reason_code == "tools_list_failed"
    assert outcome.server_name == "toy [redacted]"
    assert outcome.notes
    for shown in (
        str(outcome),
        repr(outcome.notes),
        repr(outcome.stored),
        json.dumps(session.report.to_wire()),
    ):
        assert secret not in shown


@pytest.mark.req("DI-1", "CF-1")
@pytest.mark.parametrize(
    ("name", "policy", "code"),
    [
        ("nobody", None, "server_unknown"),
        ("off", None, "disabled"),
        ("x", {"denylist_servers": ["x"]}, "policy_denied"),
        ("kandev (profile)", None, "reserved_name"),
        ("odd", None, "unknown_transport"),
    ],
)
def test_what_the_configuration_does_not_hold_or_leaves_out_is_refused(
    session: Session, name: str, policy: Any, code: str
) -> None:
    with web_server(mcp) as server:
        x = {"type": "http", "url": server.url}
        servers = {"x": x, "off": {**x, "disabled": True}, "kandev": x, "odd": {"type": "pigeon"}}
        session.reset(servers=servers, policy=policy or {})
        before = session.report

        with pytest.raises(ConfigError) as refused:
            session.test_endpoint(name, consent=True)

    assert refused.value.reason_code == code
    assert server.asked == []
    assert session.report == before
