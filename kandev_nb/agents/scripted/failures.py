"""How the reference agent words a refusal to open a session: the errors that real agents answer.

They differ in the code, in the shape of ``data``, and in what was connected before. Only the
standard library is loaded here.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

Opening = Literal["new", "load", "resume", "fork"]

LOGIN_METHOD: Final = "scripted-login"

_ALL: Final[frozenset[Opening]] = frozenset(("new", "load", "resume", "fork"))


@dataclass(frozen=True)
class Failure:
    """One row of the table: a JSON-RPC error, and which requests it answers."""

    summary: str
    code: int
    message: str
    data: Any = None
    connects: bool = False
    at: frozenset[Opening] = _ALL


FAILURES: Final[dict[str, Failure]] = {
    "login": Failure(
        "-32000 with data.authMethods, before anything is connected",
        -32000,
        "Authentication required",
        {"authMethods": [{"id": LOGIN_METHOD, "name": "Log in"}]},
    ),
    "login-internal": Failure(
        "-32603, and the login is named in data.details only",
        -32603,
        "Internal error",
        {"details": "Authentication required"},
    ),
    "qwen": Failure(
        "connects everything, then -32000", -32000, "Authentication required", connects=True
    ),
    "claude-resume": Failure(
        "session/load and session/resume only: connects everything, then -32002",
        -32002,
        "Resource not found",
        connects=True,
        at=frozenset(("load", "resume")),
    ),
    "list-data": Failure(
        "-32602, and data is a list",
        -32602,
        "Invalid params",
        [{"path": ["mcpServers"], "message": "Invalid input"}],
    ),
}
"""The failures by name; each answers all requests that open a session, if it does not say else."""
