"""The bounds of a report (EV-9, CA-1, CA-2), in one place."""

from typing import Final

ATTEMPTS: Final = 3
"""Attempts kept per session: the current one and the two before it."""

EVIDENCE_EVENTS: Final = 64
"""Evidence events kept per attempt."""

SUMMARY_BYTES: Final = 256
"""UTF-8 bytes of one summary."""

OPEN_CONNECTIONS: Final = 256
"""Connections known to be open, per server row."""

NOTES: Final = 16
"""Notes kept of one server."""

TOOLS: Final = 128
"""Catalog entries per server."""

NAME_BYTES: Final = 256
"""UTF-8 bytes of a name or version that a peer chose (server, client, protocol)."""

TOOL_NAME_BYTES: Final = 1024
"""UTF-8 bytes of one tool name."""

DESCRIPTION_BYTES: Final = 1024
"""UTF-8 bytes of one tool description."""

SCHEMA_BYTES: Final = 64 * 1024
"""Bytes of one input schema, as compact UTF-8 JSON."""

SCHEMA_DEPTH: Final = 128
"""How deep one input schema may nest."""

SCHEMAS_BYTES: Final = 512 * 1024
"""Bytes of all input schemas of one catalog together."""


def cut_utf8(text: str, limit: int) -> str:
    """Return ``text`` cut to at most ``limit`` UTF-8 bytes, never inside a character.

    A lone surrogate, which UTF-8 cannot hold, becomes a question mark.
    """
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
