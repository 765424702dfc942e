"""From what a tool returns to what its caller is sent (MCP, "Tool Result").

Text stays text; an image, a matplotlib figure or an axes of one becomes a PNG; MCP content blocks
are passed on; a list that holds any of these becomes one block each; everything else is JSON.
"""

import base64
import inspect
import io
import json
import sys
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import Any, Final, NamedTuple, Self

import mcp_types as types
from pydantic_core import PydanticSerializationError, to_json

Block = (
    types.TextContent
    | types.ImageContent
    | types.AudioContent
    | types.ResourceLink
    | types.EmbeddedResource
)
_BLOCKS: Final = (
    types.TextContent,
    types.ImageContent,
    types.AudioContent,
    types.ResourceLink,
    types.EmbeddedResource,
)
_PNG_MODES: Final = ("1", "L", "LA", "I;16", "P", "RGB", "RGBA")
_AS_PNG: Final = {"I": "I;16", "La": "LA", "RGBa": "RGBA"}


class NotAResult(TypeError):  # noqa: N818 - it says what the value is
    """The value is neither text, nor JSON, nor an image; the message says what it is."""


class Content(NamedTuple):
    """The content blocks of one result."""

    blocks: tuple[Block, ...]

    @classmethod
    def text(cls, text: str) -> Self:
        """Return content of one text; half a surrogate pair in it becomes U+FFFD."""
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return cls((types.TextContent(type="text", text=text),))


def content_of(value: object) -> Content:
    """Return the content that stands for ``value``. Raises :class:`NotAResult`."""
    if isinstance(value, list | tuple) and any(_is_block(item) for item in value):
        return Content(tuple(_block(item) for item in value))
    return Content((_block(value),))


def text_of(value: object) -> str:
    """Return text as it is and anything else as JSON. Raises :class:`NotAResult`.

    What is no number in JSON (NaN, infinity, a missing value of pandas) becomes null; arrays and
    scalars of numpy and pandas become lists and numbers.
    """
    if isinstance(value, str):
        return value
    if inspect.iscoroutine(value):
        value.close()
        raise NotAResult("The tool returned a coroutine: it must be defined with async def.")
    foreign: list[object] = []

    def plain(inner: Any) -> Any:
        if hasattr(inner, "tolist"):
            return inner.tolist()
        if type(inner).__name__ in ("NAType", "NaTType"):
            return None
        if isinstance(inner, range | KeysView | ValuesView | ItemsView):
            return list(inner)
        try:
            return json.loads(to_json(inner))
        except (PydanticSerializationError, ValueError) as error:
            foreign.append(inner)
            raise TypeError from error

    try:
        return _json(value, plain)
    except (PydanticSerializationError, TypeError, ValueError, RecursionError) as error:
        what = type(foreign[0] if foreign else value).__name__
        raise NotAResult(
            f"The tool returned {what}, which is neither text, JSON nor an image."
        ) from error


def _json(value: object, plain: Callable[[Any], Any]) -> str:
    try:
        return to_json(value, fallback=plain, inf_nan_mode="null").decode()
    except PydanticSerializationError:
        # A missing time of pandas is a datetime that pydantic cannot write.
        written = json.loads(json.dumps(value, default=plain))
        return to_json(written, inf_nan_mode="null").decode()


def error_result(message: str) -> types.CallToolResult:
    """Return a result that tells the model what went wrong (MCP, "Error Handling")."""
    return types.CallToolResult(content=list(Content.text(message).blocks), is_error=True)


def _block(value: object) -> Block:
    if isinstance(value, _BLOCKS):
        return _sendable(value)
    if (png := _png(value)) is not None:
        data = base64.b64encode(png).decode("ascii")
        return types.ImageContent(type="image", data=data, mime_type="image/png")
    return Content.text(text_of(value)).blocks[0]


def _sendable(block: Block) -> Block:
    try:
        block.model_dump_json()
    except (PydanticSerializationError, ValueError) as error:
        raise NotAResult("The tool returned a content block that cannot be sent.") from error
    return block


def _is_block(value: object) -> bool:
    return isinstance(value, (*_BLOCKS, *_loaded("PIL.Image", "Image"), *_figures()))


def _png(value: Any) -> bytes | None:
    written = io.BytesIO()
    if _is_a(value, _loaded("PIL.Image", "Image")):
        image = value if value.mode in _PNG_MODES else value.convert(_AS_PNG.get(value.mode, "RGB"))
        image.save(written, format="PNG")
    elif _is_a(value, _figures()):
        figure = value.figure
        while figure.figure is not figure:
            figure = figure.figure
        figure.savefig(written, format="png", bbox_inches="tight")
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            # Else the notebook shows it too, and keeps it.
            pyplot.close(figure)
    else:
        return None
    return written.getvalue()


def _is_a(value: object, classes: Iterable[type]) -> bool:
    return isinstance(value, tuple(classes))


def _figures() -> Iterable[type]:
    yield from _loaded("matplotlib.figure", "Figure")
    yield from _loaded("matplotlib.axes", "Axes")


def _loaded(module: str, name: str) -> Iterator[type]:
    """Yield a class whose library is loaded: else no value can be of it."""
    found = getattr(sys.modules.get(module), name, None)
    if isinstance(found, type):
        yield found
