"""The one door for evidence.

Whoever learns a fact calls :meth:`Ledger.record` and goes on: it never blocks and never raises.
A worker thread takes the facts in order, redacts them, counts tokens, reduces them into the next
report, and hands that to the subscribers. One ledger belongs to one session.
"""

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kandev_nb import tokens
from kandev_nb.attachment import (
    Attempt,
    Evidence,
    History,
    apply,
    end_attempt,
    note_late_traffic,
    note_tools_changed,
    start_attempt,
)
from kandev_nb.attachment.catalog import summarize
from kandev_nb.attachment.model import NOTHING_STARTED, EvidenceKind, from_nanoseconds, utc_now
from kandev_nb.attachment.sanitize import KnownSecrets, sanitize_summary

_log = logging.getLogger("kandev_nb.ledger")

Subscriber = Callable[[History], None]

DRAIN_SECONDS: Final = 2.0
"""How long a reader waits for what was recorded before it asked."""


class Sighting(NamedTuple):
    """What an endpoint saw, not yet written out: that is the worker's part, not a request's.

    ``at`` and ``requested_at`` are nanoseconds since the epoch (0 for none); ``served`` are the
    wire tools behind a ``tools_list_observed``; ``facts`` are other fields of :class:`Evidence`.
    """

    attachment_attempt_id: str
    server_name: str
    kind: EvidenceKind
    at: int
    requested_at: int = 0
    connection_id: str = ""
    facts: Mapping[str, Any] = MappingProxyType({})
    served: tuple[Mapping[str, Any], ...] = ()

    def evidence(self) -> Evidence:
        """Return the evidence, without a catalog."""
        return Evidence(
            attachment_attempt_id=self.attachment_attempt_id,
            server_name=self.server_name,
            kind=self.kind,
            occurred_at=from_nanoseconds(self.at),
            requested_at=from_nanoseconds(self.requested_at) if self.requested_at else "",
            connection_id=self.connection_id,
            **self.facts,
        )


_Change = Callable[[History], History]


class Ledger:
    """Keeps the report of one session.

    :meth:`record`, :meth:`start` and :meth:`end` may be called from any thread. ``history`` is the
    report now; :meth:`drain` first waits for what has been recorded.
    """

    def __init__(self) -> None:
        self._history = NOTHING_STARTED
        self._secrets = KnownSecrets(())
        self._facts: queue.SimpleQueue[_Change | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._recorded = 0
        self._reduced = 0
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
        self._submit(lambda history: start_attempt(history, attempt))

    def end(self, attachment_attempt_id: str, reason: str) -> None:
        """Mark the attempt as ended, now."""
        at = utc_now()
        self._submit(lambda history: end_attempt(history, attachment_attempt_id, at, reason))

    def record(self, fact: Evidence | Sighting) -> None:
        """Take one fact."""
        self._submit(lambda history: self._reduce(history, fact))

    def tools_changed(self, attachment_attempt_id: str, server_name: str) -> None:
        """Note that the server's tools are others from now on."""
        at = utc_now()
        self._submit(
            lambda history: note_tools_changed(history, attachment_attempt_id, server_name, at)
        )

    def drain(self, timeout: float = DRAIN_SECONDS) -> History:
        """Return the report once everything recorded before this call is in it.

        After ``timeout`` seconds the report is returned as it is.
        """
        with self._changed:
            wanted = self._recorded
            self._changed.wait_for(lambda: self._reduced >= wanted, timeout)
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
        self._closed = True
        self._facts.put(None)
        self._worker.join(DRAIN_SECONDS)
        for subscription in self._subscriptions:
            subscription.close()

    def _submit(self, change: _Change) -> None:
        with self._changed:
            self._recorded += 1
            self._facts.put(change)

    def _work(self) -> None:
        while (change := self._facts.get()) is not None:
            try:
                self._apply(change)
            except BaseException as error:  # noqa: BLE001 - one fact must not end the worker
                _log.warning("a fact could not be recorded: %s", type(error).__name__)
            with self._changed:
                self._reduced += 1
                self._changed.notify_all()

    def _apply(self, change: _Change) -> None:
        changed = change(self._history)
        if changed is self._history:
            return
        self._history = changed.updated(revision=self._history.revision + 1)
        self._tell()

    def _tell(self) -> None:
        for subscription in tuple(self._subscriptions):
            subscription.offer(self._history)
        for changed in tuple(self._watchers):
            changed()

    def _reduce(self, history: History, fact: Evidence | Sighting) -> History:
        evidence = self._safe(fact if isinstance(fact, Evidence) else fact.evidence())
        if isinstance(fact, Sighting) and fact.served:
            evidence = _with_catalog(evidence, fact.served)
        reduced, accepted = apply(history, evidence)
        if not accepted and evidence.is_observation and _is_traffic(evidence):
            return note_late_traffic(history, evidence.occurred_at)
        return reduced

    def _safe(self, evidence: Evidence) -> Evidence:
        if not evidence.summary:
            return evidence
        return evidence.updated(summary=self.redact(evidence.summary))


def _with_catalog(evidence: Evidence, served: tuple[Mapping[str, Any], ...]) -> Evidence:
    tools = summarize(served, lambda tool: tokens.estimate_tool(tokens.tool_json(tool)))
    return evidence.updated(
        tools=tools,
        unnamed_tools=sum(not tool.name for tool in tools),
        tool_token_estimator=tokens.ESTIMATOR if any(t.estimated_tokens for t in tools) else "",
    )


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
