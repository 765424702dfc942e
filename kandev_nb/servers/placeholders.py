"""Placeholders: a text comes in as it was configured, and leaves as its own client would fill it.

Each client has its own forms, and its own answer to a variable that is not set. A variable that
is set to nothing is set: a default stands only for one that is not.

===========  ==========================================================  =======================
client       forms that it fills in                                      a variable is not set
===========  ==========================================================  =======================
claude_code  ``${VAR}``, ``${VAR:-default}``                             says so, or leaves it
mcp_servers  those of claude_code, also as ``${env:VAR}``                (origin unknown)
gemini       those of claude_code, also ``$VAR``                         leaves it
cursor       ``${env:VAR}``, folders                                     (not documented)
windsurf     ``${env:VAR}``, ``${file:path}``                            (not documented)
vscode       ``${env:VAR}``, ``${input:id}``, folders, the open editor   nothing in its place
opencode     ``{env:VAR}``, ``{file:path}``                              nothing in its place
===========  ==========================================================  =======================

Every other client delivers a text as it stands. What is written as a placeholder for some client,
and not filled in by this one, is missing: nobody else fills it in. So is a reference to a file, a
command or an open editor, which are not read here.

Read in their programs: Claude Code 2.0.14; Gemini CLI (``envVarResolver.ts``; where it starts a
server it puts nothing for a braced one in ``env``); VS Code (``variableResolver.ts``); opencode
(``config/variable.ts``); Jupyter AI's persona manager and Kandev (``mcpconfig/resolve.go``), which
fill in nothing. Read in documentation or reports: Cursor, Windsurf, Zed and Claude Desktop, the
last two as they stand. Not verified: Codex (as it stands).
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple


class Filled(NamedTuple):
    """A text with its placeholders filled in, and the references that have no value.

    A reference is named as it was written, without its default, and stands once: ``missing`` keep
    the server from working, ``emptied`` became nothing, and ``kept`` are bare ``$NAME`` that the
    client leaves standing.
    """

    text: str
    missing: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class Surroundings(NamedTuple):
    """Where placeholders get their values.

    ``inputs`` are the defaults of VS Code's inputs, by ID; an ``input:ID`` in ``environ`` wins.
    """

    environ: Mapping[str, str]
    cwd: Path
    inputs: Mapping[str, str]


_Fate = Literal["missing", "emptied", "kept"]

# What begins inside a reference ends it: so no part of a text is read twice.
_BRACED: Final = re.compile(r"\$\{(?P<inner>(?:[^}$]++|\$(?!\{))++)(?:(?P<end>\})|(?=\$\{))")
_BRACED_OR_BARE: Final = re.compile(rf"{_BRACED.pattern}|\$(?P<bare>[A-Za-z_]\w*)", re.ASCII)
# Here a dollar before {env:X} is text.
_CURLY: Final = re.compile(
    r"(?:\{(?=(?:env|file):)|\$\{(?!(?:env|file):))(?P<inner>[^{}]++)(?P<end>\})"
)

_FOREIGN: Final = (
    r"env:\w+|input:\w[\w. -]*"
    r"|(?:_*[A-Z][A-Z0-9_]*|workspaceFolder(?:Basename)?|userHome)(?=:-|\Z)"
)
_VARIABLE: Final = r"|[A-Za-z_]\w*(?=:-|\Z)"
_FILE: Final = r"|file:[\w./\\~ -]+"
_OPEN_EDITOR: Final = (
    r"|(?:command|config|extensionInstallFolder|workspaceFolder):\w[\w./ -]*"
    r"|(?:(?:file|relativeFile)[A-Za-z]*|selectedText|lineNumber|columnNumber"
    r"|execPath|execInstallFolder|defaultBuildTask)\Z"
)

_PLACES: Final[Mapping[str, Callable[[Surroundings], str | None]]] = {
    "workspaceFolder": lambda around: str(around.cwd.absolute()),
    "workspaceFolderBasename": lambda around: around.cwd.absolute().name,
    "userHome": lambda around: around.environ.get("HOME"),
    "pathSeparator": lambda _: os.sep,
    "/": lambda _: os.sep,
    "cwd": lambda around: str(around.cwd.absolute()),
}


class _Client(NamedTuple):
    """The forms of one client.

    ``reference`` finds what may be one; ``naming`` matches the start of what counts as one, up to
    where a default may begin.
    """

    naming: re.Pattern[str]
    reference: re.Pattern[str] = _BRACED
    variables: bool = False
    env: bool = False
    inputs: bool = False
    places: frozenset[str] = frozenset()
    unset_env: _Fate = "missing"


def _naming(*more: str) -> re.Pattern[str]:
    return re.compile("".join((_FOREIGN, *more)), re.ASCII)


_AS_IT_STANDS: Final = _Client(_naming())
_CLIENTS: Final[Mapping[str, _Client]] = {
    "mcp_servers": _Client(_naming(_VARIABLE), variables=True, env=True),
    "claude_code": _Client(_naming(_VARIABLE), variables=True),
    "gemini": _Client(_naming(_VARIABLE), _BRACED_OR_BARE, variables=True),
    "cursor": _Client(_naming(), env=True, places=frozenset(_PLACES) - {"cwd"}),
    "windsurf": _Client(_naming(_FILE), env=True),
    "vscode": _Client(
        _naming(_OPEN_EDITOR),
        env=True,
        inputs=True,
        places=frozenset(_PLACES),
        unset_env="emptied",
    ),
    "opencode": _Client(_naming(_FILE), _CURLY, env=True, unset_env="emptied"),
}


def fill(text: str, format: str, surroundings: Surroundings) -> Filled:  # noqa: A002
    """Return ``text`` as the client of that format ID fills it in.

    What is filled in is not looked at again. A reference without a value stays as it was written,
    unless the client puts nothing in its place.
    """
    if "$" not in text and "{" not in text:
        return Filled(text)
    client = _CLIENTS.get(format, _AS_IT_STANDS)
    left: dict[_Fate, dict[str, None]] = {"missing": {}, "emptied": {}, "kept": {}}

    def replace(found: re.Match[str]) -> str:
        value = _value(found, client, surroundings)
        if value is not None:
            return value
        name = _name(found, client)
        if name is None:
            return found[0]
        fate = _fate(found, client)
        left[fate][name] = None
        return "" if fate == "emptied" else found[0]

    filled = client.reference.sub(replace, text)
    return Filled(filled, *(tuple(left[fate]) for fate in ("missing", "emptied", "kept")))


def fills_in(format: str) -> bool:  # noqa: A002
    """Tell whether the client of that format ID fills in anything at all."""
    return format in _CLIENTS


def _value(found: re.Match[str], client: _Client, surroundings: Surroundings) -> str | None:
    inner, environ = found["inner"], surroundings.environ
    if inner is None:
        return environ.get(found["bare"])
    if found["end"] is None:
        # No client fills in a reference inside a reference: half of it would be left behind.
        return None
    if inner in client.places:
        return _PLACES[inner](surroundings)
    kind, _, argument = inner.partition(":")
    if client.inputs and kind == "input":
        return environ.get(inner, surroundings.inputs.get(argument))
    if client.env and kind == "env":
        return _variable(argument, client, environ)
    return _variable(inner, client, environ) if client.variables else None


def _variable(written: str, client: _Client, environ: Mapping[str, str]) -> str | None:
    if not client.variables:
        return environ.get(written)
    name, dash, default = written.partition(":-")
    return environ.get(name, default if dash else None)


def _name(found: re.Match[str], client: _Client) -> str | None:
    """Return the reference without its default; None for a text that is none."""
    inner = found["inner"]
    if inner is None:
        return found[0]
    named = client.naming.match(inner)
    return f"{found[0].partition('{')[0]}{{{named[0]}}}" if named else None


def _fate(found: re.Match[str], client: _Client) -> _Fate:
    inner = found["inner"]
    if inner is None:
        return "kept"
    return client.unset_env if inner.startswith("env:") else "missing"
