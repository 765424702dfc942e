"""Why a test ended early: a code, and a few words of our own beside its meaning.

Nothing that a server said is repeated, and no text of an exception: both may hold anything. What is
told are statuses, error numbers, counts and protocol versions.
"""

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx2

from kandev_nb.attachment.reasons import REASONS, Reason, ReasonCode

_HOST: Final = re.compile(rb"invalid host|host header|host not allowed", re.IGNORECASE)
_ORIGIN: Final = re.compile(rb"\borigin\b", re.IGNORECASE)
_VERSION: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_VERSIONS_NAMED: Final = 8
_NUMBER_BITS: Final = 64

_STATUSES: Final[dict[int, ReasonCode]] = {
    401: ReasonCode.AUTH_REQUIRED,
    403: ReasonCode.FORBIDDEN,
    404: ReasonCode.ENDPOINT_NOT_FOUND,
    406: ReasonCode.NOT_ACCEPTABLE,
    421: ReasonCode.HOST_REJECTED,
}
_REFUSALS: Final = (401, 403, 405, 406, 421)
"""Statuses that say the same in both protocol eras."""

_OF_A_SERVER: Final[dict[str, Reason]] = {
    ReasonCode.AUTH_REQUIRED: Reason(
        "The server asks for a login.",
        "Give its credentials in the headers of its entry, or log in with the agent's own command.",
    ),
    ReasonCode.INITIALIZE_REFUSED: Reason(
        "The server refused the handshake.",
        "Look at the server's own log.",
    ),
    ReasonCode.SESSION_UNKNOWN: Reason(
        "The server does not know the session that it gave a moment ago.",
        "Check that every request reaches the same instance of the server.",
    ),
    ReasonCode.SPAWN_FAILED: Reason(
        "The server's command could not be started.",
        "Check the command, its permissions and its arguments.",
    ),
    ReasonCode.TOOLS_LIST_FAILED: Reason(
        "The server could not list its tools.",
        "Look at the server's own log.",
    ),
}
"""What codes that a session has too mean of a server that is tested."""


HTTP_ERRORS: Final = (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError)
"""What the HTTP client raises: what a server gave us to send back, an ID or a cookie, may be text
that no header can hold."""


class Fault(Exception):  # noqa: N818 - an outcome of a test, not an error of ours
    """What ended a test.

    ``detail`` is shown and so made of our own words; ``status`` is that of an HTTP answer and
    ``error`` the JSON-RPC error in an answer, both for deciding how to go on.
    """

    def __init__(
        self,
        code: ReasonCode,
        detail: str = "",
        *,
        status: int = 0,
        error: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.status = status
        self.error = error

    @property
    def is_final(self) -> bool:
        """Whether another protocol era would fare no better."""
        return self.status in _REFUSALS or self.code == ReasonCode.OTHER_ORIGIN

    @property
    def number(self) -> int | None:
        """The JSON-RPC error code."""
        number = (self.error or {}).get("code")
        return number if type(number) is int and number.bit_length() < _NUMBER_BITS else None

    @property
    def versions(self) -> tuple[str, ...]:
        """The protocol versions that the server says it speaks."""
        said = (self.error or {}).get("data")
        return versions_in(said.get("supported")) if isinstance(said, Mapping) else ()


def reason(code: str) -> Reason:
    """Return what a code means of a server that is tested, and what would settle it."""
    return _OF_A_SERVER.get(code) or REASONS.get(code) or Reason(code, "")


def summary(code: str, detail: str) -> str:
    """Return the sentence for a code, with what is told beside it."""
    meaning = reason(code).meaning
    return f"{meaning.removesuffix('.')} ({detail})." if detail else meaning


def versions_in(said: object) -> tuple[str, ...]:
    """Return the protocol versions in a list; what does not look like one is left out."""
    given = said if isinstance(said, list) else []
    return tuple(v for v in given if isinstance(v, str) and _VERSION.fullmatch(v))


def version_unsupported(versions: tuple[str, ...]) -> Fault:
    """Return the fault of a server that speaks these versions and no other."""
    named = ", ".join(versions[:_VERSIONS_NAMED]) or "no version that is named as MCP names its own"
    return Fault(ReasonCode.VERSION_UNSUPPORTED, f"it speaks {named}")


def refused(
    code: ReasonCode, error: object, *, status: int = 0, fallback: str = "no error object"
) -> Fault:
    """Return the fault for a JSON-RPC error (JSON-RPC 2.0, "Error object")."""
    if not isinstance(error, Mapping):
        return Fault(ReasonCode.MALFORMED_RESPONSE, fallback, status=status)
    fault = Fault(code, status=status, error=error)
    said = f"JSON-RPC error {fault.number}" if fault.number is not None else "JSON-RPC error"
    fault.detail = f"HTTP {status}, {said}" if status else said
    return fault


def from_status(status: int, body: bytes, *, in_session: bool, method: str) -> Fault:
    """Return the fault for an HTTP status that is no success; ``body`` is the start of the answer.

    It is searched for words by which servers say which of two things they mean.
    """
    code = _STATUSES.get(status, ReasonCode.HTTP_ERROR)
    if status in (404, 410) and in_session:
        code = ReasonCode.SESSION_UNKNOWN
    elif status == 405 and method == "POST":
        code = ReasonCode.NOT_STREAMABLE_HTTP
    elif status == 403 and _HOST.search(body):
        code = ReasonCode.HOST_REJECTED
    elif status == 403 and _ORIGIN.search(body):
        code = ReasonCode.ORIGIN_REJECTED
    return Fault(code, f"HTTP {status}", status=status)


def from_http(error: Exception) -> Fault:
    """Return the fault for what the HTTP client raised."""
    causes = tuple(_causes(error))
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return Fault(ReasonCode.TLS_FAILED, _ssl_words(causes))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return Fault(ReasonCode.DNS_FAILED)
    if isinstance(error, httpx2.ConnectError):
        return Fault(ReasonCode.CONNECTION_REFUSED, _os_words(causes))
    if isinstance(error, httpx2.SSEError):
        return Fault(ReasonCode.MALFORMED_RESPONSE, "an event that is too large")
    if isinstance(error, httpx2.RemoteProtocolError) and not _was_hung_up(error):
        return Fault(ReasonCode.MALFORMED_RESPONSE, "what came back is not HTTP")
    if isinstance(error, httpx2.LocalProtocolError | httpx2.InvalidURL | UnicodeError):
        return Fault(ReasonCode.HTTP_ERROR, "its URL or a header cannot be sent")
    return Fault(ReasonCode.NO_PROTOCOL_OUTPUT, "it ended the connection")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what it came from, also what was raised together."""
    while error is not None:
        yield error
        for part in getattr(error, "exceptions", ()):
            yield from _causes(part)
        error = error.__cause__ or error.__context__


def _ssl_words(causes: tuple[BaseException, ...]) -> str:
    refused = next((c for c in causes if isinstance(c, ssl.SSLCertVerificationError)), None)
    return "its certificate is not trusted" if refused else ""


def _os_words(causes: tuple[BaseException, ...]) -> str:
    """Say why there was no connection where it was not simply refused."""
    numbers = [c.errno for c in causes if isinstance(c, OSError) and c.errno]
    refused = any(isinstance(c, ConnectionRefusedError) for c in causes)
    return "" if refused or not numbers else f"error {numbers[-1]} of the operating system"


def _was_hung_up(error: Exception) -> bool:
    return "disconnected" in str(error) or "closed" in str(error)
