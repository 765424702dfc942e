"""The Kandev MCP endpoint: what agents connect to, and where their attachment is observed.

A controller opens an endpoint for each attempt and hands its URL to the agent; what the agent's
client does there becomes evidence. One HTTP server on loopback carries them all.
"""

from kandev_nb.endpoint.attempt import AttemptEndpoint
from kandev_nb.endpoint.builtin import BUILT_IN_NAMES, Desk, built_in_tools
from kandev_nb.endpoint.functions import TOOL_TIMEOUT, tool_from
from kandev_nb.endpoint.plan import Plan
from kandev_nb.endpoint.server import EndpointServer, endpoint_server
from kandev_nb.endpoint.tools import Tool, ToolError, ToolRegistry, ToolSet
from kandev_nb.endpoint.workers import workers

__all__ = [
    "BUILT_IN_NAMES",
    "TOOL_TIMEOUT",
    "AttemptEndpoint",
    "Desk",
    "EndpointServer",
    "Plan",
    "Tool",
    "ToolError",
    "ToolRegistry",
    "ToolSet",
    "built_in_tools",
    "endpoint_server",
    "tool_from",
    "workers",
]
