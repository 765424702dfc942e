"""Errors of an agent, turned into ours.

An answer of the agent, or the end of its process, comes in; an :class:`AgentError` that says what
happened and what to do next leaves. The peer's own words pass the sanitizer first, with the
secrets that this session knows.
"""

import re
import signal
from collections.abc import Mapping
from typing import Final

from acp import PROTOCOL_VERSION, RequestError

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import KnownSecrets, sanitize_summary
from kandev_nb.errors import AgentError, Unsupported

_AUTH_REQUIRED: Final = -32000
"""ACP's own code for it ("Error codes"); some agents say the same in words with another code."""

_ASKS_FOR_LOGIN: Final = re.compile(
    # At the start only: the words of a server that refuses a login may follow.
    r"authentication required|not (?:logged|signed) in|please (?:log|sign) in"
    r"|[\w ]{0,20}api key (?:is )?(?:missing|not)",
    re.IGNORECASE,
)


def refused(
    method: str, error: RequestError, secrets: KnownSecrets, auth_methods: tuple[str, ...] = ()
) -> AgentError:
    """Return the error for an agent that answered ``method`` with a JSON-RPC error.

    ``auth_methods`` are the IDs of the ways to log in that it advertises.
    """
    words = _words(error)
    reason = _reason(method, error, words)
    summary = sanitize_summary(words, secrets) or "no reason given"
    advice = _ADVICE[reason]
    if reason == ReasonCode.AUTH_REQUIRED and auth_methods:
        advice += f" It offers: {', '.join(map(sanitize_summary, auth_methods))}."
    return AgentError(
        f"The agent refused {method}: {summary} (code {error.code}). {advice}",
        reason_code=reason,
        code=error.code,
        data=error.data,
    )


def exited(words: str) -> AgentError:
    """Return the error for an agent that ended before it answered; ``words`` say how."""
    return AgentError(
        f"The agent {words}. Read its recent output, then start it again.",
        reason_code=ReasonCode.AGENT_EXITED,
    )


def not_offered(what: str) -> Unsupported:
    """Return the error for what the agent does not advertise; nothing was sent."""
    return Unsupported(
        f"The agent does not offer {what}. Start a new session instead, or use an agent that "
        "advertises it.",
        reason_code=ReasonCode.NOT_OFFERED,
    )


def silent(seconds: float) -> AgentError:
    """Return the error for an agent that did not answer ``initialize`` in time."""
    return AgentError(
        f"The agent did not answer initialize within {seconds:g} s. "
        "Check that the command speaks ACP on its standard input and output.",
        reason_code=ReasonCode.HANDSHAKE_TIMEOUT,
    )


def mismatch(answered: int | None) -> AgentError:
    """Return the error for an agent that speaks another version of the protocol, or none."""
    spoken = "no ACP version" if answered is None else f"ACP version {answered}"
    return AgentError(
        f"The agent answered with {spoken}; kandev-nb speaks version {PROTOCOL_VERSION}. "
        "Use a version of the agent that speaks it.",
        reason_code=ReasonCode.PROTOCOL_MISMATCH,
    )


def closed() -> AgentError:
    """Return the error for a call that was under way when we closed the agent."""
    return AgentError("The agent was closed. Start it again.", reason_code=ReasonCode.CLOSED)


def exit_words(returncode: int | None) -> str:
    """Say how a process ended, from its exit status."""
    if returncode is None:
        return "closed its output"
    if returncode >= 0:
        return f"ended with exit code {returncode}"
    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"


_ADVICE: Final[Mapping[str, str]] = {
    ReasonCode.AUTH_REQUIRED: "Log in with the agent's own command, then start it again.",
    ReasonCode.PROMPT_FAILED: "Prompt it again, or read its recent output.",
    ReasonCode.SESSION_REQUEST_FAILED: "Servers that it connected before that stay in the report.",
    ReasonCode.PROTOCOL_MISMATCH: "Use a version of the agent that speaks ACP version 1.",
}


def _reason(method: str, error: RequestError, words: str) -> ReasonCode:
    if error.code == _AUTH_REQUIRED or _ASKS_FOR_LOGIN.match(words) or _offers_login(error.data):
        return ReasonCode.AUTH_REQUIRED
    if method == "session/prompt":
        return ReasonCode.PROMPT_FAILED
    if method == "initialize":
        return ReasonCode.PROTOCOL_MISMATCH
    return ReasonCode.SESSION_REQUEST_FAILED


def _words(error: RequestError) -> str:
    """The most telling text of the error: many agents say "Internal error" and add details."""
    details = error.data.get("details") if isinstance(error.data, Mapping) else error.data
    return details if isinstance(details, str) and details else str(error)


def _offers_login(data: object) -> bool:
    return isinstance(data, Mapping) and bool(data.get("authMethods"))
