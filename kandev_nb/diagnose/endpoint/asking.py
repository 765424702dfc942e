"""Which server a test is of, and whether it may be tested: the session's configuration decides.

A name that it does not hold, or that a decision left out, is refused before anything is contacted;
so is a command that nobody has agreed to.
"""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from anyio import to_thread

from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.attachment.model import utc_now
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import sanitize_target
from kandev_nb.attachment.words import visible
from kandev_nb.diagnose.endpoint.course import Course
from kandev_nb.diagnose.endpoint.result import EndpointTest, outcome
from kandev_nb.diagnose.endpoint.running import Ended, run
from kandev_nb.endpoint import AttemptEndpoint, EndpointServer, ToolSet, bridge
from kandev_nb.errors import ConfigError, Unsupported
from kandev_nb.ledger import Ledger
from kandev_nb.servers import Decision, built_in, built_in_by_header
from kandev_nb.servers.server import Server, StdioServer
from kandev_nb.session.launch import Launch


@dataclass(frozen=True)
class Subject:
    """The session of a test, as far as a test needs it."""

    launch: Launch
    ledger: Ledger
    endpoints: EndpointServer
    tools: ToolSet
    consents: set[Hashable]
    """The commands that the user has agreed to start, for the life of the session."""


async def test_endpoint(
    subject: Subject, name: str, timeout: float, *, consent: bool
) -> EndpointTest:
    """Test the server of that name.

    Raises ``ConfigError`` when the configuration has no such server, when a decision left it out,
    or when it would start a command that needs the user's consent first.
    """
    at = utc_now()
    if name == BUILT_IN:
        async with _own(subject) as server:
            ended = await _run(subject, server, timeout)
    else:
        decision = _meant(subject.launch, name)
        if decision.server is None:
            words = decision.reason.words if decision.reason else ""
            ended = Ended(Course(phase=""), decision.reason_code, words.removesuffix("."))
        else:
            _check_consent(subject, decision.row, decision.server, consent)
            ended = await _run(subject, decision.server, timeout)
    made = partial(outcome, name, at, *ended, subject.ledger.redact)
    return await to_thread.run_sync(made, abandon_on_cancel=True)


def not_live(name: str) -> Unsupported:
    """Return the error for a session whose configuration is no longer held."""
    return Unsupported(
        f'Session "{name}" is not live, so there is no configuration to test its servers by. Start '
        "it again, or test them in a session that runs.",
        reason_code=ReasonCode.NOT_LIVE,
    )


async def _run(subject: Subject, server: Server, timeout: float) -> Ended:
    return await run(server, subject.launch.env, subject.launch.cwd, timeout)


@asynccontextmanager
async def _own(subject: Subject) -> AsyncIterator[Server]:
    """Serve the session's tools for the block, as they were delivered, and name the server."""
    async with subject.endpoints.open_test(subject.tools) as endpoint:
        yield _delivered(subject, endpoint)


def _delivered(subject: Subject, endpoint: AttemptEndpoint) -> Server:
    endpoints, attempt = subject.endpoints, subject.ledger.history.current
    row = attempt.server(BUILT_IN) if attempt else None
    plain = f"{endpoints.origin}/mcp"
    ways: tuple[Decision, ...] = (built_in_by_header(plain, endpoint.secret),)
    if subject.launch.passthrough is None:
        env = {bridge.URL_VARIABLE: plain, bridge.SECRET_VARIABLE: endpoint.secret}
        urls = endpoints.url(endpoint), endpoints.sse_url(endpoint)
        ways = built_in(*urls, bridge.command(), env)
    transport = row.transport if row else ""
    way = next((way for way in ways if way.wire_transport == transport), ways[0])
    assert way.server is not None, "the built-in server is always there"
    return way.server


def _meant(launch: Launch, name: str) -> Decision:
    """Return the server of that name, if there is something to say of it."""
    decision = next((one for one in launch.servers if one.row == name), None)
    if decision is None:
        names = ", ".join(visible(row) for row in (BUILT_IN, *(d.row for d in launch.servers)))
        raise ConfigError(
            f"This session has no server {name!r}. It has: {names}.",
            reason_code=ReasonCode.SERVER_UNKNOWN,
        )
    if decision.server is None and decision.reason_code != ReasonCode.PLACEHOLDER_UNRESOLVED:
        raise ConfigError(
            f"{name!r} is {decision.outcome} and was not contacted. {decision.reason}",
            reason_code=decision.reason_code,
        )
    return decision


def _check_consent(subject: Subject, name: str, server: Server, consent: bool) -> None:
    """Raise unless the command of a stdio server, exactly as it is, has been agreed to."""
    if not isinstance(server, StdioServer):
        return
    exact = (server.command, server.args, frozenset(server.env.items()))
    if consent:
        subject.consents.add(exact)
    if exact in subject.consents:
        return
    shown, given = sanitize_target("stdio", server.command), len(server.args)
    raise ConfigError(
        f"To test {name!r} is to start {visible(shown)} with {given} "
        f"argument{'s' * (given != 1)} in {subject.launch.cwd}. "
        "If you want that, call again with consent=True; nothing has been started.",
        reason_code=ReasonCode.CONSENT_NEEDED,
    )
