"""The o200k_base vocabulary, as the package carries it.

The official list has 199,998 lines of base64 and rank. Ranks run without a gap and the first 256
tokens are the single bytes, so the order alone says everything: the bundle is those 256 bytes,
then the other tokens joined by 0xFF, a byte that no longer token holds. Splitting at a byte is far
quicker than parsing lines. The whole is gzipped: 0.95 MB, where xz would save 0.2 MB and cost
60 ms of every first use.
"""

import gzip
import hashlib
import zlib
from pathlib import Path
from typing import Final

BUNDLE: Final = Path(__file__).with_name("o200k_base.bin.gz")
"""The bundle inside the package; its licence is in ``o200k_base.NOTICE.txt`` beside it."""

SHA256: Final = "2389893ec9091bbd4f21a3a65be87b3e5eeeab662157f16c65d7706b4c892338"
"""Of the decompressed bundle."""

_SINGLE_BYTES: Final = 256
_SEPARATOR: Final = b"\xff"


class VocabularyError(Exception):
    """The bundle cannot be used; the message says why, and names no path."""


def read_ranks(bundle: Path) -> dict[bytes, int]:
    """Return every token of ``bundle`` with its rank, which is also its merge priority.

    Raises :class:`VocabularyError` when the file is missing, unreadable, or not the expected one.
    """
    content = _decompressed(bundle)
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise VocabularyError("the bundled vocabulary is damaged")
    tokens = unpack(content)
    return dict(zip(tokens, range(len(tokens)), strict=True))


def pack(tokens: list[bytes]) -> bytes:
    """Return ``tokens``, in the order of their ranks, as the content of a bundle.

    Raises :class:`VocabularyError` when the format cannot hold them.
    """
    content = b"".join(tokens[:_SINGLE_BYTES]) + _SEPARATOR.join(tokens[_SINGLE_BYTES:])
    if unpack(content) != tokens:
        raise VocabularyError("the first 256 tokens must be single bytes, and no other hold 0xFF")
    return content


def unpack(content: bytes) -> list[bytes]:
    """Return the tokens of a bundle's ``content`` in the order of their ranks."""
    single = [bytes((value,)) for value in content[:_SINGLE_BYTES]]
    return single + content[_SINGLE_BYTES:].split(_SEPARATOR)


def _decompressed(bundle: Path) -> bytes:
    try:
        return gzip.decompress(bundle.read_bytes())
    except FileNotFoundError as error:
        raise VocabularyError("the bundled vocabulary is missing") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise VocabularyError("the bundled vocabulary is damaged") from error
    except OSError as error:
        raise VocabularyError("the bundled vocabulary cannot be read") from error
