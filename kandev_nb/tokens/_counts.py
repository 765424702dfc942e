"""Counts already made, found by content: lists of tools are served again and again."""

from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import Final

ENTRIES: Final = 4096
"""Counts kept; 32 full catalogs, in well under 1 MB."""


class Counts:
    """At most ``entries`` counts by digest; the one that was not used for longest goes first."""

    def __init__(self, entries: int = ENTRIES) -> None:
        self._entries = entries
        self._lock = Lock()
        self._kept: OrderedDict[bytes, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: bytes) -> int | None:
        """Return the count kept under ``key``, if there is one."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, key: bytes, count: int) -> None:
        """Keep ``count`` under ``key``."""
        with self._lock:
            self._kept[key] = count
            if len(self._kept) > self._entries:
                self._kept.popitem(last=False)


def digest(content: bytes) -> bytes:
    """Return the key of ``content``: 16 bytes, whatever its length."""
    return blake2b(content, digest_size=16).digest()
