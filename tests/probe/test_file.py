"""The file of raw frames: what is in it, what is not, and who can read it."""

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kandev_nb import ConfigError, ProbeResult, probe
from kandev_nb.agents.transport import show
from kandev_nb.probing.recorder import PLACEHOLDER, Recorder, default_folder, new_file
from tests.probe.conftest import CALL, Probe, events, is_line, lines


def frames(result: ProbeResult, direction: str) -> list[dict[str, Any]]:
    return [line["frame"] for line in lines(result) if line["direction"] == direction]


@pytest.mark.req("DI-3", "SA-1")
def test_frames_of_both_sides_are_recorded_as_they_were(probed: Probe) -> None:
    result = probed(prompt=f"{CALL}\nsay pass the salt")

    sent, received = frames(result, "sent"), frames(result, "received")
    methods = [frame["method"] for frame in sent if "method" in frame]
    assert methods == ["initialize", "session/new", "session/prompt"]
    assert sent[-1]["params"]["prompt"][0]["text"] == f"{CALL}\nsay pass the salt"
    assert received[0]["result"]["agentInfo"]["name"] == "kandev-nb-scripted"
    assert "pass the salt" in str(received)


@pytest.mark.req("DI-3", "SA-4")
@pytest.mark.parametrize("transport", ["http", "sse", "stdio"])
def test_the_secret_of_our_endpoint_is_not_in_it(probed: Probe, transport: str) -> None:
    result = probed(transport=transport, prompt=CALL)

    (server,) = next(f["params"]["mcpServers"] for f in frames(result, "sent") if f["id"] == 1)
    values = [server.get("url", ""), *(pair["value"] for pair in server.get("env", ()))]
    assert any(PLACEHOLDER in value for value in values)
    assert result.file.read_text().count(PLACEHOLDER) == 1


@pytest.mark.req("DI-3", "SA-4")
def test_the_secret_is_not_in_what_the_agent_says_either(tmp_path: Path) -> None:
    recorder = Recorder(new_file("x", tmp_path, None), stderr=True)
    recorder.conceal("s3cr3t-of-ours")

    recorder.frame("received", b'{"url":"http://127.0.0.1:1/a/s3cr3t-of-ours/mcp"}\n')
    recorder.frame("stderr", b"cannot reach /a/s3cr3t-of-ours/sse")
    recorder.frame("received", b"no frame s3cr3t-of-ours\n")
    recorder.close()

    text = recorder.path.read_text()
    assert "s3cr3t" not in text
    assert text.count(PLACEHOLDER) == 3


@pytest.mark.req("SA-5", "DI-3")
def test_only_its_owner_can_read_it_and_its_folders(probed: Probe, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        result = probed(out=tmp_path / "new" / "folder")
    finally:
        os.umask(before)

    assert stat.S_IMODE(result.file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new" / "folder").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


@pytest.mark.req("DI-3")
def test_its_name_says_which_agent_and_when(tmp_path: Path) -> None:
    ordinary, odd = new_file("fast-agent", tmp_path, None), new_file("../a\nb", tmp_path, None)

    assert re.fullmatch(r"probe-fast-agent-\d{8}T\d{6}\.\d{6}Z\.jsonl", ordinary.name)
    assert odd.parent == tmp_path
    assert odd.name.startswith("probe-.._a_b-")


@pytest.mark.req("DI-3")
def test_without_a_folder_it_is_below_jupyters_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))

    assert default_folder() == tmp_path / "kandev-nb" / "probes"
    assert new_file("scripted", None, None).parent == default_folder()


@pytest.mark.req("DI-3", "SA-5")
def test_a_file_that_exists_is_not_touched(probed: Probe, tmp_path: Path) -> None:
    there = tmp_path / "mine.jsonl"
    there.write_text("mine")

    with pytest.raises(ConfigError, match=r"mine\.jsonl exists already"):
        probed(file=there)

    assert there.read_text() == "mine"


@pytest.mark.req("DI-3", "SA-5")
def test_nothing_is_written_behind_a_symbolic_link(probed: Probe, tmp_path: Path) -> None:
    target, folder = tmp_path / "target", tmp_path / "elsewhere"
    folder.mkdir()
    (tmp_path / "file").symlink_to(target)
    (tmp_path / "out").symlink_to(folder)

    for place in ({"file": tmp_path / "file"}, {"out": tmp_path / "out"}):
        with pytest.raises(ConfigError, match="behind a symbolic link"):
            probed(**place)

    assert not target.exists()
    assert list(folder.iterdir()) == []


@pytest.mark.req("DI-3")
def test_a_folder_that_cannot_be_made_is_named(probed: Probe, tmp_path: Path) -> None:
    (tmp_path / "a-file").write_text("")

    with pytest.raises(ConfigError, match=r"a-file/x.* cannot be written"):
        probed(out=tmp_path / "a-file" / "x")


@pytest.mark.req("DI-3", "SE-4")
def test_what_is_no_frame_is_recorded_as_text(probed: Probe) -> None:
    result = probed("--scenario noisy")

    assert [line["text"] for line in lines(result) if "text" in line]
    assert result.tools_list.word == "observed"


@pytest.mark.req("DI-3")
def test_standard_error_is_recorded_where_it_is_asked_for_also_its_last_words(
    tmp_path: Path,
) -> None:
    command = ["sh", "-c", "echo one >&2; printf two >&2; exit 5"]

    with_it = probe(exec=command, out=tmp_path, stderr=True)
    without = probe(exec=command, out=tmp_path)

    said = [line["text"] for line in lines(with_it) if line["direction"] == "stderr"]
    assert said == ["one", "two"]
    assert [line for line in lines(without) if line["direction"] == "stderr"] == []
    assert (with_it.exit_code, events(with_it, "close")[0]["exit_code"]) == (5, 5)
    assert with_it.reason == "the agent ended"


@pytest.mark.req("DI-3")
def test_start_and_close_say_what_was_probed_and_how_it_ended(probed: Probe) -> None:
    result = probed(transport="stdio")

    (start,), (close,) = events(result, "start"), events(result, "close")
    assert (start["schema"], start["agent"], start["transport"]) == (1, "scripted", "stdio")
    assert start["program"].startswith("python")
    assert (close["reason"], close["exit_code"]) == ("the tools were listed", 0)


@given(st.binary(max_size=200))
@pytest.mark.req("DI-3", "SE-4")
def test_whatever_an_agent_writes_is_a_line_of_the_published_shape(
    tmp_path_factory: pytest.TempPathFactory, written: bytes
) -> None:
    recorder = Recorder(new_file("x", tmp_path_factory.mktemp("any"), None), stderr=True)

    recorder.frame("received", written)
    recorder.frame("stderr", written)
    recorder.close()

    read = [json.loads(line) for line in recorder.path.read_bytes().split(b"\n")[:-1]]
    assert len(read) == 2
    assert all(map(is_line, read))


@pytest.mark.parametrize(
    "line", [b'{"a":NaN}', b"\xff{}", b"[1]", b"7", b"[" * 100_000, b'{"a":"\\ud800"}']
)
def test_what_only_looks_like_json_is_kept_as_text_or_stays_json(
    tmp_path: Path, line: bytes
) -> None:
    recorder = Recorder(new_file("x", tmp_path, None))

    recorder.frame("received", line)
    recorder.close()

    (read,) = [json.loads(line) for line in recorder.path.read_bytes().splitlines()]
    assert is_line(read)
    assert ("frame" in read) == (b"ud800" in line)


def test_the_schema_refuses_what_is_no_line() -> None:
    line = {"at": "2026-01-01T00:00:00Z", "direction": "sent", "frame": {}}

    assert is_line(line)
    for wrong in (
        {"at": "yesterday"},
        {"direction": "up"},
        {"direction": "meta"},
        {"frame": 5},
        {"text": "both"},
        {"connection": ""},
    ):
        assert not is_line(line | wrong), wrong
    assert not is_line({"at": line["at"], "direction": "meta", "event": "close"})


@pytest.mark.req("SE-5", "DI-3")
def test_a_disk_that_is_full_ends_the_file_and_not_the_probe(
    probed: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, written = os.write, []

    def full(file: int, data: bytes) -> int:
        if data.startswith(b'{"at"'):
            written.append(data)
            if len(written) > 5:
                raise OSError(28, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(os, "write", full)
    result = probed(prompt=CALL)

    assert result.tool_call.word == "observed"
    assert result.file_problem == "No space left on device"
    assert "That file is not complete: No space left on device" in str(result)
    assert len(result.file.read_bytes().splitlines()) == 5


@pytest.mark.req("SE-5")
def test_a_tap_that_raises_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def frame(self, direction: str, line: bytes) -> None:
            raise RuntimeError("planted")

        def conceal(self, secret: str) -> None: ...

        def exited(self, returncode: int | None) -> None: ...

    show(Broken(), "sent", b"{}")
    show(None, "sent", b"{}")

    assert "a frame could not be shown (RuntimeError)" in caplog.text
    assert "planted" not in caplog.text


@pytest.mark.req("SA-1", "SE-5")
def test_a_session_that_is_no_probe_records_no_frames(tmp_path: Path) -> None:
    from kandev_nb.session.launch import read_launch

    launch = read_launch("scripted", None, (), None, None, None, tmp_path, npx=False)

    assert launch.probed is None
