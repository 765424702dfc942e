"""JSON-RPC messages as plain JSON values: built, and read without a model that may reject them."""

import json
from typing import Any, Final, NoReturn

from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from kandev_nb._version import __version__

CLIENT: Final = {"name": "kandev-nb", "version": __version__}
"""Who we are, for the server."""

_META: Final = "io.modelcontextprotocol/"
_METHOD_NOT_FOUND: Final = -32601

Message = dict[str, Any]


def request(number: int, method: str, params: Message, version: str) -> Message:
    """Return a request; in the stateless era it says itself who asks (MCP 2026-07-28)."""
    if version in MODERN_PROTOCOL_VERSIONS:
        params = {**params, "_meta": _envelope(version)}
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def notification(method: str) -> Message:
    """Return a notification."""
    return {"jsonrpc": "2.0", "method": method}


def reply(asked: Message) -> Message:
    """Return our answer to what a server asks of us: a sign of life, and nothing else."""
    if asked["method"] == "ping":
        return {"jsonrpc": "2.0", "id": asked["id"], "result": {}}
    error = {"code": _METHOD_NOT_FOUND, "message": "Method not found"}
    return {"jsonrpc": "2.0", "id": asked["id"], "error": error}


def read(text: str | bytes) -> Message | None:
    """Return the message in a text, ``None`` if it is none."""
    try:
        body = json.loads(text, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and body.get("jsonrpc") == "2.0" else None


def is_request(message: Message) -> bool:
    """Tell whether a message asks something of us."""
    return isinstance(message.get("method"), str) and "id" in message


def is_answer(message: Message, number: int) -> bool:
    """Tell whether a message answers the request of that number.

    An error without an ID does: it is of a request that could not be read, and there is no other.
    """
    if "method" in message:
        return False
    given = message.get("id")
    if given is None:
        return "error" in message
    return type(given) is int and given == number


def _envelope(version: str) -> Message:
    return {
        f"{_META}protocolVersion": version,
        f"{_META}clientCapabilities": {},
        f"{_META}clientInfo": CLIENT,
    }


def _no_json(_: str) -> NoReturn:
    raise ValueError
