"""What the reference agent advertises of itself, as the script says (ACP, "Initialization")."""

from acp.schema import (
    AgentCapabilities,
    McpCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionForkCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
)

from kandev_nb.agents.scripted.options import Script


def capabilities(script: Script) -> AgentCapabilities:
    """Return the capabilities; a session method that is not offered is left out."""
    offered = script.session_methods
    return AgentCapabilities(
        load_session="load" in offered,
        mcp_capabilities=McpCapabilities(
            http="http" in script.transports, sse="sse" in script.transports
        ),
        session_capabilities=SessionCapabilities(
            list=SessionListCapabilities() if "list" in offered else None,
            fork=SessionForkCapabilities() if "fork" in offered else None,
            resume=SessionResumeCapabilities() if "resume" in offered else None,
            close=SessionCloseCapabilities() if "close" in offered else None,
        ),
    )
