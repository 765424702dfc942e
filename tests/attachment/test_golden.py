"""Replaying the reference's own event sequences gives the reference's own reports."""

import json
from pathlib import Path
from typing import Any

import pytest

from kandev_nb.attachment import Attempt, Evidence, apply, decode_history, start_attempt
from kandev_nb.attachment.model import NOTHING_STARTED

GOLDEN = Path(__file__).parent.parent / "data" / "reducer.jsonl"
SCENARIOS = [json.loads(line) for line in GOLDEN.read_text().splitlines()]


@pytest.mark.req("EV-1", "EV-10", "CA-1", "CA-2", "CA-4")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario["name"]))
def test_a_recorded_sequence_reduces_to_the_reference_report(scenario: dict[str, Any]) -> None:
    history = NOTHING_STARTED
    for step in scenario["steps"]:
        if step["op"] == "start":
            history = start_attempt(history, Attempt(**step["attempt"]))
        else:
            history, accepted = apply(history, Evidence(**step["evidence"]))
            assert accepted == step["accepted"]

    assert history.to_wire() == scenario["report"]


@pytest.mark.req("EV-11")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario["name"]))
def test_a_report_of_the_reference_reads_and_writes_unchanged(scenario: dict[str, Any]) -> None:
    decoded = decode_history(json.dumps(scenario["report"]))

    assert decoded is not None
    assert decoded.to_wire() == scenario["report"]
