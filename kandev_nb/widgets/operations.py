"""What a page can ask of a session beside what it is told: one function an operation.

They run on the loop. What leaves is plain JSON, or an error that :func:`said` makes a message of.
Replies go to the page that asked and are no part of a widget's state (SA-3).
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio

from kandev_nb import runtime
from kandev_nb.attachment import ReasonCode, explored, sanitize_target, words
from kandev_nb.attachment.words import Message
from kandev_nb.controller.bounds import START_TIMEOUT
from kandev_nb.controller.session import TEST_TIMEOUT
from kandev_nb.errors import ConfigError, KandevError, WaitTimeout
from kandev_nb.servers.server import StdioServer
from kandev_nb.session.core import SessionCore
from kandev_nb.widgets.languages import templates
from kandev_nb.widgets.subjects import Subject

if TYPE_CHECKING:
    from kandev_nb.diagnose.endpoint import EndpointTest

Args = Mapping[str, Any]

NOTES: Final = 20
"""Most notes on the tools of a tested server that are told."""


class Refused(Exception):  # noqa: N818 - it is an answer
    """The request cannot be met; ``message`` is for the person."""

    def __init__(self, message: Message) -> None:
        super().__init__(message.text)
        self.message = message


async def perform(subject: Subject | None, operation: str, args: Args) -> Any:
    """Return the reply to a request. ``subject`` is the session that it names, if it is known."""
    if operation == "words":
        return await runtime.in_thread(lambda: _templates(args))
    if subject is None:
        raise Refused(words.say("request.unknown_session"))
    if operation == "catalog":
        return await runtime.in_thread(lambda: _catalog(subject, args))
    if operation not in subject.actions or subject.core is None:
        raise Refused(words.say("request.not_offered"))
    return await _ACTIONS[operation](subject.core, args)


def said(error: Exception) -> Message:
    """Return an error as a message; of one that is not ours only the type is told."""
    if isinstance(error, Refused):
        return error.message
    if isinstance(error, KandevError):
        return words.verbatim(" ".join(str(error).split()))
    return words.say("request.failed", error=type(error).__name__)


def _templates(args: Args) -> dict[str, str]:
    found = templates(str(args.get("language", "")))
    if found is None:
        raise Refused(words.say("request.no_language"))
    return found


def _catalog(subject: Subject, args: Args) -> dict[str, Any]:
    history, _ = subject.shown()
    server = history.current.server(str(args.get("server", ""))) if history.current else None
    if server is None:
        raise Refused(words.say("request.no_catalog"))
    return explored.catalog(server).to_json()


async def _test_endpoint(core: SessionCore, args: Args) -> dict[str, Any]:
    name = str(args.get("server", ""))
    try:
        tested = await core.test_endpoint(name, TEST_TIMEOUT, consent=args.get("consent") is True)
    except ConfigError as error:
        if error.reason_code != ReasonCode.CONSENT_NEEDED:
            raise
        return _told(words.verbatim(""), consent=_consent(core, name))
    if not tested.reachable:
        return _told(words.say("test.failed", summary=tested.summary), *_remarks(tested))
    tools = words.count("detail.tools", tested.tool_count).text
    reached = words.say("test.reached", tools=tools, ms=tested.duration_ms)
    return _told(reached, *_remarks(tested))


def _told(text: Message, *lines: Message, consent: Message | None = None) -> dict[str, Any]:
    return {
        "text": text.model_dump(),
        "lines": [line.model_dump() for line in lines],
        "consent": consent.model_dump() if consent else None,
    }


def _remarks(tested: "EndpointTest") -> Iterator[Message]:
    from kandev_nb.diagnose.endpoint.faults import reason

    if tested.reachable and tested.summary:
        yield words.verbatim(tested.summary)
    if tested.usable_count != tested.tool_count:
        yield words.say("test.usable", count=tested.usable_count)
    if tested.reason_code:
        yield words.say("explain.advice", settle=reason(tested.reason_code).settle)
    yield from (words.verbatim(note.text) for note in tested.notes[:NOTES])


def _consent(core: SessionCore, name: str) -> Message:
    server = next(decision.server for decision in core.launch.servers if decision.row == name)
    assert isinstance(server, StdioServer), "nothing else is asked about"
    command = sanitize_target("stdio", server.command)
    facts = {"name": name, "command": command, "folder": str(core.launch.cwd)}
    return words.count("test.consent", len(server.args), **facts)


async def _recent_output(core: SessionCore, _: Args) -> dict[str, Any]:
    output = core.recent_output
    why_none = words.verbatim(output.why_none).model_dump() if output.why_none else None
    return {
        "warning": words.say("output.warning").model_dump(),
        "lines": output.text.splitlines(),
        "why_none": why_none,
    }


async def _diagnostics(core: SessionCore, _: Args) -> dict[str, Any]:
    return await runtime.in_thread(lambda: _gathered(core))


def _gathered(core: SessionCore) -> dict[str, Any]:
    from kandev_nb.diagnose.diagnostics import gather

    made = gather(core.ledger.drain(), core.whose, core.background)
    left_out = words.say("diagnostics.left_out.all", what=" ".join(made.left_out))
    return {"text": made.text, "left_out": left_out.model_dump()}


async def _reset(core: SessionCore, _: Args) -> dict[str, Any]:
    return await _bounded("The reset", lambda: core.reopen(core.launch, "new"))


async def _restart(core: SessionCore, _: Args) -> dict[str, Any]:
    return await _bounded("The restart", lambda: core.restart(core.launch))


async def _bounded(what: str, work: Callable[[], Awaitable[None]]) -> dict[str, Any]:
    try:
        with anyio.fail_after(START_TIMEOUT):
            await work()
    except TimeoutError:
        raise WaitTimeout(
            f"{what} did not end within {START_TIMEOUT:g} s.", reason_code=ReasonCode.CALL_TIMEOUT
        ) from None
    return {}


_ACTIONS: Final[Mapping[str, Callable[[SessionCore, Args], Awaitable[dict[str, Any]]]]] = {
    "test_endpoint": _test_endpoint,
    "recent_output": _recent_output,
    "diagnostics": _diagnostics,
    "reset": _reset,
    "restart": _restart,
}
