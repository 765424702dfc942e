"""``python -P -m kandev_nb.endpoint.bridge``: what an agent starts as its MCP server.

Leaves with 0 when the agent ended it, 1 when the endpoint ended, 2 when it was started wrongly;
the last two say why in one line on stderr.
"""

import asyncio
import os
import signal
import stat
import sys
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from kandev_nb.endpoint.bridge import SECRET_VARIABLE, URL_VARIABLE

_ENDED: Final = 1
_STARTED_WRONGLY: Final = 2
_LOOPBACK: Final = ("127.0.0.1", "localhost")


def main() -> int:
    """Run the bridge to its end and return the exit code."""
    # An interrupt while it loads ends it, as it does later, and not with a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        url, secret = _target(os.environ)
        _check_pipes()
    except ValueError as fault:
        return _say(str(fault), _STARTED_WRONGLY)
    try:
        fault_found = asyncio.run(_run(url, secret))
    except Exception as error:  # noqa: BLE001 - its text may hold what a message held
        return _say(f"The bridge failed with {type(error).__name__}.", _ENDED)
    return _say(fault_found, _ENDED) if fault_found else 0


async def _run(url: str, secret: str) -> str:
    from kandev_nb.endpoint.bridge.client import http_client
    from kandev_nb.endpoint.bridge.crossing import Crossing
    from kandev_nb.endpoint.bridge.stdio import Stdio

    async with http_client(secret) as http, Stdio.open() as stdio:
        return await Crossing(http, url, stdio).run()


def _target(environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the endpoint's URL and the secret, or raise ``ValueError`` in words for stderr."""
    for variable in (URL_VARIABLE, SECRET_VARIABLE):
        if not environment.get(variable):
            raise ValueError(f"{variable} is not set: kandev-nb starts the bridge with it.")
    url, secret = environment[URL_VARIABLE], environment[SECRET_VARIABLE]
    if not _is_http_on_loopback(url):
        raise ValueError(f"{URL_VARIABLE} must be an http URL on 127.0.0.1 with a port.")
    if not all("!" <= character <= "~" for character in secret):
        raise ValueError(f"{SECRET_VARIABLE} must be visible ASCII characters.")
    return url, secret


def _is_http_on_loopback(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_plain = "@" not in parts.netloc and not parts.query and url.isprintable()
        return (
            is_plain and parts.scheme == "http" and parts.hostname in _LOOPBACK and bool(parts.port)
        )
    except ValueError:
        return False


def _check_pipes() -> None:
    """Raise ``ValueError`` unless both ends can be waited for, as the loop must."""
    for name, number in (("stdin", 0), ("stdout", 1)):
        try:
            mode = os.fstat(number).st_mode
        except OSError:
            mode = 0
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(number)):
            raise ValueError(f"{name} must be a pipe: an MCP client starts the bridge.")


def _say(words: str, code: int) -> int:
    sys.stderr.write(f"kandev-nb bridge: {words}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
