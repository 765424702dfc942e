"""Waiting until a server's row has reached a status."""

import asyncio
from typing import Final

from kandev_nb import runtime
from kandev_nb.attachment import History, ReasonCode, ServerAttachment, Status
from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.attachment.words import visible
from kandev_nb.errors import AttachmentFailed, ConfigError, WaitTimeout
from kandev_nb.session.core import SessionCore
from kandev_nb.session.launch import wrong

_RANKS: Final[dict[str, int]] = {Status.DELIVERED: 1, Status.CONNECTED: 2, Status.ACTIVE: 3}
_LEFT_OUT: Final = (Status.FAILED, Status.FILTERED, Status.UNAVAILABLE)


async def wait_for(
    session: SessionCore, name: str, status: str, timeout: float | None
) -> ServerAttachment:
    """Return the row of server ``name`` once it is at ``status`` or above.

    The newest attempt counts. Raises ``AttachmentFailed`` as soon as the row is failed, filtered
    or unavailable, ``WaitTimeout`` after ``timeout`` seconds, ``AgentError`` when the session is
    over, ``ConfigError`` for a status that cannot be waited for or a server that is not there.
    """
    if status not in _RANKS:
        raise wrong(f"There is no waiting for the status {status!r}. Wait for {', '.join(_RANKS)}.")
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        loop.call_soon_threadsafe(changed.set)

    stop_watching = session.ledger.watch(wake)
    try:
        await runtime.in_thread(session.ledger.drain)
        if row := _reached(session, session.ledger.history, name, status):
            return row
        async with asyncio.timeout(timeout):
            while True:
                changed.clear()
                if row := _reached(session, session.ledger.history, name, status):
                    return row
                await changed.wait()
    except TimeoutError:
        raise WaitTimeout(
            f"{name!r} was not {status} within {timeout:g} s.\n{_explained(session, name)}",
            reason_code=ReasonCode.NOT_REACHED,
        ) from None
    finally:
        stop_watching()


def _reached(
    session: SessionCore, history: History, name: str, status: str
) -> ServerAttachment | None:
    """Return the row if it is there already; raise when it cannot get there."""
    row = history.current.server(name) if history.current else None
    if row is None and not _is_meant(session, name):
        raise _unknown(history, name)
    if row is not None and _RANKS.get(row.status, 0) >= _RANKS[status]:
        return row
    if row is not None and row.status in _LEFT_OUT:
        raise AttachmentFailed(
            f"{name!r} is {row.status}.\n{_explained(session, name)}",
            reason_code=row.reason_code or ReasonCode.NOT_REACHED,
        )
    if history.current is None or history.current.ended_at:
        error = session.over()
        error.add_note(_explained(session, name))
        raise error
    return None


def _is_meant(session: SessionCore, name: str) -> bool:
    """Say whether there will be such a row: a new attempt begins with none."""
    return name == BUILT_IN or any(name == decision.row for decision in session.launch.servers)


def _explained(session: SessionCore, name: str) -> str:
    row = session.view(session.ledger.history).row(name)
    return row.explanation if row else ""


def _unknown(history: History, name: str) -> ConfigError:
    names = [visible(row.name) for row in history.current.servers] if history.current else []
    return ConfigError(
        f"This session has no server {name!r}. It has: {', '.join(names) or 'none'}.",
        reason_code=ReasonCode.SERVER_UNKNOWN,
    )
