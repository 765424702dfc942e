"""The syntax of JSON and TOML: values, and the place of a fault."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kandev_nb.servers.documents.text import (
    JsonSyntax,
    Pairs,
    SyntaxFault,
    pairs,
    parse_json,
    parse_toml,
    repeated,
)

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.integers(-(2**40), 2**40).map(lambda quarters: quarters / 4)
    | st.text(st.characters(exclude_characters="\0", codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def place(text: str, syntax: JsonSyntax = "json") -> tuple[int, int]:
    with pytest.raises(SyntaxFault) as raised:
        parse_json(text, syntax=syntax)
    return raised.value.line, raised.value.column


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("syntax", ["json", "commented", "jsonc"])
@given(value=VALUES)
def test_what_json_writes_is_read_back(syntax: JsonSyntax, value: Any) -> None:
    assert parse_json(json.dumps(value), syntax=syntax) == value


@pytest.mark.req("CF-1")
def test_comments_and_last_commas_are_read_where_they_are_allowed() -> None:
    text = '// one\n{"a": [1, /* "two" */ 2,], "b": "// text /* too */",} // three'

    assert parse_json(text, syntax="jsonc") == {"a": [1, 2], "b": "// text /* too */"}
    assert place(text) == (1, 1)
    assert place(text, "commented") == (2, 24)
    assert parse_json("[1] // one", "commented") == [1]


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ('{"a": 1,}', 1, 8, "a comma before the closing bracket is not allowed"),
        ('[\n  "é😀", 2,\n]', 2, 10, "a comma before the closing bracket is not allowed"),
        ('{"é😀": /* x */ 1}', 1, 8, "comments are not allowed"),
        ('{"a": "x\n"}', 1, 9, "the closing quote is missing"),
        ('{"a": "x', 1, 9, "missing a closing quotation mark"),
        ('{"a": "\\x"}', 1, 8, "a backslash in a string"),
        ('{"a": NaN}', 1, 7, "no JSON value"),
        ('{"a": -Infinity}', 1, 8, "no JSON value"),
        ('{"a": 1e999}', 1, 7, "too big"),
        ('{"a": "\\ud800"}', 1, 8, "surrogate"),
        ('{"a": "\ud800"}', 1, 8, "a character that no text may hold"),
        ('{"a": 1}\0 hidden', 1, 9, "a character that no text may hold"),
        ('{"a": 1}\n\n}', 3, 1, "the document has ended before this"),
        ("{'a': 1}", 1, 2, "a key in double quotes"),
        ('\ufeff{"a" 1}', 1, 6, "missing a colon"),
        ("", 1, 1, "empty"),
    ],
)
def test_a_fault_of_json_has_its_place_in_characters_and_its_words(
    text: str, line: int, column: int, words: str
) -> None:
    with pytest.raises(SyntaxFault) as raised:
        parse_json(text, syntax="json")

    assert (raised.value.line, raised.value.column) == (line, column)
    assert words in raised.value.words
    assert "hidden" not in str(raised.value)


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_brackets_without_end_are_a_fault_and_no_crash(text: str) -> None:
    with pytest.raises(SyntaxFault, match="nested too deeply"):
        parse_json(text, syntax="jsonc")
    with pytest.raises(SyntaxFault, match="nested too deeply"):
        parse_toml(f"a = {'[' * 100_000}")


@pytest.mark.req("CF-1")
def test_brackets_without_end_are_no_crash_where_python_may_recurse_at_will() -> None:
    script = (
        "import sys; sys.setrecursionlimit(10**7)\n"
        "from kandev_nb.servers.documents.text import *\n"
        'try: parse_json(\'["[\\\\\\"[", // [\\n\' * 3_000_000, syntax="jsonc")\n'
        "except SyntaxFault as fault: print(fault.line, fault.column)\n"
    )

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "501 1\n", "")


@pytest.mark.req("CF-1")
def test_many_brackets_beside_each_other_are_read() -> None:
    assert len(parse_json(f"[{','.join(['[[]]'] * 1000)}]", syntax="json")) == 1000


@pytest.mark.req("CF-1")
def test_a_repeated_key_is_not_lost() -> None:
    found = parse_json('{"a": 1, "b": {"c": 1, "c": 2, "d": 3}, "a": 4}', syntax="json")

    assert isinstance(found, Pairs)
    assert pairs(found) == (("a", 1), ("b", {"c": 2, "d": 3}), ("a", 4))
    assert found == {"a": 4, "b": {"c": 2, "d": 3}}
    assert repeated(found) == ("a",)
    assert repeated(found["b"]) == ("c",)
    assert repeated({"a": 1}) == ()
    assert pairs({"a": 1}) == (("a", 1),)


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a = 1\nb =", 2, 4, "invalid value"),
        ('a = "x\n', 1, 7, "illegal character"),
        ('a = "é"\na = "é" # x\n', 2, 8, "cannot overwrite a value"),
        ('\ufeffa = "\0"', 1, 6, "a character that no text may hold"),
        (f"a = {'1' * 5000}", 1, 1, "too many digits"),
    ],
)
def test_a_fault_of_toml_has_its_place_and_its_words(
    text: str, line: int, column: int, words: str
) -> None:
    with pytest.raises(SyntaxFault) as raised:
        parse_toml(text)

    assert (raised.value.line, raised.value.column) == (line, column)
    assert words in raised.value.words


@pytest.mark.req("CF-1")
def test_toml_is_read_with_its_byte_order_mark() -> None:
    assert parse_toml("\ufeff[a]\nb = [1, 2]\n") == {"a": {"b": [1, 2]}}
