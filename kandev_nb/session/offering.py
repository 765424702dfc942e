"""What a controller and a session have in common: tools of the user's own, served to agents."""

from collections.abc import Callable
from typing import Any, TypeVar, overload

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.endpoint import BUILT_IN_NAMES, TOOL_TIMEOUT, Tool, ToolRegistry, tool_from
from kandev_nb.errors import ConfigError
from kandev_nb.session.launch import seconds

Function = TypeVar("Function", bound=Callable[..., Any])


class OffersTools:
    """Something that tools can be registered with."""

    def __init__(self, tools: ToolRegistry) -> None:
        self._tools = tools

    @overload
    def tool(
        self,
        function: Function,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = TOOL_TIMEOUT,
    ) -> Function: ...

    @overload
    def tool(
        self,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = TOOL_TIMEOUT,
    ) -> Callable[[Function], Function]: ...

    def tool(
        self,
        function: Function | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = TOOL_TIMEOUT,
    ) -> Function | Callable[[Function], Function]:
        """Serve a typed Python function as a tool, from now on; used as a decorator.

        Its signature and docstring make the schema. It returns text, a JSON value, an image (PIL,
        matplotlib), MCP content blocks or a list of these. What it raises is told to the model
        without a traceback; raise :class:`kandev_nb.ToolError` to choose the words. An ordinary
        function runs in a thread, a coroutine function in a loop of the tools' own.

        Registering another function under the name takes the tool's place: running a cell again is
        fine. The function itself stays as it is and can be called in the notebook.

        Args:
            function: the function, when the decorator is used without arguments.
            name: what the tool is called; the function's name when left out.
            description: what the model reads; the docstring when left out.
            timeout: seconds that a call may take, ``None`` for no bound.

        Raises:
            ConfigError: the function cannot become a tool (``invalid_tool``).
        """
        bound = seconds(timeout)

        def register(function: Function) -> Function:
            tool = tool_from(function, name=name, description=description, timeout=bound)
            self._put(tool)
            return function

        return register if function is None else register(function)

    def remove_tool(self, name: str) -> None:
        """Serve that tool no more. Raises ``ConfigError`` when none of that name is registered."""
        if not self._tools.take(name):
            known = ", ".join(sorted(self._tools.tools)) or "none"
            raise ConfigError(
                f"No tool {name!r} was registered here. Registered: {known}.",
                reason_code=ReasonCode.INVALID_TOOL,
            )

    def _put(self, tool: Tool) -> None:
        if tool.name in BUILT_IN_NAMES:
            raise ConfigError(
                f"{tool.name!r} is a tool of Kandev's own. Give yours another name with name=.",
                reason_code=ReasonCode.INVALID_TOOL,
            )
        self._tools.put(tool)
