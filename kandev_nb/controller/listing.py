"""The sessions that are known: those of this controller, and those that the store has of others."""

from collections.abc import Iterator, Sequence

from kandev_nb.attachment.words import visible
from kandev_nb.controller.session import Session
from kandev_nb.shown import ShowsReports
from kandev_nb.store.records import Skipped, StoredSession

Known = Session | StoredSession


class Sessions(ShowsReports[Known]):
    """Sessions, the live ones of this controller first, then the stored ones, newest first.

    As the last line of a cell it shows a line for each.
    """

    def __init__(
        self,
        live: Sequence[Session],
        stored: Sequence[StoredSession] = (),
        skipped: Sequence[Skipped] = (),
        problem: str = "",
    ) -> None:
        # What is live here is at least as new as what was stored of it (EV-11).
        ours = {session.session_id for session in live}
        others = (session for session in stored if session.session_id not in ours)
        super().__init__((*live, *others))
        self.skipped = tuple(skipped)
        """The stored sessions that could not be read, each with the reason."""
        self.problem = problem
        """Why the stored sessions are missing; empty when they are not."""

    def __repr__(self) -> str:
        return "\n".join(self._lines()) or "No sessions."

    def _lines(self) -> Iterator[str]:
        for session in self._sessions:
            yield visible(_line(session))
        if self.skipped:
            many = f"{len(self.skipped)} stored session{'' if len(self.skipped) == 1 else 's'}"
            yield f"{many} could not be read; .skipped has the reasons."
        if self.problem:
            yield f"Stored sessions are missing: {self.problem}"


def _line(session: Known) -> str:
    whose = session.whose
    heading = f'{whose.task} · session "{whose.session}" · {whose.agent}'
    return f"{heading} · {session.state} · {_kept(session)}"


def _kept(session: Known) -> str:
    if isinstance(session, Session):
        return "live here"
    if session.is_live_elsewhere:
        return "live in another kernel"
    return "stored; its kernel has ended" if session.is_open else "stored"
