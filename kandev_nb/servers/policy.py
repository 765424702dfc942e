"""Policies: what may reach an agent at all, whatever its profile says.

The keys are those of Kandev's own executor policy. One is given as a :class:`Policy`, as a dict,
by the name of a preset, as JSON or TOML text, or as the path of a file; each becomes a
:class:`Policy`, or an error that names everything that is wrong with it.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import url_secrets
from kandev_nb.errors import ConfigError
from kandev_nb.servers.documents.text import SyntaxFault, parse_json, parse_toml, repeated
from kandev_nb.servers.secrets import in_values
from kandev_nb.servers.server import is_network_url
from kandev_nb.servers.spelling import meant

_FILE_BYTES: Final = 1024 * 1024
_SHOWN: Final = 80
_SUFFIXES: Final = (".json", ".jsonc", ".toml")
_WAY_OUT: Final = (
    "Give the preset local or deny_all, a mapping with the keys of a policy, JSON or TOML text, or "
    "the path of a .json, .jsonc or .toml file."
)


class Policy(BaseModel):
    """What the executor allows: transports and names, and what it changes in the rest.

    ``allow_http`` is about servers whose profile calls them ``http`` and
    ``allow_streamable_http`` about those that it calls ``streamable_http``: the transport is one,
    so that a policy that is to keep it out says both. ``allowlist_servers``, where it is not empty,
    admits the names in it and no others, also where ``denylist_servers`` has them.

    ``url_rewrite`` maps URLs, or the starts of URLs up to the end of a part, to what stands in
    their place; user, password and the transport's own port are left out of the comparison.
    ``env_injection`` adds variables to each server that the agent starts itself; one that its entry
    sets stays. The values of both may hold placeholders such as ``${HOST}``.

    The built-in server is not the profile's: no policy is asked about it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    allow_stdio: StrictBool = True
    allow_http: StrictBool = True
    allow_sse: StrictBool = True
    allow_streamable_http: StrictBool = True
    allowlist_servers: tuple[str, ...] = ()
    denylist_servers: tuple[str, ...] = ()
    url_rewrite: Mapping[str, str] = Field(default_factory=dict, repr=False)
    env_injection: Mapping[str, str] = Field(default_factory=dict, repr=False)

    @field_validator("allowlist_servers", "denylist_servers", mode="before")
    @classmethod
    def _check_names(cls, given: object, field: ValidationInfo) -> object:
        return _sound(given, _name_faults(field.field_name or "", given))

    # Checked whole: an error of one member would carry its key, and a URL may hold a secret.
    @field_validator("url_rewrite", mode="before")
    @classmethod
    def _check_rewrites(cls, given: object) -> object:
        return _sound(given, _rewrite_faults(given))

    @field_validator("env_injection", mode="before")
    @classmethod
    def _check_env(cls, given: object) -> object:
        return _sound(given, _env_faults(given))

    def permits_name(self, name: str) -> bool:
        """Tell whether a server of this name may be delivered.

        An allowlist that is not empty admits only its names, and those even if they are denied.
        """
        if self.allowlist_servers:
            return name in self.allowlist_servers
        return name not in self.denylist_servers

    def permits_transport(self, type: str) -> bool:  # noqa: A002
        """Tell whether a server of this type may be delivered; a type that is not known may not."""
        return bool(getattr(self, f"allow_{type}", False))

    def notes(self, names: Collection[str]) -> tuple[str, ...]:
        """Return what is to say of the lists, for servers of these names."""
        listed = dict.fromkeys((*self.allowlist_servers, *self.denylist_servers))
        both = {*self.allowlist_servers} & {*self.denylist_servers}
        twice = (f"The policy allows and denies {name!r}: it is allowed." for name in sorted(both))
        without = (
            f"The policy names {name!r}, which no server of the profile has{_meant(name, names)}."
            for name in listed
            if name not in names
        )
        return (*twice, *without)

    def rewrite(self, url: str, fill: Callable[[str], str] = str) -> str:
        """Return what stands in place of ``url``.

        A rule for exactly this URL wins; else the longest one that is a start of it and ends where
        a part of the URL does. ``fill`` fills in the placeholders of the rule's own text.
        """
        rules = {_comparable(start): target for start, target in self.url_rewrite.items()}
        plain = _comparable(url)
        starts = [start for start in rules if start == plain or _is_start(start, plain)]
        if not starts:
            return url
        start = max(starts, key=len)
        target, rest = fill(rules[start]), plain[len(start) :]
        if start.endswith("/"):
            # What follows must not become part of another name, as in http://host + 1.test/.
            target = target.removesuffix("/") + "/"
        return target.removesuffix("/") + rest if rest.startswith("/") else target + rest

    def secrets(self) -> Iterator[str]:
        """Yield the values that must never be shown (SA-2)."""
        yield from in_values(self.env_injection.values())
        for url in (*self.url_rewrite, *self.url_rewrite.values()):
            yield from url_secrets(url)


PRESETS: Final[Mapping[str, Policy]] = {
    "local": Policy(),
    "deny_all": Policy(
        allow_stdio=False, allow_http=False, allow_sse=False, allow_streamable_http=False
    ),
}
"""The policies that have a name."""


def read_policy(given: Policy | str | Path | Mapping[str, Any] | None) -> Policy:
    """Return the policy that is given; None is the preset ``local``.

    Text is the name of a preset, JSON (from its ``{``; comments are allowed), TOML (with a line
    break or a ``=``), or else the path of a ``.json``, ``.jsonc`` or ``.toml`` file. A ``Path`` is
    always taken as one.

    Raises :class:`~kandev_nb.errors.ConfigError` that names every fault, and never a value.
    """
    match given:
        case None:
            return PRESETS["local"]
        case Policy():
            return given
        case Path():
            return _from_file(given)
        case str():
            return _from_text(given)
        case Mapping():
            return _checked(given, "The policy")
    raise _refused(
        f"The policy must be text, a path or a mapping; it is of the type {type(given).__name__}"
    )


def _from_text(text: str) -> Policy:
    if text in PRESETS:
        return PRESETS[text]
    if not text.strip():
        raise _refused("The policy is empty text")
    if text.lstrip().startswith("{"):
        return _parsed(text, "The policy text", is_toml=False)
    if "\n" in text or "=" in text:
        return _parsed(text, "The policy text", is_toml=True)
    if not text.lower().endswith(_SUFFIXES):
        # Text of another kind may hold anything, so only what can be a name is shown.
        name = _quoted(text) if re.fullmatch(r"[\w./\\~-]*", text) else "of that name"
        raise _refused(f"There is no policy {name}{_meant(text, PRESETS)}")
    return _from_file(Path(text))


def _from_file(path: Path) -> Policy:
    path = Path(os.path.expanduser(path))
    text, name = _read(path), path.name.lower()
    if not name.endswith(_SUFFIXES):
        raise _refused(f"The policy file {path} is not named .json, .jsonc or .toml")
    return _parsed(text, str(path), is_toml=name.endswith(".toml"))


def _read(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise _refused(f"The policy file {path} is a directory or another thing than a file")
        with path.open("rb") as file:
            content = file.read(_FILE_BYTES + 1)
    except FileNotFoundError:
        raise _refused(f"There is no policy file {path}") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no file can have this name"
        raise _refused(f"The policy file {_quoted(str(path))} cannot be read: {why}") from None
    if len(content) > _FILE_BYTES:
        raise _refused(f"The policy file {path} is larger than {_FILE_BYTES // 1024} KiB")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _refused(f"The policy file {path} is not UTF-8, at byte {error.start}") from None


def _parsed(text: str, source: str, *, is_toml: bool) -> Policy:
    try:
        values = parse_toml(text) if is_toml else parse_json(text)
    except SyntaxFault as fault:
        syntax = "TOML" if is_toml else "JSON"
        place = f"{source}:{fault.line}:{fault.column}"
        what = f"{place}: {fault.words} (read as {syntax})"
        raise _refused(what, "Correct it there.") from None
    if not isinstance(values, Mapping):
        raise _refused(f"{source} must hold an object")
    if is_toml and not values:
        raise _refused(f"{source} says nothing", "Write the keys of a policy, or give 'local'.")
    return _checked(values, source)


def _checked(values: Mapping[str, Any], source: str) -> Policy:
    faults = [f"{_quoted(key)} stands more than once" for key in repeated(values)]
    try:
        policy = Policy.model_validate(dict(values))
    except ValidationError as error:
        faults += map(_fault, error.errors(include_url=False))
    if faults:
        keys = ", ".join(Policy.model_fields)
        raise _refused(f"{source} cannot be used: {'; '.join(faults)}", f"The keys are {keys}.")
    return policy


def _fault(detail: Any) -> str:
    field = str(detail["loc"][0])
    if field not in Policy.model_fields:
        return f"unknown key {_quoted(field)}{_meant(field, Policy.model_fields)}"
    if detail["type"].startswith("bool"):
        return f"{field}: must be true or false"
    return str(detail["msg"]).removeprefix("Value error, ")


def _sound(given: object, faults: Iterable[str]) -> object:
    if found := "; ".join(faults):
        raise ValueError(found)
    return given


def _name_faults(field: str, given: object) -> Iterator[str]:
    if not isinstance(given, list | tuple):
        yield f"{field}: must be a list of names"
        return
    for at, name in enumerate(given):
        if not isinstance(name, str) or not name.strip():
            yield f"{field}[{at}]: must be text that is not empty"


def _rewrite_faults(given: object) -> Iterator[str]:
    if not isinstance(given, Mapping):
        yield "url_rewrite: must be a mapping of URL to URL"
        return
    if repeated(given):
        yield "url_rewrite: a URL stands more than once"
    for at, member in enumerate(given.items(), 1):
        for what, url in zip(("source", "target"), member, strict=True):
            if not isinstance(url, str) or not is_network_url(url):
                yield f"url_rewrite: {what} {at} is not an http or https URL with a host"


def _env_faults(given: object) -> Iterator[str]:
    if not isinstance(given, Mapping):
        yield "env_injection: must be a mapping of name to text"
        return
    if repeated(given):
        yield "env_injection: a name stands more than once"
    for at, (name, value) in enumerate(given.items(), 1):
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            yield f"env_injection: name {at} is empty, or no text, or holds = or NUL"
        elif not isinstance(value, str):
            yield f"env_injection.{name}: must be text"
        elif "\0" in value:
            yield f"env_injection.{name}: holds a NUL character"


def _comparable(url: str) -> str:
    """Return a URL without what does not tell it from another (RFC 3986, section 6.2)."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return url
    if not parts.hostname:
        return url
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    own = {"http": 80, "https": 443}.get(parts.scheme)
    authority = host if port in (None, own) else f"{host}:{port}"
    return urlunsplit(parts._replace(netloc=authority))


def _is_start(start: str, url: str) -> bool:
    return url.startswith(start) and (start.endswith("/") or url[len(start)] in "/?#")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _meant(word: str, known: Iterable[str]) -> str:
    found = meant(word, known)
    return f" (did you mean {found!r}?)" if found else ""


def _refused(what: str, way_out: str = _WAY_OUT) -> ConfigError:
    return ConfigError(f"{what}. {way_out}", reason_code=ReasonCode.INVALID_POLICY)
