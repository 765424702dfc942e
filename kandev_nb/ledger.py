"""The one door for evidence.

Whoever learns a fact calls :meth:`Ledger.record` and goes on: it never blocks and never raises.
A worker thread takes the facts in order, redacts them, counts tokens, reduces them into the next
report, and hands that to the subscribers. One ledger belongs to one session.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Any, Final, TypeVar

from kandev_nb.attachment import (
    Attempt,
    EndpointTestResult,
    Evidence,
    History,
    apply,
    apply_repeated,
    end_attempt,
    note_late_traffic,
    start_attempt,
)
from kandev_nb.attachment.model import NOTHING_STARTED, EvidenceKind, utc_now
from kandev_nb.attachment.reasons import meaning
from kandev_nb.attachment.reducer import note_endpoint_test
from kandev_nb.attachment.sanitize import KnownSecrets, sanitize_summary
from kandev_nb.sighting import Fact, Sighting, Unread, Writer, in_runs

_log = logging.getLogger("kandev_nb.ledger")

T = TypeVar("T")
Subscriber = Callable[[History], None]

_PACE: Final = 0.01
"""Seconds between two batches: what comes quickly is reduced and told together."""

DRAIN_SECONDS: Final = 2.0
"""How long a reader waits for what was recorded before it asked."""


class Ledger:
    """Keeps the report of one session.

    :meth:`record`, :meth:`start` and :meth:`end` may be called from any thread. ``history`` is the
    report now; :meth:`drain` first waits for what has been recorded.
    """

    def __init__(self) -> None:
        self._history = NOTHING_STARTED
        self._secrets = KnownSecrets(())
        self._facts: deque[Fact | Unread] = deque()
        self._writer = Writer()
        self._changed = threading.Condition()
        self._readers: deque[threading.Event] = deque()
        self._is_idle = False
        self._closed = False
        self._subscriptions: list[_Subscription] = []
        self._watchers: list[Callable[[], None]] = []
        self._worker = threading.Thread(target=self._work, name="kandev-nb-ledger", daemon=True)
        self._worker.start()

    @property
    def history(self) -> History:
        """The report as reduced so far."""
        return self._history

    def protect(self, secrets: Iterable[str]) -> None:
        """Redact these values from every summary from now on (SA-2)."""
        self._secrets = self._secrets | KnownSecrets(secrets)

    def redact(self, text: str) -> str:
        """Return ``text`` as a summary: without the session's secrets, sanitized and bounded."""
        return sanitize_summary(text, self._secrets)

    def start(self, attempt: Attempt) -> None:
        """Make ``attempt`` the current one."""
        self.record(lambda history: start_attempt(history, attempt))

    def end(self, attachment_attempt_id: str, reason: str) -> None:
        """Mark the attempt as ended, now."""
        at = utc_now()
        self.record(lambda history: end_attempt(history, attachment_attempt_id, at, reason))

    def tested(self, attachment_attempt_id: str, name: str, result: EndpointTestResult) -> None:
        """Put the outcome of an endpoint test on a row of the attempt in which it began (DI-1)."""
        self.record(
            lambda history: note_endpoint_test(history, attachment_attempt_id, name, result)
        )

    def record(self, fact: Fact | Unread) -> None:
        """Take one fact, or what the worker can read some from."""
        # A request comes through here. The worker says that it is idle before it looks once more.
        self._facts.append(fact)
        if self._is_idle:
            with self._changed:
                self._changed.notify_all()

    def drain(self, timeout: float = DRAIN_SECONDS) -> History:
        """Return the report once everything recorded before this call is in it.

        After ``timeout`` seconds the report is returned as it is.
        """
        reduced = threading.Event()
        with self._changed:
            self._readers.append(reduced)
            self._changed.notify_all()
        if self._closed:
            self._worker.join(timeout)
        else:
            reduced.wait(timeout)
        return self._history

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call ``subscriber`` with each new report, on a thread of its own.

        A slow subscriber misses reports, never the last one, and delays nobody; one that raises is
        logged and stays. Returns the function that ends the subscription. A closed ledger has
        nothing more to tell.
        """
        if self._closed:
            return lambda: None
        subscription = _Subscription(subscriber)
        self._subscriptions.append(subscription)

        def unsubscribe() -> None:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)
            subscription.close()

        return unsubscribe

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` on the worker after each change. It must return at once."""
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed)

    def close(self) -> None:
        """Reduce what was recorded, deliver it, and end the threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._worker.join(DRAIN_SECONDS)
        for subscription in self._subscriptions:
            subscription.close()

    def disown(self) -> None:
        """In a forked child: nothing more comes, and a lock that was held at the fork stays so."""
        self._changed = threading.Condition()
        self._closed = True

    def _work(self) -> None:
        goes_on, ended_at = True, -_PACE
        while goes_on:
            goes_on = self._rest(ended_at + _PACE - monotonic())
            # What a reader waits for was recorded before it came.
            readers = _taken(self._readers)
            self._reduce_all(_taken(self._facts))
            for reduced in readers:
                reduced.set()
            ended_at = monotonic()

    def _rest(self, pause: float) -> bool:
        """Wait until there is something to do; tell whether the ledger is still open.

        What comes within ``pause`` seconds of the last batch is one batch, unless a reader waits.
        """
        with self._changed:
            if pause > 0:
                self._changed.wait_for(lambda: self._readers or self._closed, pause)
            self._is_idle = True
            self._changed.wait_for(lambda: self._facts or self._readers or self._closed)
            self._is_idle = False
            return not self._closed

    def _reduce_all(self, batch: Iterable[Fact | Unread]) -> None:
        before = self._history
        for run in in_runs(self._read(batch), lambda: self._history.current):
            recorded = self._guarded(self._apply, run)
            if not recorded and len(run) > 1:
                for fact in run:
                    self._guarded(self._apply, [fact])
        if self._history is not before:
            self._tell()

    @staticmethod
    def _read(batch: Iterable[Fact | Unread]) -> Iterator[Fact]:
        for fact in batch:
            if not isinstance(fact, Unread):
                yield fact
                continue
            try:
                yield from list(fact.read())
            except Exception as error:  # noqa: BLE001 - one fact must not end the worker
                _log.warning("a request could not be observed: %s", type(error).__name__)

    def _guarded(self, step: Callable[..., None], *values: Any) -> bool:
        try:
            step(*values)
        except BaseException as error:  # noqa: BLE001 - one fact must not end the worker
            _log.warning("a fact could not be recorded: %s", type(error).__name__)
            return False
        return True

    def _apply(self, run: list[Fact]) -> None:
        history = self._history
        sightings = [fact for fact in run if isinstance(fact, Sighting)]
        if len(sightings) > 1:
            # Calls and lists: they have no summary that could hold a secret.
            events = [self._writer.evidence(sighting) for sighting in sightings]
            _debug(*events)
            changed = apply_repeated(history, events)
        else:
            changed = self._reduce(history, run[0])
        if changed is not history:
            self._history = changed.updated(revision=history.revision + len(run))

    def _tell(self) -> None:
        for subscription in tuple(self._subscriptions):
            subscription.offer(self._history)
        for changed in tuple(self._watchers):
            try:
                changed()
            except Exception as error:  # noqa: BLE001 - a watcher never changes a session (SE-5)
                _log.warning("a watcher raised %s", type(error).__name__)

    def _reduce(self, history: History, fact: Fact) -> History:
        if isinstance(fact, Sighting):
            fact = self._writer.evidence(fact)
        if not isinstance(fact, Evidence):
            return fact(history)
        evidence = self._safe(fact)
        _debug(evidence)
        reduced, accepted = apply(history, evidence)
        if not accepted and evidence.is_observation and _is_traffic(evidence):
            return note_late_traffic(history, evidence.occurred_at)
        return reduced

    def _safe(self, evidence: Evidence) -> Evidence:
        # A sentence of our own catalogue has nobody's secret in it, whatever words a session knows.
        if evidence.summary in ("", meaning(evidence.reason_code)):
            return evidence
        return evidence.updated(summary=self.redact(evidence.summary))


def _debug(*events: Evidence) -> None:
    if _log.isEnabledFor(logging.DEBUG):
        for event in events:
            where = f" on {event.connection_id}" if event.connection_id else ""
            what = (event.tool_name, event.reason_code, event.tool_count and str(event.tool_count))
            told = "".join(f" {detail}" for detail in what if detail)
            who = event.server_name or "attempt"
            _log.debug("%s: %s %s%s%s", event.attachment_attempt_id, who, event.kind, told, where)


def _taken(queue: deque[T]) -> list[T]:
    """Empty a queue that others may append to meanwhile."""
    return [queue.popleft() for _ in range(len(queue))]


def _is_traffic(evidence: Evidence) -> bool:
    return evidence.kind != EvidenceKind.CONNECTION_CLOSED


class _Subscription:
    """One subscriber, its thread, and the newest report that it has not seen."""

    def __init__(self, subscriber: Subscriber) -> None:
        self._subscriber = subscriber
        self._changed = threading.Condition()
        self._next: History | None = None
        self._closed = False
        threading.Thread(target=self._run, name="kandev-nb-subscriber", daemon=True).start()

    def offer(self, history: History) -> None:
        with self._changed:
            self._next = history
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while (history := self._take()) is not None:
            try:
                self._subscriber(history)
            except BaseException as error:  # noqa: BLE001 - a subscriber never changes a session (SE-5)
                _log.warning("a subscriber raised %s", type(error).__name__)

    def _take(self) -> History | None:
        with self._changed:
            self._changed.wait_for(lambda: self._next is not None or self._closed)
            history, self._next = self._next, None
            return history
