"""The Kandev MCP endpoint: what agents connect to, and where their attachment is observed.

A controller opens an endpoint for each attempt and hands its URL to the agent; what the agent's
client does there becomes evidence. One HTTP server on loopback carries them all.
"""

from kandev_nb.endpoint.attempt import AttemptEndpoint
from kandev_nb.endpoint.builtin import Desk, built_in_tools
from kandev_nb.endpoint.plan import Plan
from kandev_nb.endpoint.server import EndpointServer, endpoint_server
from kandev_nb.endpoint.tools import Tool, ToolError, ToolSet

__all__ = [
    "AttemptEndpoint",
    "Desk",
    "EndpointServer",
    "Plan",
    "Tool",
    "ToolError",
    "ToolSet",
    "built_in_tools",
    "endpoint_server",
]
