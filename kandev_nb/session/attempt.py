"""One attachment attempt: what is recorded of it on the way from decision to acceptance.

The attempt is recorded before anything is delivered, so that it supersedes the one before it at
once (EV-7). ``delivered`` is recorded when the request has been written to the agent (CF-6).
"""

from collections.abc import Iterable
from typing import Any

from kandev_nb.attachment import Attempt, Evidence, EvidenceKind, Provenance, ReasonCode
from kandev_nb.attachment.model import utc_now
from kandev_nb.attachment.reasons import meaning
from kandev_nb.ledger import Ledger
from kandev_nb.servers import Decision, Note
from kandev_nb.session.attribution import Refusal


class AttemptRecorder:
    """Tells the ledger what happens to one attempt."""

    def __init__(self, ledger: Ledger, attempt: Attempt) -> None:
        self.attempt_id = attempt.attachment_attempt_id
        self.delivered: tuple[str, ...] = ()
        self._ledger = ledger
        ledger.start(attempt)

    def configured(self, decision: Decision, source: str) -> None:
        """The server is part of what was meant; each hint about it is a fact of its own."""
        facts = {
            "server_name": decision.row,
            "source": source,
            "transport": decision.transport,
            "target": decision.target,
            "original_name": decision.name if decision.name != decision.row else "",
        }
        for hint in decision.hints or (None,):
            self._tell(EvidenceKind.CONFIGURED, **facts, **_said(hint))

    def left_out(self, decision: Decision) -> None:
        """The server will not reach the agent, for the decision's reason."""
        self._tell(decision.outcome, server_name=decision.row, **_said(decision.reason))

    def delivered_all(self, decisions: Iterable[Decision]) -> None:
        """The session request with these servers has been written to the agent."""
        delivered = [decision for decision in decisions if decision.server]
        self.delivered = tuple(decision.row for decision in delivered)
        for decision in delivered:
            self._tell(
                EvidenceKind.DELIVERED,
                server_name=decision.row,
                transport=decision.wire_transport,
                target=decision.target,
                **_said(decision.on_delivery),
            )

    def accepted(self, acp_session_id: str) -> None:
        """The agent answered the session request with success."""
        self._tell(EvidenceKind.SESSION_ACCEPTED, acp_session_id=acp_session_id)

    def refused(self, refusal: Refusal) -> None:
        """The agent says that it could not attach one server."""
        self._tell(
            EvidenceKind.EXPLICIT_ERROR,
            server_name=refusal.server,
            reason_code=ReasonCode.AGENT_REPORTED_FAILURE,
            # What was said of it before must not stand as the reason.
            summary=refusal.words or meaning(ReasonCode.AGENT_REPORTED_FAILURE),
        )

    def not_materialized(self, decisions: Iterable[Decision], summary: str) -> None:
        """The CLI was given none of these servers, or was not started with them (CF-4)."""
        for decision in decisions:
            if decision.delivers:
                self._tell(
                    EvidenceKind.EXPLICIT_ERROR,
                    server_name=decision.row,
                    reason_code=ReasonCode.MATERIALIZATION_FAILED,
                    summary=summary,
                    provenance=Provenance.DECIDED,
                )

    def failed(self, reason_code: str, summary: str, said_by: Provenance) -> None:
        """The attempt as a whole failed; no server is to blame."""
        self._tell(
            EvidenceKind.EXPLICIT_ERROR,
            reason_code=reason_code,
            summary=summary,
            provenance=said_by,
        )

    def ended(self, reason: str) -> None:
        """Nothing more will come of the attempt."""
        self._ledger.end(self.attempt_id, reason)

    def _tell(self, kind: EvidenceKind, **facts: Any) -> None:
        self._ledger.record(
            Evidence(
                attachment_attempt_id=self.attempt_id, kind=kind, occurred_at=utc_now(), **facts
            )
        )


def _said(note: Note | None) -> dict[str, str]:
    return {} if note is None else {"reason_code": note.code, "summary": str(note)}
