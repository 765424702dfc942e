"""Keys of an entry that are not used here: what is lost with each, or what was perhaps meant.

A client may apply more than ACP can carry. Where such a key changes what the server does, that is
said; the rest is named, with the key of ours that it resembles.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import sanitize_summary
from kandev_nb.servers.entry import Entry
from kandev_nb.servers.notes import Note
from kandev_nb.servers.server import TRANSPORTS
from kandev_nb.servers.spelling import meant, plain

_FOLDER: Final = "the folder it starts in"
_FILE: Final = "the variables of that file"
_TOOLS: Final = "which of its tools are offered"
_SANDBOX: Final = "its sandbox"
_LOGIN: Final = "its login"
_SWITCH: Final = "its client has no such switch"

_LOST: Final[Mapping[str, str]] = {
    **dict.fromkeys(("cwd", "workingdirectory", "dir"), _FOLDER),
    **dict.fromkeys(("envfile",), _FILE),
    **dict.fromkeys(("enabledtools", "disabledtools", "includetools", "excludetools"), _TOOLS),
    **dict.fromkeys(("tools", "toolfilter", "allowedtools"), _TOOLS),
    **dict.fromkeys(("sandbox", "sandboxenabled"), _SANDBOX),
    **dict.fromkeys(("oauth", "auth", "authorization", "authprovidertype", "scopes"), _LOGIN),
    **dict.fromkeys(("headershelper", "oauthresource", "targetaudience"), _LOGIN),
    **dict.fromkeys(("targetserviceaccount", "bearertoken"), _LOGIN),
    **dict.fromkeys(("transport", "transporttype"), "its transport"),
    **dict.fromkeys(("disabled", "enabled"), _SWITCH),
}
_OURS: Final = {
    **{key: key for key in ("args", "command", "env", "headers", "mode", "type", "url")},
    "environment": "env",
    "arguments": "args",
    "disabled": "disabled",
}
_OF_CLIENTS: Final = frozenset(
    {"alwaysallow", "autoapprove", "debug", "description", "dev", "gallery", "icon", "meta"}
    | {"note", "required", "startuptimeoutms", "startuptimeoutsec", "timeout", "tooltimeoutsec"}
    | {"trust", "version"}
)
"""What clients know and what changes nothing here: it is no slip of anybody's."""


def notes_on_unused(entry: Entry) -> Iterator[Note]:
    """Yield what is to say of the keys of an entry that are not used."""
    lost = {key: found for key in entry.unused if (found := _LOST.get(plain(key)))}
    if lost:
        named = ", ".join(f"{_shown(key)} ({what})" for key, what in lost.items())
        yield Note(ReasonCode.KEYS_NOT_PASSED_ON, f"Not passed on: {named}.")
    rest = [_with_question(key) for key in entry.unused if key not in lost]
    if names := ", ".join((*rest, *_of_another_transport(entry))):
        yield Note(ReasonCode.UNUSED_KEYS, f"Not used: {names}.")


def _with_question(key: str) -> str:
    ours = "" if plain(key) in _OF_CLIENTS else _OURS.get(meant(key, _OURS), "")
    return f"{_shown(key)} (meant as {ours}?)" if ours and ours != key else _shown(key)


def _of_another_transport(entry: Entry) -> Iterator[str]:
    others = ("url", "headers") if entry.type == "stdio" else ("command", "args", "env")
    yield from (key for key in others if entry.type in TRANSPORTS and getattr(entry, key))


def _shown(key: str) -> str:
    """Return a key as it may be shown: some are pasted secrets."""
    return sanitize_summary(key)
