"""Where a document comes from: a file or a text comes in, its text and its name for messages leave.

The name is what every message about the document begins with: the path as it was given, with the
home folder as ``~``, or "the document".
"""

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError
from kandev_nb.servers.documents.fields import safe
from kandev_nb.servers.documents.text import BOM

LIMIT: Final = 8 * 1024 * 1024
"""Bytes of one document."""

_NAME_LENGTH: Final = 512

UNNAMED: Final = "the document"

_URL: Final = re.compile(r"\w+://")
_PATH: Final = re.compile(r"[\w./\\~+@ -]{1,1024}")
_CONTENT: Final = re.compile(rf"[\s{BOM}]*+(?>/\*.*?\*/\s*)*+[{{\[]")


class Source(NamedTuple):
    """The text of a document, not parsed."""

    text: str
    name: str = UNNAMED
    path: Path | None = None


def open_source(given: str | Path) -> Source:
    """Return the text that was given, or that stands in the file whose path was given.

    Text is told from a path by a line break, by the bracket that it begins with, or, so that no
    broken document is shown as a path, by a brace and a quote in it.

    Raises :class:`~kandev_nb.errors.ConfigError` when there is no such text.
    """
    if isinstance(given, str) and (_is_content(given) or not given.strip()):
        source = Source(given)
        size = len(given.encode("utf-8", "replace"))
    elif isinstance(given, str) and _URL.match(given):
        raise invalid("the servers are a URL; give {name: {'url': …}} instead")
    elif isinstance(given, str) and not _PATH.fullmatch(given) and not os.path.exists(given):
        # It may be a document, cut off or of another kind: it is not repeated.
        raise invalid(f"{UNNAMED} is neither the path of a file nor a document that can be read")
    else:
        path = _expanded(given)
        source, size = _read(path, _name(path))
    if size > LIMIT:
        raise invalid(f"{source.name} is larger than {LIMIT // 2**20} MiB; no configuration is")
    if not source.text.strip(f"{BOM} \t\r\n"):
        raise invalid(f"{source.name} is empty; write the servers into it")
    return source


def invalid(message: str) -> ConfigError:
    """Return the error that a document cannot be used."""
    return ConfigError(f"{message}.", reason_code=ReasonCode.INVALID_PROFILE)


def _is_content(given: str) -> bool:
    broken = "{" in given and '"' in given
    return "\n" in given or broken or _CONTENT.match(given) is not None


def _expanded(given: str | Path) -> Path:
    try:
        return Path(given).expanduser()
    except RuntimeError:
        raise invalid(
            f"{_name(Path(given))}: there is no such home folder; give the whole path"
        ) from None


def _name(path: Path) -> str:
    try:
        name = safe(str(Path("~") / path.relative_to(Path.home())))
    except (ValueError, RuntimeError):
        name = safe(str(path))
    name = name if len(name) <= _NAME_LENGTH else f"{name[:_NAME_LENGTH]}…"
    return name if name.isprintable() else repr(name)[1:-1]


def _read(path: Path, name: str) -> tuple[Source, int]:
    try:
        content = _bytes(path, name)
    except FileNotFoundError:
        raise invalid(f"{name} does not exist; correct the path") from None
    except PermissionError:
        raise invalid(f"{name} may not be read; change its permissions") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no path"
        raise invalid(f"{name} cannot be read ({reason}); correct the path") from None
    try:
        return Source(content.decode(), name, path), len(content)
    except UnicodeDecodeError as error:
        raise invalid(f"{name} is not UTF-8 (at byte {error.start}); save it as UTF-8") from None


def _bytes(path: Path, name: str) -> bytes:
    if path.is_dir():
        raise invalid(f"{name} is a folder; name the file in it")
    if path.exists() and not path.is_file():
        raise invalid(f"{name} is no regular file; name the file itself")
    with path.open("rb") as file:
        return file.read(LIMIT + 1)
