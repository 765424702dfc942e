"""Python functions served as tools: their schemas, their results, their failures."""

import asyncio
import base64
import dataclasses
import datetime
import enum
import functools
import gc
import io
import logging
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, Literal

import matplotlib.figure
import mcp_types as types
import numpy as np
import pandas as pd
import PIL.Image
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from pydantic import BaseModel, Field

from kandev_nb import ConfigError, ToolError
from kandev_nb.endpoint import ToolRegistry, tool_from, workers
from tests.endpoint.conftest import House, reached
from tests.endpoint.test_observation import MODERN

pytestmark = pytest.mark.anyio


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    """Where something is."""

    row: int
    column: int = 0


RECORDS = pd.DataFrame({"n": [1.5, None], "t": [pd.Timestamp("2026-07-28"), None]}).to_dict(
    "records"
)


@dataclasses.dataclass
class Order:
    id: str
    due: datetime.date


async def answer(
    house: House, function: Callable[..., Any], **arguments: Any
) -> types.CallToolResult:
    """What a client is told when it calls ``function`` as a tool."""
    tool = tool_from(function)
    endpoint = await house.attempt("attempt-1", ToolRegistry((tool,)))
    async with Client(house.server.url(endpoint), mode="legacy") as client:
        return await client.call_tool(tool.name, arguments)


def text(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def find_order(order_id: str, limit: int = 10, *, colour: Colour | None = None) -> str:
    """Find an order.

    Looks in the archive too.

    Args:
        order_id: the number on
            the invoice.
        limit: at most so many lines.
    """
    return f"{order_id!r} {limit!r} {colour!r}"


def test_the_signature_and_docstring_make_the_definition() -> None:
    definition = tool_from(find_order).definition

    assert definition.name == "find_order"
    assert definition.description == "Find an order.\n\nLooks in the archive too."
    assert definition.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "order_id": {"type": "string", "description": "the number on the invoice."},
            "limit": {
                "type": "integer",
                "default": 10,
                "description": "at most so many lines.",
            },
            "colour": {"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}], "default": None},
        },
        "required": ["order_id"],
        "$defs": {"Colour": {"enum": ["red", "blue"], "title": "Colour", "type": "string"}},
    }


@pytest.mark.parametrize(
    "docstring",
    [
        "Sum.\n\nParameters\n----------\na : int\n    the first.\n",
        "Sum.\n\n:param a: the first.\n",
        "Sum.\n\nArgs:\n    a (int): the first.\n\nReturns:\n    The sum.\n",
    ],
    ids=["numpy", "rest", "google"],
)
def test_parameters_are_described_in_any_common_form(docstring: str) -> None:
    def add(a: int) -> int:
        return a

    add.__doc__ = docstring

    definition = tool_from(add).definition

    assert definition.description == "Sum."
    assert definition.input_schema["properties"]["a"]["description"] == "the first."


def test_an_annotations_own_description_and_bounds_are_kept() -> None:
    def roll(sides: Annotated[int, Field(ge=2, description="how many")]) -> int:
        return sides

    schema = tool_from(roll).definition.input_schema

    assert schema["properties"]["sides"] == {
        "type": "integer",
        "minimum": 2,
        "description": "how many",
    }


def test_names_that_pydantic_keeps_for_itself_are_ordinary_parameters() -> None:
    def odd(json: str, _private: int, model_config: bool, self: str) -> None:
        """Do nothing."""

    schema = tool_from(odd).definition.input_schema

    assert schema["required"] == ["json", "_private", "model_config", "self"]


class Shop:
    def __call__(self, article: str) -> str:
        """Buy."""
        return article

    async def sell(self, article: str) -> str:
        """Sell."""
        return article


def test_methods_partials_and_callable_objects_are_functions_too() -> None:
    first = functools.partial(find_order, "1")

    assert tool_from(Shop().sell).name == "sell"
    assert tool_from(Shop(), name="buy").definition.input_schema["required"] == ["article"]
    assert "order_id" not in tool_from(first).definition.input_schema["properties"]


async def streams() -> AsyncIterator[int]:
    yield 1


def takes_many(*words: str) -> None: ...
def takes_any(**options: str) -> None: ...
def takes_positions(a: int, /) -> None: ...
def takes_a_lock(lock: threading.Lock) -> None: ...
def takes_what_is_unknown(a: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (takes_many, r"'takes_many' cannot be a tool: .*\*words"),
        (takes_any, r"\*\*options"),
        (takes_positions, "a, /"),
        (takes_a_lock, "takes_a_lock.*lock"),
        (takes_what_is_unknown, "'Nowhere' is not defined"),
        (lambda: None, "'<lambda>'.*Give one with name="),
        (7, "'7' cannot be a tool: it cannot be called"),
        ("add", r"'add' cannot be a tool: it is text\. Write @session\.tool\(name='add'\)"),
        (streams, "'streams' cannot be a tool: an async generator has no result"),
        (Shop(), "'Shop'.*Give one with name="),
    ],
)
def test_what_cannot_become_a_tool_is_named_with_the_way_out(
    function: Callable[..., Any], why: str
) -> None:
    with pytest.raises(ConfigError, match=why) as refused:
        tool_from(function)

    assert refused.value.reason_code == "invalid_tool"


@pytest.mark.parametrize("name", ["", "two words", "ümlaut", "a" * 129, "a/b"])
def test_a_name_that_the_protocol_does_not_allow_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="1 to 128 letters"):
        tool_from(find_order, name=name or "\n")


def test_a_description_that_cannot_be_sent_is_refused_before_it_breaks_a_list() -> None:
    with pytest.raises(ConfigError, match="cannot be sent as JSON"):
        tool_from(find_order, description="half a pair: \ud800")


async def test_arguments_arrive_as_the_types_that_the_function_names(house: House) -> None:
    def place(at: Place, when: datetime.date, colour: Colour, kinds: set[Literal["a", "b"]]) -> str:
        return f"{at!r} {when!r} {colour!r} {sorted(kinds)}"

    result = await answer(
        house,
        place,
        at={"row": 1},
        when="2026-07-28",
        colour="blue",
        kinds=["b", "a"],
    )

    assert text(result) == (
        "Place(row=1, column=0) datetime.date(2026, 7, 28) <Colour.BLUE: 'blue'> ['a', 'b']"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "missing required argument: order_id"),
        ({"order_id": "1", "colour": "hunter2"}, "argument colour does not match anyOf"),
        ({"order_id": 7}, 'argument order_id does not match type: "string"'),
        ({"order_id": "1", "depth": "hunter2"}, "unknown argument: depth"),
    ],
)
async def test_bad_arguments_are_told_by_name_and_the_function_does_not_run(
    house: House, arguments: dict[str, Any], told: str
) -> None:
    result = await answer(house, find_order, **arguments)

    assert result.is_error
    assert text(result).startswith(told)
    assert "hunter2" not in text(result)


async def test_what_only_the_type_can_check_is_told_too(house: House) -> None:
    def on(day: datetime.date) -> str:
        return str(day)

    result = await answer(house, on, day="hunter2")

    assert result.is_error
    assert text(result).startswith("argument day: Input should be a valid date")
    assert "hunter2" not in text(result)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, "null"),
        (3.5, "3.5"),
        (float("nan"), "null"),
        (
            {"a": pd.NaT, "b": pd.NA, "c": range(2), "d": {"k": 1}.keys()},
            '{"a":null,"b":null,"c":[0,1],"d":["k"]}',
        ),
        (RECORDS, '[{"n":1.5,"t":"2026-07-28T00:00:00"},{"n":null,"t":null}]'),
        ("half a pair: \ud800", "half a pair: \ufffd"),
        ({"a": [1, True]}, '{"a":[1,true]}'),
        (Place(row=1), '{"row":1,"column":0}'),
        (Order("7", datetime.date(2026, 7, 28)), '{"id":"7","due":"2026-07-28"}'),
        ([Place(row=1)], '[{"row":1,"column":0}]'),
        ({"n": np.int64(3), "a": np.array([[1.0, 2.0]])}, '{"n":3,"a":[[1.0,2.0]]}'),
        ("é\u2028", "é\u2028"),
    ],
)
async def test_text_stays_text_and_values_become_json(
    house: House, value: object, told: str
) -> None:
    def tool() -> object:
        return value

    result = await answer(house, tool)

    assert text(result) == told
    assert not result.is_error


async def test_a_figure_and_an_image_become_png_among_other_parts(house: House) -> None:
    figure = matplotlib.figure.Figure(figsize=(1, 1))
    axes = figure.subplots()

    def draw() -> list[object]:
        return ["two", PIL.Image.new("CMYK", (3, 2)), figure, axes, {"n": 1}]

    words, image, whole, part, value = (await answer(house, draw)).content

    assert (words.type, value.type) == ("text", "text")
    for content in (image, whole, part):
        assert isinstance(content, types.ImageContent)
        assert content.mime_type == "image/png"
        PIL.Image.open(io.BytesIO(base64.b64decode(content.data))).verify()
    assert isinstance(image, types.ImageContent)
    assert PIL.Image.open(io.BytesIO(base64.b64decode(image.data))).size == (3, 2)


@pytest.mark.parametrize("mode", ["I", "F", "La", "RGBa", "HSV", "I;16", "P", "1"])
async def test_an_image_of_any_mode_becomes_png(house: House, mode: str) -> None:
    image = (
        PIL.Image.new("LA", (2, 2)).convert("La") if mode == "La" else PIL.Image.new(mode, (2, 2))
    )

    def tool() -> object:
        return image

    (content,) = (await answer(house, tool)).content

    assert isinstance(content, types.ImageContent)
    assert PIL.Image.open(io.BytesIO(base64.b64decode(content.data))).size == (2, 2)


@pytest.mark.req("SA-1")
async def test_a_figure_of_pyplots_is_not_left_for_the_notebook_to_show(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    from matplotlib import pyplot

    def draw() -> object:
        figure: Any = pyplot.figure()
        return figure.subfigures().subplots()

    (content,) = (await answer(house, draw)).content

    assert content.type == "image"
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize(
    "block",
    [
        types.TextContent(type="text", text="\ud800"),
        types.ResourceLink(type="resource_link", name="x", uri="file:///\ud800"),
        types.TextContent(type="text", text="", _meta={"x": object()}),
    ],
)
async def test_a_block_that_cannot_be_sent_is_a_tool_error_and_ends_no_connection(
    house: House, block: object
) -> None:
    endpoint = await house.attempt("attempt-1", ToolRegistry([tool_from(lambda: block, name="x")]))
    async with Client(sse_client(house.server.sse_url(endpoint)), mode="legacy") as client:
        for _ in range(2):
            result = await client.call_tool("x", {})
            assert text(result) == "The tool returned a content block that cannot be sent."


async def test_content_blocks_of_the_protocol_are_passed_on(house: House) -> None:
    link = types.ResourceLink(type="resource_link", name="log", uri="file:///log")

    def tool() -> object:
        return [types.TextContent(type="text", text="see"), link]

    assert [part.type for part in (await answer(house, tool)).content] == ["text", "resource_link"]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (object(), "object"),
        ({"a": threading.Lock()}, "lock"),
        ({1: [PIL.Image.new("L", (1, 1))]}, "Image"),
        (b"\xff", "bytes"),
        (pd.DataFrame(), "DataFrame"),
    ],
)
async def test_what_is_no_result_is_a_clear_tool_error(
    house: House, value: object, what: str
) -> None:
    def tool() -> object:
        return value

    result = await answer(house, tool)

    assert result.is_error
    assert text(result) == f"The tool returned {what}, which is neither text, JSON nor an image."


def leaves() -> None:
    sys.exit("hunter2")


async def leaves_async() -> None:
    sys.exit("hunter2")


async def leaves_in_a_task() -> str:
    async def leave() -> None:
        sys.exit("hunter2")

    asyncio.create_task(leave())  # noqa: RUF006 - a careless tool
    await asyncio.sleep(0.01)
    return "unharmed"


class Panic(BaseException):
    """What a panicking native module raises."""


def panics() -> None:
    raise Panic("hunter2")


async def cancels_itself() -> None:
    raise asyncio.CancelledError


def returns_a_coroutine() -> object:
    return leaves_in_a_task()


@pytest.mark.req("SE-7")
@pytest.mark.parametrize(
    ("function", "told"),
    [
        (leaves, "The tool failed: SystemExit."),
        (leaves_async, "The tool failed: SystemExit."),
        (leaves_in_a_task, "unharmed"),
        (panics, "The tool failed: Panic."),
        (cancels_itself, "The tool failed: CancelledError."),
        (returns_a_coroutine, "The tool returned a coroutine: it must be defined with async def."),
    ],
)
async def test_a_tool_that_leaves_or_panics_harms_nobody(
    house: House, function: Callable[..., Any], told: str
) -> None:
    for _ in range(2):
        result = await answer(house, function)
        assert text(result).startswith(told)

    assert text(await answer(house, find_order, order_id="1")) == "'1' 10 None"


@pytest.mark.req("SA-1")
async def test_an_exception_is_told_without_traceback_and_without_what_looks_like_a_secret(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    def fails(order: str) -> None:
        raise LookupError(f"no order {order}; tried with token=sk-hunter2hunter2hunter2")

    result = await answer(house, fails, order="4711")

    assert text(result).startswith("The tool failed: LookupError: no order 4711; tried with token")
    assert "hunter2" not in text(result) + caplog.text
    assert "4711" not in caplog.text
    assert "Traceback" not in text(result)


async def test_a_tool_chooses_its_words_with_tool_error(house: House) -> None:
    def fails() -> None:
        raise ToolError("Order first\ud800.")

    result = await answer(house, fails)

    assert (text(result), result.is_error) == ("Order first\ufffd.", True)


async def test_a_coroutine_function_in_a_decorator_is_one_still(house: House) -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*words: Any, **keywords: Any) -> Any:
            return function(*words, **keywords)

        return wrapper

    @logged
    async def greet(name: str) -> str:
        return f"Good day, {name}"

    assert text(await answer(house, greet, name="Ada")) == "Good day, Ada"


class Blocking:
    """Tools that stay until they are let go."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.entered = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)

    def blocks(self) -> str:
        """Block a thread."""
        self.entered.release()
        self.released.wait(60)
        self.ended.release()
        return "late"

    async def blocks_its_loop(self) -> str:
        """Block the loop that it runs in, as no coroutine should."""
        return self.blocks()

    async def waits(self) -> str:
        """Wait as a coroutine should."""
        self.entered.release()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.release()
        return "never"

    def at_once(self) -> str:
        """Answer at once."""
        return "ready"

    async def soon(self) -> str:
        """Answer soon."""
        await asyncio.sleep(0)
        return "ready"

    def tools(self, timeout: float | None) -> ToolRegistry:
        functions = (self.blocks, self.blocks_its_loop, self.waits, self.at_once, self.soon)
        return ToolRegistry(tool_from(function, timeout=timeout) for function in functions)


@pytest.fixture
def blocking() -> Iterator[Blocking]:
    blocking = Blocking()
    yield blocking
    blocking.released.set()


async def entered(blocking: Blocking) -> None:
    assert await asyncio.to_thread(blocking.entered.acquire, timeout=10)


@pytest.mark.req("SE-7")
async def test_while_tools_block_every_other_call_is_answered(
    house: House, blocking: Blocking
) -> None:
    endpoint = await house.attempt("attempt-1", blocking.tools(timeout=None))
    async with Client(house.server.url(endpoint), mode="legacy") as client:
        blocked = [
            asyncio.create_task(client.call_tool(name, {}))
            for name in ("blocks", "blocks_its_loop")
        ]
        await entered(blocking)
        await entered(blocking)

        for name in ("at_once", "soon") * 3:
            assert text(await client.call_tool(name, {})) == "ready"
        assert len((await client.list_tools()).tools) == 5
        assert sorted(workers().running) == ["blocks", "blocks_its_loop"]
        assert not any(task.done() for task in blocked)

        blocking.released.set()
        assert [text(await task) for task in blocked] == ["late", "late"]
    assert (workers().running, workers().overdue) == ((), ())


@pytest.mark.req("SE-7")
@pytest.mark.parametrize("name", ["blocks", "blocks_its_loop", "waits"])
async def test_a_call_over_its_time_is_a_tool_error_and_counted_until_it_ends(
    house: House, blocking: Blocking, name: str
) -> None:
    endpoint = await house.attempt("attempt-1", blocking.tools(timeout=0.2))
    async with Client(house.server.url(endpoint), mode="legacy") as client:
        result = await client.call_tool(name, {})

        assert result.is_error
        assert text(result).startswith("The tool did not end within 0.2 s")
        if name != "waits":
            assert workers().overdue == (name,)
        for quick in ("at_once", "soon"):
            assert text(await client.call_tool(quick, {})) == "ready"
        blocking.released.set()
        assert await asyncio.to_thread(blocking.ended.acquire, timeout=10)
        assert await reached(lambda: not workers().overdue)


@pytest.mark.req("SE-7")
async def test_where_every_thread_is_held_a_call_says_so(
    house: House, blocking: Blocking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers(), "_free", asyncio.Semaphore(2))
    endpoint = await house.attempt("attempt-1", blocking.tools(timeout=0.2))
    async with Client(house.server.url(endpoint), mode="legacy") as client:
        results = [await client.call_tool("blocks", {}) for _ in range(3)]
        quick = await client.call_tool("at_once", {})
        assert text(await client.call_tool("soon", {})) == "ready"
        blocking.released.set()
        assert await reached(lambda: not workers().overdue)
        assert text(await client.call_tool("at_once", {})) == "ready"

    assert all(result.is_error for result in results)
    assert "every tool thread is held by a call that has not ended" in text(results[2])
    assert "every tool thread is held" in text(quick)


@pytest.mark.req("SE-7")
async def test_a_thread_that_cannot_be_started_is_said_and_takes_no_place(
    house: House, blocking: Blocking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers(), "_free", asyncio.Semaphore(2))
    start = threading.Thread.start

    def refuses(thread: threading.Thread) -> None:
        if thread.name.startswith("kandev-nb tool"):
            raise RuntimeError("can't start new thread")
        start(thread)

    endpoint = await house.attempt("attempt-1", blocking.tools(timeout=5))
    async with Client(house.server.url(endpoint), mode="legacy") as client:
        with monkeypatch.context() as out_of_threads:
            out_of_threads.setattr(threading.Thread, "start", refuses)
            for _ in range(3):
                result = await client.call_tool("at_once", {})
                assert text(result) == "The tool failed: RuntimeError."
        assert text(await client.call_tool("at_once", {})) == "ready"


@pytest.mark.req("SE-7", "EV-1")
@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_a_call_that_its_client_gives_up_is_cancelled(
    house: House, blocking: Blocking, mode: str
) -> None:
    endpoint = await house.attempt("attempt-1", blocking.tools(timeout=None))
    async with Client(house.server.url(endpoint), mode=mode) as client:
        call = asyncio.create_task(client.call_tool("waits", {}))
        await entered(blocking)
        call.cancel()

        assert await asyncio.to_thread(blocking.ended.acquire, timeout=10)
        assert await reached(lambda: (workers().running, workers().overdue) == ((), ()))
        assert await reached(lambda: "tool_call_observed" in house.kinds()), "it was called"
        assert house.row
        assert house.row.used_at


async def test_a_tool_loop_that_was_blocked_ends_once_it_is_free(
    house: House, blocking: Blocking
) -> None:
    def loops() -> int:
        gc.collect()
        return [thread.name for thread in threading.enumerate()].count("kandev-nb-tools")

    endpoint = await house.attempt("attempt-1", blocking.tools(timeout=0.2))
    async with Client(house.server.url(endpoint), mode="legacy") as client:
        await client.call_tool("soon", {})
        before = loops()
        for _ in range(2):
            await client.call_tool("blocks_its_loop", {})
            both = await asyncio.gather(*(client.call_tool("soon", {}) for _ in range(2)))
            assert [text(result) for result in both] == ["ready", "ready"]
        assert loops() == before + 2
        blocking.released.set()
        assert await reached(lambda: loops() == before)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
@pytest.mark.parametrize("name", ["blocks", "waits"])
async def test_a_long_call_shows_signs_of_life_to_a_client_that_asks_for_progress(
    house: House, blocking: Blocking, monkeypatch: pytest.MonkeyPatch, mode: str, name: str
) -> None:
    monkeypatch.setattr("kandev_nb.endpoint.mcp_server.KEEP_ALIVE", 0.02)
    told: list[float] = []
    enough = asyncio.Event()

    async def tell(progress: float, total: float | None = None, message: str | None = None) -> None:
        assert (total, message and message.startswith("still running")) == (None, True)
        told.append(progress)
        if len(told) == 3:
            enough.set()

    endpoint = await house.attempt("attempt-1", blocking.tools(timeout=None))
    async with Client(house.server.url(endpoint), mode=mode) as client:
        call = asyncio.create_task(client.call_tool(name, {}, progress_callback=tell))
        await asyncio.wait_for(enough.wait(), 10)
        blocking.released.set()
        call.cancel()

    assert told == sorted(told)
    assert 0 < told[0] < told[1] < told[2]


def test_signs_of_life_come_every_20_seconds() -> None:
    from kandev_nb.endpoint import mcp_server

    assert mcp_server.KEEP_ALIVE == 20
