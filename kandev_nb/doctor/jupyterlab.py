"""Whether JupyterLab and Notebook 7 find the extension of kandev-nb, and load it.

It is looked for as the page does it: on Jupyter's own paths, of two copies the first, and switched
off by any page configuration that names it or one of its plugins.
"""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from kandev_nb.doctor.check import OURS, Check, install_again

FRONT_ENDS: Final = ("jupyterlab", "notebook")
"""The packages that load the extension; they may run in another environment than the kernel."""

_BUILT: Final = Path(__file__).parent.parent / "labextension" / "package.json"


class _Extension(NamedTuple):
    """A prebuilt JupyterLab extension, as its metadata tells it."""

    folder: Path
    name: str
    version: str
    load: str
    """The file that the page loads; empty where the build is not whole."""

    disables: tuple[str, ...]
    """The extensions that it switches off."""


class _UnreadableError(Exception):
    """The metadata of an extension cannot be read; the message is its file."""


def extension() -> Check:
    """Whether JupyterLab and Notebook 7 find the extension, whole, of our version, switched on."""
    try:
        known = _labextensions()
    except _UnreadableError as error:
        advice = "Reinstall or remove that extension: Jupyter cannot read it either."
        return Check("JupyterLab extension", "problem", f"{error} cannot be read", advice)
    if OURS not in known:
        return _missing_extension()
    ours = known[OURS]
    return (
        _other_version(ours)
        or _incomplete(ours)
        or _switched_off(ours, known)
        or _older_build(ours)
        or _locked(ours)
        or Check("JupyterLab extension", "ok", _at(ours))
    )


def _labextensions() -> dict[str, _Extension]:
    """Return every prebuilt extension by name; of two with one name Jupyter takes the first."""
    from jupyter_core.paths import jupyter_path

    found: dict[str, _Extension] = {}
    for folder in map(Path, jupyter_path("labextensions")):
        for file in chain(folder.glob("[!@.]*/package.json"), folder.glob("@*/*/package.json")):
            one = _read_extension(file)
            found.setdefault(one.name, one)
    return found


def _read_extension(file: Path) -> _Extension:
    try:
        package = json.loads(file.read_text(encoding="utf-8"))
        jupyterlab = package.get("jupyterlab", {})
        load = jupyterlab.get("_build", {}).get("load", "")
        disables = tuple(jupyterlab.get("disabledExtensions", ()))
        return _Extension(file.parent, package["name"], package["version"], load, disables)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise _UnreadableError(file) from error


def _missing_extension() -> Check:
    installed = any(True for name in FRONT_ENDS for _ in metadata.distributions(name=name))
    found = "not found on the paths that `jupyter --paths` lists"
    return Check("JupyterLab extension", "problem" if installed else "note", found, install_again())


def _other_version(ours: _Extension) -> Check | None:
    from packaging.version import Version

    expected = metadata.version(OURS)
    if Version(ours.version) == Version(expected):
        return None
    found = f"{_at(ours)}, but kandev-nb is {expected}"
    advice = f"{install_again()} If that copy stays, remove it: it comes first on Jupyter's paths."
    return Check("JupyterLab extension", "problem", found, advice)


def _incomplete(ours: _Extension) -> Check | None:
    if (ours.folder / ours.load).is_file():
        return None
    return Check("JupyterLab extension", "problem", f"{_at(ours)}, not whole", install_again())


def _switched_off(ours: _Extension, known: Mapping[str, _Extension]) -> Check | None:
    said = _page_config("disabledExtensions")
    for other in known.values():
        if not said.get(other.name, (False, ""))[0]:
            file = str(other.folder / "package.json")
            said = {**dict.fromkeys(other.disables, (True, file)), **said}
    for name, (is_disabled, file) in said.items():
        if is_disabled and _is_ours(name):
            advice = f'Take "{name}" out of disabledExtensions in {file}; then reload the page.'
            return Check("JupyterLab extension", "problem", f"{_at(ours)}, disabled", advice)
    return None


def _older_build(ours: _Extension) -> Check | None:
    if not _BUILT.is_file() or ours.load == _read_extension(_BUILT).load:
        return None
    found = f"{_at(ours)}, another build than in the sources"
    return Check("JupyterLab extension", "note", found, install_again())


def _locked(ours: _Extension) -> Check | None:
    if not any(on for name, (on, _) in _page_config("lockedExtensions").items() if _is_ours(name)):
        return None
    found = f"{_at(ours)}, locked: it works, and JupyterLab does not let you disable it"
    return Check("JupyterLab extension", "note", found)


def _at(ours: _Extension) -> str:
    return f"{ours.version} at {ours.folder}"


def _is_ours(name: str) -> bool:
    """Tell whether the page takes ``name`` for our extension, or for one of its plugins."""
    return name.partition(":")[0] == OURS


def _page_config(key: str) -> dict[str, tuple[bool, str]]:
    """Return what JupyterLab's page configuration says of extensions, and the file that says it.

    The order is Jupyter's: the settings of the application first, then its configuration paths
    from the last to the first. A file that is not JSON is passed over, there as here.
    """
    from jupyter_core.paths import jupyter_config_path

    application = os.environ.get("JUPYTERLAB_DIR") or f"{sys.prefix}/share/jupyter/lab"
    file = Path(application, "settings", "page_config.json")
    # The application's settings are a list of names; an object counts by its keys alone.
    said = {name: (True, str(file)) for name in _extensions_in(file, key)}
    for folder in reversed(jupyter_config_path()):
        said |= _said_in(Path(folder, "labconfig"), key)
    return said


def _said_in(folder: Path, key: str) -> dict[str, tuple[bool, str]]:
    said: dict[str, tuple[bool, str]] = {}
    for file in (*sorted(folder.glob("page_config.d/*.json")), folder / "page_config.json"):
        for name, value in _extensions_in(file, key).items():
            said.pop(name, None)
            if value is not None:
                said[name] = (bool(value), str(file))
    return said


def _extensions_in(file: Path, key: str) -> dict[str, Any]:
    if not file.is_file():
        return {}
    with suppress(ValueError):
        said = json.loads(file.read_text(encoding="utf-8")).get(key) or {}
        return dict.fromkeys(said, True) if isinstance(said, list) else dict(said)
    return {}
