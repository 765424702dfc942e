"""What a session that another kernel writes looks like now, for a view that follows it."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kandev_nb.errors import StoreError

if TYPE_CHECKING:
    from kandev_nb.store.records import StoredSession
    from kandev_nb.store.store import Store

INTERVAL: Final = 1.0
"""Seconds between two looks into the store."""


class Followed:
    """One stored session as it is now: what :class:`kandev_nb.widgets.StatusWidget` shows."""

    def __init__(self, store: "Store", session: "StoredSession") -> None:
        self._store = store
        self._session = session

    def rows(self) -> dict[str, Any]:
        """Return what there is to show, as plain JSON values."""
        return self._session.view.to_rows()

    def subscribe(self, callback: Callable[[object], None]) -> Callable[[], None]:
        """Call ``callback`` after each change, from a thread; return what ends that.

        It ends by itself with the session's writer.
        """
        ended = threading.Event()

        def follow() -> None:
            while self._session.is_live_elsewhere and not ended.wait(INTERVAL):
                # A store that cannot be read now is asked again.
                with suppress(StoreError):
                    before, self._session = self._session, self._store.session(self._session_id)
                    if before.model_dump() != self._session.model_dump():
                        callback(None)

        threading.Thread(target=follow, name="kandev-nb-follow", daemon=True).start()
        return ended.set

    @property
    def _session_id(self) -> str:
        return self._session.session_id
