"""From the bytes of a tool to its count, with everything that can go wrong kept inside.

The ledger's worker comes in with one tool after the other; a number or ``None`` leaves. No
failure of the tokenizer gets out, a panic of its native part included.
"""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Lock, Thread, main_thread
from typing import TYPE_CHECKING, Final

from kandev_nb.tokens._counts import Counts, digest
from kandev_nb.tokens._encoding import build, count
from kandev_nb.tokens._vocabulary import VocabularyError, read_ranks

if TYPE_CHECKING:
    from tiktoken import Encoding

LONGEST_TOOL: Final = 8 * 1024 * 1024
"""Bytes of the longest tool that is counted: a bound on the time that one tool can take."""

_log = logging.getLogger("kandev_nb.tokens")


class Estimator:
    """The tokenizer of one bundle, loaded when first needed, once. Safe in any thread."""

    def __init__(self, bundle: Path) -> None:
        self._bundle = bundle
        self._loading = Lock()
        self._warming = Lock()
        self._loaded = False
        self._encoding: Encoding | None = None
        self._problem: str | None = None
        self._counts = Counts()

    def estimate(self, tool_json: bytes) -> int | None:
        """Return the tokens of ``tool_json``, or ``None`` when they cannot be counted."""
        if len(tool_json) > LONGEST_TOOL:
            return None
        key = digest(tool_json)
        found = self._counts.find(key)
        return self._counted(key, tool_json) if found is None else found

    def problem(self) -> str | None:
        """Return why there is no tokenizer, or ``None`` when there is one."""
        self._tokenizer()
        return self._problem

    def warm(self) -> None:
        """Load in a daemon thread; only the first call starts one."""
        if self._warming.acquire(blocking=False):  # never released: it says "was called"
            Thread(target=self._tokenizer, name="kandev-nb-tokens", daemon=True).start()

    def _counted(self, key: bytes, tool_json: bytes) -> int | None:
        encoding = self._tokenizer()
        if encoding is None:
            return None
        try:
            tokens = count(encoding, tool_json.decode("utf-8", "replace"))
        except BaseException as error:
            if not _is_failure(error):
                raise
            _log.warning("A tool was not counted (%s).", type(error).__name__)
            return None
        self._counts.keep(key, tokens)
        return tokens

    def _tokenizer(self) -> Encoding | None:
        with self._loading:
            if not self._loaded:
                self._encoding = self._load()
                self._loaded = True
            return self._encoding

    def _load(self) -> Encoding | None:
        try:
            return build(read_ranks(self._bundle))
        except BaseException as error:
            if not _is_failure(error):
                raise
            self._problem = f"No token estimates: {_reason(error)}. Reinstall kandev-nb."
            if main_thread().is_alive():  # Else the interpreter ends, and that is the reason.
                _log.warning("%s", self._problem)
            return None


def _is_failure(error: BaseException) -> bool:
    """Tell a failure from a request to stop, such as ``KeyboardInterrupt``.

    A panic in native code is neither: pyo3 raises a class of its own for it, not an ``Exception``.
    """
    return isinstance(error, Exception) or type(error).__module__ == "pyo3_runtime"


def _reason(error: BaseException) -> str:
    if isinstance(error, VocabularyError):
        return str(error)
    return f"tiktoken does not work here ({type(error).__name__})"
