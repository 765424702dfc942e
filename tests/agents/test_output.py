"""What is kept of what an agent wrote, and what of it a cell shows."""

import pytest

from kandev_nb.agents.output import OUTPUT_BYTES, OUTPUT_LINES, RecentOutput
from kandev_nb.controller import Task


def wrote(*chunks: bytes) -> RecentOutput:
    output = RecentOutput()
    for chunk in chunks:
        output.feed(chunk)
    return output


@pytest.mark.req("SA-3")
def test_the_last_lines_are_kept_in_both_bounds() -> None:
    lines = [f"line {n}\n".encode() for n in range(200)]
    assert wrote(*lines).text.splitlines() == [f"line {n}" for n in range(150, 200)]
    assert len(lines) > OUTPUT_LINES

    long = wrote(b"x" * OUTPUT_BYTES, b"\xff" * 10)
    assert len(long.text.encode()) == OUTPUT_BYTES
    assert long.text.endswith("?" * 10)


@pytest.mark.req("SA-3")
def test_a_cell_shows_counts_and_the_warning_and_no_word_of_it() -> None:
    shown = repr(wrote(b"password=hunter2\n"))

    assert "hunter2" not in shown
    assert "1 of at most 50 lines kept, 17 bytes written; may hold secrets" in shown


@pytest.mark.req("SA-3")
def test_why_there_is_none_is_said_and_where_it_would_come_from(task: Task) -> None:
    quiet = task.start("scripted", name="quiet").recent_output()
    cli = task.start(passthrough="cat", name="cli").recent_output()

    assert quiet.why_none == "The agent has written nothing to its standard error."
    assert cli.why_none == "The agent has written nothing to its terminal."
    assert quiet.why_none in repr(quiet)
    assert (quiet.text, cli.text) == ("", "")
    assert wrote(b"x").why_none == ""
