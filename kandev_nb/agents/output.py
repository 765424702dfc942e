"""What an agent wrote to its standard error lately, or a CLI to its terminal (SA-3).

It is bounded, and shown only on demand: what is written there may hold anything, so the text is one
attribute away and never in a repr.
"""

from collections.abc import Callable
from typing import Final

OUTPUT_LINES: Final = 50
OUTPUT_BYTES: Final = 16 * 1024


class RecentOutput:
    """The last 50 lines, and at most 16 KiB, of an agent's standard error or a CLI's terminal.

    The object is live: it goes on filling while the agent runs. Reading ``text`` is the only way
    to the words; they may hold secrets and must not be stored.
    """

    def __init__(
        self, on_line: Callable[[str], None] | None = None, place: str = "its standard error"
    ) -> None:
        self._place = place
        self._tail = b""
        self._bytes_written = 0
        self._on_line = on_line
        self._line = b""

    def feed(self, chunk: bytes) -> None:
        """Add what the agent wrote; the oldest is forgotten.

        Each line goes to ``on_line`` as it ends, as far as it is short enough to be a message.
        """
        self._bytes_written += len(chunk)
        self._tail = (self._tail + chunk)[-OUTPUT_BYTES:]
        if self._on_line is not None:
            *lines, self._line = (self._line + chunk)[-OUTPUT_BYTES:].split(b"\n")
            for line in lines:
                self._on_line(line.decode("utf-8", "replace"))

    @property
    def text(self) -> str:
        """The recent lines as text; bytes that are not UTF-8 stand as ``?``."""
        # One byte for each undecodable byte keeps the text inside its bound.
        decoded = self._tail.decode("utf-8", "replace").replace("\ufffd", "?")
        return "".join(decoded.splitlines(keepends=True)[-OUTPUT_LINES:])

    @property
    def why_none(self) -> str:
        """Why there is no text; empty when there is some."""
        return "" if self._tail else f"The agent has written nothing to {self._place}."

    def __repr__(self) -> str:
        if self.why_none:
            return f"<RecentOutput: {self.why_none}>"
        lines = len(self.text.splitlines())
        return (
            f"<RecentOutput: {lines} of at most {OUTPUT_LINES} lines kept, "
            f"{self._bytes_written} bytes written; may hold secrets, .text has the text>"
        )
