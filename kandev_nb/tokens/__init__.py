"""What a tool costs in tokens, counted offline.

A complete tool definition comes in as the JSON that was served; its o200k_base count leaves, or
``None`` where there is no tokenizer: never a guess (CA-3, CA-8). The vocabulary is part of the
package, and nothing here opens a socket.

Importing this room is cheap. The tokenizer loads with the first estimate, or in the background
after :func:`warm`; either way once per process. While it loads, ``tiktoken`` holds the GIL for
about 0.3 s, so call :func:`warm` where a pause of that length hurts nobody.
"""

from kandev_nb.tokens._estimator import Estimator as _Estimator
from kandev_nb.tokens._text import tool_json
from kandev_nb.tokens._vocabulary import BUNDLE as _BUNDLE

__all__ = ["ESTIMATOR", "estimate_tool", "problem", "tool_json", "warm"]

ESTIMATOR = "o200k_base:mcp-tool-json-v1"
"""What the numbers are called in a report (``tool_token_estimator``)."""

_shared = _Estimator(_BUNDLE)


def estimate_tool(tool_json: bytes) -> int | None:
    """Return the o200k_base tokens of one complete tool definition.

    ``tool_json`` is what :func:`tool_json` made of it, in UTF-8; invalid bytes count as U+FFFD,
    and the text of a special token counts as text. The answer is exact, but for a tool with an
    unbroken run of more than 65,536 characters, where it may be off by a few tokens.

    Returns ``None`` when there is no tokenizer (:func:`problem` says why), or when the tool is
    longer than 8 MiB. Raises nothing. Takes about 0.1 ms a kilobyte, and up to 1 s a megabyte for
    text made to be slow; an equal tool is answered from a cache. Safe in any thread (CA-3, CA-8).
    """
    return _shared.estimate(tool_json)


def problem() -> str | None:
    """Return why there are no estimates, as a sentence to show, or ``None`` when there are.

    Loads the tokenizer first, if it is not loaded yet.
    """
    return _shared.problem()


def warm() -> None:
    """Start loading the tokenizer in a daemon thread and return at once; later calls do nothing."""
    _shared.warm()
