"""What an agent says of itself in its answer to ``initialize`` (ACP, "Initialization").

Read member by member from the answer as it came: a member that is missing or odd counts as not
offered, and never spoils the rest. What is said here is an offer and no proof: agents advertise
transports that they cannot use and use transports that they do not advertise.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kandev_nb.attachment.limits import NAME_BYTES, cut_utf8


@dataclass(frozen=True)
class McpCapabilities:
    """The transports, next to stdio, over which the agent takes MCP servers."""

    http: bool = False
    sse: bool = False

    @property
    def offered(self) -> frozenset[str]:
        """The words of those that are offered."""
        offers = {"http": self.http, "sse": self.sse}
        return frozenset(transport for transport, offered in offers.items() if offered)


@dataclass(frozen=True)
class Capabilities:
    """The session methods, next to ``session/new``, that the agent offers."""

    load_session: bool = False
    list: bool = False
    resume: bool = False
    close: bool = False
    fork: bool = False
    delete: bool = False


@dataclass(frozen=True)
class Advertised:
    """One answer to ``initialize``; ``protocol_version`` is None when it names none."""

    protocol_version: int | None
    agent_name: str
    agent_version: str
    mcp: McpCapabilities
    sessions: Capabilities
    auth_methods: tuple[str, ...]

    @classmethod
    def read(cls, answer: object) -> "Advertised":
        """Return what ``answer``, the result of ``initialize``, advertises."""
        version = _member(answer, "protocolVersion")
        info = _member(answer, "agentInfo")
        return cls(
            protocol_version=version if type(version) is int else None,
            agent_name=_name(_member(info, "name")),
            agent_version=_name(_member(info, "version")),
            mcp=_mcp(_member(answer, "agentCapabilities", "mcpCapabilities")),
            sessions=_sessions(_member(answer, "agentCapabilities")),
            auth_methods=_ids(_member(answer, "authMethods")),
        )


def _member(value: object, *path: str) -> object:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _name(value: object) -> str:
    return cut_utf8(value, NAME_BYTES) if isinstance(value, str) else ""


def _mcp(value: object) -> McpCapabilities:
    return McpCapabilities(
        http=_member(value, "http") is True,
        sse=_member(value, "sse") is True,
    )


def _sessions(value: object) -> Capabilities:
    offers = _member(value, "sessionCapabilities")
    # An empty object is an offer; a missing member, null or false is none.
    offered = {
        name: _member(offers, name) not in (None, False)
        for name in ("list", "resume", "close", "fork", "delete")
    }
    return Capabilities(load_session=_member(value, "loadSession") is True, **offered)


def _ids(value: object) -> tuple[str, ...]:
    methods = value if isinstance(value, list) else []
    return tuple(name for method in methods if (name := _name(_member(method, "id"))))
