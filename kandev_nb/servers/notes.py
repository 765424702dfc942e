"""A reason or a hint of a decision."""

from typing import NamedTuple

from kandev_nb.attachment import reasons
from kandev_nb.attachment.reasons import ReasonCode


class Note(NamedTuple):
    """A reason code and, where that does not tell enough, what exactly. Never a value."""

    code: ReasonCode
    words: str = ""

    def __str__(self) -> str:
        return self.words or reasons.meaning(self.code)

    @property
    def advice(self) -> str:
        """What would settle it."""
        return reasons.settle(self.code)
