"""What the user configured: the entries of an ``mcpServers`` dict, read and checked.

An entry that cannot be read at all is an error that names it; one that is readable but incomplete
is kept, so that its row can say what is missing.
"""

import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    field_validator,
    model_validator,
)

from kandev_nb.attachment import limits
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import url_secrets
from kandev_nb.errors import ConfigError

Transport = Literal["stdio", "http", "sse"]

_log = logging.getLogger("kandev_nb.servers")

_SPELLINGS: Final[dict[str, Transport]] = {
    "stdio": "stdio",
    "http": "http",
    "streamable_http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "sse": "sse",
}


class ServerEntry(BaseModel):
    """One configured server.

    The keys are those of the common clients: ``command``, ``args`` and ``env`` for stdio, ``url``
    and ``headers`` for a network server; ``type`` may be left out where they tell it.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    name: str
    transport: Transport = Field(alias="type")
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = Field(default_factory=dict)
    disabled: StrictBool = False

    @model_validator(mode="before")
    @classmethod
    def _infer_type(cls, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        if entry.get("command") and entry.get("url"):
            raise ValueError("it has both a command and a url; which of the two is meant?")
        named = entry.get("type", entry.get("transport"))
        if named is None:
            return {**entry, "type": "http" if entry.get("url") else "stdio"}
        known = _SPELLINGS.get(str(named).lower())
        if known is None:
            raise ValueError(f"unknown type; use one of {', '.join(sorted(set(_SPELLINGS)))}")
        return {**entry, "type": known}

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError("not an http or https URL with a host")
        return url

    @property
    def is_stdio(self) -> bool:
        """Whether the agent starts the server itself."""
        return self.transport == "stdio"

    @property
    def target(self) -> str:
        """What the agent contacts or starts, as configured: sanitize it before it is shown."""
        return self.command if self.is_stdio else self.url

    def secrets(self) -> Iterator[str]:
        """Yield the values that must never be shown (SA-2)."""
        yield from self.env.values()
        yield from self.headers.values()
        yield from _argument_values(self.args)
        yield from url_secrets(self.url)


def read_servers(servers: Mapping[str, Mapping[str, Any]]) -> tuple[ServerEntry, ...]:
    """Return the entries of an ``mcpServers`` dict (name to entry), in its order.

    A whole document with the one key ``mcpServers`` is taken as what it holds. Keys that are not
    known are named in the log.

    Raises :class:`~kandev_nb.errors.ConfigError` that names the entry and the field.
    """
    if not isinstance(servers, Mapping):
        raise _unreadable("servers= is not a dict of name to entry")
    if set(servers) == {"mcpServers"}:
        return read_servers(servers["mcpServers"])
    return tuple(_read_entry(name, entry) for name, entry in servers.items())


_KNOWN_KEYS: Final = {"type", "transport", *ServerEntry.model_fields} - {"name"}


def _read_entry(name: object, entry: object) -> ServerEntry:
    if not isinstance(name, str) or not name.strip():
        raise _unreadable("A server has no name: its key must be text that is not empty")
    if len(name.encode("utf-8", "replace")) > limits.NAME_BYTES:
        raise _unreadable(f"A server's name is longer than {limits.NAME_BYTES} bytes")
    if not isinstance(entry, Mapping):
        raise _unreadable(f"The entry of server {name!r} is not a dict")
    if unknown := sorted(map(str, entry.keys() - _KNOWN_KEYS)):
        _log.warning("server %r: these keys are not used: %s", name, ", ".join(unknown))
    try:
        return ServerEntry.model_validate({**entry, "name": name})
    except ValidationError as error:
        faults = "; ".join(_fault(detail) for detail in error.errors(include_url=False))
        raise _unreadable(f"The entry of server {name!r} cannot be used: {faults}") from None


def _fault(detail: Any) -> str:
    field = ".".join(str(part) for part in detail["loc"])
    message = str(detail["msg"]).removeprefix("Value error, ")
    return f"{field}: {message}" if field else message


def _unreadable(what: str) -> ConfigError:
    return ConfigError(
        f"{what}. Give a dict of name to entry, each with a command or a url.",
        reason_code=ReasonCode.INVALID_PROFILE,
    )


def _argument_values(args: tuple[str, ...]) -> Iterator[str]:
    """Yield what follows a flag; other arguments are names that a message may well hold."""
    for before, argument in zip(("", *args), args, strict=False):
        flag, equals, value = argument.partition("=")
        if equals and flag.startswith("-"):
            yield value
        elif before.startswith("-") and "=" not in before and not argument.startswith("-"):
            yield argument
