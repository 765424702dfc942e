"""The bundle is the official vocabulary, told to ``tiktoken`` as ``tiktoken`` tells it itself."""

import gzip
import hashlib
from base64 import b64encode
from pathlib import Path
from typing import Any

import click
import pytest
import tiktoken_ext.openai_public as official  # type: ignore[import-untyped]
from click.testing import CliRunner

from kandev_nb.tokens import _encoding, _vocabulary, pack


@pytest.fixture
def expected(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The official definition, with the hash of the file that it would download."""
    asked: dict[str, Any] = {}

    def load(url: str, expected_hash: str) -> dict[bytes, int]:
        asked.update(url=url, sha256=expected_hash)
        return {}

    monkeypatch.setattr(official, "load_tiktoken_bpe", load)
    return {**official.o200k_base(), **asked}


@pytest.fixture
def rebuilt() -> bytes:
    """The official file, made anew from the bundle."""
    ranks = _vocabulary.read_ranks(_vocabulary.BUNDLE)
    return b"".join(b"%s %d\n" % (b64encode(token), rank) for token, rank in ranks.items())


@pytest.mark.req("CA-3")
def test_the_bundle_holds_the_file_that_tiktoken_expects(
    expected: dict[str, Any], rebuilt: bytes
) -> None:
    assert hashlib.sha256(rebuilt).hexdigest() == expected["sha256"] == pack.OFFICIAL_SHA256


@pytest.mark.req("CA-3")
def test_text_splits_as_in_tiktoken(expected: dict[str, Any]) -> None:
    assert expected["pat_str"] == _encoding.SPLIT
    assert expected["special_tokens"] == _encoding.SPECIAL


@pytest.mark.req("CA-3")
def test_the_bundle_leaves_room_in_a_wheel_of_three_megabytes() -> None:
    assert _vocabulary.BUNDLE.stat().st_size < 1_000_000


def test_given_the_official_file_then_packing_makes_the_same_bundle(
    rebuilt: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, bundle = tmp_path / "o200k_base.tiktoken", tmp_path / "o200k_base.bin.gz"
    source.write_bytes(rebuilt)
    monkeypatch.setattr(pack, "BUNDLE", bundle)

    result = CliRunner().invoke(pack.main, [str(source)])

    assert result.output == f"o200k_base.bin.gz: {_vocabulary.SHA256}\n"
    assert gzip.decompress(bundle.read_bytes()) == gzip.decompress(_vocabulary.BUNDLE.read_bytes())


def test_given_any_other_file_then_packing_refuses_it(rebuilt: bytes) -> None:
    with pytest.raises(click.ClickException, match="not the official"):
        pack.pack_official(rebuilt[:-1])


def test_given_tokens_that_the_bundle_cannot_hold_then_packing_refuses_them() -> None:
    single = [bytes((value,)) for value in range(256)]

    with pytest.raises(_vocabulary.VocabularyError, match="0xFF"):
        _vocabulary.pack([*single, b"a\xffb"])
