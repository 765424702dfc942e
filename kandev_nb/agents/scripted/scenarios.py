"""What the reference agent does unasked: the table of scenarios, and the options that refine one.

A command line comes in, a :class:`Script` leaves. Only the standard library is loaded here, so
that ``--help`` and a wrong option answer at once.
"""

import argparse
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Mode = Literal["legacy", "auto", "2026-07-28"]
Point = Literal["initialize", "session-new", "connect", "prompt"]

LISTS_AND_CALLS: Final = "lists-and-calls"


@dataclass(frozen=True)
class Scenario:
    """One row of the table."""

    summary: str
    connects: bool = True
    lists: bool = True
    calls: bool = True
    mode: Mode = "legacy"
    then: Literal["stay", "reconnect", "close"] = "stay"
    tells_failures: Literal["never", "at-prompt", "at-session-new"] = "never"
    needs_login: bool = False
    crashes: bool = False
    noisy: bool = False
    delay: float = 0.0


SCENARIOS: Final[dict[str, Scenario]] = {
    LISTS_AND_CALLS: Scenario(
        "initialize and tools/list on every server it can reach; a tool is called by a prompt"
    ),
    "lists-only": Scenario("the same, and refuses to call tools", calls=False),
    "initializes-only": Scenario("initialize on every server, and no tools/list", lists=False),
    "ignores": Scenario(
        "accepts servers and connects to none; a prompt's connect is initialize and nothing more",
        connects=False,
        lists=False,
    ),
    "stateless": Scenario(
        "MCP 2026-07-28 over HTTP: tools/list alone, no initialize and no session",
        mode="2026-07-28",
    ),
    "auto": Scenario("server/discover first, initialize where that is refused", mode="auto"),
    "reports-failed": Scenario(
        "at the first prompt, reports the servers that it could not reach "
        "(agent_message_chunk with _meta.claudeCode)",
        tells_failures="at-prompt",
    ),
    "fails-session-new": Scenario(
        "connects what it can, then refuses session/new and names the server that it could not "
        "reach; --server NAME picks one and leaves it alone",
        tells_failures="at-session-new",
    ),
    "reconnects": Scenario("connects and lists, closes, connects and lists anew", then="reconnect"),
    "closes": Scenario("connects and lists, then ends the connection with DELETE", then="close"),
    "slow": Scenario("waits before each step; --delay SECONDS, 1 if not given", delay=1.0),
    "crashes": Scenario(
        "ends with exit code 3; --at initialize, session-new, connect or prompt; --before the "
        "answer or --after it",
        crashes=True,
    ),
    "noisy": Scenario("writes to its standard output what is no frame, between frames", noisy=True),
    "auth-required": Scenario(
        "refuses session/new until a login, which it has not", needs_login=True
    ),
}
"""The scenarios by name. By default a connection that fails is not mentioned, as most agents do."""


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


def parse(arguments: Sequence[str] | None = None) -> Script:
    """Read the command line; what cannot be read ends the process with the usage."""
    options = _parser().parse_args(arguments)
    scenario = SCENARIOS[options.scenario]
    return Script(
        scenario=scenario,
        server=options.server,
        delay=scenario.delay if options.delay is None else options.delay,
        crash_at=options.at if scenario.crashes else None,
        crash_after=options.after,
        connect_before=options.connect == "before",
        transports=frozenset(options.mcp_capabilities.split(",")) - {"none"},
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
    parser.add_argument("--server", metavar="NAME", help="fails-session-new: the server it names")
    parser.add_argument("--delay", type=float, metavar="SECONDS", help="the wait before each step")
    parser.add_argument(
        "--at",
        choices=("initialize", "session-new", "connect", "prompt"),
        default="session-new",
        help="crashes: where",
    )
    moment = parser.add_mutually_exclusive_group()
    moment.add_argument("--before", action="store_true", help="crashes: before it (the default)")
    moment.add_argument("--after", action="store_true", help="crashes: after it")
    parser.add_argument(
        "--connect",
        choices=("before", "after"),
        default="before",
        help="connect before or after session/new is answered",
    )
    parser.add_argument(
        "--mcp-capabilities",
        default="http,sse",
        metavar="LIST",
        help="the MCP transports to advertise: http,sse or one of them, or none",
    )
    return parser


def _tables() -> str:
    from kandev_nb.agents.scripted.grammar import usage

    rows = "\n".join(_row(name, scenario.summary) for name, scenario in SCENARIOS.items())
    return f"scenarios:\n{rows}\n\n{usage()}"


def _row(name: str, summary: str) -> str:
    return textwrap.fill(summary, 96, initial_indent=f"  {name:<19}", subsequent_indent=" " * 21)
