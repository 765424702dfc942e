"""What every session shows of its report, whether it is live here or was stored."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, overload

from kandev_nb.attachment import (
    History,
    ReasonCode,
    ServerAttachment,
    View,
    display,
    sanitize_summary,
)
from kandev_nb.attachment.columns import AttemptEvidence, evidence_of
from kandev_nb.attachment.display import MIME_TYPE, mime_bundle
from kandev_nb.attachment.words import visible
from kandev_nb.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from kandev_nb.diagnose.diagnostics import Diagnostics


class Whose(NamedTuple):
    """The session's ID and name, its task's title and its agent."""

    session_id: str
    session: str
    task: str
    agent: str


class Background(NamedTuple):
    """What diagnostics say of a session beside its report; empty where it is not known.

    ``redact`` takes out of others' words what the session knows as secret, and what looks like it.
    """

    redact: Callable[[str], str]
    state: str = ""
    agent_title: str = ""
    agent_name: str = ""
    agent_version: str = ""
    notes: tuple[str, ...] = ()
    is_stored: bool = False


class ShowsReport(ABC):
    """A session as far as its report goes."""

    @property
    @abstractmethod
    def report(self) -> History:
        """The report: the current attempt and the two before it, with all that is known now."""

    @property
    @abstractmethod
    def view(self) -> View:
        """What a person is shown of the report."""

    @property
    @abstractmethod
    def whose(self) -> "Whose":
        """What tells the session from others, as frames of many sessions say it."""

    @property
    @abstractmethod
    def background(self) -> "Background":
        """What diagnostics say of the session beside its report."""

    def evidence(self) -> Iterable[AttemptEvidence]:
        """Return the evidence of each kept attempt as columns, the oldest first."""
        return evidence_of(self.report)

    def status(self, name: str) -> str:
        """Return the wire status of server ``name``. Raises ``ConfigError`` for an unknown one."""
        return self._row(name).status

    def explain(self, name: str) -> str:
        """Return what is proven of server ``name``, what is not, and what would settle it."""
        self._row(name)
        row = self.view.row(name)
        return row.explanation if row else ""

    def diagnostics(self) -> "Diagnostics":
        """Return what a bug report needs of the session, as text or JSON that is safe to paste.

        It has no word of the agent's output; the last lines say what else is left out.
        """
        from kandev_nb.diagnose.diagnostics import gather

        return gather(self.report, self.whose, self.background)

    def servers(self) -> "pd.DataFrame":
        """Return the current attempt's servers, one a row (:func:`kandev_nb.frames.servers`)."""
        from kandev_nb import frames

        return frames.servers(self.report)

    def timeline(self) -> "pd.DataFrame":
        """Return the evidence of all kept attempts (:func:`kandev_nb.frames.timeline`)."""
        from kandev_nb import frames

        return frames.timeline(self.report)

    def _row(self, name: str) -> ServerAttachment:
        attempt = self.report.current
        row = attempt.server(name) if attempt else None
        if row is None:
            known = ", ".join(visible(row.name) for row in attempt.servers) if attempt else ""
            raise ConfigError(
                f"This session has no server {name!r}. It has: {known or 'none'}.",
                reason_code=ReasonCode.SERVER_UNKNOWN,
            )
        return row

    def __str__(self) -> str:
        return str(self.view)

    def __repr__(self) -> str:
        return str(self.view)


class ShowsStored(ShowsReport):
    """A session that is not live here; a cell shows its servers as a saved notebook does."""

    state: str = ""
    agent_title: str = ""

    @property
    def background(self) -> Background:
        """What diagnostics say of the session beside its report."""
        of_report = display(self.report).notes
        notes = tuple(note.text for note in self.view.notes if note not in of_report)
        return Background(
            sanitize_summary,
            self.state,
            self.agent_title,
            notes=notes,
            is_stored=True,
        )

    def test_endpoint(self, name: str, **_: Any) -> NoReturn:
        """Refuse: no configuration is stored to reach server ``name`` by (DI-1).

        Raises:
            ConfigError: there is no such server.
            Unsupported: always, otherwise (``not_live``).
        """
        from kandev_nb.diagnose.endpoint import not_live

        self._row(name)
        whose = self.whose
        raise not_live(whose.session or whose.session_id)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        view = self.view
        saved = {**mime_bundle(self.report)[MIME_TYPE], "rows": view.to_rows()}
        return {MIME_TYPE: saved, "text/plain": str(view)}


S = TypeVar("S", bound=ShowsReport)


class ShowsReports(Sequence[S]):
    """Sessions in an order, and the frames of all of them."""

    def __init__(self, sessions: Iterable[S]) -> None:
        self._sessions = tuple(sessions)

    @overload
    def __getitem__(self, index: int) -> S: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[S, ...]: ...
    def __getitem__(self, index: int | slice) -> S | tuple[S, ...]:
        return self._sessions[index]

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[S]:
        return iter(self._sessions)

    def servers(self) -> "pd.DataFrame":
        """Return the servers of every session (columns: :data:`kandev_nb.frames.ALL_SERVERS`)."""
        from kandev_nb import frames

        return frames.all_servers(self)

    def timeline(self) -> "pd.DataFrame":
        """Return the evidence of every session (:data:`kandev_nb.frames.ALL_TIMELINES`)."""
        from kandev_nb import frames

        return frames.all_timelines(self)
