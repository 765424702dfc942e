"""The text that is counted: one tool as compact JSON, and that JSON in pieces of bounded length.

``tiktoken`` splits a text by a regular expression before it merges anything. On a run of about a
million white-space characters that expression exhausts its stack, and on long runs of anything it
slows down. So a long text is counted in pieces, cut where the expression splits anyway.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

PIECE: Final = 65_536
"""Characters of one piece; a text up to this length is counted whole."""

# A quotation mark never continues a piece that ends in an ASCII letter or digit.
_SAFE_CUT: Final = re.compile(r'.*[0-9A-Za-z](?=")', re.DOTALL)


def tool_json(tool: Mapping[str, object]) -> bytes:
    """Return the JSON of a tool definition that estimates are made of (CA-3).

    Compact, keys in the order given, every character itself and not escaped, in UTF-8. A lone
    surrogate, which UTF-8 cannot hold, becomes U+FFFD. Raises what :func:`json.dumps` raises when
    ``tool`` is not JSON.
    """
    text = json.dumps(dict(tool), separators=(",", ":"), ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def pieces(text: str, longest: int = PIECE) -> Iterator[str]:
    """Yield ``text`` in order, in pieces of at most ``longest`` characters.

    Counts of the pieces add up to the count of the whole, unless a stretch of ``longest``
    characters has no letter or digit that a quotation mark follows: then the cut is made at the
    bound. Compact JSON has such places all over.
    """
    start = 0
    while len(text) - start > longest:
        cut = _SAFE_CUT.match(text, start, start + longest)
        end = cut.end() if cut else start + longest
        yield text[start:end]
        start = end
    yield text[start:]
