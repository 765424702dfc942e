"""What was meant: the configured servers, and what of them reaches which agent.

A document of any common client comes in and becomes a :class:`Profile`. :func:`resolve` decides
about each entry under a :class:`Policy`; :func:`deliver` decides again once it is known what the
agent takes. Every decision has a stable reason code.
"""

from kandev_nb.servers.delivery import (
    Transports,
    acp_server,
    built_in,
    built_in_by_header,
    deliver,
    deliver_built_in,
    renamed,
)
from kandev_nb.servers.documents import FORMATS
from kandev_nb.servers.entry import Entry, Profile
from kandev_nb.servers.notes import Note
from kandev_nb.servers.policy import PRESETS, Policy, read_policy
from kandev_nb.servers.profile import Servers, read_profile
from kandev_nb.servers.resolution import Decision, resolve
from kandev_nb.servers.server import (
    HttpServer,
    Server,
    SseServer,
    StdioServer,
    StreamableHttpServer,
)

__all__ = [
    "FORMATS",
    "PRESETS",
    "Decision",
    "Entry",
    "HttpServer",
    "Note",
    "Policy",
    "Profile",
    "Server",
    "Servers",
    "SseServer",
    "StdioServer",
    "StreamableHttpServer",
    "Transports",
    "acp_server",
    "built_in",
    "built_in_by_header",
    "deliver",
    "deliver_built_in",
    "read_policy",
    "read_profile",
    "renamed",
    "resolve",
]
