"""Members go into a text, and out again, while every other byte stays where it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kandev_nb.servers.documents.text import JsonSyntax, parse_json
from kandev_nb.servers.passthrough.members import Unsafe, put_in, take_out

pytestmark = pytest.mark.req("CF-4")

OURS = {"kandev": {"url": "http://127.0.0.1:1/mcp", "headers": {"A": "b"}}}

COMMENTED = """// of the user
{
    /* theirs */ "theme": "dark", // dark
    "mcpServers": {
        // the first
        "github": {"url": "https://h.test"}, // GitHub
    },
    "list": [1, 2.50, {"mcpServers": {}}], /* last */
}
// the end
"""


def without(text: str, before: str, syntax: JsonSyntax = "jsonc") -> tuple[str, tuple[str, ...]]:
    ours = {name: [value] for name, value in OURS.items()}
    return take_out(text, "mcpServers", ours, before, syntax)


LAYOUTS = {
    "comments and trailing commas": COMMENTED,
    "windows": COMMENTED.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + COMMENTED,
    "one line": '{"a": 1, "mcpServers": {"x": {"command": "y"}}, "z": null}',
    "no servers": '{\n\t"a": "}{,:",\n\t"b": [{}]\n}\n',
    "no servers, one line": '{"a":1}',
    "empty servers": '{\n  "mcpServers": {}\n}',
    "empty object": "{}",
    "only a comment": "{\n  // nothing yet\n}\n",
    "a comment in the servers": '{"mcpServers": { // none\n}}',
    "escaped names": '{"mcp\\u0053ervers": {"a\\"b": {"url": "\\\\"}}}',
    "a comment before the comma": '{"mcpServers": {"x": 1 /* , */ , "y": 2 // z\n}}',
}


@pytest.mark.parametrize("before", LAYOUTS.values(), ids=LAYOUTS)
def test_every_other_byte_stays(before: str) -> None:
    after = put_in(before, "mcpServers", OURS, "jsonc")

    parsed = parse_json(before)
    servers = parsed.get("mcpServers", {})
    assert parse_json(after) == {**parsed, "mcpServers": {**servers, **OURS}}
    left = iter(after)
    assert all(character in left for character in before.strip("\n{} ")), "nothing was taken away"


@pytest.mark.parametrize("before", LAYOUTS.values(), ids=LAYOUTS)
def test_what_was_put_in_comes_out_and_comments_stay(before: str) -> None:
    text, kept = without(put_in(before, "mcpServers", OURS, "jsonc"), before)

    parsed = parse_json(before)
    # The key is of no use to the user where it held nothing but our entries.
    assert parse_json(text) == parsed
    assert kept == ()
    for comment in (
        "// of the user",
        "/* theirs */",
        "// the first",
        "// GitHub",
        "// nothing yet",
    ):
        assert (comment in text) == (comment in before)


BARE = {"empty servers", "empty object", "only a comment", "a comment in the servers"}


@pytest.mark.parametrize("layout", sorted(LAYOUTS.keys() - BARE))
def test_beside_entries_of_the_user_not_a_byte_is_left_of_ours(layout: str) -> None:
    before = LAYOUTS[layout]

    assert without(put_in(before, "mcpServers", OURS, "jsonc"), before) == (before, ())


def test_a_new_entry_is_laid_out_as_its_neighbours_are() -> None:
    before = '{\n\t"mcpServers": {\n\t\t"a": {}\n\t}\n}\n'

    after = put_in(before, "mcpServers", {"b": {"url": "u"}}, "json")

    assert after == (
        '{\n\t"mcpServers": {\n\t\t"a": {},\n\t\t"b": {\n\t\t\t"url": "u"\n\t\t}\n\t}\n}\n'
    )


def test_ours_stands_in_the_place_of_its_namesake_and_gives_it_back_as_it_was_written() -> None:
    before = '{"mcpServers": {"kandev": {"url":   "theirs" /* ! */}, "z": {}}}'

    after = put_in(before, "mcpServers", OURS, "jsonc")
    edited = after.replace('"z": {}', '"z": {"new": 1}')

    assert list(parse_json(after)["mcpServers"]) == ["kandev", "z"]
    assert without(edited, before) == (before.replace('"z": {}', '"z": {"new": 1}'), ())


def test_an_entry_with_more_in_it_is_still_ours_and_a_changed_one_is_not() -> None:
    after = put_in("{}", "mcpServers", OURS, "jsonc")
    more = after.replace('"url"', '"trust": true, "url"')
    changed = after.replace("127.0.0.1:1", "127.0.0.1:2")

    assert parse_json(without(more, "{}")[0]) == {}
    assert without(changed, "{}") == (changed, ("kandev",))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"mcpServers": ', "line 1, column"),
        ("[]", "it holds no object"),
        ('{"mcpServers": []}', "'mcpServers' is no object"),
        ('{"mcpServers": {}, "mcpServers": {}}', "twice"),
        ('{"mcpServers": {"kandev": 1, "kandev": 2}}', "twice"),
        ('{"a": 1,}', "a comma before"),
        ('{"secret-word": 1 // comment\n}', "comments"),
    ],
)
def test_a_text_that_cannot_be_edited_safely_is_refused_without_showing_it(
    text: str, words: str
) -> None:
    with pytest.raises(Unsafe, match=words) as refused:
        put_in(text, "mcpServers", OURS, "json")

    assert "secret-word" not in str(refused.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
SERVERS = st.dictionaries(st.sampled_from(["a", "b", "kandev", '"', "c/*"]), VALUES, max_size=4)


@given(
    rest=st.dictionaries(st.text(max_size=3), VALUES, max_size=3),
    servers=st.none() | SERVERS,
    ours=SERVERS,
    indent=st.sampled_from([None, 1, 4, "\t"]),
)
def test_any_document_takes_any_entries_and_gives_them_back(
    rest: dict[str, Any], servers: Any, ours: dict[str, Any], indent: int | str | None
) -> None:
    document = rest if servers is None else {**rest, "mcpServers": servers}
    before = json.dumps(document, indent=indent)

    after = put_in(before, "mcpServers", ours, "json")
    again, kept = take_out(after, "mcpServers", {n: [v] for n, v in ours.items()}, before, "json")

    assert parse_json(after) == {**document, "mcpServers": {**(servers or {}), **ours}}
    assert kept == ()
    assert parse_json(again) == document or (servers is None and not ours)
