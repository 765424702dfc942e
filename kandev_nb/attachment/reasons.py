"""Reason codes as data: what each means in one line, and what would settle it.

The views, the explanations and the documentation are made from :data:`REASONS`::

    decisions   what our own configuration, or the agent's abilities, left out
    attachment  what kept one server from working
    session     what ended or refused the whole attempt
    calls       what a user's call could not do

A code that is not here (a newer writer's) is kept and shown as it is.
"""

from enum import StrEnum
from typing import Final, NamedTuple


class ReasonCode(StrEnum):
    """The stable codes. Their text never changes; new ones may come."""

    DISABLED = "disabled"
    DUPLICATE_NAME = "duplicate_name"
    HTTP_UNSUPPORTED = "http_unsupported"
    MISSING_COMMAND = "missing_command"
    MISSING_URL = "missing_url"
    PASSTHROUGH_STRATEGY_MISSING = "passthrough_strategy_missing"
    RESERVED_NAME = "reserved_name"
    SSE_UNSUPPORTED = "sse_unsupported"

    AGENT_REPORTED_FAILURE = "agent_reported_failure"
    CONNECTION_REFUSED = "connection_refused"
    INITIALIZE_REFUSED = "initialize_refused"
    TOOLS_LIST_FAILED = "tools_list_failed"

    AGENT_EXITED = "agent_exited"
    AUTH_REQUIRED = "auth_required"
    HANDSHAKE_TIMEOUT = "handshake_timeout"
    PROTOCOL_MISMATCH = "protocol_mismatch"
    SESSION_REQUEST_FAILED = "session_request_failed"
    SPAWN_FAILED = "spawn_failed"
    COMMAND_NOT_FOUND = "command_not_found"

    AGENT_UNKNOWN = "agent_unknown"
    CALL_TIMEOUT = "call_timeout"
    CLOSED = "closed"
    ENDPOINT_FAILED = "endpoint_failed"
    INVALID_PROFILE = "invalid_profile"
    INVALID_TOOL = "invalid_tool"
    INVALID_WORKDIR = "invalid_workdir"
    NOT_REACHED = "not_reached"
    PLATFORM_UNSUPPORTED = "platform_unsupported"
    PROMPT_FAILED = "prompt_failed"
    PROMPT_UNDER_WAY = "prompt_under_way"
    SERVER_UNKNOWN = "server_unknown"
    TASK_FAILED = "task_failed"
    WRONG_ARGUMENT = "wrong_argument"


class Reason(NamedTuple):
    """``meaning`` is one sentence for a row; ``settle`` says what would change it."""

    meaning: str
    settle: str


REASONS: Final[dict[str, Reason]] = {
    ReasonCode.DISABLED: Reason(
        "The profile switches this server off.",
        "Remove the disabled flag from its entry.",
    ),
    ReasonCode.DUPLICATE_NAME: Reason(
        "Another server of the profile has this name.",
        "Give each server its own name.",
    ),
    ReasonCode.HTTP_UNSUPPORTED: Reason(
        "The agent does not take servers over HTTP.",
        "Use an agent that advertises the http MCP capability, or give the server as stdio.",
    ),
    ReasonCode.MISSING_COMMAND: Reason(
        "The entry names no command to start.",
        "Add a command to the entry.",
    ),
    ReasonCode.MISSING_URL: Reason(
        "The entry names no URL to connect to.",
        "Add a url to the entry.",
    ),
    ReasonCode.PASSTHROUGH_STRATEGY_MISSING: Reason(
        "There is no known way to give this CLI its servers.",
        "Start the agent over ACP, or name a strategy.",
    ),
    ReasonCode.RESERVED_NAME: Reason(
        "The name kandev belongs to the built-in server.",
        "Rename the server in the profile.",
    ),
    ReasonCode.SSE_UNSUPPORTED: Reason(
        "The agent does not take servers over SSE.",
        "Use an agent that advertises the sse MCP capability, or another transport.",
    ),
    ReasonCode.AGENT_REPORTED_FAILURE: Reason(
        "The agent reports that it could not attach this server.",
        "Check that the server runs and can be reached from where the agent runs.",
    ),
    ReasonCode.CONNECTION_REFUSED: Reason(
        "The connection to the server was refused.",
        "Check that the server is running and listening at its target.",
    ),
    ReasonCode.INITIALIZE_REFUSED: Reason(
        "The endpoint refused the client's initialize.",
        "Look at the client's protocol version and request.",
    ),
    ReasonCode.TOOLS_LIST_FAILED: Reason(
        "The endpoint could not serve its tools.",
        "Look at the tools that were registered last.",
    ),
    ReasonCode.AGENT_EXITED: Reason(
        "The agent process ended.",
        "Read its recent output, then start it again.",
    ),
    ReasonCode.AUTH_REQUIRED: Reason(
        "The agent asks for a login first.",
        "Log in with the agent's own command, then start it again.",
    ),
    ReasonCode.HANDSHAKE_TIMEOUT: Reason(
        "The agent did not answer the handshake in time.",
        "Check that the command speaks ACP on its standard input and output.",
    ),
    ReasonCode.PROTOCOL_MISMATCH: Reason(
        "The agent speaks another version of ACP.",
        "Use a version of the agent that speaks ACP version 1.",
    ),
    ReasonCode.SESSION_REQUEST_FAILED: Reason(
        "The agent refused the session.",
        "Read the message; the servers may still have been connected.",
    ),
    ReasonCode.SPAWN_FAILED: Reason(
        "The agent process could not be started.",
        "Check the command, its permissions and the working directory.",
    ),
    ReasonCode.COMMAND_NOT_FOUND: Reason(
        "The command was not found.",
        "Install it, or give its full path.",
    ),
    ReasonCode.AGENT_UNKNOWN: Reason(
        "No agent of that name is registered.",
        "Pick a registered agent, or start a command of your own with exec=.",
    ),
    ReasonCode.CALL_TIMEOUT: Reason(
        "The call did not end in time.",
        "Call again with a longer timeout.",
    ),
    ReasonCode.CLOSED: Reason(
        "The session is closed.",
        "Start a new one.",
    ),
    ReasonCode.ENDPOINT_FAILED: Reason(
        "The Kandev MCP endpoint could not start.",
        "Check that this machine lets a program listen on 127.0.0.1.",
    ),
    ReasonCode.INVALID_PROFILE: Reason(
        "The servers that were handed over cannot be read.",
        "Give a dict of name to entry, each with a command or a url.",
    ),
    ReasonCode.INVALID_TOOL: Reason(
        "The function cannot be served as a tool.",
        "Read the message; it names the function and what to change.",
    ),
    ReasonCode.INVALID_WORKDIR: Reason(
        "The working directory does not exist.",
        "Create it, or pass another cwd.",
    ),
    ReasonCode.NOT_REACHED: Reason(
        "The wanted status was not reached in time.",
        "Absence is not failure: wait longer, or prompt the agent to use the server.",
    ),
    ReasonCode.PLATFORM_UNSUPPORTED: Reason(
        "This platform is not supported.",
        "Use Linux or macOS; on Windows use WSL 2.",
    ),
    ReasonCode.PROMPT_FAILED: Reason(
        "The agent answered the prompt with an error.",
        "Read the message, then prompt again.",
    ),
    ReasonCode.PROMPT_UNDER_WAY: Reason(
        "The session is answering another prompt.",
        "Wait for its answer, or interrupt it.",
    ),
    ReasonCode.SERVER_UNKNOWN: Reason(
        "The session has no server of that name.",
        "Use one of the names in session.servers().",
    ),
    ReasonCode.TASK_FAILED: Reason(
        "A call ended with something that is no ordinary error.",
        "Report it with the traceback; other sessions go on.",
    ),
    ReasonCode.WRONG_ARGUMENT: Reason(
        "The call was given something it cannot use.",
        "Read the message; it names the argument.",
    ),
}


def meaning(code: str) -> str:
    """Return the one-line meaning of a code; an unknown code stands for itself."""
    return REASONS[code].meaning if code in REASONS else code


def settle(code: str) -> str:
    """Return what would settle a code, or empty text for an unknown one."""
    return REASONS[code].settle if code in REASONS else ""
