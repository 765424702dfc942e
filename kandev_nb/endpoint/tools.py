"""A set of MCP tools and how one is called.

A :class:`Tool` couples the definition that is served with the coroutine function that does the
work. :class:`ToolSet` answers ``tools/list`` and ``tools/call``: arguments are checked against the
served schema before the work starts, and what goes wrong becomes a tool error that echoes no value.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import mcp_types as types
from jsonschema_rs import Draft202012Validator, ValidationError
from mcp.shared.exceptions import MCPError

from kandev_nb.attachment import limits

_log = logging.getLogger("kandev_nb.endpoint")

Arguments = Mapping[str, Any]

_FAULTS_NAMED: Final = 10
_INVALID_PARAMS: Final = -32602


class ToolError(Exception):
    """Raised by a tool to answer its caller with an error; the message is sent as it is."""


class Tool(NamedTuple):
    """One tool: its definition (MCP, "Tool") and the work behind it.

    ``call`` is given checked arguments and returns the result text, or a JSON value.
    """

    definition: types.Tool
    call: Callable[[Arguments], Awaitable[Any]]


class ToolSet:
    """The tools of one attempt, by name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.definition.name: tool for tool in tools}

    def definitions(self) -> list[types.Tool]:
        """Return the definitions in the order in which they were given."""
        return [tool.definition for tool in self._tools.values()]

    def schema(self, name: str) -> dict[str, Any] | None:
        """Return the input schema of that tool, or ``None`` for an unknown one."""
        tool = self._tools.get(name)
        return tool.definition.input_schema if tool else None

    async def call(self, name: str, arguments: Arguments) -> types.CallToolResult:
        """Call a tool (MCP, "Calling Tools").

        An unknown name is a protocol error; bad arguments and a failing tool are tool errors, so
        that the model can correct itself (MCP, "Error Handling").
        """
        tool = self._tools.get(name)
        if tool is None:
            raise MCPError(code=_INVALID_PARAMS, message="Unknown tool")
        if faults := argument_faults(tool.definition.input_schema, arguments):
            return _error("; ".join(faults))
        try:
            return _result(await tool.call(arguments))
        except ToolError as error:
            return _error(str(error))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a tool does, others go on (SE-7)
            _log.warning("tool %s raised %s", name, type(error).__name__)
            return _error(f"The tool failed ({type(error).__name__}).")


def argument_faults(schema: Mapping[str, Any], arguments: Arguments) -> list[str]:
    """Return what is wrong with ``arguments``, each fault by field name and never by value."""
    errors = Draft202012Validator(dict(schema)).iter_errors(dict(arguments))
    faults = [fault for error in errors for fault in _faults(error, schema, arguments)]
    return list(dict.fromkeys(faults))[:_FAULTS_NAMED]


def _faults(error: ValidationError, schema: Mapping[str, Any], arguments: Arguments) -> list[str]:
    keyword, at_root = error.schema_path[-1], not error.instance_path
    if keyword == "required" and at_root:
        missing = [name for name in schema.get("required", ()) if name not in arguments]
        return [f"missing required argument: {name}" for name in missing]
    if keyword == "additionalProperties" and at_root:
        known = schema.get("properties", {})
        return [f"unknown argument: {_shown(n)}" for n in arguments if n not in known]
    field = ".".join(str(part) for part in error.instance_path) or "arguments"
    return [f"argument {_shown(field)} does not match {keyword}: {_rule(error, schema)}"]


def _rule(error: ValidationError, schema: Mapping[str, Any]) -> str:
    """Return what the schema asks for at the place of the error."""
    rule: Any = schema
    for step in error.schema_path:
        rule = rule[step]
    return _shown(json.dumps(rule, ensure_ascii=False))


def _shown(name: str) -> str:
    return limits.cut_utf8(name, limits.NAME_BYTES)


def _result(value: Any) -> types.CallToolResult:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def _error(message: str) -> types.CallToolResult:
    content = [types.TextContent(type="text", text=message)]
    return types.CallToolResult(content=list(content), is_error=True)
