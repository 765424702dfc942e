"""Codex CLI: ``~/.codex/config.toml``.

Follows ``codex-rs/config/src/mcp_types.rs`` of openai/codex at 00b17c2659 (2026): a command makes
an entry stdio, a URL streamable HTTP, and the keys of the one are an error beside the other.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kandev_nb.servers.documents.client import Client, Document
from kandev_nb.servers.documents.fields import (
    MISSING,
    Fields,
    Shape,
    found_by_type,
    kind,
    shown,
    text_fault,
)

_SHAPE: Final = Shape(headers="http_headers")

_REMOTE_ONLY: Final = ("url", "bearer_token_env_var", "http_headers", "env_http_headers", "oauth")
_LOCAL_ONLY: Final = ("args", "env", "env_vars", "cwd")


def _recognizes(document: Document) -> bool:
    return "mcp_servers" in document


def _read(fields: Fields) -> dict[str, Any]:
    type_ = "stdio" if fields.has("command") else "streamable_http" if fields.has("url") else ""
    found = found_by_type(fields, type_, _SHAPE)
    if type_ != "streamable_http":
        found["env_from"] = {name: name for name in _variables(fields)}
    if type_ != "stdio":
        found["headers_from"] = fields.by_name("env_http_headers")
        found["bearer_from"] = fields.text("bearer_token_env_var")
    _refuse_mixture(fields, type_)
    return {**found, "disabled": not fields.flag("enabled", default=True)}


def _variables(fields: Fields) -> Iterator[str]:
    """Yield the names in ``env_vars``: each a text, or a table with its ``name``."""
    found = fields.value("env_vars")
    if found is not None and not isinstance(found, list | tuple):
        fields.fault("env_vars", f"must be a list, is {kind(found)}")
        return
    for index, item in enumerate(found or ()):
        path = f"env_vars[{index}]"
        if isinstance(item, Mapping):
            if item.get("source", "local") != "local":
                fields.fault(f"{path}.source", "must be local: the server is started here")
            path, item = f"{path}.name", item.get("name", MISSING)
        if fault := text_fault(item):
            fields.fault(path, fault)
        else:
            yield str(item)


def _refuse_mixture(fields: Fields, type_: str) -> None:
    if fields.has("bearer_token"):
        fields.fault("bearer_token", "is not accepted; name a variable in bearer_token_env_var")
    if type_ == "stdio" and fields.has("url"):
        fields.faults.append("has both a command and a url; which of the two is meant?")
    elif type_:
        mixed = _REMOTE_ONLY if type_ == "stdio" else _LOCAL_ONLY
        for key in filter(fields.has, mixed):
            fields.fault(shown(key), f"is not accepted beside a {_MAIN[type_]}")


_MAIN: Final = {"stdio": "command", "streamable_http": "url"}


CLIENT: Final = Client(
    title="Codex CLI",
    read=_read,
    servers=(("mcp_servers",),),
    paths=(".codex/config.toml",),
    recognizes=_recognizes,
    syntax="toml",
)
