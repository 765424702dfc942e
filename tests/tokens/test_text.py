"""Cutting a long text: never longer than asked, nothing lost, and no other count."""

import json

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from kandev_nb.tokens._text import pieces

# Any text, but with a place to cut at its end: JSON makes at most 61 characters of ten.
values = st.text(max_size=10).map(lambda text: text + "x")


@pytest.mark.req("CA-3")
@given(text=st.text(st.sampled_from('a1" \n漢😀'), max_size=200), longest=st.integers(1, 40))
def test_given_any_text_then_its_pieces_are_within_the_bound_and_make_the_whole(
    text: str, longest: int
) -> None:
    made = list(pieces(text, longest))

    assert "".join(made) == text
    assert all(len(piece) <= longest for piece in made)


@pytest.mark.req("CA-3")
@settings(deadline=None, max_examples=100)
@given(tool=st.dictionaries(values, values, min_size=4, max_size=30))
def test_given_json_with_places_to_cut_then_the_pieces_add_up_to_the_exact_count(
    encoding: tiktoken.Encoding, tool: dict[str, str]
) -> None:
    text = json.dumps(tool, separators=(",", ":"), ensure_ascii=False)
    whole = len(encoding.encode(text, disallowed_special=()))

    for longest in (70, 97):
        cut = list(pieces(text, longest))
        assert sum(len(encoding.encode(piece, disallowed_special=())) for piece in cut) == whole


@pytest.mark.req("CA-3")
def test_given_no_place_to_cut_then_the_cut_is_at_the_bound() -> None:
    assert list(pieces("a" * 25, 10)) == ["a" * 10, "a" * 10, "a" * 5]
