"""Sessions as a file that can be carried elsewhere: JSON lines, or Parquet by way of pandas.

A line is one session, with its report as the wire has it, in one field.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from kandev_nb.attachment import decode_history
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import StoreError
from kandev_nb.store.place import require
from kandev_nb.store.records import MALFORMED, Offer, SessionRecord, Skipped, StoredSession

if TYPE_CHECKING:
    import pandas as pd

_SUFFIXES: Final = (".jsonl", ".parquet")
_FIELDS: Final = tuple(SessionRecord.model_fields)


def check(path: Path) -> None:
    """Raise a :class:`StoreError` for a file that could not be written or read."""
    if path.suffix not in _SUFFIXES:
        raise StoreError(
            f"{path.name} has no suffix that is known. Use {' or '.join(_SUFFIXES)}.",
            reason_code=ReasonCode.WRONG_ARGUMENT,
        )
    if path.suffix == ".parquet":
        require("pyarrow", "Parquet", "parquet")


def write_file(path: Path, sessions: Iterable[StoredSession]) -> int:
    """Write the sessions and return how many; the file appears when it is complete."""
    count = 0

    def lines() -> Iterator[dict[str, Any]]:
        nonlocal count
        for session in sessions:
            history = session.decode()
            if history is None:
                continue
            count += 1
            report = json.dumps(history.to_wire(), separators=(",", ":"))
            record = session.model_dump(include=set(_FIELDS), mode="json")
            yield {name: record[name] for name in _FIELDS} | {"report": report}

    with _naming(path), _complete(path) as file:
        if path.suffix == ".parquet":
            _frame(lines()).to_parquet(file, engine="pyarrow", index=False)
        else:
            for line in lines():
                file.write(json.dumps(line).encode() + b"\n")
    return count


def read_file(path: Path) -> Iterator[Offer | Skipped]:
    """Return what the file holds: sessions, and for each that cannot be read why not."""
    with _naming(path):
        if path.suffix == ".parquet":
            import pandas as pd

            frame = pd.read_parquet(path, engine="pyarrow")
            for number, row in enumerate(frame.to_dict("records"), 1):
                yield _offer({str(name): value for name, value in row.items()}, f"row {number}")
            return
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield _offer(_parsed(line), f"line {number}")


def _offer(fields: object, place: str) -> Offer | Skipped:
    if not isinstance(fields, Mapping):
        return Skipped(place, "the line is no JSON object")
    known = fields.get("session_id")
    name = known if isinstance(known, str) and known else place
    try:
        record = SessionRecord.model_validate(
            {key: fields[key] for key in _FIELDS if key in fields}
        )
    except ValueError:
        return Skipped(name, "the session's fields are malformed")
    report = fields.get("report")
    history = decode_history(report) if isinstance(report, str | Mapping) else None
    return Skipped(name, MALFORMED) if history is None else Offer(record, history)


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _frame(lines: Iterator[dict[str, Any]]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(list(lines), columns=[*_FIELDS, "report"]).astype("string")


@contextmanager
def _complete(path: Path) -> Iterator[IO[bytes]]:
    """Write beside the file, for its owner only, and put it in place when nothing went wrong."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
            yield file
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        words = (isinstance(error, OSError) and error.strerror) or "its content cannot be read"
        raise StoreError(
            f"{path} cannot be used: {words}.", reason_code=ReasonCode.STORE_FAILED
        ) from None
