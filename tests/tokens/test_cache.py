"""Counts are kept by content, a bounded number of them."""

import pytest
import tiktoken

from kandev_nb.tokens import _counts
from kandev_nb.tokens._counts import Counts, digest
from kandev_nb.tokens._estimator import Estimator


@pytest.mark.req("CA-3")
def test_given_an_equal_tool_then_it_is_counted_once(
    estimator: Estimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []
    encode = tiktoken.Encoding.encode

    def noted(encoding: tiktoken.Encoding, text: str, **options: frozenset[str]) -> list[int]:
        encoded.append(text)
        return encode(encoding, text, disallowed_special=())

    monkeypatch.setattr(tiktoken.Encoding, "encode", noted)

    first = estimator.estimate(b'{"name":"a"}')
    again = estimator.estimate(bytes(bytearray(b'{"name":"a"}')))
    estimator.estimate(b'{"name":"b"}')

    assert first == again == 5
    assert encoded == ['{"name":"a"}', '{"name":"b"}']


@pytest.mark.req("CA-3")
def test_given_more_tools_than_the_cache_holds_then_it_stays_bounded(
    estimator: Estimator,
) -> None:
    for number in range(_counts.ENTRIES + 10):
        estimator.estimate(b"%d" % number)

    assert len(estimator._counts) == _counts.ENTRIES == 4096


@pytest.mark.req("CA-3")
def test_given_a_full_cache_then_what_was_not_used_for_longest_goes() -> None:
    counts = Counts(entries=2)
    counts.keep(b"old", 1)
    counts.keep(b"new", 2)
    counts.find(b"old")

    counts.keep(b"newest", 3)

    assert [counts.find(key) for key in (b"old", b"new", b"newest")] == [1, None, 3]


@pytest.mark.req("CA-3")
def test_given_a_large_tool_then_its_key_is_small() -> None:
    assert len(digest(bytes(1_000_000))) == 16
    assert digest(b"a") != digest(b"b")
