"""Putting the pages of a paginated ``tools/list`` together (CA-1)."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

_KEPT: Final = 64
"""Lists that may be under way at one time; the oldest is forgotten first."""


class Listed(NamedTuple):
    """What one client has been served so far of one list.

    ``revision`` is that of the tools when its first page was served, or -1 if that was not seen.
    """

    tools: tuple[Mapping[str, Any], ...]
    revision: int
    is_partial: bool


class Pages:
    """Remembers lists that go on, by client and by the cursor of the page that comes next.

    Stateless clients cannot be told apart; those at the same cursor were served the same pages.
    """

    def __init__(self) -> None:
        self._begun: OrderedDict[tuple[str, str], Listed] = OrderedDict()

    def served(
        self,
        client: str,
        cursor: str | None,
        tools: tuple[Mapping[str, Any], ...],
        next_cursor: str | None,
        revision: int,
    ) -> Listed:
        """Take one page and return the list that it belongs to, as far as it is known."""
        begun = Listed((), revision, is_partial=False)
        if cursor is not None:
            begun = self._begun.get((client, cursor), Listed((), -1, is_partial=True))
        listed = Listed(
            (*begun.tools, *tools) if begun.tools else tools,
            begun.revision,
            is_partial=next_cursor is not None or begun.revision < 0,
        )
        if next_cursor is not None:
            self._begun[client, next_cursor] = listed
            self._begun.move_to_end((client, next_cursor))
            if len(self._begun) > _KEPT:
                self._begun.popitem(last=False)
        return listed
