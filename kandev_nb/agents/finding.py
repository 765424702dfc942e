"""Where an agent's program is, as a session looks for it.

A spec, the environment that the agent gets and the session's directory come in; a command line
with an absolute program leaves. It is looked for on ``PATH``, then where npm puts what a project
has installed. npx, which downloads, comes last and only where the user asked for it. Nothing is
started here.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from kandev_nb.agents.spec import AgentSpec
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import AgentError


def find_command(
    spec: AgentSpec, environ: Mapping[str, str], cwd: Path, *, npx: bool = False
) -> tuple[str, ...]:
    """Return the command line of an agent, with the absolute path of its program.

    Raises:
        AgentError: it is nowhere (``command_not_found``).
    """
    program, *args = spec.command
    if path := find_program(program, environ, cwd):
        return (path, *args)
    runner = find_npx(spec, environ, cwd) if npx else None
    if runner is None:
        raise _not_found(spec, npx)
    return (runner, "--yes", spec.npm, *args)


def find_program(program: str, environ: Mapping[str, str], cwd: Path) -> str | None:
    """Return the absolute path of a program; one that is a path itself counts from ``cwd``."""
    folders = [cwd] if os.sep in program else [*_on_path(environ, cwd), *_installed(cwd)]
    return _first(program, folders)


def find_npx(spec: AgentSpec, environ: Mapping[str, str], cwd: Path) -> str | None:
    """Return the absolute path of npx where it can run this agent."""
    return _first("npx", list(_on_path(environ, cwd))) if spec.npm else None


def _first(program: str, folders: list[Path]) -> str | None:
    # Given a path, which() only says whether it can be executed.
    return next(filter(None, (shutil.which(str(folder / program)) for folder in folders)), None)


def _on_path(environ: Mapping[str, str], cwd: Path) -> Iterator[Path]:
    """Yield the folders of PATH; the agent starts in ``cwd``, so relative ones count from there."""
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        yield cwd / folder


def _installed(cwd: Path) -> Iterator[Path]:
    """Yield ``node_modules/.bin`` of a project, the nearest one first."""
    here = cwd.resolve()
    for folder in (here, *here.parents):
        yield folder / "node_modules" / ".bin"


def _not_found(spec: AgentSpec, npx: bool) -> AgentError:
    program = Path(spec.command[0]).name
    where = "" if os.sep in spec.command[0] else " on PATH or in node_modules/.bin"
    ways = [f"Install it (`{spec.install}`)" if spec.install else "Install it"]
    if npx and spec.npm:
        ways.append("install Node: npx was not found either")
    elif spec.npm:
        ways.append("start it with npx=True")
    words = (
        f"The command {program!r} of {spec.title} was not found{where}. {', or '.join(ways)}.",
        f"Then: {' '.join(spec.needs)}" if spec.needs else "",
    )
    return AgentError(" ".join(words).rstrip(), reason_code=ReasonCode.COMMAND_NOT_FOUND)
