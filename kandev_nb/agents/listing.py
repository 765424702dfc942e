"""Which agents can be started by name: where each is, what it takes and what it needs.

Nothing comes in but an environment and a directory, and one :class:`Listed` an agent leaves, for
``kandev-nb agents`` and for whoever wants to show them otherwise. Nothing is started.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kandev_nb.agents.finding import find_npx, find_program
from kandev_nb.agents.registry import AgentSpec, registered_agents


class Listed(NamedTuple):
    """One agent, as a session in that directory would find it."""

    spec: AgentSpec
    path: str
    """The absolute path of its program; empty when it is not installed."""

    npx: bool
    """Whether ``npx=True`` would start it all the same."""

    def to_json(self) -> dict[str, Any]:
        """Return what is known of the agent, always under the same keys; no variable's value."""
        spec = self.spec
        return {
            "id": spec.id,
            "title": spec.title,
            "installed": bool(self.path),
            "path": self.path,
            "npx": self.npx,
            "advertises": None if spec.advertises is None else sorted(spec.advertises),
            "takes": sorted(spec.takes),
            "needs": list(spec.needs),
            "install": spec.install,
            "passthrough": spec.passthrough,
            "reset_by_restart": spec.reset_by_restart,
            "notes": list(spec.notes),
        }

    @property
    def transports(self) -> str:
        """The transports over which it can be given MCP servers, in words."""
        if self.spec.advertises is None:
            return "stdio, others not known"
        assumed = self.spec.takes - self.spec.advertises
        words = (*sorted(self.spec.advertises), *(f"{word} (assumed)" for word in sorted(assumed)))
        return ", ".join(("stdio", *words))

    @property
    def place(self) -> str:
        """Where it is, as a person would write it."""
        path, home = Path(self.path), os.path.expanduser("~")
        if not self.path:
            return "not installed"
        return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else self.path

    def lines(self) -> Iterator[str]:
        """Yield what is to be done, and then what is to be known."""
        if not self.path and self.spec.install:
            start = "Start it with npx=True, or install it" if self.npx else "Install it"
            yield f"{start}: {self.spec.install}"
        yield from (f"Needs: {need}" for need in self.spec.needs)
        yield from (f"Note: {note}" for note in self.spec.notes)


def listed(environ: Mapping[str, str], cwd: Path) -> tuple[Listed, ...]:
    """Return every registered agent, looked for with ``environ`` and from ``cwd``."""
    return tuple(_listed(spec, environ, cwd) for spec in registered_agents())


def _listed(spec: AgentSpec, environ: Mapping[str, str], cwd: Path) -> Listed:
    environ = {**environ, **spec.env}
    path = find_program(spec.command[0], environ, cwd) or ""
    return Listed(spec, path, npx=not path and find_npx(spec, environ, cwd) is not None)
