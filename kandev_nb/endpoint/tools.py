"""MCP tools, the layers that they are registered in, and how one is called.

A :class:`Tool` couples the definition that is served with the coroutine function that does the
work. A :class:`ToolRegistry` holds tools that come and go; a :class:`ToolSet` lays registries over
one another and answers ``tools/list`` and ``tools/call``: arguments are checked against the served
schema before the work starts, and what goes wrong becomes a tool error that echoes no value.
"""

import asyncio
import base64
import binascii
import json
import logging
import threading
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import mcp_types as types
from jsonschema_rs import Draft202012Validator, ValidationError
from mcp.shared.exceptions import MCPError

from kandev_nb.attachment import limits
from kandev_nb.endpoint.results import Content, error_result, text_of

_log = logging.getLogger("kandev_nb.endpoint")

Arguments = Mapping[str, Any]

_FAULTS_NAMED: Final = 10
_INVALID_PARAMS: Final = -32602
_CURSOR: Final = b"after "


class ToolError(Exception):
    """Raised by a tool to answer its caller with an error; the message is sent as it is."""


@dataclass(frozen=True)
class Tool:
    """One tool: its definition (MCP, "Tool") and the work behind it.

    ``call`` is given checked arguments and returns :class:`Content`, or text, or a JSON value.
    """

    definition: types.Tool
    call: Callable[[Arguments], Awaitable[Any]]

    @property
    def name(self) -> str:
        """The name that the tool is called by."""
        return self.definition.name

    @cached_property
    def validator(self) -> Draft202012Validator:
        """The compiled input schema."""
        return Draft202012Validator(dict(self.definition.input_schema))


class ToolRegistry:
    """Tools by name that come and go while they are served. It may be used from any thread."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        self._watchers: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self.revision = 1

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools now, by name. The mapping itself never changes."""
        return self._tools

    def put(self, tool: Tool) -> None:
        """Add a tool, or put it in the place of the one of its name."""
        with self._lock:
            self._replace({**self._tools, tool.name: tool})
        self._tell()

    def take(self, name: str) -> bool:
        """Remove the tool of that name and tell whether there was one."""
        with self._lock:
            if name not in self._tools:
                return False
            self._replace({n: tool for n, tool in self._tools.items() if n != name})
        self._tell()
        return True

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` after each change, in the thread that made it; return what ends it."""
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed)

    def _replace(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools
        self.revision += 1

    def _tell(self) -> None:
        for changed in tuple(self._watchers):
            changed()


class ToolSet:
    """The tools of one session: registries in layers, of which a later one hides an earlier."""

    def __init__(self, *layers: ToolRegistry) -> None:
        self._layers = layers

    @property
    def revision(self) -> int:
        """Counts the changes of every layer."""
        return sum(layer.revision for layer in self._layers)

    def definitions(self) -> list[types.Tool]:
        """Return the definitions sorted by name, so that a list can go on after any name."""
        tools = self._by_name()
        return [tools[name].definition for name in sorted(tools)]

    def page(self, cursor: str | None) -> types.ListToolsResult:
        """Return at most :data:`limits.TOOLS` definitions (MCP, "Pagination").

        A cursor stands for the last name of a page, so that it stays good when tools come and go.
        """
        definitions = self.definitions()
        names = [definition.name for definition in definitions]
        start = bisect_right(names, _name_of(cursor)) if cursor is not None else 0
        end = start + limits.TOOLS
        return types.ListToolsResult(
            tools=definitions[start:end],
            next_cursor=_cursor_of(names[end - 1]) if end < len(names) else None,
        )

    def schema(self, name: str) -> dict[str, Any] | None:
        """Return the input schema of that tool, or ``None`` for an unknown one."""
        tool = self._find(name)
        return tool.definition.input_schema if tool else None

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` after each change of a layer; return what ends it."""
        stops = [layer.watch(changed) for layer in self._layers]

        def stop() -> None:
            for stop_watching in stops:
                stop_watching()

        return stop

    async def call(self, name: str, arguments: Arguments) -> types.CallToolResult:
        """Call a tool (MCP, "Calling Tools").

        An unknown name is a protocol error; bad arguments and a failing tool are tool errors, so
        that the model can correct itself (MCP, "Error Handling").
        """
        tool = self._find(name)
        if tool is None:
            raise MCPError(code=_INVALID_PARAMS, message="Unknown tool")
        if faults := argument_faults(tool, arguments):
            return error_result("; ".join(faults))
        try:
            result = await tool.call(arguments)
            content = result if isinstance(result, Content) else Content.text(text_of(result))
        except ToolError as error:
            return error_result(str(error))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a tool does, others go on (SE-7)
            _log.warning("tool %s raised %s", name, type(error).__name__)
            return error_result(f"The tool failed: {type(error).__name__}.")
        return types.CallToolResult(content=list(content.blocks))

    def _find(self, name: str) -> Tool | None:
        for layer in reversed(self._layers):
            if tool := layer.tools.get(name):
                return tool
        return None

    def _by_name(self) -> dict[str, Tool]:
        return {name: tool for layer in self._layers for name, tool in layer.tools.items()}


def _cursor_of(name: str) -> str:
    return base64.urlsafe_b64encode(_CURSOR + name.encode()).decode("ascii")


def _name_of(cursor: str) -> str:
    try:
        decoded = base64.b64decode(cursor, altchars=b"-_", validate=True)
        if decoded.startswith(_CURSOR):
            return decoded.removeprefix(_CURSOR).decode()
    except (ValueError, binascii.Error):
        pass
    raise MCPError(code=_INVALID_PARAMS, message="Invalid cursor")


def argument_faults(tool: Tool, arguments: Arguments) -> list[str]:
    """Return what is wrong with ``arguments``, each fault by field name and never by value."""
    if tool.validator.is_valid(dict(arguments)):
        return []
    errors, schema = tool.validator.iter_errors(dict(arguments)), tool.definition.input_schema
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
