"""The stdio bridge: the Kandev MCP server for an agent that takes servers over stdio only (CF-3).

The agent starts :func:`command` as its server. That process carries each message to the attempt's
endpoint and each answer back, and interprets none: what the endpoint sees is the agent's own
client. For its whole life it holds a lifeline open, so that its death is seen too (EV-5).

This face is light: whoever names the command or the variables loads nothing else.
"""

import sys
from typing import Final

URL_VARIABLE: Final = "KANDEV_NB_MCP_URL"
"""Environment variable with the endpoint's plain URL, ``http://127.0.0.1:<port>/mcp``."""

SECRET_VARIABLE: Final = "KANDEV_NB_MCP_SECRET"  # noqa: S105 - where it is, not what it is
"""Environment variable with the attempt's secret: an argument could be read by anyone."""

LIFELINE: Final = "/bridge"
"""Path of the request that a bridge holds open."""

BRIDGE_HEADER: Final = "kandev-nb-bridge"
"""HTTP header that says which requests come over one bridge: an opaque ID made by it."""


def command() -> tuple[str, ...]:
    """Return the command that an agent starts, the same for every attempt."""
    # -P: a module of the agent's working directory must not stand in for one of ours.
    return sys.executable, "-P", "-m", __name__
