"""What is known of a session's MCP servers: the report, how it grows, how it is shown.

Evidence comes in through :func:`apply`, which returns the next :class:`History`; :func:`display`
makes the words for a person. Everything here is pure: no I/O, no threads, no clock.
"""

from kandev_nb.attachment import limits
from kandev_nb.attachment.catalog import Catalog, normalize_catalog
from kandev_nb.attachment.display import View, display
from kandev_nb.attachment.model import (
    Attempt,
    EndpointTestResult,
    Evidence,
    EvidenceKind,
    History,
    Provenance,
    ServerAttachment,
    Status,
    ToolSummary,
)
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.reducer import (
    apply,
    apply_repeated,
    end_attempt,
    note_late_traffic,
    note_tools_changed,
    start_attempt,
)
from kandev_nb.attachment.sanitize import KnownSecrets, sanitize_summary, sanitize_target
from kandev_nb.attachment.snapshot import decode_history, newer

__all__ = [
    "Attempt",
    "Catalog",
    "EndpointTestResult",
    "Evidence",
    "EvidenceKind",
    "History",
    "KnownSecrets",
    "Provenance",
    "ReasonCode",
    "ServerAttachment",
    "Status",
    "ToolSummary",
    "View",
    "apply",
    "apply_repeated",
    "decode_history",
    "display",
    "end_attempt",
    "limits",
    "newer",
    "normalize_catalog",
    "note_late_traffic",
    "note_tools_changed",
    "sanitize_summary",
    "sanitize_target",
    "start_attempt",
]
