"""The build hook: puts fresh front-end bundles into every wheel, editable ones included.

Hatch comes in here before it collects a wheel's files. The work is done by ``toolchain.py``, in a
process of its own because Hatch loads a hook without the folder that it lies in.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FrontEndHook(BuildHookInterface[Any]):
    """Builds what is missing or older than its sources, and stops the build when that fails."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by Hatch before the files of a wheel are collected."""
        toolchain = Path(self.root, "labextension", "toolchain.py")
        done = subprocess.run((sys.executable, str(toolchain)), check=False)
        if done.returncode:
            self.app.abort("kandev-nb was not installed: its front end could not be built.")
