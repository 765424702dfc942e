"""The options that refine a scenario: a command line comes in, a :class:`Script` leaves.

Only the standard library is loaded here, so that ``--help`` and a wrong option answer at once.
"""

import argparse
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from kandev_nb.agents.scripted.failures import FAILURES, Failure, Opening
from kandev_nb.agents.scripted.scenarios import LISTS_AND_CALLS, SCENARIOS, Scenario

Point = Literal[
    "initialize",
    "session-new",
    "session-load",
    "session-resume",
    "session-fork",
    "connect",
    "prompt",
]
AfterReset = Literal["separate", "keeps-first", "moves", "refuses-twice"]
Wording = Literal["auggie", "gemini", "qwen"]

AFTER_RESET: Final[dict[AfterReset, str]] = {
    "separate": "every session connects for itself, and session/close ends its connections",
    "keeps-first": "goes on with the first connection of that name, and never contacts the new URL",
    "moves": "ends the first session's connection of that name, then connects",
    "refuses-twice": "answers -32603 if the entry of that name differs, connecting the others",
}
"""What becomes of a server whose name an earlier session of the process has connected.

All but ``separate`` keep connections for the process: ``session/close`` leaves them open.
"""

SESSION_METHODS: Final = ("load", "resume", "fork", "close", "list")
TRANSPORTS: Final = ("http", "sse")


@dataclass(frozen=True)
class Script:
    """A scenario with its options."""

    scenario: Scenario
    server: str | None
    delay: float
    crash_at: Point | None
    crash_after: bool
    connect_before: bool
    transports: frozenset[str]
    session_methods: frozenset[str]
    after_reset: AfterReset
    asks_permission: bool
    failure: Failure | None
    wording: Wording

    def failure_at(self, opening: Opening) -> Failure | None:
        """Return how that request is refused, if it is."""
        return self.failure if self.failure and opening in self.failure.at else None


def parse(arguments: Sequence[str] | None = None) -> Script:
    """Read the command line; what cannot be read ends the process with the usage."""
    options = _parser().parse_args(arguments)
    scenario = SCENARIOS[options.scenario]
    fails_with = options.fails_with or ("login" if scenario.needs_login else "")
    return Script(
        scenario=scenario,
        server=options.server,
        delay=scenario.delay if options.delay is None else options.delay,
        crash_at=options.at if scenario.crashes else None,
        crash_after=options.after,
        connect_before=options.connect == "before",
        transports=options.mcp_capabilities,
        session_methods=options.session_capabilities,
        after_reset=options.after_reset,
        asks_permission=options.ask_permission,
        failure=FAILURES.get(fails_with),
        wording=options.wording,
    )


def _parser() -> argparse.ArgumentParser:
    # argparse, because everything else would be loaded before initialize can be answered.
    parser = argparse.ArgumentParser(
        prog="python -m kandev_nb.agents.scripted",
        description="An agent over ACP that does with its MCP servers what it is told.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_tables(),
    )
    parser.add_argument("--scenario", choices=SCENARIOS, default=LISTS_AND_CALLS, metavar="NAME")
    _add_refinements(parser)
    _add_sessions(parser)
    return parser


def _add_refinements(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", metavar="NAME", help="a server to leave alone and call failed")
    parser.add_argument("--delay", type=float, metavar="SECONDS", help="the wait before each step")
    parser.add_argument(
        "--at", choices=get_args(Point), default="session-new", help="crashes: where"
    )
    moment = parser.add_mutually_exclusive_group()
    moment.add_argument("--before", action="store_true", help="crashes: before it (the default)")
    moment.add_argument("--after", action="store_true", help="crashes: after it")
    parser.add_argument(
        "--wording",
        choices=get_args(Wording),
        default="auggie",
        help="reports-on-stderr: whose words (auggie)",
    )
    parser.add_argument(
        "--connect",
        choices=("before", "after"),
        default="before",
        help="connect before or after the request that opens a session is answered",
    )
    parser.add_argument(
        "--ask-permission",
        action="store_true",
        help="send session/request_permission before each tool call",
    )


def _add_sessions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mcp-capabilities",
        type=_some_of(TRANSPORTS),
        default=frozenset(TRANSPORTS),
        metavar="LIST",
        help="the MCP transports to advertise: http,sse or one of them, or none",
    )
    parser.add_argument(
        "--session-capabilities",
        type=_some_of(SESSION_METHODS),
        default=frozenset(SESSION_METHODS),
        metavar="LIST",
        help=f"the session methods to advertise and to answer: {','.join(SESSION_METHODS)} or "
        "some of them, or none",
    )
    parser.add_argument(
        "--after-reset", choices=AFTER_RESET, default="separate", metavar="NAME", help="see below"
    )
    parser.add_argument("--fails-with", choices=FAILURES, metavar="NAME", help="see below")


def _some_of(known: Iterable[str]) -> Callable[[str], frozenset[str]]:
    def read(listed: str) -> frozenset[str]:
        chosen = frozenset(listed.split(",")) - {"none"}
        if odd := sorted(chosen - frozenset(known)):
            raise argparse.ArgumentTypeError(
                f"{', '.join(odd)}: choose from {','.join(known)}, or none"
            )
        return chosen

    return read


def _tables() -> str:
    from kandev_nb.agents.scripted.grammar import usage

    scenarios = {name: scenario.summary for name, scenario in SCENARIOS.items()}
    failures = {name: failure.summary for name, failure in FAILURES.items()}
    return "\n\n".join(
        (
            _table("scenarios", scenarios),
            _table("--after-reset, a second session with a server of the same name", AFTER_RESET),
            _table("--fails-with, the answer to a request that opens a session", failures),
            usage(),
        )
    )


def _table(title: str, rows: Mapping[AfterReset, str] | Mapping[str, str]) -> str:
    shape = textwrap.TextWrapper(96, subsequent_indent=" " * 21, break_on_hyphens=False)
    lines = (shape.fill(f"  {name:<19}{summary}") for name, summary in rows.items())
    return "\n".join((f"{title}:", *lines))
