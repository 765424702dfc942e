"""The ``session/new`` frame: built whole, or not at all.

The ACP library drops a server that it cannot validate without a word; here that is an error that
names the server, before anything is sent.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from acp.schema import NewSessionRequest
from pydantic import BaseModel

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import url_secrets
from kandev_nb.errors import ConfigError

Server = BaseModel | Mapping[str, Any]
"""An ``McpServer`` of the ACP library, or its wire shape as a dict."""


def session_params(cwd: Path, servers: Sequence[Server]) -> dict[str, Any]:
    """Return the parameters of ``session/new`` (ACP, "Session Setup").

    Raises:
        ConfigError: a server is not of the wire's shape (``invalid_profile``).
    """
    for server in servers:
        if not _request(cwd, [server]).mcp_servers:
            raise ConfigError(
                f"The server {_name(server)!r} is not in the shape that ACP asks for: http and sse "
                "need type, url and headers, stdio needs command, args and env.",
                reason_code=ReasonCode.INVALID_PROFILE,
            )
    return _request(cwd, servers).model_dump(mode="json", by_alias=True, exclude_none=True)


def secrets_of(params: Mapping[str, Any]) -> Iterator[str]:
    """Yield what may not be repeated from those parameters (SA-2).

    That is the values of headers and environments, and of a URL all but scheme, host and port.
    """
    for server in params["mcpServers"]:
        yield from _values(server.get("headers", ()))
        yield from _values(server.get("env", ()))
        yield from url_secrets(server.get("url", ""))


def _request(cwd: Path, servers: Sequence[Server]) -> NewSessionRequest:
    return NewSessionRequest.model_validate({"cwd": str(cwd.absolute()), "mcpServers": servers})


def _values(pairs: Iterable[Mapping[str, str]]) -> Iterator[str]:
    return (pair["value"] for pair in pairs)


def _name(server: Server) -> object:
    if isinstance(server, BaseModel):
        return getattr(server, "name", "")
    return server.get("name", "")
