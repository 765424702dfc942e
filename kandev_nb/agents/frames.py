"""JSON-RPC frames of an agent, made safe to hand on: pure functions from bytes to a dict.

Agents write other things to their standard output than frames, and frames that are nearly right.
What comes in is one line; what leaves is a frame that the ACP library can take without raising,
hanging or logging, or None. Nothing of a line is kept or put into an exception (SA-1).
JSON-RPC 2.0, sections 4 and 5.
"""

import json
from typing import Any, Final

Frame = dict[str, Any]

INTERNAL_ERROR: Final = -32603


def encode(frame: Frame) -> bytes:
    """Return a frame as one line of ASCII, which no character of a string can break."""
    return json.dumps(frame, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Frame | None:
    """Return the frame of one line, put right where it can be, or None where it cannot."""
    try:
        # An answer counts although a string in it was cut in the middle of a character.
        value = json.loads(line.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return _sound(value) if isinstance(value, dict) else None


def is_notification(frame: Frame) -> bool:
    """Whether nobody waits for an answer to the frame."""
    return "method" in frame and frame.get("id") is None


def _sound(frame: Frame) -> Frame | None:
    if "method" in frame:
        return frame if _sound_call(frame) else None
    return _sound_answer(frame)


def _sound_call(frame: Frame) -> bool:
    return isinstance(frame["method"], str) and isinstance(frame.get("id"), int | str | None)


def _sound_answer(frame: Frame) -> Frame | None:
    number = _our_id(frame.get("id"))
    if number is None:
        return None
    answer: Frame = {"jsonrpc": "2.0", "id": number}
    if frame.get("error") is not None:
        return answer | {"error": _sound_error(frame["error"])}
    if "result" in frame:
        return answer | {"result": frame["result"]}
    return answer | {"error": _sound_error(None)}


def _our_id(value: object) -> int | None:
    """Our requests are numbered; some agents answer with the number as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return value if type(value) is int else None


def _sound_error(error: object) -> Frame:
    if not isinstance(error, dict):
        return {"code": INTERNAL_ERROR, "message": "", "data": error}
    code, message = error.get("code"), error.get("message")
    return {
        "code": code if type(code) is int else INTERNAL_ERROR,
        "message": message if isinstance(message, str) else "",
        "data": error.get("data"),
    }
