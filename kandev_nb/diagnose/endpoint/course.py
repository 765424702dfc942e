"""How far one test has come, and what it has heard until then."""

from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, Literal

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.diagnose.endpoint.faults import Fault

RECEIVED_BYTES: Final = 8 * 1024 * 1024
"""What one test reads of a server's messages, all of them together."""

Phase = Literal["", "spawn", "connect", "await_endpoint", "initialize", "list_tools"]


@dataclass
class Course:
    """One test. The transports and the conversation write in it, the result is made from it."""

    phase: Phase = "connect"
    protocol_version: str = ""
    server_name: str = ""
    server_version: str = ""
    tools: list[Any] = field(default_factory=list)
    """The entries of every page as they came, in order."""

    pages: int = 0
    shortfall: str = ""
    """The reason code for a list that was not followed to its end."""

    stray_lines: int = 0
    """Lines of standard output that are no messages. They are counted, never kept."""

    has_spoken: bool = False
    """Whether the server has sent a message."""

    has_tools: bool = True
    """Whether the server says that it has tools at all."""

    _received: int = 0
    _started: float = field(default_factory=monotonic)
    _seconds: float | None = None

    def take(self, size: int) -> None:
        """Count what a server sent; raise ``Fault`` when it is more than a test reads."""
        self._received += size
        if self._received > RECEIVED_BYTES:
            raise Fault(ReasonCode.MALFORMED_RESPONSE, f"more than {RECEIVED_BYTES >> 20} MiB")

    def stop(self) -> None:
        """The last phase is over; what follows is closing. Only the first call counts."""
        if self._seconds is None:
            self._seconds = monotonic() - self._started

    @property
    def duration_ms(self) -> int:
        """Wall time of every phase together."""
        self.stop()
        return round((self._seconds or 0) * 1000)
