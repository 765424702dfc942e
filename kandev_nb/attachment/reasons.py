"""Reason codes as data: what each means in one line, and what would settle it.

The views, the explanations and the documentation are made from :data:`REASONS`::

    decisions   what our own configuration, or the agent's abilities, left out
    hints       what may matter about a server that is delivered all the same
    attachment  what kept one server from working
    session     what ended or refused the whole attempt
    calls       what a user's call could not do
    tests       what kept the endpoint test of a server from its tools

A code that is not here (a newer writer's) is kept and shown as it is.
"""

from enum import StrEnum
from typing import Final, NamedTuple


class ReasonCode(StrEnum):
    """The stable codes. Their text never changes; new ones may come."""

    ACP_UNSUPPORTED = "acp_unsupported"
    DISABLED = "disabled"
    DUPLICATE_NAME = "duplicate_name"
    HTTP_UNSUPPORTED = "http_unsupported"
    INVALID_ENTRY = "invalid_entry"
    MISSING_COMMAND = "missing_command"
    MISSING_TYPE = "missing_type"
    MISSING_URL = "missing_url"
    NAME_NOT_ACCEPTED = "name_not_accepted"
    PASSTHROUGH_STRATEGY_MISSING = "passthrough_strategy_missing"
    PLACEHOLDER_UNRESOLVED = "placeholder_unresolved"
    POLICY_DENIED = "policy_denied"
    PROFILE_DISABLED = "profile_disabled"
    RELATIVE_COMMAND = "relative_command"
    RESERVED_BY_CLI = "reserved_by_cli"
    RESERVED_NAME = "reserved_name"
    SHARED_STDIO = "shared_stdio"
    SSE_UNSUPPORTED = "sse_unsupported"
    TRANSPORT_DENIED = "transport_denied"
    UNKNOWN_TRANSPORT = "unknown_transport"

    BRIDGED = "bridged"
    COMMAND_LINE = "command_line"
    COMMAND_NOT_FOUND = "command_not_found"
    ENV_INJECTED = "env_injected"
    KEYS_NOT_PASSED_ON = "keys_not_passed_on"
    PLACEHOLDER_EMPTIED = "placeholder_emptied"
    PLACEHOLDER_KEPT = "placeholder_kept"
    TRANSPORT_ASSUMED = "transport_assumed"
    TRANSPORT_UNCONFIRMED = "transport_unconfirmed"
    UNUSED_KEYS = "unused_keys"
    URL_REWRITTEN = "url_rewritten"

    AGENT_REPORTED_FAILURE = "agent_reported_failure"
    CONNECTION_REFUSED = "connection_refused"
    INITIALIZE_REFUSED = "initialize_refused"
    MATERIALIZATION_FAILED = "materialization_failed"
    TOOLS_LIST_FAILED = "tools_list_failed"

    AGENT_EXITED = "agent_exited"
    AUTH_REQUIRED = "auth_required"
    HANDSHAKE_TIMEOUT = "handshake_timeout"
    PROTOCOL_MISMATCH = "protocol_mismatch"
    SESSION_REQUEST_FAILED = "session_request_failed"
    SPAWN_FAILED = "spawn_failed"

    AGENT_UNKNOWN = "agent_unknown"
    CALL_TIMEOUT = "call_timeout"
    CLOSED = "closed"
    CONSENT_NEEDED = "consent_needed"
    DATABASE_CORRUPT = "database_corrupt"
    DATABASE_FAILED = "database_failed"
    DATABASE_LOCKED = "database_locked"
    DATABASE_NOT_FOUND = "database_not_found"
    DATABASE_UNREACHABLE = "database_unreachable"
    DATABASE_UNREADABLE = "database_unreadable"
    DATABASE_URL_INVALID = "database_url_invalid"
    DRIVER_MISSING = "driver_missing"
    ENDPOINT_FAILED = "endpoint_failed"
    INVALID_POLICY = "invalid_policy"
    INVALID_PROFILE = "invalid_profile"
    INVALID_STORE = "invalid_store"
    INVALID_TOOL = "invalid_tool"
    INVALID_WORKDIR = "invalid_workdir"
    NOT_A_DATABASE = "not_a_database"
    NOT_A_KANDEV_DATABASE = "not_a_kandev_database"
    NOT_LIVE = "not_live"
    NOT_OFFERED = "not_offered"
    NOT_REACHED = "not_reached"
    PLATFORM_UNSUPPORTED = "platform_unsupported"
    PROMPT_FAILED = "prompt_failed"
    PROMPT_UNDER_WAY = "prompt_under_way"
    SERVER_UNKNOWN = "server_unknown"
    SESSION_LIVE = "session_live"
    SESSION_UNKNOWN = "session_unknown"
    STORE_FAILED = "store_failed"
    STORE_TOO_NEW = "store_too_new"
    TASK_FAILED = "task_failed"
    WRONG_ARGUMENT = "wrong_argument"

    BAD_CONTENT_TYPE = "bad_content_type"
    CURSOR_NOT_ADVANCING = "cursor_not_advancing"
    DNS_FAILED = "dns_failed"
    ENDPOINT_NOT_FOUND = "endpoint_not_found"
    EXITED = "exited"
    FORBIDDEN = "forbidden"
    HOST_REJECTED = "host_rejected"
    HTTP_ERROR = "http_error"
    MALFORMED_RESPONSE = "malformed_response"
    NON_PROTOCOL_OUTPUT = "non_protocol_output"
    NOT_ACCEPTABLE = "not_acceptable"
    NOT_STREAMABLE_HTTP = "not_streamable_http"
    NO_PROTOCOL_OUTPUT = "no_protocol_output"
    ORIGIN_REJECTED = "origin_rejected"
    OTHER_ORIGIN = "other_origin"
    PARTIAL_LIST = "partial_list"
    TIMEOUT = "timeout"
    TLS_FAILED = "tls_failed"
    VERSION_UNSUPPORTED = "version_unsupported"


class Reason(NamedTuple):
    """``meaning`` is one sentence for a row; ``settle`` says what would change it."""

    meaning: str
    settle: str


REASONS: Final[dict[str, Reason]] = {
    ReasonCode.ACP_UNSUPPORTED: Reason(
        "Servers of the type acp are hosted by a client, and kandev-nb hosts none.",
        "Give the server over stdio, HTTP or SSE.",
    ),
    ReasonCode.DISABLED: Reason(
        "The profile switches this server off.",
        "Enable it in its document.",
    ),
    ReasonCode.DUPLICATE_NAME: Reason(
        "Another server of the profile has this name.",
        "Give each server its own name.",
    ),
    ReasonCode.HTTP_UNSUPPORTED: Reason(
        "The agent does not take servers over HTTP.",
        "Use an agent that advertises the http MCP capability, or give the server as stdio.",
    ),
    ReasonCode.INVALID_ENTRY: Reason(
        "The entry cannot be read.",
        "Mend the fields that are named; the other servers are not affected.",
    ),
    ReasonCode.MISSING_COMMAND: Reason(
        "The entry names no command to start.",
        "Add a command to the entry.",
    ),
    ReasonCode.MISSING_TYPE: Reason(
        "Nothing says how to reach the server.",
        "Add a command, or a url and its type.",
    ),
    ReasonCode.MISSING_URL: Reason(
        "The entry names no URL to connect to.",
        "Add a url to the entry.",
    ),
    ReasonCode.NAME_NOT_ACCEPTED: Reason(
        "The CLI does not accept a server of this name.",
        "Rename the server with letters, digits, hyphens and underscores.",
    ),
    ReasonCode.PASSTHROUGH_STRATEGY_MISSING: Reason(
        "There is no known way to give this CLI its servers.",
        "Start the agent over ACP, or name a strategy.",
    ),
    ReasonCode.PLACEHOLDER_UNRESOLVED: Reason(
        "A placeholder of the entry has no value.",
        "Set the variable in the kernel's environment, or pass it with env=; a placeholder that "
        "is not filled in here has to be written out.",
    ),
    ReasonCode.POLICY_DENIED: Reason(
        "The policy does not admit a server of this name.",
        "Add the name to allowlist_servers, or take it off denylist_servers.",
    ),
    ReasonCode.PROFILE_DISABLED: Reason(
        "The whole profile is switched off.",
        "Set enabled to true in the profile.",
    ),
    ReasonCode.RELATIVE_COMMAND: Reason(
        "The command is a relative path.",
        "What it starts would depend on where the agent runs: give its absolute path, or a name "
        "that is on the PATH.",
    ),
    ReasonCode.RESERVED_BY_CLI: Reason(
        "The CLI keeps this name for itself and would not load the server.",
        "Rename the server in the profile.",
    ),
    ReasonCode.RESERVED_NAME: Reason(
        "The name kandev belongs to the built-in server.",
        "Rename the server in the profile.",
    ),
    ReasonCode.SHARED_STDIO: Reason(
        "A stdio server cannot be shared: each session starts its own.",
        "Set its mode to auto or per_session, or serve it over HTTP.",
    ),
    ReasonCode.SSE_UNSUPPORTED: Reason(
        "The agent does not take servers over SSE.",
        "Use an agent that advertises the sse MCP capability, or another transport.",
    ),
    ReasonCode.TRANSPORT_DENIED: Reason(
        "The policy does not admit this transport.",
        "Allow the transport in the policy.",
    ),
    ReasonCode.UNKNOWN_TRANSPORT: Reason(
        "The type of the entry is no transport that is known.",
        "Use stdio, http, sse or streamable_http.",
    ),
    ReasonCode.BRIDGED: Reason(
        "The agent takes neither HTTP nor SSE: it gets this server over a stdio bridge.",
        "Nothing needs to be done; its connection is observed all the same.",
    ),
    ReasonCode.COMMAND_LINE: Reason(
        "The command holds a whole command line.",
        "Put the program into command and the rest into args.",
    ),
    ReasonCode.PLACEHOLDER_EMPTIED: Reason(
        "A placeholder without a value was replaced by nothing, as its client does.",
        "Set the variable in the kernel's environment, or pass it with env=.",
    ),
    ReasonCode.PLACEHOLDER_KEPT: Reason(
        "A $NAME without a value was left as it is, as its client does.",
        "Set the variable in the kernel's environment, if it was meant as one.",
    ),
    ReasonCode.TRANSPORT_ASSUMED: Reason(
        "The registry says what the agent takes; the agent itself has not.",
        "Its handshake, or a connection, would settle it.",
    ),
    ReasonCode.TRANSPORT_UNCONFIRMED: Reason(
        "Whether the agent takes this transport is not known before it starts.",
        "It says so in its handshake.",
    ),
    ReasonCode.UNUSED_KEYS: Reason(
        "The entry has keys that are not used here.",
        "Check their spelling.",
    ),
    ReasonCode.KEYS_NOT_PASSED_ON: Reason(
        "The entry has keys that its own client applies, and that no agent is told of.",
        "The server runs without them: say the same with its command, args, env, url or headers.",
    ),
    ReasonCode.ENV_INJECTED: Reason(
        "The policy adds variables to the server's environment.",
        "Nothing needs to be done; a variable of the server's own stands before it.",
    ),
    ReasonCode.URL_REWRITTEN: Reason(
        "The policy puts another URL in the place of the server's own.",
        "Nothing needs to be done; the target that is shown is the one that is contacted.",
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
    ReasonCode.MATERIALIZATION_FAILED: Reason(
        "The CLI could not be given its configuration.",
        "Read the message; it names the file and what to change.",
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
        "Install it, or give its full path; the agent's own PATH may differ.",
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
    ReasonCode.DATABASE_CORRUPT: Reason(
        "The database file is damaged.",
        "Read an earlier copy of it.",
    ),
    ReasonCode.DATABASE_FAILED: Reason(
        "The database refused a query.",
        "Read the message; it says what the database said.",
    ),
    ReasonCode.DATABASE_LOCKED: Reason(
        "Another program keeps the database locked.",
        "Try again when it has finished.",
    ),
    ReasonCode.DATABASE_NOT_FOUND: Reason(
        "There is no such file.",
        "Read the message; it says where Kandev keeps its database.",
    ),
    ReasonCode.DATABASE_UNREACHABLE: Reason(
        "The database server did not let us in, or went away.",
        "See that it runs, and that user and password are right.",
    ),
    ReasonCode.DATABASE_UNREADABLE: Reason(
        "The file cannot be read.",
        "See that this user may read the file and its folder.",
    ),
    ReasonCode.DATABASE_URL_INVALID: Reason(
        "This is no URL of a database that Kandev uses.",
        "Give the path of a file, or a PostgreSQL URL.",
    ),
    ReasonCode.DRIVER_MISSING: Reason(
        "A package that this needs is not installed.",
        "Read the message; it names the package and how to install it.",
    ),
    ReasonCode.ENDPOINT_FAILED: Reason(
        "The Kandev MCP endpoint could not start.",
        "Check that this machine lets a program listen on 127.0.0.1.",
    ),
    ReasonCode.INVALID_POLICY: Reason(
        "The policy cannot be read.",
        "Read the message; it names the key and what to change.",
    ),
    ReasonCode.INVALID_PROFILE: Reason(
        "The servers that were handed over cannot be read.",
        "Read the message; it names the place and what to change.",
    ),
    ReasonCode.INVALID_STORE: Reason(
        "What was named is no place for a store.",
        "Read the message; give a file of its own, or a PostgreSQL URL.",
    ),
    ReasonCode.INVALID_TOOL: Reason(
        "The function cannot be served as a tool.",
        "Read the message; it names the function and what to change.",
    ),
    ReasonCode.INVALID_WORKDIR: Reason(
        "The working directory does not exist.",
        "Create it, or pass another cwd.",
    ),
    ReasonCode.NOT_A_DATABASE: Reason(
        "The file is no SQLite database, or it is encrypted.",
        "Give the path of Kandev's database.",
    ),
    ReasonCode.NOT_A_KANDEV_DATABASE: Reason(
        "The database has no sessions of Kandev's.",
        "Read the message; it names the table that is missing.",
    ),
    ReasonCode.NOT_OFFERED: Reason(
        "The agent does not offer what was asked; nothing was sent.",
        "Use an agent that advertises it.",
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
    ReasonCode.SESSION_LIVE: Reason(
        "The session is open.",
        "Close it where it is open, then try again.",
    ),
    ReasonCode.SESSION_UNKNOWN: Reason(
        "The store has no readable session of that ID.",
        "Use one of the IDs in store.sessions().",
    ),
    ReasonCode.STORE_FAILED: Reason(
        "The store could not be read or written.",
        "Read the message; live sessions go on, and are stored when it works again.",
    ),
    ReasonCode.STORE_TOO_NEW: Reason(
        "The store was written by a newer kandev-nb.",
        "Update kandev-nb, or name another store.",
    ),
    ReasonCode.TASK_FAILED: Reason(
        "A call ended with something that is no ordinary error.",
        "Report it with the traceback; other sessions go on.",
    ),
    ReasonCode.WRONG_ARGUMENT: Reason(
        "The call was given something it cannot use.",
        "Read the message; it names the argument.",
    ),
    ReasonCode.CONSENT_NEEDED: Reason(
        "A command of the profile would be started.",
        "Look at the command, then call again with consent=True.",
    ),
    ReasonCode.NOT_LIVE: Reason(
        "The session is not live, and its configuration is no longer held.",
        "Start it again, or ask a session that runs.",
    ),
    ReasonCode.BAD_CONTENT_TYPE: Reason(
        "The server's answer is neither JSON nor an event stream.",
        "Check the URL: a web page, or another service, may be at it.",
    ),
    ReasonCode.CURSOR_NOT_ADVANCING: Reason(
        "The server names a page of its tools that it has given already.",
        "Report it to the server's maker: each cursor has to lead on.",
    ),
    ReasonCode.DNS_FAILED: Reason(
        "The host of the server was not found.",
        "Check the host in its URL, and that this machine can resolve it.",
    ),
    ReasonCode.ENDPOINT_NOT_FOUND: Reason(
        "There is no MCP endpoint at the server's URL.",
        "Check the path of the URL; often it is /mcp, or /sse for the type sse.",
    ),
    ReasonCode.EXITED: Reason(
        "The server ended before it had answered.",
        "Start its command by hand and read what it says.",
    ),
    ReasonCode.FORBIDDEN: Reason(
        "The server does not admit this client.",
        "Check what its credentials may do.",
    ),
    ReasonCode.HOST_REJECTED: Reason(
        "The server does not serve the host of its URL.",
        "Add the host to those that the server allows, or use one that it does.",
    ),
    ReasonCode.HTTP_ERROR: Reason(
        "The server answered with an HTTP error.",
        "Look at the server's own log; from status 500 on it is the server that failed.",
    ),
    ReasonCode.MALFORMED_RESPONSE: Reason(
        "The server's answer is not what MCP asks for.",
        "Report it to the server's maker, or check that the URL is that of an MCP server.",
    ),
    ReasonCode.NON_PROTOCOL_OUTPUT: Reason(
        "The server wrote to its standard output, but no MCP message.",
        "Have it log to its standard error, and check that the command starts an MCP server.",
    ),
    ReasonCode.NOT_ACCEPTABLE: Reason(
        "The server can answer in no form that MCP clients take.",
        "It has to answer with application/json or text/event-stream.",
    ),
    ReasonCode.NOT_STREAMABLE_HTTP: Reason(
        "The server takes no MCP messages at its URL.",
        "Check the path of the URL; a server over SSE needs the type sse.",
    ),
    ReasonCode.NO_PROTOCOL_OUTPUT: Reason(
        "The server sent no MCP message.",
        "Check that the command, or the URL, is that of an MCP server.",
    ),
    ReasonCode.ORIGIN_REJECTED: Reason(
        "The server does not admit the origin of the request.",
        "Take the Origin header off its entry, or add the origin to those that the server allows.",
    ),
    ReasonCode.OTHER_ORIGIN: Reason(
        "The server sends its client to another origin, where nothing was sent.",
        "If you trust where it leads, give that address as the URL.",
    ),
    ReasonCode.PARTIAL_LIST: Reason(
        "The list of tools goes on beyond what is read.",
        "Nothing needs to be done; the count is that of the pages that were read.",
    ),
    ReasonCode.TIMEOUT: Reason(
        "The server did not answer in time.",
        "Test again with a longer timeout, or look at what the server is doing.",
    ),
    ReasonCode.TLS_FAILED: Reason(
        "No secure connection to the server came about.",
        "Check its certificate, and that its port speaks TLS.",
    ),
    ReasonCode.VERSION_UNSUPPORTED: Reason(
        "The server speaks no version of MCP that is known here.",
        "Update the server, or kandev-nb.",
    ),
}


def meaning(code: str) -> str:
    """Return the one-line meaning of a code; an unknown code stands for itself."""
    return REASONS[code].meaning if code in REASONS else code


def settle(code: str) -> str:
    """Return what would settle a code, or empty text for an unknown one."""
    return REASONS[code].settle if code in REASONS else ""
