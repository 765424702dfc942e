"""What may be shown of a target or a message (SA-1, SA-2).

A target keeps its scheme, host and port, or the name of its command. A message loses the secrets
that the session knows, then everything that looks like one, and is cut last.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from kandev_nb.attachment import limits
from kandev_nb.attachment._secret_patterns import MARK, redact

PLACEHOLDER: Final = "[redacted]"

_SEARCHED: Final = 2**20
"""Characters of a message in which known values are looked for."""

_SCANNED: Final = 4096
"""Characters in which patterns are; at most :data:`limits.SUMMARY_BYTES` are kept."""

_PASSES: Final = 8
_LONG_SEGMENT: Final = 16
_SEARCHED_FROM: Final = 4
_SEARCHED_ANYWHERE_FROM: Final = 8
_BASE64_CORE: Final = 8
_COMMON_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "redacted"})

_ANSI: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,1024}(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]{0,4}[0-~]"
)
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_SPACE: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_NETWORK_TARGET: Final = re.compile(r"([A-Za-z][\w+.-]{0,30})://([^/?#\\\s]*)(.*)", re.DOTALL)
_HOST_AND_PORT: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]{2,64}\]|[\w.-]{1,255})(?::\d{1,5})?")
_NETWORK_TRANSPORTS: Final = ("http", "sse", "streamable_http")
_ENVIRONMENT: Final = re.compile(r"\A(?:\w+=(?:\"[^\"]*\"|'[^']*'|\S*)(?:\s+|$))+")
_QUOTED_COMMAND: Final = re.compile(r"""\s*(["'])(.+?)\1""", re.DOTALL)


class KnownSecrets:
    """Values that are never shown: header and environment values, parts of URLs.

    Values under four characters and words such as ``true`` are not searched; those under eight
    match whole tokens only. Each is also found percent-encoded, JSON-escaped and in base64, and
    each line of a longer one by itself.
    """

    def __init__(self, values: Iterable[str]) -> None:
        texts = (value.encode("utf-8", "replace").decode() for value in values)
        known = frozenset(value for value in texts if _is_searched(_plain(value)))
        forms = {_plain(form) for value in known for form in _spellings(value)}
        cores = {core for value in known for core in _base64_cores(value.encode())}
        self._keep(known, frozenset(filter(_is_searched, forms)), frozenset(cores))

    def _keep(self, values: frozenset[str], forms: frozenset[str], cores: frozenset[str]) -> None:
        self._values, self._forms, self._cores = values, forms, cores
        searched = sorted(forms, key=lambda form: (-len(form), form))
        self._anywhere = [form for form in searched if len(form) >= _SEARCHED_ANYWHERE_FROM]
        words = "|".join(map(re.escape, searched[len(self._anywhere) :]))
        self._words = re.compile(rf"(?<!\w)(?:{words})(?!\w)") if words else None

    def mask(self, text: str) -> str:
        """Return ``text`` with a mark for every known value."""
        for form in self._anywhere:
            text = text.replace(form, MARK)
        for core in self._cores:
            if core in text:
                text = re.sub(re.escape(core) + r"[\w+/=-]{0,1024}", MARK, text)
        return self._words.sub(MARK, text) if self._words else text

    def __or__(self, other: "KnownSecrets | Iterable[str]") -> "KnownSecrets":
        more = other if isinstance(other, KnownSecrets) else KnownSecrets(other)
        both = KnownSecrets(())
        values, forms = self._values | more._values, self._forms | more._forms
        both._keep(values, forms, self._cores | more._cores)
        return both

    def __repr__(self) -> str:
        return f"KnownSecrets(<{len(self._values)} values>)"


def sanitize_target(transport: str, target: str) -> str:
    """Return what may be shown of a server's target.

    A network target becomes ``scheme://host[:port]``; a stdio target becomes the base name of its
    command, without arguments. Idempotent.
    """
    target = _plain(target)
    network = None if transport == "stdio" else _NETWORK_TARGET.match(target)
    if network:
        shown = f"{network[1]}://{_host(network[2])}"
    elif transport in _NETWORK_TRANSPORTS and target:
        shown = _host(re.split(r"[/?#\\\s]", target, maxsplit=1)[0])
    else:
        shown = _command_name(target)
    return limits.cut_utf8(shown, limits.NAME_BYTES)


def sanitize_summary(text: str, secrets: KnownSecrets | Iterable[str] = ()) -> str:
    """Return what may be shown of a message, on one line of at most 256 UTF-8 bytes.

    ``secrets`` are the values that the session knows; what looks like a secret, a path or an
    address goes too. Control characters and escape sequences are stripped. Idempotent.
    """
    known = secrets if isinstance(secrets, KnownSecrets) else KnownSecrets(secrets)
    shown = _once(_bounded(known.mask(_plain(text[:_SEARCHED]))), known)
    for _ in range(_PASSES):
        # What one pass leaves behind, half a quotation say, must read the same next time.
        before, shown = shown, _once(shown, known)
        if shown == before:
            break
    return shown


def url_secrets(url: str) -> Iterator[str]:
    """Yield what of a URL is never shown: all but its scheme, host, port and plain words.

    A path counts as a whole, and so does each segment of it that may be a key.
    """
    try:
        parts = urlsplit(url)
        user, password = parts.username, parts.password
    except ValueError:
        yield url
        return
    yield from filter(None, (user, password, parts.path, parts.query, parts.fragment))
    yield from (value for _, value in parse_qsl(parts.query))
    yield from filter(_may_be_a_key, parts.path.split("/"))


def _may_be_a_key(segment: str) -> bool:
    """Tell whether a segment of a path is more than a word: many servers take their key there."""
    return len(segment) >= _LONG_SEGMENT or any(map(str.isdigit, segment))


def _once(text: str, known: KnownSecrets) -> str:
    plain = _plain(text.replace(MARK, PLACEHOLDER)).replace(PLACEHOLDER, MARK)
    return _cut(redact(known.mask(plain)).replace(MARK, PLACEHOLDER))


def _bounded(text: str) -> str:
    """Return the start of a long text, up to a gap: a secret must not be cut in half."""
    if len(text) <= _SCANNED:
        return text
    start = text[:_SCANNED]
    gap = max(start.rfind(" "), start.rfind("\n"))
    return start[:gap] if gap > 0 else PLACEHOLDER


def _plain(text: str) -> str:
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    text = text.encode("utf-8", "replace").decode()
    text = _ANSI.sub("", text)
    return _SPACE.sub(" ", _INVISIBLE.sub("", text)).strip()


def _cut(text: str) -> str:
    """Return the start of ``text`` that fits, up to a gap between words where there is one."""
    start = limits.cut_utf8(text, limits.SUMMARY_BYTES)
    if start == text:
        return text
    return start.rpartition(" ")[0].rstrip() or start


def _host(authority: str) -> str:
    host = _HOST_AND_PORT.fullmatch(authority.rpartition("@")[2])
    return host.group() if host else PLACEHOLDER


def _command_name(target: str) -> str:
    target = _ENVIRONMENT.sub("", target)
    quoted = _QUOTED_COMMAND.match(target)
    command = quoted[2] if quoted else target
    if not quoted and not _is_one_path(command):
        command = _first_word(command)
    # A name with a space cannot be told from a command with an argument.
    return _first_word(re.split(r"[/\\]", command.rstrip("/\\"))[-1])


def _first_word(text: str) -> str:
    return next(iter(text.split(maxsplit=1)), "").strip("\"'")


def _is_one_path(command: str) -> bool:
    """Tell whether the spaces of a command belong to its path: its last part has none."""
    return " " not in re.split(r"[/\\]", command)[-1] and not re.search(r"\s-|\s/|\s\w+=", command)


def _is_searched(value: str) -> bool:
    return len(value) >= _SEARCHED_FROM and value.lower() not in _COMMON_WORDS | {PLACEHOLDER}


def _spellings(value: str) -> Iterator[str]:
    yield value
    yield from value.splitlines()
    yield repr(value)[1:-1]
    for ascii_only in (True, False):
        yield json.dumps(value, ensure_ascii=ascii_only)[1:-1]
    for encoded in (quote(value), quote(value, safe=""), quote_plus(value)):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda match: match.group().lower(), encoded)


def _base64_cores(value: bytes) -> Iterator[str]:
    """Yield what base64 makes of a value wherever it stands, as in ``user:value`` (RFC 7617).

    The characters at the ends, which hold bits of the neighbours too, are left out.
    """
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + value).decode().rstrip("=")
        end = None if (before + len(value)) % 3 == 0 else -1
        core = encoded[(before * 8 + 5) // 6 : end]
        if len(core) >= _BASE64_CORE:
            yield core
            yield core.replace("+", "-").replace("/", "_")
