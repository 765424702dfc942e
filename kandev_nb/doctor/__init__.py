"""Whether kandev-nb works in this environment, and what to do where it does not.

Nothing comes in; checks leave, one a line, for the command line and for whoever wants to show them
otherwise. Everything is looked up here and now: versions in the packages' metadata, the JupyterLab
extension on Jupyter's own paths, commands on ``PATH``, a port by listening on it. Nothing is
changed, nothing is started, and no check raises: one that breaks is a problem of its own.

This room stands on the standard library alone and imports the others inside a check, because a
missing part is what it is here to name.
"""

import os
import platform
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import metadata
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kandev_nb.doctor.check import OURS, Check, install_again, is_editable
from kandev_nb.doctor.jupyterlab import FRONT_ENDS, extension

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from kandev_nb.agents.registry import AgentSpec

__all__ = ["COMMANDS", "PACKAGES", "Check", "examine", "extension"]

PACKAGES: Final = (
    "mcp",
    "agent-client-protocol",
    "pydantic",
    "tiktoken",
    "uvicorn",
    "ipykernel",
    "anywidget",
    "ipywidgets",
    "jupyterlab",
    "notebook",
)
"""What kandev-nb stands on, by the names of the package index."""

COMMANDS: Final[Mapping[str, str]] = {
    "claude-agent-acp": "",
    "claude": "",
    "codex-acp": "",
    "codex": "",
    "gemini": "",
    "opencode": "",
    "copilot": "",
    "qwen": "",
    "kilo": "",
    "auggie": "",
    "goose": "",
    "cursor-agent": "",
    "pi-acp": "",
    "fast-agent-acp": "",
    "node": "Agents and MCP servers from npm run on it.",
    "npx": "MCP servers from npm are started with it.",
    "uvx": "MCP servers from PyPI are started with it.",
    "docker": "MCP servers in containers are started with it.",
}
"""The usual agents' commands and what MCP servers are started with, each with what it is for."""

_ELSEWHERE: Final = (
    "The widgets also work in other front ends; one in another environment needs kandev-nb there."
)
_PYTHONS: Final = ((3, 11), (3, 14))
_PACKAGE: Final = Path(__file__).parent.parent
_BUNDLED: Final = "kandev_nb/tokens/o200k_base.bin.gz"


def examine() -> tuple[Check, ...]:
    """Look at everything; about a second. Raises nothing."""
    return (
        _one("Python", python),
        _one("platform", operating_system),
        _one(OURS, this_package),
        *_many("packages", packages),
        _one("JupyterLab extension", extension),
        _one("widget bundle", widget_bundle),
        _one("vocabulary", vocabulary),
        _one("endpoint", endpoint),
        _one("store", store),
        *_many("agents", agents),
        *(_one(name, partial(command, name)) for name in COMMANDS),
    )


def python(version: tuple[int, ...] = sys.version_info[:3]) -> Check:
    """Whether this Python is one that kandev-nb supports."""
    found = f"{'.'.join(map(str, version))} at {sys.executable}"
    if _PYTHONS[0] <= version[:2] <= _PYTHONS[1]:
        return Check("Python", "ok", found)
    first, last = ("{}.{}".format(*supported) for supported in _PYTHONS)
    return Check("Python", "problem", found, f"Use Python {first} to {last}.")


def operating_system(name: str = sys.platform) -> Check:
    """Whether this is Linux or macOS."""
    if name in ("linux", "darwin"):
        return Check("platform", "ok", f"{platform.system()} {platform.machine()}")
    advice = "Use Linux or macOS; on Windows, WSL 2."
    return Check("platform", "problem", f"{name} is not supported", advice)


def this_package() -> Check:
    """Which kandev-nb is installed, and whether from its sources in place."""
    try:
        version = metadata.version(OURS)
    except PackageNotFoundError:
        return Check(OURS, "problem", "runs without being installed", install_again())
    return Check(OURS, "ok", f"{version}, editable install" if is_editable() else version)


def packages() -> Iterator[Check]:
    """Every one of :data:`PACKAGES`, and what else kandev-nb needs where it is not as needed."""
    needed = _needed()
    for name in PACKAGES:
        yield _one(name, partial(package, name, needed.get(name)))
    for name in sorted(needed.keys() - set(PACKAGES)):
        check = _one(name, partial(package, name, needed[name]))
        if check.state != "ok":
            yield check


def package(name: str, needed: "Requirement | None" = None) -> Check:
    """Which version of a package is installed, and whether it is one that is ``needed``."""
    versions = str(needed.specifier) if needed else ""
    advice = f'Run `pip install "{name}{versions}"` in this environment.'
    try:
        version = metadata.version(name)
    except PackageNotFoundError:
        if name in FRONT_ENDS:
            return Check(name, "note", "not installed here", _ELSEWHERE)
        return Check(name, "problem", "not installed", advice)
    if needed and not needed.specifier.contains(version, prereleases=True):
        return Check(name, "problem", f"{version}, but kandev-nb needs {versions}", advice)
    return Check(name, "ok", version)


def widget_bundle() -> Check:
    """Whether the page's half of the widgets has been built."""
    bundle = _PACKAGE / "static" / "widget.js"
    if bundle.is_file() and bundle.stat().st_size:
        return Check("widget bundle", "ok", f"{bundle.stat().st_size:,} bytes")
    return Check("widget bundle", "problem", f"{bundle} is missing or empty", install_again())


def vocabulary() -> Check:
    """Whether tokens can be estimated; loads the tokenizer (CA-8)."""
    from kandev_nb import tokens

    problem = tokens.problem()
    if problem is None:
        return Check("vocabulary", "ok", "o200k_base, offline")
    again = f"Restore {_BUNDLED} in the sources." if is_editable() else install_again()
    advice = f"{again} If it names tiktoken, run `pip install --force-reinstall tiktoken`."
    return Check("vocabulary", "problem", problem, advice)


def endpoint() -> Check:
    """Whether a program can listen on 127.0.0.1 and be reached there: listens, and connects."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            socket.create_connection(listening.getsockname(), timeout=2).close()
    except OSError as error:
        found = f"127.0.0.1 cannot be listened on or reached ({error.strerror or error})"
        advice = "Check that this machine lets a program listen on loopback."
        return Check("endpoint", "problem", found, advice)
    return Check("endpoint", "ok", "can listen on 127.0.0.1")


def store() -> Check:
    """Where reports are kept, and whether this user may write there; it is not opened."""
    from kandev_nb.errors import StoreError
    from kandev_nb.store import Store

    try:
        name = Store().name
    except StoreError as error:
        return Check("store", "problem", str(error), "Set KANDEV_NB_STORE to another place.")
    if "://" in name:
        return Check("store", "note", f"{name} (not contacted)")
    there = next(path for path in (Path(name), *Path(name).parents) if path.exists())
    if os.access(there, os.W_OK) and (there == Path(name) or there.is_dir()):
        return Check("store", "ok", name)
    advice = "Let this user write there, or set KANDEV_NB_STORE to another place."
    return Check("store", "problem", f"{there} cannot be written", advice)


def agents() -> Iterator[Check]:
    """Every registered agent, and every entry point that should be one and is not."""
    from kandev_nb.agents.registry import ENTRY_POINTS, registered_agents

    yield from chain.from_iterable(map(_unusable, entry_points(group=ENTRY_POINTS)))
    for spec in registered_agents():
        yield _one(f"agent {spec.id}", partial(agent, spec))


def agent(spec: "AgentSpec") -> Check:
    """Whether the command of an agent is found, as a session would look for it."""
    from kandev_nb.agents.finding import find_program

    name, program = f"agent {spec.id}", spec.command[0]
    if os.sep in program and not os.path.isabs(program):
        return Check(name, "note", f"{program} is looked for in each session's directory")
    if path := find_program(program, {**os.environ, **spec.env}, Path.cwd()):
        return Check(name, "ok", path)
    return Check(name, "note", f"command {program} not found", spec.install)


def command(name: str) -> Check:
    """Whether a command is on ``PATH``."""
    if path := shutil.which(name):
        return Check(name, "ok", path)
    return Check(name, "note", "not on PATH", COMMANDS.get(name, ""))


def _one(name: str, look: Callable[[], Check]) -> Check:
    return next(_many(name, lambda: (look(),)))


def _many(name: str, look: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    try:
        yield from look()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever is broken, the rest is said
        missing = f" {error.name}" if isinstance(error, ImportError) and error.name else ""
        found = f"could not be checked ({type(error).__name__}{missing})"
        yield Check(name, "problem", found, install_again())


def _needed() -> dict[str, "Requirement"]:
    """Return what the installed kandev-nb says it needs, by name, JupyterLab and Notebook too."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    try:
        needed = [Requirement(line) for line in metadata.requires(OURS) or ()]
    except PackageNotFoundError:
        return {}
    return {canonicalize_name(one.name): one for one in needed if _applies(one)}


def _applies(needed: "Requirement") -> bool:
    marker = needed.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", "lab"))


def _unusable(entry_point: EntryPoint) -> Iterator[Check]:
    from kandev_nb.agents.registry import AgentSpec

    try:
        if isinstance(entry_point.load(), AgentSpec):
            return
        found = "is no AgentSpec"
    except (Exception, SystemExit) as error:  # noqa: BLE001 - another package's code
        found = f"cannot be loaded ({type(error).__name__})"
    source = entry_point.dist.name if entry_point.dist else "the package that registers it"
    yield Check(f"agent {entry_point.name}", "problem", found, f"Reinstall or remove {source}.")
