"""How the reference agent says that it could not reach a server: in the ways that agents have.

A session comes in; updates, lines on standard error or an error leave. The scenario says which.
"""

import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from acp import Client, RequestError, start_tool_call
from acp.schema import AgentMessageChunk, TextContentBlock

from kandev_nb.agents.scripted.options import Wording
from kandev_nb.agents.scripted.session import ScriptedSession


async def at_prompt(client: Client, session: ScriptedSession) -> None:
    """Say it once, before a prompt is performed."""
    while session.unreached:
        name = session.unreached.pop(0)
        status = {"kind": "mcpServerStatus", "server": name, "status": "failed"}
        chunk = AgentMessageChunk(
            session_update="agent_message_chunk",
            content=TextContentBlock(type="text", text=f"MCP server {name}: failed\n"),
            field_meta={"claudeCode": status},
        )
        await client.session_update(session.id, chunk)


async def at_startup(client: Client, session: ScriptedSession) -> None:
    """Say it in tool calls that use no tool."""
    for name in session.unreached:
        call_id = f"mcp_startup.{name}.{uuid.uuid4()}"
        call = start_tool_call(call_id, f"mcp__{name}__startup", kind="other", status="failed")
        await client.session_update(session.id, call)


def on_stderr(session: ScriptedSession, wording: Wording) -> None:
    """Say it on standard error."""
    words = "".join(f"{line}\n" for line in _WORDINGS[wording](session))
    # Agents write UTF-8, whatever the locale says.
    sys.stderr.buffer.write(words.encode())
    sys.stderr.flush()


def refusal(session: ScriptedSession) -> RequestError | None:
    """Return the error that a session request is answered with, if a server was not reached."""
    if not session.unreached:
        return None
    return _refused(f"MCP Server: '{session.unreached[0]}': Failed to initialize MCP server")


def second_refusal(session: ScriptedSession) -> RequestError | None:
    """Return the error for a server whose name was taken when the session came."""
    if not session.refused:
        return None
    name = session.refused[0]
    taken = f"Runtime MCP server '{name}' is already registered with different settings"
    return _refused(taken)


def _refused(details: str) -> RequestError:
    return RequestError.internal_error({"details": details})


def _auggie(session: ScriptedSession) -> Iterator[str]:
    for name in session.server_names:
        yield f"❌ {name} (failed)" if name in session.unreached else f"✅ {name}"


def _gemini(session: ScriptedSession) -> Iterator[str]:
    if session.unreached:
        yield "MCP issues detected. Run /mcp list for status."


def _qwen(session: ScriptedSession) -> Iterator[str]:
    if session.unreached:
        names = ", ".join(session.unreached)
        yield f"Warning: MCP server(s) failed to start: {names}. Going on without them."


_WORDINGS: Final[Mapping[Wording, Callable[[ScriptedSession], Iterator[str]]]] = {
    "auggie": _auggie,
    "gemini": _gemini,
    "qwen": _qwen,
}
