"""What a user configured, read but not judged: the entries of one document, in one vocabulary.

A document of any client comes in through :mod:`kandev_nb.servers.documents`; resolution takes the
profile from here and decides about each entry. Values stay as they were written: placeholders are
not filled in, and what cannot be read is a fault of its entry, so that the others still count.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Mode = Literal["auto", "shared", "per_session"]
"""Whether sessions share one server (network transports) or each has its own (stdio)."""


class Entry(BaseModel):
    """One configured server.

    ``type`` is one of ``stdio``, ``http``, ``sse``, ``streamable_http`` (as written, or as the
    document's own client infers it), any other word as it was written, or empty where nothing
    tells. Everything but names is left out of the repr: it may hold secrets.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str
    type: str = Field(default="", repr=False)
    mode: str = Field(default="auto", repr=False)
    disabled: bool = False
    disabled_by: str = ""
    """What of the document switches it off, where that is not its own entry."""
    command: str = Field(default="", repr=False)
    args: tuple[str, ...] = Field(default=(), repr=False)
    env: Mapping[str, str] = Field(default_factory=dict, repr=False)
    url: str = Field(default="", repr=False)
    headers: Mapping[str, str] = Field(default_factory=dict, repr=False)

    env_from: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """Environment variables of the server, each by the variable that its value is taken from."""
    headers_from: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """Headers, each by the variable that its value is taken from."""
    bearer_from: str = Field(default="", repr=False)
    """The variable that holds the bearer token of the ``Authorization`` header."""

    unused: Mapping[str, Any] = Field(default_factory=dict, repr=False)
    """Keys that nothing here has a use for, kept as they are; their names are reported."""
    faults: tuple[str, ...] = ()
    """What of the entry cannot be read, such as ``args[1]: must be text``. Never a value."""


class Profile(BaseModel):
    """The servers of one document, in its order.

    ``format`` is the ID of the client whose document it is; it decides how placeholders are
    written. A profile that is not ``enabled`` delivers none of its servers.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    entries: tuple[Entry, ...] = ()
    enabled: bool = True
    format: str = "mcp_servers"
    path: Path | None = None
    """The file that it was read from."""
    inputs: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """Defaults of the inputs that the document declares (VS Code), by input ID."""
    notes: tuple[str, ...] = ()
    """What of the document as a whole was not used. Never a value."""
