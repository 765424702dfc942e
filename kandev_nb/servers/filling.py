"""One entry with its placeholders filled in and the policy applied: what would be delivered."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kandev_nb.attachment.sanitize import url_secrets
from kandev_nb.servers import secrets
from kandev_nb.servers.documents import FORMATS
from kandev_nb.servers.entry import Entry
from kandev_nb.servers.placeholders import Surroundings, fill, fills_in
from kandev_nb.servers.policy import Policy

_SHELLS: Final = ("bash", "dash", "fish", "ksh", "sh", "zsh")
_VARIABLE: Final = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)
_NOT_READ: Final = ("file", "command", "config", "extensionInstallFolder")


class Filling(NamedTuple):
    """The values of one entry.

    ``missing`` says of each placeholder without a value why it has none, ``incomplete`` names the
    fields that they are in; ``emptied`` are those that the client replaces by nothing, ``kept`` the
    fields with a ``$NAME`` that it leaves alone, ``injected`` the variables of the policy's.
    """

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    url: str
    headers: Mapping[str, str]
    missing: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    injected: tuple[str, ...] = ()
    is_rewritten: bool = False

    def secrets(self) -> Iterator[str]:
        """Yield what of it must never be shown."""
        yield from secrets.in_values(self.env.values())
        yield from secrets.in_values(self.headers.values())
        program, *words = self.command.split() or [""]
        yield from secrets.in_arguments(program, (*words, *self.args))
        yield from url_secrets(self.url)


def fill_entry(entry: Entry, format: str, surroundings: Surroundings, policy: Policy) -> Filling:  # noqa: A002
    """Return the entry's values as its own client would fill them in, then as the policy asks."""
    pen = _Pen(format, surroundings)
    args = entry.args
    if not _is_for_a_shell(entry, format):
        args = tuple(pen.fill(f"args[{n}]", text) for n, text in enumerate(entry.args))
    env = pen.take_all(entry.env_from) | pen.fill_all("env", entry.env)
    headers = pen.fill_all("headers", entry.headers) | pen.take_all(entry.headers_from)
    if entry.bearer_from:
        headers["Authorization"] = f"Bearer {pen.take(entry.bearer_from)}"
    command, url = pen.fill("command", entry.command), pen.fill("url", entry.url).strip()
    pen.format = _PLAIN
    rewritten = policy.rewrite(url, lambda target: pen.fill("url", target))
    added = policy.env_injection if entry.type == "stdio" else {}
    injected = {name: value for name, value in added.items() if name not in env}
    return Filling(
        command=command,
        args=args,
        env=pen.fill_all("env", injected) | env,
        url=rewritten,
        headers=headers,
        missing=tuple(dict.fromkeys(pen.missing)),
        incomplete=tuple(pen.incomplete),
        emptied=tuple(dict.fromkeys(pen.emptied)),
        kept=tuple(pen.kept),
        injected=tuple(injected),
        is_rewritten=rewritten != url,
    )


_PLAIN: Final = "mcp_servers"
"""How placeholders of a policy are written."""


class _Pen:
    """Fills in one text after the other and remembers what it could not."""

    def __init__(self, format: str, surroundings: Surroundings) -> None:  # noqa: A002
        self.format, self._surroundings = format, surroundings
        self.missing: list[str] = []
        self.incomplete: list[str] = []
        self.emptied: list[str] = []
        self.kept: list[str] = []

    def fill(self, field: str, text: str) -> str:
        filled = fill(text, self.format, self._surroundings)
        self.missing += [self._why(reference) for reference in filled.missing]
        self.emptied += filled.emptied
        if filled.kept:
            # Not by its text: what only looks like a placeholder may be part of a password.
            self.kept.append(field)
        if filled.missing:
            self.incomplete.append(field)
        text = filled.text
        for reference in filled.missing:
            # A name is no secret: it must stay readable in what is said about it.
            text = text.replace(reference, "")
        return text

    def fill_all(self, field: str, texts: Mapping[str, str]) -> dict[str, str]:
        return {name: self.fill(f"{field}.{name}", text) for name, text in texts.items()}

    def take(self, variable: str) -> str:
        value = self._surroundings.environ.get(variable, "")
        if not value.strip():
            self.missing.append(f"There is no value for {_variable(variable)}.")
        return value

    def take_all(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the values of those that are set; the client leaves out the others."""
        environ = self._surroundings.environ
        unset = [taken for taken in variables.values() if not environ.get(taken)]
        self.emptied += map(_variable, unset)
        return {name: environ[taken] for name, taken in variables.items() if environ.get(taken)}

    def _why(self, reference: str) -> str:
        """Say why a placeholder has no value."""
        inner = reference.strip("${}")
        kind, _, name = inner.partition(":")
        if kind == "input":
            return f"There is no value for {reference}: give it one with env={{{inner!r}: …}}."
        if kind in _NOT_READ or (kind == "workspaceFolder" and name):
            return f"{reference} is not read here."
        if (name if kind == "env" else inner) in self._surroundings.environ:
            return f"{FORMATS[self.format]} does not fill in {reference}."
        return f"There is no value for {reference}."


def _variable(name: str) -> str:
    """Return the name of a variable, if it can be one: some have their value written there."""
    return name if _VARIABLE.fullmatch(name) else "the variable that it names"


def _is_for_a_shell(entry: Entry, format: str) -> bool:  # noqa: A002
    """Whether ``${NAME}`` in the arguments is what the client leaves to a shell."""
    return entry.command.rpartition("/")[2] in _SHELLS and not fills_in(format)
