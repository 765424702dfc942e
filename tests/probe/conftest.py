"""Probing the reference agent, in a folder of the test's own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema_rs import Draft202012Validator

import kandev_nb.probing
from kandev_nb import ProbeResult, probe

CALL: Final = "call kandev probe_kandev {}"

Probe = Callable[..., ProbeResult]

_SCHEMA: Final = Path(kandev_nb.probing.__file__).with_name("probe.schema.json")
_VALIDATOR: Final = Draft202012Validator(json.loads(_SCHEMA.read_text()))


@pytest.fixture
def probed(tmp_path: Path) -> Probe:
    """Probes the reference agent with a command line of its own, for 20 s at most."""

    def probed(args: str = "", **options: Any) -> ProbeResult:
        return probe("scripted", args=args, **{"out": tmp_path / "probes", **options})

    return probed


def lines(result: ProbeResult) -> list[dict[str, Any]]:
    """Return the lines of a probe's file, each of which has the published shape."""
    read = [json.loads(line) for line in result.file.read_text().splitlines()]
    faults = {error.message for line in read for error in _VALIDATOR.iter_errors(line)}
    assert not faults
    return read


def events(result: ProbeResult, name: str) -> list[dict[str, Any]]:
    return [line for line in lines(result) if line.get("event") == name]


def is_line(value: Any) -> bool:
    """Whether it is a line of the published shape."""
    return bool(_VALIDATOR.is_valid(value))
