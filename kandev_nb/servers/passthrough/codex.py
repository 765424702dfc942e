"""Codex CLI: ``-c`` overrides, with every value that may be secret somewhere else.

Measured with ``@openai/codex`` 0.171.0. The command line can be read by every user of the machine,
so header values go into environment variables, and what a stdio server is started with into a file
that :mod:`kandev_nb.servers.passthrough._launch` reads: its variables would change codex itself, or
each other, in the environment of codex. A URL has nowhere else to go: one that may hold a key is
not given at all.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import url_secrets
from kandev_nb.servers.notes import Note
from kandev_nb.servers.passthrough.strategy import Room, Strategy, as_it_is, command_of, server_of
from kandev_nb.servers.resolution import Decision
from kandev_nb.servers.server import HttpServer, Server, StdioServer, StreamableHttpServer

_LAUNCHER: Final = Path(__file__).with_name("_launch.py")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_RESERVED: Final = "codex_apps"
_VERSION: Final = re.compile(r"v\d{1,3}")
_BEARER: Final = re.compile(r"bearer +(.+)", re.IGNORECASE)
_SECRET_URL: Final = Note(
    ReasonCode.MATERIALIZATION_FAILED,
    "Its URL may hold a key, and Codex takes a URL only on its command line, which every user of "
    "the machine can read. Give the key in a header.",
)


def _refusal(decision: Decision) -> Note | None:
    server = server_of(decision)
    if not _NAME.fullmatch(decision.row):
        return Note(ReasonCode.NAME_NOT_ACCEPTED)
    if decision.row == _RESERVED:
        return Note(ReasonCode.RESERVED_BY_CLI)
    if server.type == "sse":
        return Note(ReasonCode.SSE_UNSUPPORTED)
    if not isinstance(server, StdioServer) and may_hold_a_key(server.url):
        return _SECRET_URL
    return None


def may_hold_a_key(url: str) -> bool:
    """Tell whether a URL is more than an origin and a path of plain words and versions."""
    pieces = set(url_secrets(url)) - {urlsplit(url).path}
    return not all(map(_VERSION.fullmatch, pieces))


def _write(decisions: Sequence[Decision], room: Room) -> None:
    for decision in decisions:
        for key, value in _settings(decision, server_of(decision), room):
            room.args += ["-c", f"mcp_servers.{decision.row}.{key}={_toml(value)}"]
    if room.env:
        # Its snapshot of the shell is a file, which others may read, with all its environment.
        room.args += ["-c", "features.shell_snapshot=false"]


def _settings(decision: Decision, server: Server, room: Room) -> Iterator[tuple[str, Any]]:
    if isinstance(server, StdioServer):
        yield from _launched(server, room)
    elif isinstance(server, HttpServer | StreamableHttpServer):
        yield "url", server.url
        yield from _headers(server, room)
    if decision.name == BUILT_IN:
        yield "default_tools_approval_mode", "approve"


def _launched(server: StdioServer, room: Room) -> Iterator[tuple[str, Any]]:
    if not server.args and not server.env:
        yield "command", server.command
        return
    launch = json.dumps(command_of(server, as_it_is), indent=2)
    path = room.own_file(f"launch-{len(room.files) + 1}.json", launch)
    yield "command", sys.executable
    yield "args", ["-I", "-S", str(_LAUNCHER), str(path)]


def _headers(
    server: HttpServer | StreamableHttpServer, room: Room
) -> Iterator[tuple[str, str | dict[str, str]]]:
    others = dict[str, str]()
    for name, value in server.headers.items():
        bearer = _BEARER.fullmatch(value) if name.lower() == "authorization" else None
        if bearer:
            yield "bearer_token_env_var", room.variable(bearer[1])
        else:
            others[name] = room.variable(value)
    if others:
        yield "env_http_headers", others


def _toml(value: str | list[str] | dict[str, str]) -> str:
    """Return a value as TOML; strings and lists of JSON are TOML as they are (TOML 1.0)."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(value[key])}" for key in value) + "}"
    return json.dumps(value, ensure_ascii=False)


STRATEGY: Final = Strategy(
    id="codex",
    title="Codex CLI",
    mechanism="-c overrides; header values in environment variables, commands in files of its own",
    write=_write,
    refusal=_refusal,
)
