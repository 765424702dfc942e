"""How the reference agent asks whether it may call a tool (ACP, "Requesting Permission").

A tool call comes in; the kind of the option that was chosen leaves, or why none was. What was
chosen for always is not asked again in that session.
"""

from typing import Final

from acp import Client, RequestError
from acp.schema import (
    AllowedOutcome,
    PermissionOption,
    PermissionOptionKind,
    RequestPermissionResponse,
    ToolCallUpdate,
)

from kandev_nb.agents.scripted.session import ScriptedSession

# No two agents have the same option IDs: who answers has to go by the kind.
_KINDS: Final[dict[str, PermissionOptionKind]] = {
    "yes-1": "allow_once",
    "yes-2": "allow_always",
    "no-1": "reject_once",
    "no-2": "reject_always",
}

ALLOWS: Final = frozenset(("allow_once", "allow_always"))


async def verdict(client: Client, session: ScriptedSession, call_id: str, title: str) -> str:
    """Ask, unless it is settled; return one of :data:`ALLOWS` or the reason for not calling."""
    if title in session.permissions:
        return session.permissions[title]
    call = ToolCallUpdate(tool_call_id=call_id, title=title, kind="other", status="pending")
    try:
        answer = await client.request_permission(session.id, call, _options())
    except RequestError as error:
        return f"error {error.code}"
    chosen = _chosen(answer)
    if chosen.endswith("_always"):
        session.permissions[title] = chosen
    return chosen


def _chosen(answer: RequestPermissionResponse) -> str:
    if not isinstance(answer.outcome, AllowedOutcome):
        return "cancelled"
    return _KINDS.get(answer.outcome.option_id, "an option that was not offered")


def _options() -> list[PermissionOption]:
    return [
        PermissionOption(option_id=option_id, name=kind.replace("_", " "), kind=kind)
        for option_id, kind in _KINDS.items()
    ]
