"""kandev-nb: see what each agent session really did with its MCP servers.

>>> from kandev_nb import Controller
>>> with Controller() as kandev:
...     session = kandev.task("triage").start("scripted")
...     session.wait_for("kandev", "active").tool_count
6

This is the public face; the parts behind it load on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kandev_nb.errors import (
    AgentError,
    AttachmentFailed,
    ConfigError,
    EndpointError,
    KandevError,
    StoreError,
    Unsupported,
    WaitTimeout,
)

if TYPE_CHECKING:
    from kandev_nb._version import __version__
    from kandev_nb.agents.permission import PermissionRequest
    from kandev_nb.agents.turn import PromptResult
    from kandev_nb.attachment import History
    from kandev_nb.controller import Controller, Session, Sessions, Task
    from kandev_nb.diagnose.diagnostics import Diagnostics
    from kandev_nb.diagnose.endpoint import EndpointTest
    from kandev_nb.endpoint.tools import ToolError
    from kandev_nb.planned import Plan, plan
    from kandev_nb.probing.asking import probe
    from kandev_nb.probing.frame import probe_frame
    from kandev_nb.probing.summary import ProbeResult
    from kandev_nb.servers import Policy, Profile, read_policy, read_profile
    from kandev_nb.store import Store, StoredSession
    from kandev_nb.store.kandev import KandevReports, KandevSession, read_kandev
    from kandev_nb.widgets import Explorer

__all__ = [
    "AgentError",
    "AttachmentFailed",
    "ConfigError",
    "Controller",
    "Diagnostics",
    "EndpointError",
    "EndpointTest",
    "Explorer",
    "History",
    "KandevError",
    "KandevReports",
    "KandevSession",
    "PermissionRequest",
    "Plan",
    "Policy",
    "ProbeResult",
    "Profile",
    "PromptResult",
    "Session",
    "Sessions",
    "Store",
    "StoreError",
    "StoredSession",
    "Task",
    "ToolError",
    "Unsupported",
    "WaitTimeout",
    "__version__",
    "plan",
    "probe",
    "probe_frame",
    "read_kandev",
    "read_policy",
    "read_profile",
]

_ROOMS = {
    "Controller": "kandev_nb.controller",
    "Diagnostics": "kandev_nb.diagnose.diagnostics",
    "EndpointTest": "kandev_nb.diagnose.endpoint",
    "Explorer": "kandev_nb.widgets",
    "History": "kandev_nb.attachment",
    "KandevReports": "kandev_nb.store.kandev",
    "KandevSession": "kandev_nb.store.kandev",
    "PermissionRequest": "kandev_nb.agents.permission",
    "Plan": "kandev_nb.planned",
    "Policy": "kandev_nb.servers",
    "ProbeResult": "kandev_nb.probing.summary",
    "Profile": "kandev_nb.servers",
    "PromptResult": "kandev_nb.agents.turn",
    "Session": "kandev_nb.controller",
    "Sessions": "kandev_nb.controller",
    "Store": "kandev_nb.store",
    "StoredSession": "kandev_nb.store",
    "Task": "kandev_nb.controller",
    "ToolError": "kandev_nb.endpoint.tools",
    "__version__": "kandev_nb._version",
    "plan": "kandev_nb.planned",
    "probe": "kandev_nb.probing.asking",
    "probe_frame": "kandev_nb.probing.frame",
    "read_kandev": "kandev_nb.store.kandev",
    "read_policy": "kandev_nb.servers",
    "read_profile": "kandev_nb.servers",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_ROOMS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where JupyterLab finds the prebuilt extension of a development install."""
    return [{"src": "labextension", "dest": "kandev-nb"}]
