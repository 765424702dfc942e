"""What to do next about a server: sentences with the exact call, likeliest first (DI-4).

A row is described by topics, such as ``direct``, ``status.failed`` or ``reason.auth_required``; a
step of :data:`STEPS` fits when the row has all of its topics and the session can do what the step
needs. Views, notebooks and the command line show the same sentences.
"""

import json
import shlex
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from kandev_nb.attachment import words
from kandev_nb.attachment.model import ServerAttachment
from kandev_nb.attachment.words import Message

SHOWN: Final = 4
"""The steps that are shown of those that fit."""

Need = Literal["", "live", "conversation", "terminal", "output", "probe", "ended", "over"]


class Situation(NamedTuple):
    """What can be done with a session: what has passed cannot be tested any more."""

    agent: str = ""
    """The ID that it can be started by; empty when it is not known to have one."""

    state: Literal["live", "ended", "failed", "over"] = "over"
    """``ended``: its agent has, and it can be restarted. ``failed``: it was never open. ``over``:
    closed, or stored."""

    is_passthrough: bool = False
    facts: tuple[str, ...] = ()
    """What is known of the agent's ways with MCP servers."""

    def allows(self, need: Need) -> bool:
        """Tell whether a step of that need can be taken."""
        live = self.state == "live"
        allowed: dict[Need, bool] = {
            "": True,
            "live": live,
            "conversation": live and not self.is_passthrough,
            "terminal": live and self.is_passthrough,
            "output": self.state != "over",
            "probe": bool(self.agent) and not self.is_passthrough,
            "ended": self.state == "ended",
            "over": self.state in ("failed", "over"),
        }
        return allowed[need]


class Step(NamedTuple):
    """A sentence by its key, its call, the topics of the rows that it is for, and its need."""

    key: str
    call: str
    topics: frozenset[str]
    need: Need = ""


def _step(key: str, call: str, *topics: str, need: Need = "") -> Step:
    return Step(f"step.{key}", call, frozenset(topics), need)


_RESTART = "session.restart()"
_WITH_SERVERS = "session.restart(servers=…)"
_TEST = "session.test_endpoint({name})"
_OUTPUT = "print(session.recent_output().text)"
_PROBE = "kandev-nb probe {agent}"
_PLAN = "kandev-nb plan FILE --agent {agent}"
_VARIABLE = 'task.start({agent_word}, servers=…, env={{"NAME": "…"}})'

STEPS: Final = (
    # The agent is gone: nothing else helps.
    _step("restart", _RESTART, need="ended"),
    # Left out before anything was delivered.
    _step("variable", _VARIABLE, "reason.placeholder_unresolved"),
    _step("strategy", 'task.start(passthrough=…, strategy="claude")', "no_strategy"),
    _step("policy", "session.restart(servers=…, policy=…)", "by_policy", need="live"),
    _step("plan", _PLAN, "left_out", need="probe"),
    _step("apply", _WITH_SERVERS, "left_out", need="live"),
    # Kandev's own server: what the agent does is seen.
    _step("fact", "", "own", "next.initialize_observed", "known"),
    _step(
        "prompt_first",
        'session.prompt("Which tools do you have?")',
        "own",
        "next.initialize_observed",
        need="conversation",
    ),
    _step(
        "type_first",
        r'session.write("Which tools do you have?\r")',
        "own",
        "next.initialize_observed",
        need="terminal",
    ),
    _step(
        "prompt_list",
        'session.prompt("Which tools do you have?")',
        "own",
        "next.tools_list_observed",
        need="conversation",
    ),
    _step(
        "use",
        'session.prompt("Call list_task_sessions_kandev.")',
        "own",
        "next.tool_call_observed",
        need="conversation",
    ),
    _step("list_again", "session.reset()", "own", "detail.stale", need="live"),
    _step("attach_again", "session.reset()", "own", "status.disconnected", need="live"),
    _step("output", _OUTPUT, "own", "next.initialize_observed", need="output"),
    _step("output", _OUTPUT, "own", "next.tools_list_observed", need="output"),
    _step("probe", _PROBE, "own", "next.initialize_observed", need="probe"),
    _step("probe", _PROBE, "own", "next.tools_list_observed", need="probe"),
    # Servers of others: the agent connects to them directly.
    _step(
        "test_command", f"{_TEST[:-1]}, consent=True)", "direct", "untested", "stdio", need="live"
    ),
    _step("test", _TEST, "direct", "untested", "network", need="live"),
    _step("fact", "", "direct", "status.delivered", "known"),
    _step(
        "ask",
        "session.prompt({question})",
        "direct",
        "status.delivered",
        need="conversation",
    ),
    _step("output", _OUTPUT, "direct", "status.delivered", need="output"),
    _step("test_again", _TEST, "direct", "test_failed", need="live"),
    # An explicit error.
    _step("output", _OUTPUT, "status.failed", need="output"),
    _step("try_again", _RESTART, "status.failed", need="live"),
    # Closed or stored.
    _step("start", "task.start({agent_word}, servers=…)", need="over"),
)
"""Every step, the likeliest to help first."""

_BY_POLICY: Final = ("policy_denied", "transport_denied", "profile_disabled")


def next_steps(
    server: ServerAttachment, topics: frozenset[str], situation: Situation
) -> tuple[Message, ...]:
    """Return the steps for a row; ``topics`` are those that its view knows."""
    topics |= set(_topics(server, situation))
    fit = (step for step in STEPS if step.topics <= topics and situation.allows(step.need))
    said = {message.text: message for step in fit for message in _said(step, server, situation)}
    return tuple(said.values())[:SHOWN]


def _topics(server: ServerAttachment, situation: Situation) -> Iterator[str]:
    yield f"status.{server.status}"
    yield f"reason.{server.reason_code}"
    yield "stdio" if server.transport == "stdio" else "network"
    if server.endpoint_test and server.endpoint_test.outcome != "ok":
        yield "test_failed"
    elif server.status in ("delivered", "failed") and not server.endpoint_test:
        yield "untested"
    if server.status in ("filtered", "unavailable"):
        yield "left_out"
        if server.reason_code in _BY_POLICY:
            yield "by_policy"
        if server.reason_code == "passthrough_strategy_missing":
            yield "no_strategy"
    if situation.facts:
        yield "known"


def _said(step: Step, server: ServerAttachment, situation: Situation) -> Iterator[Message]:
    if step.key == "step.fact":
        yield from (words.say(step.key, fact=fact) for fact in situation.facts)
        return
    called: dict[str, Any] = {
        "name": _literal(server.name),
        "question": _literal(f"Which tools of {server.name} do you have?"),
        "agent": shlex.quote(situation.agent) if situation.agent else "NAME",
        "agent_word": _literal(situation.agent) if situation.agent else "…",
    }
    yield words.say(step.key, call=step.call.format(**called))


def _literal(text: str) -> str:
    """Return the text as a literal of Python, what cannot be seen escaped."""
    return json.dumps(text, ensure_ascii=not text.isprintable())
