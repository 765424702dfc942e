"""What a secret looks like in the text of a message.

:func:`redact` goes over one line of text, several kinds at a time, and puts :data:`MARK` where a
secret stood. Every quantifier is bounded and the caller bounds the text, so that no message can
make a pattern slow. The mark is a control character, which the caller removed from the text
before: no pattern can take it for a secret, and none is redacted twice.
"""

import re
from collections.abc import Callable
from typing import Final

MARK: Final = "\x00"

Redaction = Callable[[str], str]

_FLAGS: Final = re.IGNORECASE


def redact(text: str) -> str:
    """Return ``text`` with a mark for every secret, path and address."""
    lowered = text.lower()
    for needs, redaction in _KINDS:
        if any(hint in lowered for hint in needs):
            text = redaction(text)
    return text


# --- keys and their values ---------------------------------------------------------------------

_TERM: Final = (
    r"(?:(?:api|access|account|private|signing|encryption|master|license|shared|ssh|auth"
    r"|subscription|function|host)[-_ ]?key"
    r"|secret(?!ar[yi])|token(?!i[sz])|pass(?:word|wd|phrase|code)|(?<![a-z])pass(?![a-z])|pwd|credentials?|session"
    r"|(?<![a-z])auth(?![a-z])|authorization|cookie|signature|(?<![a-z])sig(?![a-z])"
    r"|sess(?:ion)?_?id|bearer|jwt|(?<![a-z])pat(?![a-z])|(?<![a-z])otp(?![a-z]))"
)
_KEY: Final = rf"(?P<key>{_TERM}[\w.-]{{0,32}}(?:\[\w{{0,16}}\])?)"
_QUOTE: Final = r"""(?:\\{0,3}["'`])"""
_QUOTED: Final = (
    r"""(?P<open>\\{0,3}["'`“‘«])(?P<quoted>(?:\\.|[^\\]){1,2048}?)(?:(?P=open)|[”’»])"""
)
_UNCLOSED: Final = r"""\\{0,3}["'`](?P<unclosed>.{1,2048})$"""
_BARE: Final = r"""(?P<bare>[^\s&"'`<>]{1,2048})"""
_LIST: Final = r"(?P<list>\[[^\]]{1,2048}\])"
_VALUE: Final = rf"(?:[bru]{{0,2}}{_QUOTED}|{_UNCLOSED}|{_LIST}|{_BARE})"
_NAMED_VALUE: Final = (
    rf"{_QUOTE}?\s{{0,3}}[,;]\s{{0,3}}{_QUOTE}?value{_QUOTE}?\s{{0,3}}[:=]\s{{0,3}}"
)
_YAML: Final = r"(?:!{1,2}\w{1,16}\s{1,3}|[|>][+-]?\s{1,3})?"
_ASSIGN: Final = (
    rf"(?P<sep>{_NAMED_VALUE}"
    rf"|{_QUOTE}?[\])]?\s{{0,3}}(?::=|=>|->|::|[:=–—]|%3[ad](?:%20)?)\s{{0,3}}[({{<]?{_YAML})"
)

_ASSIGNED: Final = re.compile(rf"{_KEY}{_ASSIGN}{_VALUE}", _FLAGS)
_FLAG: Final = re.compile(
    rf"(?P<key>(?<![\w-])--?[\w-]{{0,32}}?{_TERM}[\w-]{{0,32}})"
    rf"(?P<sep>\s{{1,3}}|{_QUOTE}\s{{0,3}},\s{{0,3}}){_VALUE}",
    _FLAGS,
)
_PAIR: Final = re.compile(
    rf"(?P<key>\({_QUOTE}[\w-]{{0,32}}?{_TERM}[\w-]{{0,32}})"
    rf"(?P<sep>{_QUOTE}\s{{0,3}},\s{{0,3}}){_QUOTED}",
    _FLAGS,
)
_ELEMENT: Final = re.compile(
    rf"(?P<key><[\w:-]{{0,32}}?{_TERM}[\w:-]{{0,32}}(?:\s[^<>]{{0,256}})?)(?P<sep>>)"
    r"(?P<bare>[^<>]{1,2048})",
    _FLAGS,
)
_SAID: Final = re.compile(
    rf"{_KEY}(?P<sep>(?:\s{{1,3}}[a-z]{{1,16}}){{0,3}}\s{{1,3}}(?:is|was|are|were|equals|being|set\s{{1,3}}to)\s{{0,2}}:?\s{{1,3}})"
    rf"{_VALUE}",
    _FLAGS,
)
_QUOTED_AFTER: Final = re.compile(rf"(?<!unexpected ){_KEY}(?P<sep>\s{{1,3}}){_QUOTED}", _FLAGS)
_RANDOM_AFTER: Final = re.compile(
    rf"(?P<key>{_TERM}[\w.-]{{0,32}})"
    r"(?P<sep>(?:\s{1,3}[a-z]{1,16}){0,3}\s{0,3}[:|( ]\s{0,3})"
    r"(?P<bare>(?=[^\s]{0,64}\d)(?=[^\s]{0,64}[a-z])[\w+/=.~-]{6,2048})",
    _FLAGS,
)
_SHORT_KEYS: Final = re.compile(
    r"(?P<key>(?<![\w-])(?:key|code|pin|state|nonce|passcode|sid|hash|hmac))"
    r"""(?P<sep>["']?=)(?P<bare>[^\s&"'`<>]{4,2048})""",
    _FLAGS,
)
_LOGIN: Final = re.compile(
    r"(?P<key>(?<![\w-])(?:-u|--user|--proxy-user))(?P<sep>[ =]{1,3})(?P<bare>\S{1,256}:\S{1,256})",
    _FLAGS,
)

_PROSE: Final = frozenset(
    """
    a accepted an and any are argument as at auth authentication authorization based be because
    been but by can cannot check choose could denied did does empty endpoint enter error
    expected expired failed failure false field flag for format found from has have header id if
    in incorrect invalid is it its key length limit malformed may mismatch missing more must
    name needed needs no none not null of ok on only option or parameter please provided
    rejected request required reset response revoked scheme see should string that the then
    there this to token too true try type undefined unknown unset unsupported use used value was
    were when which will with without wrong you your
    """.split()  # noqa: SIM905 - a list of a hundred strings is no better to read
)
_PROSE_ENDING: Final = re.compile(r"[a-z]{3,}(?:ed|ing|able|ible|less)", _FLAGS)
_SAYS: Final = re.compile(r"\b(?:is|was|are|were|being)\b", _FLAGS)
_VERDICTS: Final = frozenset(
    {
        *("required", "missing", "invalid", "expired", "wrong", "empty", "not", "found"),
        *("accepted", "null", "none", "true", "false", "undefined", "nil"),
    }
)
"""What stands for a value where one is assigned, and tells nothing of it (SA-2)."""
_COUNTS: Final = re.compile(r"tokens|sessions|token[-_ ]?(?:count|limit|budget|usage)", _FLAGS)
_VALUE_GROUPS: Final = ("bare", "quoted", "unclosed", "list")
_TRAILING: Final = ".,;:!?)]}>"


def _mask_values(text: str, pattern: re.Pattern[str], *, prose: bool) -> str:
    def mask(match: re.Match[str]) -> str:
        groups = match.groupdict()
        bare = groups.get("bare")
        value = next(filter(None, (groups.get(name) for name in _VALUE_GROUPS)), "")
        said = prose and bool(bare) and "=" not in groups["sep"]
        if _is_prose(groups["key"], groups["sep"], value, in_prose=said):
            return match.group()
        kept = f"{groups['key']}{groups['sep']}"
        if bare is None:
            quote = groups.get("open") or ""
            return f"{kept}{quote}{MARK}{quote}"
        return f"{kept}{MARK}{bare[len(bare.rstrip(_TRAILING)) :]}"

    return pattern.sub(mask, text)


def _is_prose(key: str, separator: str, value: str, *, in_prose: bool) -> bool:
    """Tell whether what follows a key is a word about it; where it is assigned, few words are."""
    word = value.rstrip(_TRAILING)
    if not word or word == MARK:
        return True
    if word.lower() in (_PROSE if in_prose else _VERDICTS):
        return True
    if in_prose and _PROSE_ENDING.fullmatch(word) and _SAYS.search(separator):
        return True
    return word.isdigit() and _COUNTS.search(key) is not None


def _redact_values(text: str) -> str:
    text = _mask_values(text, _FLAG, prose=False)
    text = _mask_values(text, _PAIR, prose=False)
    text = _mask_values(text, _ELEMENT, prose=True)
    text = _mask_values(text, _ASSIGNED, prose=True)
    text = _mask_values(text, _SAID, prose=True)
    text = _mask_values(text, _QUOTED_AFTER, prose=False)
    return _mask_values(text, _RANDOM_AFTER, prose=True)


def _redact_short_keys(text: str) -> str:
    return _SHORT_KEYS.sub(_masked_short, _mask_values(text, _LOGIN, prose=False))


def _masked_short(match: re.Match[str]) -> str:
    value = match["bare"].rstrip(_TRAILING)
    if not _looks_random(value):
        return match.group()
    return f"{match['key']}{match['sep']}{MARK}{match['bare'][len(value) :]}"


# --- headers ------------------------------------------------------------------------------------

_HEADER: Final = re.compile(
    r"(?P<name>(?:proxy-)?authorization|x-[\w-]{0,32}(?:key|token|auth|secret|signature)[\w-]{0,16})"
    rf"(?P<sep>{_NAMED_VALUE}{_QUOTE}?|{_QUOTE}?\s{{0,3}}(?:[:=,]|%3a(?:%20)?)\s{{0,3}}[\[({{]{{0,2}}{_QUOTE}?)"
    r"(?:digest\s{1,3}(?:,?\s{0,3}[\w-]{1,32}=(?:\"[^\"]{0,1024}\"|[^\s,]{1,1024})){1,16}"
    r"|(?:[a-z][\w-]{1,24}\s{1,3})?[^\s\"'`,;<>]{1,2048})",
    _FLAGS,
)
_COOKIE: Final = re.compile(
    rf"(?P<name>(?:set-)?cookie2?)(?P<sep>{_QUOTE}?\s{{0,3}}[:=,]\s{{0,3}}[\[(]?{_QUOTE}?)"
    r"[^\s\"'`;,<>]{1,2048}(?:;\s{0,3}[^\s\"'`;,<>]{1,2048}){0,64}",
    _FLAGS,
)
_SCHEME: Final = re.compile(
    r"(?P<name>(?<![\w-])(?:bearer|negotiate|ntlm|apikey|token))(?P<sep>(?:\s{1,3}|%20)[<(]?)"
    r"(?P<value>[\w+/][\w+/=.~:|-]{0,2047})",
    _FLAGS,
)
_BASIC: Final = re.compile(
    r"(?P<name>(?<![\w-])basic)(?P<sep>\s{1,3})(?P<value>[\w+/=-]{4,2048})", _FLAGS
)
_DIGEST: Final = re.compile(
    r"(?P<name>(?<![\w-])digest)(?P<sep>\s{1,3})"
    r"[\w-]{1,32}=(?:\"[^\"]{0,1024}\"|[^\s,]{1,1024})"
    r"(?:,\s{0,3}[\w-]{1,32}=(?:\"[^\"]{0,1024}\"|[^\s,]{1,1024})){0,16}",
    _FLAGS,
)


def _redact_headers(text: str) -> str:
    text = _HEADER.sub(_masked_header, text)
    text = _COOKIE.sub(_masked_header, text)
    text = _DIGEST.sub(_masked_header, text)
    text = _SCHEME.sub(_masked_scheme, text)
    return _BASIC.sub(_masked_basic, text)


def _masked_header(match: re.Match[str]) -> str:
    value = match.group()[len(match["name"]) + len(match["sep"]) :]
    words = value.lower().split()
    if all(word.rstrip(_TRAILING) in _PROSE for word in words):
        return match.group()
    return f"{match['name']}{match['sep']}{MARK}"


def _masked_scheme(match: re.Match[str]) -> str:
    value = match["value"].rstrip(_TRAILING)
    if value.lower() in _PROSE or (
        match["name"].lower() in ("token", "apikey") and not _looks_random(value)
    ):
        return match.group()
    return f"{match['name']}{match['sep']}{MARK}"


def _masked_basic(match: re.Match[str]) -> str:
    return (
        f"{match['name']}{match['sep']}{MARK}" if _looks_base64(match["value"]) else match.group()
    )


def _looks_random(value: str) -> bool:
    return len(value) >= 6 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _looks_base64(value: str) -> bool:
    return value.endswith("=") or any(c.isdigit() for c in value) or value[1:] != value[1:].lower()


# --- tokens that tell themselves ----------------------------------------------------------------

_VENDOR: Final = re.compile(
    r"(?<![a-z0-9])(?:"
    r"(?:akia|asia|aroa|aida|agpa|anpa|anva|aipa|abia|acca)[a-z0-9]{12,128}"
    r"|gh[a-z]_[a-z0-9]{10,512}|github_pat_\w{10,512}"
    r"|gl[a-z]{2,8}-[\w-]{10,512}"
    r"|xox[a-z]{1,2}[-.][\w-]{6,512}|xapp-[\w-]{6,512}"
    r"|aiza[\w-]{16,128}|ya29\.[\w.-]{8,1024}|gocspx-[\w-]{8,128}|1//0[\w-]{8,512}"
    r"|(?:sk|rk|pk)_(?:live|test|prod)_[a-z0-9]{6,512}|whsec_[\w+/=]{6,512}"
    r"|npm_[a-z0-9]{20,256}|pypi-[\w-]{12,1024}"
    r"|sk-(?=[\w-]{0,256}\d)[\w-]{10,512}|(?:gsk|hf|r8|fw|tvly|xai|pplx)[-_][a-z0-9-]{16,512}"
    r"|dop_v1_[a-z0-9]{16,256}|sg\.[\w-]{8,128}\.[\w-]{8,256}|key-[0-9a-f]{24,64}"
    r"|shp(?:at|ca|pa|ss)_[a-z0-9]{8,128}|lin_api_\w{8,256}|ntn_\w{12,256}|figd_[\w-]{8,256}"
    r"|secret_[a-z0-9]{16,256}|sbp_[a-z0-9]{16,256}|hvs\.[\w-]{8,512}|dapi[0-9a-f]{24,64}"
    r"|atatt[\w=-]{16,512}|\d{8,12}:aa[\w-]{30,64}"
    r"|eyj[\w-]{4,4096}(?:\.[\w-]{0,4096}){0,4}"
    r")",
    _FLAGS,
)
_LONG_WORD: Final = re.compile(r"[\w+/=.:-]{10,4096}")
_LONG_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{20,4096}={0,2}")
_FORTY: Final = re.compile(r"[A-Za-z0-9+/]{40}={0,2}")
_TURN: Final = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_HEX: Final = re.compile(r"[0-9a-fA-F_-]+")
_PEM: Final = re.compile(
    r"-----BEGIN[^-]{0,64}-----.*?(?:-----END[^-]{0,64}-----|$)|[\w+/=\s]{16,4096}-----END[^-]{0,64}-----",
    _FLAGS,
)


def _redact_pem(text: str) -> str:
    return _PEM.sub(MARK, text)


def _redact_vendor(text: str) -> str:
    return _LONG_WORD.sub(_masked_word, text)


def _masked_word(match: re.Match[str]) -> str:
    return _LONG_RUN.sub(_masked_run, _VENDOR.sub(MARK, match.group()))


def _masked_run(match: re.Match[str]) -> str:
    """Mask a long run that mixes cases and digits as no name does; hexadecimal IDs are names."""
    run = match.group()
    mixed = any(map(str.islower, run)) and any(map(str.isupper, run)) and any(map(str.isdigit, run))
    if not mixed or _HEX.fullmatch(run):
        return run
    return MARK if _FORTY.fullmatch(run) or len(_TURN.findall(run)) >= 4 else run


# --- addresses and paths ------------------------------------------------------------------------

_URL: Final = re.compile(
    r"(?<![\w+.-])(?P<scheme>[a-z][\w+.-]{1,30})://(?P<rest>[^\s\"'`<>|]{0,4096})", _FLAGS
)
_HOST: Final = re.compile(r"(?:\[[0-9a-f:.%]{2,64}\]|[\w.-]{1,255})(?::\d{1,5})?", _FLAGS)
_USER_INFO: Final = re.compile(
    r"(?<![\w@/])[\w.+%-]{1,128}:[^\s@/\"'`]{1,256}@(?=\[?[\w.:-]{1,255})", _FLAGS
)
_HOST_PATH: Final = re.compile(
    r"(?<![\w@/.:-])(?P<host>(?:localhost|(?:[\w-]{1,63}\.){1,8}[a-z0-9-]{1,63})(?::\d{1,5})?)"
    r"[/?][^\s\"'`<>|]{1,4096}",
    _FLAGS,
)
_EMAIL: Final = re.compile(
    r"[\w.+%-]{1,128}@(?:localhost|(?:[\w-]{1,63}\.){1,8}[a-z]{2,24})(?::[^\s:\"'`]{1,512})?",
    _FLAGS,
)
_QUOTED_PATH: Final = re.compile(
    r"""(?P<open>["'`])(?:file:)?(?:~|/(?!/)|\.{1,2}/|[a-z]:[\\/]|\\\\)[^"'`\x00]{1,2048}(?P=open)""",
    _FLAGS,
)
_FOLDER: Final = r"[^\\\s\"'`<>|:*?]{1,255}(?: [^\\\s\"'`<>|:*?]{1,255}){0,4}"
_WINDOWS_PATH: Final = re.compile(
    rf"(?<![\w])[a-z]:\\{{1,4}}(?:{_FOLDER}\\{{1,4}}){{0,64}}"
    r"[^\\\s\"'`<>|:*?]{0,255}|(?<![\w])[a-z]:/[^\s\"'`<>|*?]{1,2048}",
    _FLAGS,
)
_UNC_PATH: Final = re.compile(
    r"(?<![\w\\])\\{2,4}[\w.$?-]{1,255}\\{1,2}"
    rf"(?:{_FOLDER}\\{{1,2}}){{0,64}}[^\s\"'`<>|*?]{{0,255}}",
    _FLAGS,
)
_UNIX_PATH: Final = re.compile(
    r"(?:(?<![A-Za-z0-9_/.:~*)\]\x00-])|(?<=[^/]:)|(?<=^:)|(?<=\s-[A-Za-z])|(?<=^-[A-Za-z]))(?:~[^\s/\"'`<>|\x00]{0,64}|\$\{?\w{1,64}\}?|%\w{1,64}%|\.{1,2})?"
    r"[/](?![/\s]|$)[^\s\"'`<>|\x00]{1,4096}"
)
_HOME_PATH: Final = re.compile(
    r"(?<![\w/])%\w{1,64}%\\[^\s\"'`<>|]{1,2048}|\$env:\w{1,64}\\[^\s\"'`]{1,2048}", _FLAGS
)


def _redact_urls(text: str) -> str:
    return _HOST_PATH.sub(
        _masked_host_path, _USER_INFO.sub(f"{MARK}@", _URL.sub(_masked_url, text))
    )


def _masked_url(match: re.Match[str]) -> str:
    rest = match["rest"]
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
    port = authority.rpartition(":")[2]
    if "@" in rest and "@" not in authority and ":" in authority and not port.isdigit():
        authority = rest  # a password may hold a slash
    host = _HOST.match(authority.rpartition("@")[2])
    if host is None:
        return f"{match['scheme']}://{MARK}"
    tail = rest[len(rest.rstrip(_TRAILING)) :] if not host.group().endswith("]") else ""
    return f"{match['scheme']}://{host.group().rstrip('.')}{tail}"


def _masked_host_path(match: re.Match[str]) -> str:
    kept = match.group()
    return f"{match['host']}{kept[len(kept.rstrip(_TRAILING)) :]}"


def _redact_emails(text: str) -> str:
    return _EMAIL.sub(MARK, text)


def _redact_paths(text: str) -> str:
    text = _QUOTED_PATH.sub(lambda match: f"{match['open']}{MARK}{match['open']}", text)
    return _UNIX_PATH.sub(_masked_path, text)


def _redact_windows_paths(text: str) -> str:
    for pattern in (_WINDOWS_PATH, _UNC_PATH, _HOME_PATH):
        text = pattern.sub(_masked_path, text)
    return text


def _masked_path(match: re.Match[str]) -> str:
    path = match.group()
    return f"{MARK}{path[len(path.rstrip(_TRAILING)) :]}"


_HEADER_HINTS: Final = (
    *("auth", "x-", "cookie", "bearer", "basic", "digest", "token", "negotiate", "ntlm", "apikey"),
)
_TERM_HINTS: Final = (
    *("key", "secret", "token", "pass", "pwd", "credential", "sess", "auth", "cookie", "sig"),
    *("bearer", "jwt", "pat", "otp"),
)
_KINDS: Final[tuple[tuple[tuple[str, ...], Redaction], ...]] = (
    (("-----",), _redact_pem),
    (("://", "@", "/", "?"), _redact_urls),
    (_HEADER_HINTS, _redact_headers),
    (("",), _redact_vendor),
    (_TERM_HINTS, _redact_values),
    (("=", "-u", "--"), _redact_short_keys),
    (("@",), _redact_emails),
    (("\\", ":/"), _redact_windows_paths),
    (("/",), _redact_paths),
)
"""The kinds in the order in which they are looked for, each with text that it cannot do without."""
