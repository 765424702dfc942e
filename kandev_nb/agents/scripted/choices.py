"""What the user of a session chooses: its mode and its model.

A mode is set with ``session/set_mode``, a model with ``session/set_config_option`` (ACP, "Session
Modes" and "Session Config Options"); what is offered goes out with every opened session.
"""

from dataclasses import dataclass
from typing import Any, Final

from acp import RequestError
from acp.schema import (
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

MODES: Final = {"default": "Default", "plan": "Plan"}
MODELS: Final = {"fast": "Fast", "careful": "Careful"}

_MODEL: Final = "model"


@dataclass
class Choices:
    """The choices of one session, as they stand."""

    mode: str = "default"
    model: str = "fast"

    def choose_mode(self, mode: str) -> None:
        """Take another mode, or raise ``RequestError`` (-32602)."""
        self.mode = _known(mode, MODES)

    def choose(self, option: str, value: object) -> None:
        """Take another value of a config option, or raise ``RequestError`` (-32602)."""
        _known(option, {_MODEL: ""})
        self.model = _known(value, MODELS)

    def modes(self) -> SessionModeState:
        """Return the modes and the current one."""
        offered = [SessionMode(id=mode, name=name) for mode, name in MODES.items()]
        return SessionModeState(current_mode_id=self.mode, available_modes=offered)

    def config_options(self) -> list[Any]:
        """Return the config options and their current values."""
        models = [SessionConfigSelectOption(value=each, name=name) for each, name in MODELS.items()]
        return [
            SessionConfigOptionSelect(
                id=_MODEL,
                name="Model",
                category="model",
                type="select",
                current_value=self.model,
                options=models,
            )
        ]


def _known(chosen: object, offered: dict[str, str]) -> str:
    if not isinstance(chosen, str) or chosen not in offered:
        raise RequestError.invalid_params({"details": f"choose from {', '.join(offered)}"})
    return chosen
