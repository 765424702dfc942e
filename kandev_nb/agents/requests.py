"""What an agent asks of us, and what it gets.

No file system and no terminal is offered (ACP, "Client capabilities"), so the only request with an
answer is the one for permission, which is refused: nobody was asked.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from acp import RequestError

PERMISSION: Final = "session/request_permission"

_REFUSALS: Final = ("reject_once", "reject_always")


def answer(method: str, params: object) -> dict[str, Any]:
    """Return the result for one request of the agent.

    Raises:
        RequestError: -32601 for everything that was not offered.
    """
    if method != PERMISSION:
        raise RequestError.method_not_found(method)
    return {"outcome": _refusal(_options(params))}


def _refusal(options: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Choose by kind, for option IDs differ from agent to agent; once before always."""
    by_kind = {str(option.get("kind")): option.get("optionId") for option in options}
    for kind in _REFUSALS:
        if isinstance(chosen := by_kind.get(kind), str):
            return {"outcome": "selected", "optionId": chosen}
    return {"outcome": "cancelled"}


def _options(params: object) -> Iterable[Mapping[str, Any]]:
    options = params.get("options") if isinstance(params, Mapping) else None
    if not isinstance(options, list):
        return ()
    return [option for option in options if isinstance(option, Mapping)]
