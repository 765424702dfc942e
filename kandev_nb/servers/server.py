"""Servers that can be delivered: one model a transport, everything in it filled in and checked.

Resolution makes them from the entries of a profile. They can also be written in a cell and handed
to ``start(servers=[…])`` or ``plan([…])`` as they are.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from kandev_nb.attachment import limits
from kandev_nb.servers.entry import Mode

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def _name(name: str) -> str:
    if not name.strip():
        raise ValueError("its name is empty")
    if len(name.encode("utf-8", "replace")) > limits.NAME_BYTES:
        raise ValueError(f"its name is longer than {limits.NAME_BYTES} bytes")
    return name


def _word(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL character, which no process can be given")
    if _SURROGATE.search(text):
        raise ValueError("holds what is not UTF-8")
    return text


def _network_url(url: str) -> str:
    if not is_network_url(url):
        raise ValueError("must begin with http:// or https:// and have a host")
    return url


def is_network_url(url: str) -> bool:
    """Tell whether ``url`` is an absolute http or https URL with a host (RFC 3986)."""
    try:
        parts = urlsplit(url)
        # The port is read only to see whether it is one.
        port_is_sound = parts.port is None or parts.port >= 0
    except ValueError:
        return False
    sound = url.isprintable() and " " not in url and port_is_sound
    return sound and parts.scheme in ("http", "https") and bool(parts.hostname)


Word = Annotated[str, AfterValidator(_word)]


class ServerModel(BaseModel):
    """What the servers of every transport have."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: Annotated[str, AfterValidator(_name)]
    mode: Mode = "auto"


class StdioServer(ServerModel):
    """A server that the agent starts itself and speaks to over its standard input and output.

    Each session starts its own, so ``mode`` cannot be ``shared`` (MCP, "Transports", stdio).
    """

    type: Literal["stdio"] = "stdio"
    command: Annotated[Word, Field(min_length=1)]
    args: tuple[Word, ...] = Field(default=(), repr=False)
    env: Mapping[str, Word] = Field(default_factory=dict, repr=False)

    @field_validator("mode")
    @classmethod
    def _check_mode(cls, mode: Mode) -> Mode:
        if mode == "shared":
            raise ValueError(
                "a stdio server cannot be shared, each session starts its own: "
                "use auto or per_session"
            )
        return mode

    @field_validator("env")
    @classmethod
    def _check_env(cls, env: Mapping[str, str]) -> Mapping[str, str]:
        for name in env:
            if not name or "=" in name or "\0" in name:
                shown = name.partition("=")[0]
                raise ValueError(f"a variable cannot be called what begins with {shown!r}")
        return env


class _NetworkServer(ServerModel):
    url: Annotated[str, AfterValidator(_network_url)] = Field(repr=False)
    headers: Mapping[str, str] = Field(default_factory=dict, repr=False)

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: Mapping[str, str]) -> Mapping[str, str]:
        for name, value in headers.items():
            if not _HEADER_NAME.fullmatch(name):
                shown = re.split(r"[\s:=]", name, maxsplit=1)[0]
                raise ValueError(f"a header cannot be called what begins with {shown!r}")
            if _CONTROL.search(value) or _SURROGATE.search(value):
                raise ValueError(f"the value of {name!r} holds what no header can hold")
        return headers


class HttpServer(_NetworkServer):
    """A server over streamable HTTP (MCP, "Transports")."""

    type: Literal["http"] = "http"


class StreamableHttpServer(_NetworkServer):
    """The same transport under its longer name; a policy can tell the two apart."""

    type: Literal["streamable_http"] = "streamable_http"


class SseServer(_NetworkServer):
    """A server over HTTP with SSE, the transport before streamable HTTP (MCP 2024-11-05)."""

    type: Literal["sse"] = "sse"


Server = Annotated[
    StdioServer | HttpServer | SseServer | StreamableHttpServer, Field(discriminator="type")
]
"""A server of any transport."""

TRANSPORTS: Final = ("stdio", "http", "sse", "streamable_http")
"""The words for ``type``."""
