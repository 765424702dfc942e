"""A probe's file, read back."""

from pathlib import Path

import pytest

from kandev_nb import ConfigError, probe_frame
from kandev_nb.probing.frame import PROBE
from tests.probe.conftest import CALL, Probe


@pytest.mark.req("DI-3")
def test_a_file_is_read_back_as_a_timeline(probed: Probe) -> None:
    result = probed("--ask-permission", prompt=CALL)

    frame = probe_frame(result.file)

    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == dict(PROBE)
    assert frame["at"].is_monotonic_increasing
    assert frame["seconds"].iloc[0] == 0
    assert list(frame["event"].iloc[[0, -1]]) == ["start", "close"]
    calls = frame[frame["event"] == "tool_call_observed"]
    assert list(calls["connection_id"]) == list(result.connections)
    prompt = frame[(frame["event"] == "session/prompt") & (frame["kind"] == "request")]
    assert prompt["content"].iloc[0]["params"]["prompt"][0]["text"] == CALL


@pytest.mark.req("DI-3")
def test_an_answer_is_that_of_the_side_that_was_asked(probed: Probe) -> None:
    # Both sides number their requests from 0.
    frame = probe_frame(probed("--ask-permission", prompt=CALL).file)

    answers = frame[frame["kind"] == "answer"]
    told = {(row.direction, row.event) for row in answers.itertuples()}
    assert told == {
        ("received", "initialize"),
        ("received", "session/new"),
        ("received", "session/prompt"),
        ("sent", "session/request_permission"),
    }


@pytest.mark.req("DI-3")
def test_errors_and_what_is_no_frame_have_a_kind_of_their_own(probed: Probe) -> None:
    refused = probe_frame(probed("--scenario auth-required").file)
    noisy = probe_frame(probed("--scenario noisy").file)

    (error,) = refused[refused["kind"] == "error"].itertuples()
    assert (error.direction, error.event) == ("received", "session/new")
    assert "text" in set(noisy["kind"])


@pytest.mark.req("DI-3")
def test_a_last_line_that_was_cut_off_is_passed_over(probed: Probe) -> None:
    file = probed().file
    whole = probe_frame(file)
    file.write_bytes(file.read_bytes()[:-10])

    assert len(probe_frame(file)) == len(whole) - 1


def test_an_empty_file_gives_an_empty_frame(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")

    frame = probe_frame(tmp_path / "empty")

    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == dict(PROBE)
    assert frame.empty


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"at": "2026-01-01T00:00:00Z", "direction": "meta", "event": "x"}\nplanted\n', "Line 2"),
        ("[]\n", "Line 1"),
        ('{"at": 1, "direction": "meta"}\n', "Line 1"),
        ('{"at": "then", "direction": "meta"}\n', "Line 1"),
    ],
)
def test_a_line_that_is_none_of_a_probes_is_named_and_not_shown(
    tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "other").write_text(content)

    with pytest.raises(ConfigError, match=message) as raised:
        probe_frame(tmp_path / "other")

    assert "planted" not in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing cannot be read \(No such file"):
        probe_frame(tmp_path / "nothing")
