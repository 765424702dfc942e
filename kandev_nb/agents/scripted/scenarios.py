"""What the reference agent does unasked when a session is opened: the table of scenarios.

Only the standard library is loaded here, so that ``--help`` and a wrong option answer at once.
"""

from dataclasses import dataclass
from typing import Final, Literal

Mode = Literal["legacy", "auto", "2026-07-28"]
Moment = Literal["never", "at-prompt", "at-startup", "on-stderr", "at-session-new"]

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
    tells_failures: Moment = "never"
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
    "reports-startup": Scenario(
        "right after it has answered session/new, reports them as failed tool calls that are no "
        "use of a tool (mcp_startup.NAME.UUID)",
        tells_failures="at-startup",
    ),
    "reports-on-stderr": Scenario(
        "when it has connected, reports them on its standard error; --wording auggie, gemini or "
        "qwen",
        tells_failures="on-stderr",
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
        "ends with exit code 3; --at a step of it; --before the answer or --after it",
        crashes=True,
    ),
    "noisy": Scenario("writes to its standard output what is no frame, between frames", noisy=True),
    "auth-required": Scenario(
        "advertises a login, which it has not, and refuses every session: --fails-with login",
        needs_login=True,
    ),
}
"""The scenarios by name. By default a connection that fails is not mentioned, as most agents do."""
