"""From a typed Python function to a tool: its signature and docstring make the schema.

A parameter's annotation becomes its JSON Schema (by pydantic), its default the schema's default,
and its line in the docstring (Google, NumPy or reST form) its description. The function runs among
the :mod:`~kandev_nb.endpoint.workshop`, never on the endpoint's own loop.
"""

import functools
import inspect
import logging
import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final, cast, get_type_hints

import docstring_parser
import mcp_types as types
from pydantic import Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import sanitize_summary
from kandev_nb.endpoint.results import Content, NotAResult
from kandev_nb.endpoint.tools import Arguments, Tool, ToolError
from kandev_nb.endpoint.workshop import Job, workers
from kandev_nb.errors import ConfigError

_log = logging.getLogger("kandev_nb.endpoint")

TOOL_TIMEOUT: Final = 120.0
"""Seconds that a call of a user's tool may take, unless the tool says otherwise."""

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""What a tool may be called (MCP 2025-11-25, "Tool Names")."""

_UNDESCRIBABLE: Final[dict[object, str]] = {
    inspect.Parameter.VAR_POSITIONAL: "*{}",
    inspect.Parameter.VAR_KEYWORD: "**{}",
    inspect.Parameter.POSITIONAL_ONLY: "{}, /",
}


def tool_from(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = TOOL_TIMEOUT,
) -> Tool:
    """Return the tool that calls ``function``, with its own name and docstring unless given.

    ``timeout`` is in seconds, ``None`` for no bound. Raises :class:`~kandev_nb.errors.ConfigError`
    (``invalid_tool``) for what cannot become a tool.
    """
    name = _name(function, name)
    documentation = docstring_parser.parse(inspect.getdoc(function) or "")
    adapter = _adapter(function, name, documentation)
    definition = _definition(name, description, documentation, adapter)
    is_async = _is_async(function)

    async def call(arguments: Arguments) -> Content:
        words, keywords = _values(adapter, arguments)
        job = Job(name, functools.partial(function, *words, **keywords), is_async, timeout)
        outcome = await workers().run(job)
        if isinstance(outcome, BaseException):
            _log.debug("tool %s raised %s", name, type(outcome).__name__)
            raise ToolError(_failure(outcome))
        return outcome

    return Tool(definition, call)


def _name(function: Callable[..., Any], name: str | None) -> str:
    if isinstance(function, str):
        raise _invalid(function, f"it is text. Write @session.tool(name={function!r})")
    if not callable(function):
        raise _invalid(name or repr(function), "it cannot be called. Give a function")
    name = name or getattr(_unwrapped(function), "__name__", "")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _invalid(
            name or type(function).__name__,
            "a tool's name has 1 to 128 letters, digits, '_', '-' and '.'. Give one with name=",
        )
    if inspect.isasyncgenfunction(_unwrapped(function)):
        raise _invalid(name, "an async generator has no result. Return a list")
    return name


def _adapter(
    function: Callable[..., Any], name: str, documentation: docstring_parser.Docstring
) -> TypeAdapter[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return what checks and converts the arguments: pydantic on a function of this signature."""
    described = {p.arg_name.lstrip("*"): p.description for p in documentation.params}

    def collected(*words: Any, **keywords: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return words, keywords

    try:
        signature = inspect.signature(function)
        parameters = list(_parameters(function, signature, described))
        collected.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        collected.__annotations__ = {p.name: p.annotation for p in parameters}
        return TypeAdapter(cast(Any, collected))
    except NameError as error:
        raise _invalid(name, f"its annotations name what is not defined: {error}") from None
    except (TypeError, ValueError, PydanticUserError) as error:
        raise _invalid(name, f"{_first_line(error)}") from None


def _parameters(
    function: Callable[..., Any], signature: inspect.Signature, described: dict[str, str | None]
) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(_annotated(function), include_extras=True)
    for parameter in signature.parameters.values():
        if form := _UNDESCRIBABLE.get(parameter.kind):
            shown = form.format(parameter.name)
            raise TypeError(f"no schema can describe its parameter {shown}. Name each argument")
        hint = hints.get(parameter.name, Any)
        if words := described.get(parameter.name):
            hint = Annotated[hint, Field(description=" ".join(words.split()))]
        yield parameter.replace(annotation=hint)


class _Schema(GenerateJsonSchema):
    """Without titles, which say the names once more and cost tokens."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Tell pydantic to make up no title."""
        return False


def _schema(adapter: TypeAdapter[Any], name: str) -> dict[str, Any]:
    try:
        return adapter.json_schema(schema_generator=_Schema)
    except PydanticUserError as error:
        raise _invalid(name, _first_line(error)) from None


def _definition(
    name: str,
    description: str | None,
    documentation: docstring_parser.Docstring,
    adapter: TypeAdapter[Any],
) -> types.Tool:
    try:
        definition = types.Tool(
            name=name,
            description=description or _description(documentation),
            input_schema=_schema(adapter, name),
        )
        definition.model_dump_json()
    except (ValidationError, PydanticSerializationError, ValueError):
        # Half a surrogate pair, for example: it would break every list that the tool is in.
        raise _invalid(name, "its description or a default cannot be sent as JSON") from None
    return definition


def _description(documentation: docstring_parser.Docstring) -> str | None:
    parts = (documentation.short_description, documentation.long_description)
    return "\n\n".join(part for part in parts if part) or None


def _values(
    adapter: TypeAdapter[tuple[tuple[Any, ...], dict[str, Any]]], arguments: Arguments
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        return adapter.validate_python(dict(arguments))
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        told = (f"argument {'.'.join(map(str, f['loc']))}: {f['msg']}" for f in faults)
        raise ToolError("; ".join(told)) from None


def _failure(error: BaseException) -> str:
    """Return what the model is told: a type, and a message without what looks like a secret."""
    if isinstance(error, ToolError):
        return str(error)
    message = sanitize_summary(str(error)) if isinstance(error, Exception) else ""
    if isinstance(error, NotAResult):
        return message
    kind = type(error).__name__
    return f"The tool failed: {kind}: {message}" if message else f"The tool failed: {kind}."


def _unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what carries the annotations: a callable object has them on its ``__call__``."""
    function = inspect.unwrap(_unwrapped(function))
    if inspect.isroutine(function):
        return function
    return function.__init__ if isinstance(function, type) else type(function).__call__  # type: ignore[misc]


def _is_async(function: Callable[..., Any]) -> bool:
    function = inspect.unwrap(_unwrapped(function))
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - the method, not whether there is one
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _invalid(name: str, why: str) -> ConfigError:
    return ConfigError(
        f"{name!r} cannot be a tool: {why.rstrip('.')}.", reason_code=ReasonCode.INVALID_TOOL
    )
