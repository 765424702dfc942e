"""o200k_base as ``tiktoken`` needs to be told: how text splits, and which tokens are special.

``tiktoken`` has the same definition, but there it comes together with a download of the
vocabulary. ``tiktoken`` itself is imported with the first encoding that is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kandev_nb.tokens._text import pieces

if TYPE_CHECKING:
    from tiktoken import Encoding

_LEAD: Final = r"[^\r\n\p{L}\p{N}]?"
_UPPER: Final = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER: Final = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_ENDING: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

SPLIT: Final = "|".join(
    (
        f"{_LEAD}{_UPPER}*{_LOWER}+{_ENDING}",
        f"{_LEAD}{_UPPER}+{_LOWER}*{_ENDING}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
"""The expression that splits a text before bytes are merged."""

SPECIAL: Final = {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}
"""Tokens that no text is ever turned into here; ``tiktoken`` misbehaves when there are none."""


def build(ranks: dict[bytes, int]) -> Encoding:
    """Return the encoding of a vocabulary; holds the GIL for about 0.3 s."""
    import tiktoken

    return tiktoken.Encoding(
        "o200k_base", pat_str=SPLIT, mergeable_ranks=ranks, special_tokens=SPECIAL
    )


def count(encoding: Encoding, text: str) -> int:
    """Return the number of tokens of ``text``; the text of a special token counts as text.

    ``encode_ordinary`` would do the same and be as fast, but panics where ``encode`` raises.
    """
    return sum(len(encoding.encode(piece, disallowed_special=())) for piece in pieces(text))
