"""What a check of the doctor is, and what several of them need."""

import json
from contextlib import suppress
from importlib import metadata
from typing import Final, Literal, NamedTuple

State = Literal["ok", "note", "problem"]
"""A ``note`` needs nothing done; a ``problem`` keeps kandev-nb, or an agent, from working."""

OURS: Final = "kandev-nb"
"""The name of the package, and of its JupyterLab extension."""


class Check(NamedTuple):
    """What was looked at, how it stands, what was found, and what to do (empty: nothing)."""

    name: str
    state: State
    found: str
    advice: str = ""


def is_editable() -> bool:
    """Whether kandev-nb runs from its sources in place."""
    # Metadata that is missing or damaged tells nothing; the checks of the packages say so.
    with suppress(Exception):
        origin = json.loads(metadata.distribution(OURS).read_text("direct_url.json") or "{}")
        return bool(origin.get("dir_info", {}).get("editable"))
    return False


def install_again() -> str:
    """Return how to install kandev-nb again: an editable install also copies its extension anew."""
    if is_editable():
        return "Run `pip install -e .` again in the sources of kandev-nb."
    return "Run `pip install --force-reinstall --no-deps .` in the sources of kandev-nb."
