"""What the libraries below us may log: where and what type, never content (SA-1).

At debug level some of them log whole messages, some of it on the root logger, and a notebook saves
what its kernel logs. So a record of theirs loses its text where it is made, whatever logger it is
made for. Our own logger, ``kandev_nb``, logs names, codes and counts, and is not restrained.
"""

import asyncio
import importlib.util
import logging
import os
import threading
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, Final

LIBRARIES: Final = (
    "acp",
    "alembic",
    "httpcore2",
    "httpx2",
    "mcp",
    "psycopg",
    "sqlalchemy",
    "sse_starlette",
    "uvicorn",
)
"""The packages whose records are restrained, by the first part of the logger's name."""

LOOP_THREAD: Final = "kandev-nb"
"""The name of the thread in which those libraries run; asyncio reports of their tasks there."""

_TELL_OF_ENDINGS: Final = ("uvicorn.error", "mcp.shared.jsonrpc_dispatcher")

_Factory = Callable[..., logging.LogRecord]


def restrain() -> None:
    """Restrain the libraries from now on, for the life of the process.

    May be called again: it does something only where another package has taken its place.
    """
    inner = logging.getLogRecordFactory()
    probe = inner(LIBRARIES[0], logging.DEBUG, "", 0, "content", (), None)
    if probe.msg == "content":
        logging.setLogRecordFactory(_restraining(inner))
    for name in _TELL_OF_ENDINGS:
        logging.getLogger(name).addFilter(_is_no_ending)


def name_loggers(*modules: ModuleType) -> None:
    """Let modules of a library that log on the root logger do so under their own names.

    A first record on a root logger without handlers gives it one, and then a kernel prints what
    every library logs.
    """
    for module in modules:
        vars(module)["logging"] = logging.getLogger(module.__name__)


def _restraining(inner: _Factory) -> _Factory:
    def record(*details: Any, **more: Any) -> logging.LogRecord:
        made = inner(*details, **more)
        return _restrained(made) if _is_of_a_library(made) else made

    return record


def _restrained(record: logging.LogRecord) -> logging.LogRecord:
    """Replace the text of a record by the function that logged it and the error's type."""
    error = record.exc_info[0] if record.exc_info else None
    record.msg = f"{record.funcName}: {error.__name__}" if error else record.funcName
    record.args = ()
    record.exc_info = record.exc_text = record.stack_info = None
    return record


def _is_no_ending(record: logging.LogRecord) -> bool:
    """Pass over a request that our own ending cancelled or left without an answer."""
    told = record.getMessage()
    return told != "_final_write" and not told.endswith(f": {asyncio.CancelledError.__name__}")


def _is_of_a_library(record: logging.LogRecord) -> bool:
    if record.name == "root":
        return record.pathname.startswith(_folders())
    package = record.name.partition(".")[0]
    if package == "asyncio":
        return threading.current_thread().name == LOOP_THREAD
    return package in LIBRARIES


@cache
def _folders() -> tuple[str, ...]:
    """Where the code of the libraries is."""
    specs = map(importlib.util.find_spec, LIBRARIES)
    return tuple(os.path.dirname(spec.origin) + os.sep for spec in specs if spec and spec.origin)
