"""The one tool that a probe serves, and the one permission that it gives.

The tool does nothing but answer a fixed word. The agent is allowed to call it, and denied whatever
else it asks for: a probe may run in a folder that matters.
"""

import re
from collections.abc import Callable
from typing import Any, Final

import mcp_types as types

from kandev_nb.agents.permission import PermissionRequest
from kandev_nb.endpoint.tools import Arguments, Tool, ToolRegistry, ToolSet

SENTINEL: Final = "probe_kandev"
"""The tool's name."""

ANSWER: Final = "probed"
"""What it answers, whatever it is called with."""

_SPELLINGS: Final = re.compile(
    rf"(?:mcp(?:__|[._/]))?(?:kandev(?:__|[._/ ]|: ?))?{SENTINEL}(?: \(kandev MCP server\))?",
    re.IGNORECASE,
)
"""How agents spell the tool when they ask: as a whole, for a title may hold a command line."""


def sentinel_tools() -> ToolSet:
    """Return the tools of a probe's endpoint."""
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "Any text; it is not used."}},
        "additionalProperties": False,
    }
    definition = types.Tool(
        name=SENTINEL,
        description="Check that this server can be reached. Reads and changes nothing.",
        input_schema=schema,
    )
    return ToolSet(ToolRegistry((Tool(definition, _answer),)))


def is_sentinel(request: PermissionRequest) -> bool:
    """Tell whether the agent asks to call the sentinel tool, and nothing else."""
    return _SPELLINGS.fullmatch(request.tool) is not None


def allowing_sentinel(note: Callable[..., None]) -> Callable[[PermissionRequest], bool]:
    """Return who decides what a probed agent may do; ``note`` is told each decision."""

    def decide(request: PermissionRequest) -> bool:
        allowed = is_sentinel(request)
        word = "allowed" if allowed else "denied"
        note("permission", tool=request.tool, kind=request.kind, answer=word)
        return allowed

    return decide


async def _answer(_: Arguments) -> Any:
    return ANSWER
