"""What is said to a server: the handshake of either protocol era, and the list of its tools
(MCP 2025-11-25, "Lifecycle"; MCP 2026-07-28, "Discovery"; both, "Pagination").
"""

from typing import Any, Final

from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
)

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.diagnose.endpoint import messages
from kandev_nb.diagnose.endpoint.channel import Channel
from kandev_nb.diagnose.endpoint.faults import Fault, version_unsupported, versions_in
from kandev_nb.diagnose.endpoint.messages import Message

PAGES: Final = 64
"""Pages of a list that are followed."""

_METHOD_NOT_FOUND: Final = -32601
_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"


async def converse(channel: Channel) -> None:
    """Shake hands and list the tools; what is heard is in the channel's course."""
    if channel.stateless_first:
        if not await _discovered(channel):
            await _initialized(channel)
    else:
        await _initialized_or_discovered(channel)
    channel.course.phase = "list_tools"
    try:
        await _list_tools(channel)
    except Fault as fault:
        if channel.course.has_tools or fault.number != _METHOD_NOT_FOUND:
            raise


async def _discovered(channel: Channel) -> bool:
    """Ask in the stateless era; ``False`` says that the one of sessions is to be tried."""
    channel.version = LATEST_MODERN_VERSION
    try:
        found = await channel.ask("server/discover")
        versions = versions_in(found.get("supportedVersions"))
    except Fault as fault:
        if fault.is_final:
            raise
        found, versions = {}, fault.versions
    if LATEST_MODERN_VERSION in versions and found:
        _note(channel, LATEST_MODERN_VERSION, _meta(found).get(_SERVER_INFO), found)
        return True
    if versions and not set(versions) & set(HANDSHAKE_PROTOCOL_VERSIONS):
        raise version_unsupported(versions)
    channel.version = ""
    return False


async def _initialized(channel: Channel) -> None:
    """Shake hands in the era of sessions."""
    channel.version = ""
    try:
        result = await channel.ask(
            "initialize",
            protocolVersion=LATEST_HANDSHAKE_VERSION,
            capabilities={},
            clientInfo=messages.CLIENT,
        )
    except Fault as fault:
        if fault.versions and not fault.is_final:
            raise version_unsupported(fault.versions) from fault
        raise
    version = result.get("protocolVersion")
    if not isinstance(version, str):
        raise Fault(ReasonCode.MALFORMED_RESPONSE, "it names no protocol version")
    if version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise version_unsupported(versions_in([version]))
    channel.version = version
    _note(channel, version, result.get("serverInfo"), result)
    await channel.tell(messages.notification("notifications/initialized"))


async def _initialized_or_discovered(channel: Channel) -> None:
    """Shake hands as most servers can, else as a server that knows the stateless era alone."""
    try:
        await _initialized(channel)
    except Fault as fault:
        earlier = fault.__cause__ if isinstance(fault.__cause__, Fault) else fault
        knows = LATEST_MODERN_VERSION in earlier.versions or earlier.number == _METHOD_NOT_FOUND
        if not knows or not await _discovered(channel):
            raise


async def _list_tools(channel: Channel) -> None:
    """Follow the pages to the end, as far as they lead on."""
    course, seen = channel.course, set[str]()
    cursor: Any = None
    while True:
        page = await channel.ask("tools/list", **({"cursor": cursor} if cursor else {}))
        tools, cursor = page.get("tools"), page.get("nextCursor")
        if not isinstance(tools, list):
            raise Fault(ReasonCode.MALFORMED_RESPONSE, "its tools are no list")
        course.tools += tools
        course.pages += 1
        if cursor is None or cursor == "":
            return
        if not isinstance(cursor, str):
            raise Fault(ReasonCode.MALFORMED_RESPONSE, "its cursor is no text")
        if cursor in seen or course.pages == PAGES:
            stands = cursor in seen
            course.shortfall = (
                ReasonCode.CURSOR_NOT_ADVANCING if stands else ReasonCode.PARTIAL_LIST
            )
            return
        seen.add(cursor)


def _note(channel: Channel, version: str, server: object, said: Message) -> None:
    course = channel.course
    course.protocol_version = version
    if isinstance(server, dict):
        course.server_name = _text(server.get("name"))
        course.server_version = _text(server.get("version"))
    capabilities = said.get("capabilities")
    course.has_tools = isinstance(capabilities, dict) and "tools" in capabilities


def _meta(result: Message) -> Message:
    meta = result.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
