"""What comes into a store and what leaves it. Every model is frozen."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr
from pydantic_core import from_json

from kandev_nb.attachment import (
    EndpointTestResult,
    History,
    View,
    decode_history,
    display,
    limits,
    words,
)
from kandev_nb.attachment.columns import AttemptEvidence, events_of, evidence_of_wire
from kandev_nb.attachment.model import Time, rfc3339
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.steps import Situation
from kandev_nb.errors import StoreError
from kandev_nb.shown import ShowsReports, ShowsStored, Whose
from kandev_nb.store.watching import Followed

if TYPE_CHECKING:
    from kandev_nb.store.store import Store

VARIABLE: Final = "KANDEV_NB_STORE"
"""The environment variable that names another database than the file below Jupyter's data."""

OPEN: Final = ("starting", "running")
"""The states of a session that somebody writes."""

MALFORMED: Final = "the report is malformed, or of another version"


def _storable(text: str) -> str:
    """Return the text bounded, without what a text column does not take."""
    return limits.cut_utf8(text, 4 * limits.NAME_BYTES).replace("\0", "\ufffd")


Text = Annotated[str, AfterValidator(_storable)]
Identifier = Annotated[str, Field(min_length=1, max_length=128), AfterValidator(_storable)]


class SessionRecord(BaseModel):
    """What is kept of a session beside its report."""

    model_config = ConfigDict(frozen=True)

    session_id: Identifier
    task_id: Identifier
    task_title: Text = ""
    name: Text = ""
    agent_id: Text = ""
    agent_title: Text = ""
    agent_profile_id: Text = ""
    started_at: Time = Field(min_length=1)
    state: Text = ""
    """One of :data:`kandev_nb.session.core.State`; an open one holds the session's lease."""

    @property
    def is_open(self) -> bool:
        """Whether more is to come from this writer."""
        return self.state in OPEN


class Skipped(NamedTuple):
    """What was not read, and why; ``session_id`` is the place in a file where there is no ID."""

    session_id: str
    reason: str


class Stored(NamedTuple):
    """A report as it is stored: its JSON without tools, and the catalogs that its rows refer to."""

    body: str
    catalogs: Mapping[int, str]

    def decode(self) -> History | None:
        """Return the report, or ``None`` for one that cannot be read."""
        try:
            wire = from_json(self.body)
            for attempt in filter(None, (wire.get("current"), *wire.get("previous", ()))):
                columns = attempt["evidence"]
                attempt["evidence"] = events_of(columns, attempt["attachment_attempt_id"])
            for position, catalog in self.catalogs.items():
                wire["current"]["servers"][position]["tools"] = from_json(catalog)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None
        return decode_history(wire)


class StoredSession(ShowsStored, SessionRecord):
    """A session as the store knows it. Its report is decoded when it is first asked for.

    As the last line of a cell it shows its servers, marked as stored; those of a session that is
    live in another kernel are shown as they change.
    """

    updated_at: str = ""
    revision: int = 0
    is_live_elsewhere: bool = False
    """Whether another process writes it now."""

    _stored: Stored = PrivateAttr(default=Stored("", {}))
    _is_ours: bool = PrivateAttr(default=False)
    _followed: Callable[[], Followed] | None = PrivateAttr(default=None)
    _report: History | None = PrivateAttr(default=None)

    def with_stored(self, stored: Stored, *, is_ours: bool) -> "StoredSession":
        """Give the session its report, once, and return it.

        ``is_ours`` tells that it is as we wrote it, and so as safe as what we show.
        """
        self._stored, self._is_ours = stored, is_ours
        return self

    @property
    def report(self) -> History:
        """The report. Raises :class:`~kandev_nb.errors.StoreError` for one that is malformed."""
        if self._report is None:
            self._report = self.decode()
        if self._report is None:
            raise StoreError(
                f"Session {self.session_id} cannot be shown: {MALFORMED}.",
                reason_code=ReasonCode.STORE_FAILED,
            )
        return self._report

    @property
    def view(self) -> View:
        """What a person is shown of the report."""
        named = f'task "{self.task_title}" · session "{self.name}"'
        advice = None if self.is_live_elsewhere else Situation()
        view = display(self.report, session=named, agent=self.agent_id, situation=advice)
        return view.model_copy(update={"notes": (*view.notes, words.say(self._note))})

    def evidence(self) -> Iterable[AttemptEvidence]:
        """Return the evidence of each kept attempt as columns, the oldest first."""
        if not self._is_ours:
            return super().evidence()
        return evidence_of_wire(from_json(self._stored.body))

    @property
    def whose(self) -> Whose:
        """What tells the session from others, as frames of many sessions say it."""
        return Whose(self.session_id, self.name, self.task_title, self.agent_id)

    def followed_in(self, store: "Store") -> None:
        """Say where it can be read again."""
        self._followed = lambda: Followed(store, self)

    def _repr_mimebundle_(self, **more: Any) -> dict[str, Any]:
        if not self.is_live_elsewhere or self._followed is None:
            return super()._repr_mimebundle_(**more)
        from kandev_nb.widgets import StatusWidget

        shown = StatusWidget(self._followed())._repr_mimebundle_()
        return {**(shown[0] if shown else {}), "text/plain": str(self)}

    @property
    def _note(self) -> str:
        if self.is_live_elsewhere:
            return "note.stored_elsewhere"
        return "note.stored_lost" if self.is_open else "note.stored"

    def decode(self) -> History | None:
        """Return the report without keeping it, ``None`` for one that is malformed."""
        return self._stored.decode()


class StoredSessions(ShowsReports[StoredSession]):
    """Sessions, the one that changed last first, and those that could not be read."""

    def __init__(self, sessions: Sequence[StoredSession], skipped: Sequence[Skipped]) -> None:
        super().__init__(sessions)
        self.skipped = tuple(skipped)

    def __repr__(self) -> str:
        lines = [
            f"{each.session_id} · {each.task_title} · {each.name} · {each.agent_id} · {each.state}"
            for each in self._sessions
        ]
        lines += [f"skipped {session_id}: {reason}" for session_id, reason in self.skipped]
        return "\n".join(lines) or "No stored sessions."


class StoredTest(NamedTuple):
    """One result of an endpoint test, of the history that the store keeps of them."""

    server_name: str
    result: EndpointTestResult


class Imported(NamedTuple):
    """What an import did: sessions written, sessions that were as new here, and the rest."""

    imported: int
    older: int
    skipped: tuple[Skipped, ...]


class Offer(NamedTuple):
    """A session and its report, on the way into the store."""

    record: SessionRecord
    history: History

    @property
    def session_id(self) -> str:
        """The session's ID."""
        return self.record.session_id


def moment(time: str) -> float:
    """Return a time of the wire as seconds since the epoch, for comparing and sorting."""
    return datetime.fromisoformat(rfc3339(time)).timestamp()
