"""Estimates against counts that other implementations made, and against texts made to hurt.

``tests/data/o200k_vectors.json`` says which implementations; both are JavaScript, and share no
code with ``tiktoken``.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import tiktoken

from kandev_nb import tokens

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "o200k_vectors.json").read_text()
)
MEGABYTE = 1_000_000


@pytest.mark.req("CA-3")
@pytest.mark.parametrize("vector", VECTORS["tools"], ids=lambda vector: vector["case"])
def test_given_a_tool_then_the_estimate_is_the_count_of_its_compact_json(
    vector: dict[str, Any],
) -> None:
    assert tokens.estimate_tool(tokens.tool_json(vector["tool"])) == vector["tokens"]


@pytest.mark.req("CA-3")
@pytest.mark.parametrize("vector", VECTORS["texts"], ids=lambda vector: vector["case"])
def test_given_any_text_then_the_estimate_is_its_o200k_base_count(vector: dict[str, Any]) -> None:
    assert tokens.estimate_tool(vector["text"].encode()) == vector["tokens"]


@pytest.mark.req("CA-3")
def test_the_estimator_names_the_vocabulary_and_what_is_counted() -> None:
    assert tokens.ESTIMATOR == "o200k_base:mcp-tool-json-v1"


@pytest.mark.req("CA-3")
def test_given_another_order_of_keys_then_the_json_keeps_it() -> None:
    assert tokens.tool_json({"name": "b", "a": 1}) == b'{"name":"b","a":1}'
    assert tokens.tool_json({"a": 1, "name": "b"}) == b'{"a":1,"name":"b"}'


@pytest.mark.req("CA-3")
def test_given_text_beyond_ascii_then_the_json_holds_the_characters_themselves() -> None:
    assert tokens.tool_json({"name": "größe 漢 😀"}) == '{"name":"größe 漢 😀"}'.encode()


@pytest.mark.req("CA-3")
@pytest.mark.parametrize("name", ["high \ud83d", "low \ude00", "\ude00\ud83d"])
def test_given_lone_surrogates_then_they_count_as_replacement_characters(name: str) -> None:
    replaced = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in name)

    made = tokens.tool_json({"name": name})

    assert made == tokens.tool_json({"name": replaced})
    assert tokens.estimate_tool(made) == tokens.estimate_tool(tokens.tool_json({"name": replaced}))


@pytest.mark.req("CA-3")
def test_given_bytes_that_are_not_utf8_then_they_count_as_replacement_characters() -> None:
    assert tokens.estimate_tool(b'{"name":"\xff"}') == tokens.estimate_tool('{"name":"�"}'.encode())


@pytest.mark.req("CA-3")
@pytest.mark.parametrize(
    "unit", ["a", "-", " ", "\t", "\u00a0", "\u3000", "\n", "漢", "😀", "👩‍👩‍👧", "<|endoftext|>"]
)
def test_given_a_million_characters_without_a_break_then_they_are_counted(unit: str) -> None:
    served = tokens.tool_json({"name": "long", "description": unit * (MEGABYTE // len(unit))})

    estimate = tokens.estimate_tool(served)

    longest_token = 128
    assert estimate is not None
    assert len(served) / longest_token <= estimate <= len(served)


@pytest.mark.req("CA-3")
def test_given_a_large_ordinary_tool_then_the_estimate_is_still_exact(
    encoding: tiktoken.Encoding,
) -> None:
    fields = {
        f"field_{n}": {"type": "string", "description": f"It's no. {n},\n  of  many."}
        for n in range(20_000)
    }
    served = tokens.tool_json({"name": "large", "inputSchema": {"properties": fields}})
    assert len(served) > MEGABYTE

    assert tokens.estimate_tool(served) == len(
        encoding.encode(served.decode(), disallowed_special=())
    )


@pytest.mark.req("CA-3")
def test_given_more_than_the_longest_tool_then_there_is_no_estimate() -> None:
    longest = 8 * 1024 * 1024

    assert tokens.estimate_tool(b"1" * longest) is not None
    assert tokens.estimate_tool(b"1" * (longest + 1)) is None
