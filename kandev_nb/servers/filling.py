"""One entry with its placeholders filled in and the policy applied: what would be delivered."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kandev_nb.attachment.sanitize import url_secrets
from kandev_nb.servers import secrets
from kandev_nb.servers.entry import Entry
from kandev_nb.servers.placeholders import Surroundings, fill
from kandev_nb.servers.policy import Policy


class Filling(NamedTuple):
    """The values of one entry.

    ``missing`` are the placeholders without a value, ``incomplete`` the fields that they are in;
    ``emptied`` those that the client replaces by nothing, ``kept`` fields with a ``$NAME`` that it
    leaves alone.
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

    def secrets(self) -> Iterator[str]:
        """Yield what of it must never be shown."""
        yield from secrets.in_values(self.env.values())
        yield from secrets.in_values(self.headers.values())
        yield from secrets.in_arguments(self.command, self.args)
        yield from url_secrets(self.url)


def fill_entry(entry: Entry, format: str, surroundings: Surroundings, policy: Policy) -> Filling:  # noqa: A002
    """Return the entry's values as its own client would fill them in, then as the policy asks."""
    pen = _Pen(format, surroundings)
    args = tuple(pen.fill(f"args[{n}]", text) for n, text in enumerate(entry.args))
    env = pen.fill_all("env", entry.env) | pen.take_all(entry.env_from)
    headers = pen.fill_all("headers", entry.headers) | pen.take_all(entry.headers_from)
    if entry.bearer_from:
        headers["Authorization"] = f"Bearer {pen.take(entry.bearer_from)}"
    return Filling(
        command=pen.fill("command", entry.command),
        args=args,
        env=policy.inject(env) if entry.type == "stdio" else env,
        url=policy.rewrite(pen.fill("url", entry.url)),
        headers=headers,
        missing=tuple(dict.fromkeys(pen.missing)),
        incomplete=tuple(pen.incomplete),
        emptied=tuple(dict.fromkeys(pen.emptied)),
        kept=tuple(pen.kept),
    )


class _Pen:
    """Fills in one text after the other and remembers what it could not."""

    def __init__(self, format: str, surroundings: Surroundings) -> None:  # noqa: A002
        self._format, self._surroundings = format, surroundings
        self.missing: list[str] = []
        self.incomplete: list[str] = []
        self.emptied: list[str] = []
        self.kept: list[str] = []

    def fill(self, field: str, text: str) -> str:
        filled = fill(text, self._format, self._surroundings)
        self.missing += filled.missing
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
        value = self._surroundings.environ.get(variable)
        if value is None:
            self.missing.append(variable)
        return value or ""

    def take_all(self, variables: Mapping[str, str]) -> dict[str, str]:
        return {name: self.take(variable) for name, variable in variables.items()}
