"""What was meant: the configured servers, and what of them reaches which agent.

A dict of entries comes in; decisions leave, each with a stable reason code.
"""

from kandev_nb.servers.delivery import (
    Decision,
    Transports,
    acp_server,
    built_in_entries,
    decide,
    decide_built_in,
    row_names,
)
from kandev_nb.servers.profile import ServerEntry, read_servers

__all__ = [
    "Decision",
    "ServerEntry",
    "Transports",
    "acp_server",
    "built_in_entries",
    "decide",
    "decide_built_in",
    "read_servers",
    "row_names",
]
