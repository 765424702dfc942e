"""A probe's file, read back as a timeline: one line of it a row."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from kandev_nb.attachment.model import rfc3339
from kandev_nb.frames.columns import TIME, frame
from kandev_nb.session.launch import wrong

PROBE: Final[Mapping[str, str]] = {
    "at": TIME,
    "seconds": "float64",
    "direction": "category",
    "kind": "category",
    "event": "string",
    "id": "string",
    "connection_id": "string",
    "content": "object",
}
"""The columns of :func:`probe_frame` and their dtypes.

``seconds`` counts from the first line. ``kind`` is request, notification, answer, error, text or
event; ``event`` is the method, also of what is answered, or the event's name; ``content`` is the
frame, the text, or what else the line says of an event.
"""

_ENVELOPE: Final = ("at", "direction", "connection", "event")


def probe_frame(path: str | Path) -> pd.DataFrame:
    """Return the lines of a probe's file in the order of their times (columns: :data:`PROBE`).

    A last line that was cut off, as a killed probe leaves it, is passed over.

    Raises:
        ConfigError: the file cannot be read, or is none of a probe.
    """
    made = frame(_rows(_lines(Path(path).expanduser())), PROBE)
    made = made.sort_values("at", kind="stable", ignore_index=True)
    made["seconds"] = (made["at"] - made["at"].min()).dt.total_seconds()
    return made


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise wrong(f"{path} cannot be read ({error.strerror}).") from None
    *lines, _cut_off = content.split(b"\n")
    for number, line in enumerate(lines, start=1):
        yield _read(line, path, number)


def _read(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        read = json.loads(line)
        if isinstance(read, dict) and isinstance(read.get("direction"), str):
            return read | {"at": rfc3339(read["at"])}
    except (ValueError, TypeError, LookupError, RecursionError):
        pass
    raise wrong(f"Line {number} of {path} is none of a probe's. Give a file that a probe wrote.")


def _rows(lines: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    asked: dict[tuple[str, str], str] = {}
    for line in lines:
        told = _told(line, asked)
        yield {
            "at": line["at"],
            "direction": line["direction"],
            "connection_id": line.get("connection", ""),
            **told._asdict(),
        }


class _Told(NamedTuple):
    kind: str
    event: str
    id: str
    content: Any


def _told(line: dict[str, Any], asked: dict[tuple[str, str], str]) -> _Told:
    """Return what a line tells; ``asked`` are the requests so far, by who asked and by ID."""
    if "event" in line:
        fields = {name: value for name, value in line.items() if name not in _ENVELOPE}
        return _Told("event", line["event"], "", fields)
    if "frame" not in line:
        return _Told("text", "", "", line.get("text", ""))
    content, direction = line["frame"], line["direction"]
    number, method = content.get("id"), content.get("method")
    key = "" if number is None else json.dumps(number)
    if isinstance(method, str):
        asked[direction, key] = method
        return _Told("request" if key else "notification", method, key, content)
    # The two sides number their requests alike: who answers is not who asked.
    other = "received" if direction == "sent" else "sent"
    kind = "error" if "error" in content else "answer"
    return _Told(kind, asked.get((other, key), ""), key, content)
