"""What is known of one agent before it is started, as data."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

NetworkTransport = Literal["http", "sse"]


class AgentSpec(BaseModel):
    """How to start one agent that speaks ACP on its standard input and output."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(min_length=1)]
    title: str
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    """The command line; where its program is, :mod:`kandev_nb.agents.finding` says."""

    env: Annotated[dict[str, str], Field(repr=False)] = {}
    """Laid over the kernel's environment."""

    install: str = ""
    """How to get it, in one line."""

    npm: str = ""
    """Its package and version on npm, from which npx can run it; empty when it is not there."""

    needs: tuple[str, ...] = ()
    """What to do or to set before it works, a sentence each: a login, a variable, a runtime."""

    failure_lines: tuple[str, ...] = ()
    """How it says on its standard error that a server failed: regular expressions of whole lines,
    with the server's name as the group ``server``, of the version that is named in ``npm``."""

    notes: tuple[str, ...] = ()
    """What to know of its ways with MCP servers, a sentence each, with the version that showed
    them."""

    advertises: frozenset[NetworkTransport] | None = None
    """The transports of MCP servers, next to stdio, that it was seen to advertise; ``None`` when
    nothing is known. A plan rests on it until the agent itself has spoken."""

    takes: frozenset[NetworkTransport] = frozenset()
    """Those that it takes without advertising them. What rests on this is marked as assumed."""

    @property
    def likely_transports(self) -> frozenset[NetworkTransport] | None:
        """What it can be expected to take before it has spoken; ``None`` if nobody knows."""
        return None if self.advertises is None else self.advertises | self.takes

    name_characters: str = ""
    """The characters that it takes in a server's name, as the inside of a regular expression's
    character class; empty when it takes any."""

    passthrough: str = ""
    """The ID of the passthrough strategy for its own CLI; empty when there is none."""

    reset_by_restart: bool = False
    """Whether its sessions share servers of the same name, so that only a new process gives a
    session its own connections."""

    @field_validator("name_characters")
    @classmethod
    def _check_characters(cls, characters: str) -> str:
        try:
            fits = not characters or re.fullmatch(f"[{characters}]+", "_")
        except re.error:
            fits = None
        if not fits:
            raise ValueError("is not the inside of a character class that has the underscore")
        return characters
