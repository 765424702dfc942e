"""What the libraries below us may log: where and what type, never content (SA-1).

At debug level some of them log whole messages, and a notebook saves what its kernel logs. The
filter stays on their loggers for the life of the process.
"""

import asyncio
import logging
from typing import Final

LIBRARIES: Final = ("acp", "httpcore2", "httpx2", "mcp", "sse_starlette", "uvicorn")
"""The packages whose loggers are restrained, by the first part of the logger's name."""


class _PlaceAndType(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the text of a record by the function that logged it and the error's type.

        A request that our own ending cancelled is nothing to report.
        """
        error = record.exc_info[0] if record.exc_info else None
        if error is not None and issubclass(error, asyncio.CancelledError):
            return False
        record.msg = f"{record.funcName}: {error.__name__}" if error else record.funcName
        record.args = ()
        record.exc_info = record.exc_text = record.stack_info = None
        return True


_FILTER: Final = _PlaceAndType()


def restrain() -> None:
    """Restrain the loggers of the libraries that have been imported."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in LIBRARIES:
            logging.getLogger(name).addFilter(_FILTER)
