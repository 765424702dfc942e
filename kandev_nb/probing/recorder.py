"""The file of raw frames: one JSON object a line, readable by its owner only (SA-5).

What goes to an agent and comes from it comes in, as the :class:`~kandev_nb.agents.transport.Tap` of
its session; lines of ``probe.schema.json`` leave. The frames are recorded as they are: only the
secret of our own endpoint, which is good as long as the probe runs, is replaced.
"""

import json
import os
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NoReturn

from jupyter_core.paths import jupyter_data_dir

from kandev_nb.agents.transport import Direction
from kandev_nb.attachment.model import Evidence, History, utc_now
from kandev_nb.errors import ConfigError
from kandev_nb.session.launch import wrong

PLACEHOLDER: Final = "<endpoint-secret>"
"""What stands in the place of our endpoint's secret."""

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")
_OURS: Final = ("attachment_attempt_id", "kind", "occurred_at", "connection_id")
"""Fields of evidence that a line has under another name, or not at all."""

Mirror = Callable[[str], None]


def default_folder() -> Path:
    """Return the folder of a probe's file where none is named."""
    return Path(jupyter_data_dir()) / "kandev-nb" / "probes"


def new_file(agent: str, out: Path | None, file: Path | None) -> Path:
    """Make the empty file of a probe, 0600; its folder is made too, 0700.

    Raises:
        ConfigError: it exists already, or a symbolic link stands where it or its folder should be.
    """
    named = file.expanduser().absolute() if file else None
    folder = named.parent if named else (out or default_folder()).expanduser().absolute()
    path = named or folder / _name(agent)
    if folder.is_symlink() or path.is_symlink():
        raise wrong(f"The probe's file {path} would be behind a symbolic link. Name another place.")
    try:
        _make_folder(folder)
        os.close(os.open(path, _NEW, 0o600))
    except FileExistsError:
        raise wrong(f"{path} exists already. Name another file, or move it away.") from None
    except OSError as error:
        raise _unusable(path, error) from None
    return path


class Recorder:
    """Writes one probe's file. Its methods may be called from any thread and never raise."""

    def __init__(self, path: Path, *, stderr: bool = False, mirror: Mirror | None = None) -> None:
        """Write to the file at ``path``, also standard error if told so; tell ``mirror`` lines."""
        self.path = path
        self.problem = ""
        """Why the file is not complete; empty when it is."""
        self.sent_at: dict[str, str] = {}
        """When each method was sent to the agent for the first time."""
        self.returncode: int | None = None
        self._stderr = stderr
        self._mirror = mirror
        self._secrets: list[bytes] = []
        self._told: set[tuple[str, ...]] = set()
        self._lock = threading.RLock()
        try:
            self._file: int | None = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        except OSError as error:
            raise _unusable(path, error) from None

    def frame(self, direction: Direction, line: bytes) -> None:
        """Record what was sent, received or said; called on the event loop."""
        if direction == "stderr" and not self._stderr:
            return
        for secret in self._secrets:
            line = line.replace(secret, PLACEHOLDER.encode())
        at, frame = utc_now(), None if direction == "stderr" else _object(line)
        if frame is not None and direction == "sent" and isinstance(frame.get("method"), str):
            self.sent_at.setdefault(frame["method"], at)
        said = {"text": _text(line)} if frame is None else {"frame": frame}
        self._write({"at": at, "direction": direction, **said})

    def conceal(self, secret: str) -> None:
        """Put :data:`PLACEHOLDER` in the place of this secret from now on."""
        self._secrets.append(secret.encode())

    def exited(self, returncode: int | None) -> None:
        """Keep how the agent's process ended, for the last line."""
        self.returncode = returncode

    def note(self, event: str, *, at: str = "", connection: str = "", **fields: Any) -> None:
        """Record what is no frame; empty fields are left out."""
        where = {"connection": connection} if connection else {}
        told = {name: value for name, value in fields.items() if value not in ("", None, (), [])}
        self._write({"at": at or utc_now(), "direction": "meta", **where, "event": event, **told})

    def report(self, history: History) -> None:
        """Record the evidence that is new in the report; called with each report."""
        with self._lock:
            for event in history.current.evidence if history.current else ():
                key = (event.kind, event.server_name, event.occurred_at, event.connection_id)
                if key not in self._told:
                    self._told.add(key)
                    self._note_evidence(event)

    def close(self) -> None:
        """Write no more."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _note_evidence(self, event: Evidence) -> None:
        facts = {name: value for name, value in event.to_wire().items() if name not in _OURS}
        facts["server"] = facts.pop("server_name", "")
        self.note(event.kind, at=event.occurred_at, connection=event.connection_id, **facts)

    def _write(self, line: dict[str, Any]) -> None:
        with self._lock:
            if self._file is None:
                return
            try:
                _write_all(self._file, json.dumps(line, separators=(",", ":")).encode() + b"\n")
            except (OSError, RecursionError) as error:
                self.problem = (isinstance(error, OSError) and error.strerror) or str(error)
                self.close()
            self._show(line)

    def _show(self, line: dict[str, Any]) -> None:
        if self._mirror is not None:
            try:
                self._mirror(_mirrored(line))
            except (OSError, ValueError):  # Whoever watched is gone; the file goes on.
                self._mirror = None


def _name(agent: str) -> str:
    fit = _UNFIT.sub("_", agent)[:64]
    return f"probe-{fit}-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.jsonl"


def _make_folder(folder: Path) -> None:
    """Make the folder and those above it that are missing, each for its owner only."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def _unusable(path: Path, error: OSError) -> ConfigError:
    return wrong(
        f"The probe's file {path} cannot be written ({error.strerror}). Name another with file=."
    )


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _text(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace").rstrip("\r\n")


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _mirrored(line: dict[str, Any]) -> str:
    """Return a line as a terminal can show it: what is no ASCII stays escaped (CA-5)."""
    mark = {"sent": "->", "received": "<-", "stderr": "!!", "meta": "--"}[line["direction"]]
    shown = {name: value for name, value in line.items() if name not in ("at", "direction")}
    content = shown.get("frame", shown.get("text", shown))
    return f"{mark} {json.dumps(content, separators=(',', ':'))}"
