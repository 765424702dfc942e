"""The English catalogue: every word that a view shows, by message key.

A page may replace a text by its key; names and provider text are never translated. A key that
counts something has a ``.one`` form beside the ordinary one.
"""

from collections.abc import Mapping
from typing import Final
from unicodedata import category

from pydantic import BaseModel, ConfigDict, Field

ENGLISH: Final[Mapping[str, str]] = {
    "heading": "MCP servers",
    "heading.session": "MCP servers · {session}",
    "heading.agent": "MCP servers · {session} · {agent}",
    "heading.attempt": (
        "MCP servers · {session} · {agent} · execution {execution} · attempt {attempt}"
    ),
    "empty.nothing_started": "Nothing started yet.",
    "empty.no_servers": "This session was given no servers.",
    "banner.session_error": "Session error: {summary}",
    "note.estimate": (
        "Token counts are estimates with o200k_base: "
        "what the agent really pays varies by model and provider."
    ),
    "note.late_traffic": (
        "An earlier connection of this session is still in use ({count} requests); "
        "it is not counted here."
    ),
    "note.late_traffic.one": (
        "An earlier connection of this session is still in use (1 request); it is not counted here."
    ),
    "note.evidence_dropped": "{count} older events are no longer kept.",
    "note.evidence_dropped.one": "1 older event is no longer kept.",
    "note.ended": "The session has ended: {reason}.",
    "note.stored": "Stored; nothing here is live.",
    "note.stored_elsewhere": "Stored a moment ago; the session is live in another kernel.",
    "note.stored_lost": "Stored; the session's kernel has ended without closing it.",
    "status.active": "Active",
    "status.connected": "Connected",
    "status.used_unlisted": "Connected · used, tools not listed",
    "status.disconnected": "Disconnected",
    "status.delivered": "Delivered · connection unverified",
    "status.failed": "Failed",
    "status.filtered": "Filtered",
    "status.unavailable": "Unavailable",
    "status.unknown": "Configured",
    "detail.tools": "{count} tools",
    "detail.tools.one": "1 tool",
    "detail.no_tools": "Served 0 tools",
    "detail.tokens": "~{count} tokens",
    "detail.tokens.one": "~1 token",
    "detail.shown": "showing {shown} of {count} tools",
    "detail.partial": "partial list",
    "detail.stale": "catalog may be stale",
    "detail.used": "used · {count} calls",
    "detail.used.one": "used · 1 call",
    "detail.ended": "ended",
    "detail.original_name": "configured as {name}",
    "detail.reported": "the agent reports: {status}",
    "hint.bridged": "over the stdio bridge",
    "hint.command_line": "the command holds its arguments",
    "hint.command_not_found": "command not found here",
    "hint.env_injected": "variables added by the policy",
    "hint.keys_not_passed_on": "some keys are not passed on",
    "hint.placeholder_emptied": "a placeholder was empty",
    "hint.placeholder_kept": "a $NAME was left as it is",
    "hint.transport_assumed": "transport assumed",
    "hint.unused_keys": "some keys are not used",
    "hint.url_rewritten": "URL rewritten by the policy",
    "check.configured": "Configured",
    "check.delivered": "Delivered to the agent",
    "check.session_accepted": "Session accepted",
    "check.initialize_observed": "Connected",
    "check.tools_list_observed": "Tools loaded (served to the agent)",
    "check.tool_call_observed": "Used",
    "check.explicit_error": "Failed",
    "settle.configured": "nothing: the server is not in the profile that was used.",
    "settle.delivered": "a session that is started with this server.",
    "settle.session_accepted": "the agent's answer to the session request.",
    "settle.initialize_observed.kandev": "the agent's first request to the Kandev endpoint.",
    "settle.tools_list_observed.kandev": "the agent asking the Kandev endpoint for its tools.",
    "settle.tool_call_observed.kandev": "a prompt that makes the agent call one of its tools.",
    "settle.direct": (
        "nothing that Kandev can see. The agent connects to this server directly; ask the agent."
    ),
    "explain.status": "{name} is {label}.",
    "explain.proven": "Proven: {facts}.",
    "explain.nothing_proven": "Nothing is proven yet.",
    "explain.open": "Not observed: {facts}. That is not a failure.",
    "explain.ended": "The session has ended: nothing more will come of it.",
    "explain.stale": (
        "The tools have changed since they were listed: the agent may not know of it until it "
        "lists them again."
    ),
    "explain.hint": "Note: {meaning} {settle}",
    "explain.settle": "What would settle it: {settle}",
    "explain.advice": "What to do: {settle}",
    "explain.next": "Next: {step}",
    "explain.test_reached": (
        "A test reached it at {at}: {tools} in {ms} ms. That is no evidence of the agent's own "
        "connection."
    ),
    "explain.test_failed": "A test failed at {at}: {summary}",
    "step.restart": "start the agent again: {call}",
    "step.variable": "give the variable a value, for example with {call}",
    "step.strategy": "say which CLI it is: {call}",
    "step.policy": "hand over the servers with a policy that admits them: {call}",
    "step.plan": "see what a changed configuration would do, without starting anything: {call}",
    "step.apply": "hand over the changed configuration: {call}",
    "step.fact": "know of this agent: {fact}",
    "step.prompt_first": "prompt it once, for some agents connect only then: {call}",
    "step.type_first": "type a first prompt, for some CLIs connect only then: {call}",
    "step.prompt_list": "prompt it once, for some agents load tools only then: {call}",
    "step.use": "have the agent call one of its tools: {call}",
    "step.list_again": "a new session lists them again, and loses the conversation: {call}",
    "step.attach_again": "a new session attaches it again, and loses the conversation: {call}",
    "step.output": "read what the agent wrote last, which may hold secrets: {call}",
    "step.probe": "see what this agent does with one server of ours: {call}",
    "step.test": "test whether the server can be reached from here: {call}",
    "step.test_command": "test whether the server starts and answers here: {call}",
    "step.test_again": "when the reason is mended, test it again: {call}",
    "step.ask": "ask the agent itself: {call}",
    "step.try_again": "when the reason is mended, start the agent again: {call}",
    "step.start": "start a new session: {call}",
    "diagnostics.heading": "MCP diagnostics",
    "diagnostics.made_at": "made at",
    "diagnostics.session": "session",
    "diagnostics.task": "task",
    "diagnostics.agent": "agent",
    "diagnostics.agent_says": "it calls itself",
    "diagnostics.state": "state",
    "diagnostics.attempt": "Current attempt",
    "diagnostics.attempt.historical": "Earlier attempt (historical)",
    "diagnostics.session_error": "session error",
    "diagnostics.kind": "kind",
    "diagnostics.task_id": "task ID",
    "diagnostics.session_id": "session ID",
    "diagnostics.execution_id": "execution ID",
    "diagnostics.agent_profile_id": "agent profile ID",
    "diagnostics.acp_session_id": "ACP session ID",
    "diagnostics.started_at": "started at",
    "diagnostics.updated_at": "updated at",
    "diagnostics.superseded_at": "superseded at",
    "diagnostics.ended_at": "ended at",
    "diagnostics.end_reason": "ended because",
    "diagnostics.server": "Server",
    "diagnostics.status": "status",
    "diagnostics.reason": "reason",
    "diagnostics.reached": "target",
    "diagnostics.original_name": "configured as",
    "diagnostics.not_observed": "not observed",
    "diagnostics.disconnected_at": "disconnected at",
    "diagnostics.tools_changed_at": "tools changed at",
    "diagnostics.connection": "connection",
    "diagnostics.client": "client",
    "diagnostics.tools": "tools",
    "diagnostics.truncated": "not all are kept",
    "diagnostics.unnamed": "{count} without a name",
    "diagnostics.hint": "hint",
    "diagnostics.reported": "the agent reports",
    "diagnostics.endpoint_test": "endpoint test",
    "diagnostics.endpoint_test.server": "it reached",
    "diagnostics.evidence": "Evidence",
    "diagnostics.made_with": "Made with",
    "diagnostics.made_elsewhere": (
        "These are the versions where this was made. The session was stored; those of its kernel "
        "are not kept."
    ),
    "diagnostics.python": "Python",
    "diagnostics.system": "system",
    "diagnostics.left_out": "Left out",
    "diagnostics.left_out.said": (
        "Prompts, what the agent answered, files, tool arguments and tool results."
    ),
    "diagnostics.left_out.values": (
        "Credentials, the values of headers and environment variables, arguments of commands, and "
        "all of a URL but its scheme, host and port."
    ),
    "diagnostics.left_out.output": (
        "What the agent wrote to its standard error or terminal; session.recent_output().text has "
        "it, and may hold secrets."
    ),
    "diagnostics.left_out.tools": "The names, descriptions and schemas of the tools listed.",
    "diagnostics.left_out.frames": "Raw ACP and MCP frames.",
    "fact.transport": "Transport",
    "fact.target": "Target",
    "fact.source": "Source",
    "fact.original_name": "Configured as",
    "fact.connection_id": "Connection",
    "fact.stateless": "stateless",
    "fact.protocol_version": "MCP version",
    "fact.client": "Client",
    "fact.task_id": "Task ID",
    "fact.session_id": "Session ID",
    "fact.execution_id": "Execution ID",
    "fact.attachment_attempt_id": "Attempt ID",
    "fact.acp_session_id": "ACP session ID",
    "fact.agent_profile_id": "Agent profile ID",
    "fact.calls": "Tool calls",
    "fact.started_at": "Attempt started",
    "fact.ended_at": "Attempt ended",
    "fact.disconnected_at": "Disconnected",
    "fact.failed_at": "Failed",
    "fact.tools_changed_at": "Tools changed",
    "attempt.new": "New session",
    "attempt.load": "Session loaded",
    "attempt.resume": "Session resumed",
    "attempt.reset": "Reset",
    "attempt.restart": "Restart",
    "attempt.passthrough": "CLI started",
    "attempt.other": "Attempt",
    "attempt.because": "{kind} ({cause})",
    "mark.filtered": "Filtered",
    "mark.unavailable": "Unavailable",
    "mark.connection_closed": "Connection closed",
    "mark.attempt_superseded": "Superseded by the next attempt",
    "provenance.observed": "seen by the Kandev endpoint",
    "provenance.relayed": "seen by a relay",
    "provenance.agent_reported": "told by the agent",
    "provenance.tested": "found by a test",
    "provenance.decided": "decided by Kandev",
    "absent.not_loaded": "Not loaded yet: the agent has not asked for the tools.",
    "absent.third_party": (
        "The agent connects to this server directly, so Kandev does not see its tools."
    ),
    "absent.none_served": "The server served no tools.",
    "absent.not_saved": "The catalog is not saved; only the number of its tools is known.",
    "absent.left_out": "The agent was not given this server.",
    "absent.failed": "The server failed before any tools were seen.",
    "note.reported": "The agent reports this server as {status}: {summary}",
    "session.label": 'Session "{session}" · {agent}',
    "session.label.task": '{task} · session "{session}" · {agent}',
    "test.reached": "Test reached the server: {tools} in {ms} ms",
    "test.usable": "{count} of them can be used.",
    "test.failed": "Test failed: {summary}",
    "test.consent": "To test {name}, {command} is started in {folder}, with {count} arguments.",
    "test.consent.one": "To test {name}, {command} is started in {folder}, with 1 argument.",
    "output.warning": "This may contain prompts, file contents or credentials. It is not saved.",
    "diagnostics.left_out.all": "Left out: {what}",
    "request.unknown_session": "This session is not shown here any more.",
    "request.not_offered": "The session does not offer that as it is now.",
    "request.no_catalog": "This session has no server of that name now.",
    "request.no_language": "There are no words in that language.",
    "request.failed": "That could not be done: {error}",
    "arguments.none": "No arguments.",
    "arguments.none_given": "No schema given.",
    "arguments.too_large": "Schema too large to display.",
    "arguments.root": "Root is {root}: clients reject this tool.",
    "arguments.root_untyped": "Root has no type: many clients reject this tool.",
    "arguments.closed": "No other arguments are accepted.",
    "arguments.open": "Other arguments are accepted too.",
    "arguments.only_json": "Only the JSON tells: {keywords}.",
    "arguments.cut": "Too large or too deep for a table: not everything is shown.",
    "arguments.json_cut": "The JSON is cut after {count} characters.",
    "arguments.undeclared": "Required, but not declared here.",
    "arguments.external": "Refers to {reference}: not followed.",
    "arguments.not_there": "Refers to {reference}, which is not there.",
    "arguments.never": "Never accepted.",
    "arguments.malformed": "What describes it is not a schema.",
    "arguments.pattern_name": "Every name that matches this pattern.",
    "arguments.other_name": "Every name that is not listed.",
    "arguments.more_inside": "What is inside is not shown.",
    "arguments.any_of": "Option {number} of {count}; at least one applies",
    "arguments.any_of.named": "Option {number} of {count}; at least one applies: {name}",
    "arguments.one_of": "Option {number} of {count}; exactly one applies",
    "arguments.one_of.named": "Option {number} of {count}; exactly one applies: {name}",
    "arguments.all_of": "Part {number} of {count}; all apply",
    "arguments.all_of.named": "Part {number} of {count}; all apply: {name}",
    "arguments.if": "If",
    "arguments.then": "Then",
    "arguments.else": "Otherwise",
    "arguments.given": "When {name} is given",
}


_INVISIBLE: Final = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
"""Unicode categories of characters that show nothing, or change how others are shown."""


class Message(BaseModel):
    """One text for a person: its key, what fills it in, and the English text."""

    model_config = ConfigDict(frozen=True)

    key: str
    params: dict[str, str | int] = Field(default_factory=dict)
    text: str

    def __str__(self) -> str:
        return self.text


def visible(text: str) -> str:
    """Return ``text`` with invisible and bidirectional control characters escaped (CA-5)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"\\u{ord(c):04x}" if category(c) in _INVISIBLE else c for c in text)


def say(key: str, **params: str | int) -> Message:
    """Return the message of that key with ``params`` filled in; numbers are grouped by comma."""
    shown = {n: f"{v:,}" if isinstance(v, int) else visible(v) for n, v in params.items()}
    return Message(key=key, params=params, text=ENGLISH[key].format(**shown))


def count(key: str, number: int, **params: str | int) -> Message:
    """Return the message for ``number`` things, in its singular form for one."""
    return say(f"{key}.one" if number == 1 else key, count=number, **params)


def verbatim(text: str, key: str = "verbatim") -> Message:
    """Return a message for text that is not ours to translate."""
    return Message(key=key, text=visible(text))
