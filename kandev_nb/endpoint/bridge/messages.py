"""One line of the agent's client, and what of it goes into the headers of its request
(MCP 2026-07-28, "Streamable HTTP": a server refuses a request whose headers do not match its body).
"""

import base64
import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kandev_nb.endpoint.bridge.stdio import LINE_BYTES

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_ENCODED: Final = re.compile(r"=\?base64\?.*\?=")


class MalformedError(ValueError):
    """A line is no message; says why in words that quote nothing of it."""


class Message(NamedTuple):
    """One JSON-RPC message: ``content`` as it came, the rest read from it.

    ``method`` is empty in an answer. ``key`` tells the ID of a request from every other ID: 1 is
    not "1". ``cancels`` is the key of the request that a cancellation names.
    """

    content: bytes
    method: str
    is_request: bool
    id: object
    key: str
    cancels: str
    version: str
    """The protocol version that a stateless request states; empty in the era of sessions."""

    headers: dict[str, str]

    @property
    def is_cancellation(self) -> bool:
        """Whether it gives up a request of the client's own."""
        return self.method == "notifications/cancelled"


def read(line: bytes) -> Message | None:
    """Return the message in a line, ``None`` for a blank one. Raises :class:`MalformedError`."""
    if len(line) > LINE_BYTES:
        raise MalformedError(f"The line is longer than {LINE_BYTES // 1024**2} MiB")
    if not line.strip():
        return None
    try:
        body = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise MalformedError("The line is not valid JSON in UTF-8") from None
    if not isinstance(body, dict):
        raise MalformedError("The line is not a JSON object")
    return _message(line, body)


def error_answer(request_id: object, error: Mapping[str, Any]) -> str:
    """Return the JSON text of an answer with that error object."""
    known = request_id if isinstance(request_id, str | int) else None
    return json.dumps({"jsonrpc": "2.0", "id": known, "error": error})


def _message(line: bytes, body: dict[str, Any]) -> Message:
    method, params = body.get("method"), body.get("params")
    method = method if isinstance(method, str) else ""
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    version = meta.get(_VERSION) if isinstance(meta, dict) else None
    return Message(
        content=line.strip(),
        method=method,
        is_request="method" in body and "id" in body,
        id=body.get("id"),
        key=json.dumps(body.get("id")),
        cancels=json.dumps(params.get("requestId")),
        version=version if isinstance(version, str) else "",
        headers=_headers(method, params),
    )


def _headers(method: str, params: dict[str, Any]) -> dict[str, str]:
    headers = {"mcp-method": header_value(method)} if method else {}
    name = params.get(_NAMED.get(method, ""))
    if isinstance(name, str):
        headers["mcp-name"] = header_value(name)
    return headers


def header_value(text: str) -> str:
    """Return a text as a header can hold it (MCP 2026-07-28, "Header values")."""
    if not text or (_PLAIN.fullmatch(text) and not _ENCODED.fullmatch(text)):
        return text
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    return f"=?base64?{encoded}?="
