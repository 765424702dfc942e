"""From lines to frames: what is put right, and what is left out."""

import json
from typing import Any

import pytest

from kandev_nb.agents.frames import decode, encode, is_notification

pytestmark = pytest.mark.req("SE-4")


def as_line(frame: Any) -> bytes:
    return json.dumps(frame).encode()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   \n",
        b"starting up ...",
        b"\xff\xfe\x00",
        b'{"jsonrpc": "2.0", "id":',
        b"42",
        b'"text"',
        b"null",
        b"true",
        b"[1, 2]",
        b"{}",
        b"[" * 100_000,
        b"9" * 10_000,
        as_line({"id": None, "result": {}}),
        as_line({"id": True, "result": {}}),
        as_line({"id": [1], "result": {}}),
        as_line({"id": {"a": 1}, "method": "session/request_permission"}),
        as_line({"id": "not ours", "result": {}}),
        as_line({"id": "²", "result": {}}),
        as_line({"id": 1, "method": 5}),
        as_line({"method": ["session/update"]}),
    ],
)
def test_what_is_no_frame_is_left_out(line: bytes) -> None:
    assert decode(line) is None


def test_an_answer_to_our_number_as_text_is_an_answer_to_our_number() -> None:
    assert decode(as_line({"id": "7", "result": {}})) == {"jsonrpc": "2.0", "id": 7, "result": {}}


@pytest.mark.parametrize(
    ("error", "sound"),
    [
        ("bad", {"code": -32603, "message": "", "data": "bad"}),
        (["bad"], {"code": -32603, "message": "", "data": ["bad"]}),
        ({}, {"code": -32603, "message": "", "data": None}),
        (
            {"code": "E1", "message": 5, "data": [1]},
            {"code": -32603, "message": "", "data": [1]},
        ),
        (
            {"code": -32000, "message": "no", "data": "x"},
            {"code": -32000, "message": "no", "data": "x"},
        ),
    ],
)
def test_a_malformed_error_becomes_a_proper_one(error: Any, sound: Any) -> None:
    frame = decode(as_line({"id": 1, "error": error}))
    assert frame == {"jsonrpc": "2.0", "id": 1, "error": sound}


def test_an_error_beside_a_result_counts() -> None:
    frame = decode(as_line({"id": 1, "result": None, "error": {"code": 1, "message": "no"}}))
    assert frame is not None
    assert "result" not in frame
    assert frame["error"]["message"] == "no"


def test_a_null_error_beside_a_result_does_not() -> None:
    frame = decode(as_line({"id": 1, "result": {"a": 1}, "error": None}))
    assert frame == {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}


def test_an_answer_with_neither_is_an_error() -> None:
    frame = decode(as_line({"id": 1}))
    assert frame is not None
    assert frame["error"]["code"] == -32603


@pytest.mark.parametrize("number", [0, "a", None])
def test_requests_are_handed_on_as_they_came(number: Any) -> None:
    request = {"jsonrpc": "2.0", "id": number, "method": "x/y", "params": [1]}
    assert decode(as_line(request)) == request


def test_a_notification_is_what_has_a_method_and_no_number() -> None:
    assert is_notification({"method": "session/update"})
    assert is_notification({"method": "session/update", "id": None})
    assert not is_notification({"method": "session/update", "id": 0})
    assert not is_notification({"id": 0, "result": {}})


def test_any_text_fits_on_one_line() -> None:
    frame = {"text": "a\nb\u2028\ud800ä"}
    line = encode(frame)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == frame
