"""How long calls wait, in seconds, unless told otherwise."""

from typing import Final

START_TIMEOUT: Final = 60.0
PROMPT_TIMEOUT: Final = 300.0
WAIT_TIMEOUT: Final = 30.0
CLOSE_TIMEOUT: Final = 15.0
HEALTH_TIMEOUT: Final = 10.0
FLUSH_TIMEOUT: Final = 2.0
