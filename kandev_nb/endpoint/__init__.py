"""The Kandev MCP endpoint: what agents connect to, and where their attachment is observed.

A controller opens an endpoint for each attempt and hands its URL to the agent; what the agent's
client does there becomes evidence. One HTTP server on loopback carries them all. The parts load on
first use: an agent waits for its :mod:`~kandev_nb.endpoint.bridge`, which needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kandev_nb.endpoint.attempt import AttemptEndpoint
    from kandev_nb.endpoint.builtin import BUILT_IN_NAMES, Desk, built_in_tools
    from kandev_nb.endpoint.functions import TOOL_TIMEOUT, tool_from
    from kandev_nb.endpoint.plan import Plan
    from kandev_nb.endpoint.server import EndpointServer, endpoint_server
    from kandev_nb.endpoint.tools import Tool, ToolError, ToolRegistry, ToolSet
    from kandev_nb.endpoint.workshop import workers

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

_ROOMS = {
    "BUILT_IN_NAMES": "builtin",
    "TOOL_TIMEOUT": "functions",
    "AttemptEndpoint": "attempt",
    "Desk": "builtin",
    "EndpointServer": "server",
    "Plan": "plan",
    "Tool": "tools",
    "ToolError": "tools",
    "ToolRegistry": "tools",
    "ToolSet": "tools",
    "built_in_tools": "builtin",
    "endpoint_server": "server",
    "tool_from": "functions",
    "workers": "workshop",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
