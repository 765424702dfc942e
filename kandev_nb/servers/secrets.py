"""What of a configuration must never be shown (SA-2): the values that a ledger looks for.

Names are not secret: of servers, variables, headers and flags, or of a package that is started.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from typing import Final

from kandev_nb.attachment.sanitize import url_secrets

_PIECE: Final = re.compile(r"""[^\s,;=:"'{}()\[\]<>|]{8,}""")
_PROGRAM: Final = re.compile(r"(?:@[\w.-]+/)?[A-Za-z][\w.-]*(?:@[\w.^~-]+)?")
_BEHIND_A_FLAG: Final = re.compile(r"[=:\s]+")
_LONG: Final = 16
_SWITCHES: Final = frozenset(
    {"--", "--bun", "--init", "--interactive", "--quiet", "--rm", "--silent", "--tty", "--yes"}
    | {"-B", "-P", "-it", "-i", "-m", "-q", "-s", "-t", "-u", "-y"}
)
_RUNNERS: Final = frozenset(
    {"bun", "bunx", "deno", "docker", "node", "npm", "npx", "pipx", "pnpm", "podman", "python"}
    | {"python3", "uv", "uvx", "yarn"}
)


def in_values(values: Iterable[str]) -> Iterator[str]:
    """Yield each value, and what in it may be a secret by itself.

    That is the parts of a URL, user and password of Basic credentials (RFC 7617), and every longer
    piece between separators, such as the token behind ``Bearer``.
    """
    for value in values:
        yield value
        yield from _PIECE.findall(value)
        if "://" in value:
            yield from url_secrets(value)
        if value.lower().startswith("basic "):
            yield from _basic(value[len("basic ") :])


def in_arguments(command: str, args: Iterable[str]) -> Iterator[str]:
    """Yield the arguments that are more than a flag or the name of the program that is run."""
    is_runner, before = command.rpartition("/")[2] in _RUNNERS, ""
    for argument in args:
        if argument.startswith("-"):
            yield from in_values(_beside_a_flag(argument))
        elif is_runner and _PROGRAM.fullmatch(argument) and not _takes_a_value(before):
            is_runner = False
        else:
            name, equals, value = argument.partition("=")
            yield from in_values([argument, value] if equals and name else [argument])
        before = argument


def _beside_a_flag(argument: str) -> Iterator[str]:
    """Yield what stands in one argument with a flag, as in ``--key=x``, ``-H x: y``, ``-px1``."""
    _, *rest = _BEHIND_A_FLAG.split(argument, maxsplit=1)
    yield from rest
    attached = argument[2:]
    if not argument.startswith("--") and (len(attached) >= _LONG or re.search(r"\d", attached)):
        yield attached


def _basic(credentials: str) -> Iterator[str]:
    try:
        plain = base64.b64decode(credentials, validate=True).decode()
    except (binascii.Error, ValueError):
        return
    yield plain
    yield from plain.split(":", 1)


def _takes_a_value(flag: str) -> bool:
    return flag.startswith("-") and "=" not in flag and flag not in _SWITCHES
