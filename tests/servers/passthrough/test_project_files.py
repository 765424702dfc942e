"""Files of a project are merged while sessions run, and afterwards are what they were."""

import itertools
import json
import os
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError
from kandev_nb.servers import HttpServer
from kandev_nb.servers.documents.text import parse_json
from kandev_nb.servers.passthrough import materialize, strategy
from kandev_nb.servers.passthrough.journal import Journal
from tests.servers.passthrough.conftest import SECRETS, Sessions, decided, kandev, tree

pytestmark = pytest.mark.req("CF-4")

THEIRS = """{
  // of the user
  "theme": "dark",
  "mcpServers": {
    "github": {"httpUrl": "https://h.test"} /* theirs */
  }
}
"""
LONG_AGO = 1_600_000_000_123_456_789


@pytest.fixture
def settings(project: Path) -> Path:
    """The user's own settings, of long ago and readable by all."""
    path = project / ".gemini" / "settings.json"
    path.parent.mkdir(mode=0o750)
    path.write_text(THEIRS)
    path.chmod(0o644)
    os.utime(path, ns=(LONG_AGO, LONG_AGO))
    return path


def names(path: Path) -> list[str]:
    return list(parse_json(path.read_text(), "commented")["mcpServers"])


def server(name: str, url: str = "https://h.test/mcp") -> Any:
    return decided(HttpServer(name=name, url=url))


def test_a_file_is_merged_and_then_put_back_byte_for_byte(
    sessions: Sessions, settings: Path, project: Path
) -> None:
    before = tree(project)

    made = sessions.start("gemini", kandev(), server("github", "https://ours.test/mcp"))

    merged = settings.read_text()
    assert names(settings) == ["github", "kandev"]
    assert "https://ours.test/mcp" in merged
    assert "https://h.test" not in merged
    assert "// of the user" in merged
    assert "/* theirs */" in merged
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    assert made.close() == ()
    assert tree(project) == before


@pytest.mark.parametrize("content", [b"", b"\n", b"{}", b"\xef\xbb\xbf{}\r\n"])
def test_a_file_that_holds_nothing_is_put_back_too(
    sessions: Sessions, settings: Path, project: Path, content: bytes
) -> None:
    settings.write_bytes(content)
    before = tree(project)

    made = sessions.start("gemini")

    assert "kandev" in settings.read_text()
    made.close()
    assert tree(project) == before


def test_a_folder_that_was_there_before_stays(sessions: Sessions, project: Path) -> None:
    (project / ".cursor").mkdir()
    before = tree(project)

    sessions.start("cursor").close()

    assert tree(project) == before


def test_a_folder_that_somebody_else_uses_meanwhile_stays(
    sessions: Sessions, project: Path
) -> None:
    made = sessions.start("cursor")
    (project / ".cursor" / "rules.md").write_text("be kind")

    made.close()

    assert [path.name for path in (project / ".cursor").iterdir()] == ["rules.md"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_sessions_of_one_project_may_end_in_any_order(
    sessions: Sessions, settings: Path, project: Path, order: tuple[int, ...]
) -> None:
    before, open_ones = tree(project), ["first", "second", "third"]
    for name in open_ones:
        sessions.start("gemini", server(name), kandev(f"s3cr3t-of-{name}"))

    for index in order:
        assert set(names(settings)) == {"github", "kandev", *open_ones}
        assert f"s3cr3t-of-{open_ones[-1]}" in settings.read_text()
        sessions.made[index].close()
        open_ones.remove(["first", "second", "third"][index])

    assert tree(project) == before


def test_it_is_said_when_two_sessions_give_one_file_the_same_name(
    sessions: Sessions, settings: Path
) -> None:
    first = sessions.start("gemini", kandev())
    second = sessions.start("gemini", kandev("s3cr3t-of-another"))

    assert first.notes == ()
    (note,) = second.notes
    assert str(settings) in note
    assert "kandev" in note
    assert "s3cr3t" not in note


def test_projects_have_nothing_to_do_with_each_other(
    sessions: Sessions, settings: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first = sessions.start("gemini", server("here"))
    second = sessions.start("gemini", server("there"), cwd=other)

    first.close()

    assert settings.read_text() == THEIRS
    assert names(other / ".gemini/settings.json") == ["there"]
    second.close()
    assert tree(other) == {}


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_of_a_file_that_was_edited_meanwhile_only_our_entries_are_taken_out(
    sessions: Sessions, settings: Path
) -> None:
    made = sessions.start("gemini", kandev(), server("github", "https://ours.test/mcp"))
    edit(settings, '"dark"', '"light", // at night')

    (note,) = made.close()

    assert note == f"{settings} was edited meanwhile: only the session's entries were taken out."
    assert settings.read_text() == THEIRS.replace('"dark"', '"light", // at night')
    assert stat.S_IMODE(settings.stat().st_mode) == 0o644


def test_an_edit_survives_the_sessions_that_come_and_go_after_it(
    sessions: Sessions, settings: Path
) -> None:
    first = sessions.start("gemini", server("first"))
    edit(settings, '"dark"', '"light"')
    second = sessions.start("gemini", server("second"))
    edit(settings, '"light"', '"blue"')

    assert names(settings) == ["github", "first", "second"]
    first.close()
    assert names(settings) == ["github", "second"]
    second.close()

    assert settings.read_text() == THEIRS.replace("dark", "blue")


def test_an_entry_that_was_changed_by_hand_is_the_users_and_is_named(
    sessions: Sessions, settings: Path
) -> None:
    made = sessions.start("gemini", server("mine"), kandev())
    edit(settings, "https://h.test/mcp", "https://theirs.test/mcp")

    notes = made.close()

    assert names(settings) == ["github", "mine"]
    assert any("mine was changed there by hand" in note for note in notes)


def test_a_file_of_ours_that_the_user_wrote_into_stays_with_what_is_theirs(
    sessions: Sessions, project: Path
) -> None:
    made = sessions.start("cursor", kandev())
    path = project / ".cursor" / "mcp.json"
    edit(path, '{\n  "mcpServers"', '{\n  "theirs": 1,\n  "mcpServers"')

    made.close()

    assert json.loads(path.read_text()) == {"theirs": 1}


def test_a_file_of_ours_that_was_only_formatted_anew_goes(
    sessions: Sessions, project: Path
) -> None:
    made = sessions.start("cursor", kandev())
    path = project / ".cursor" / "mcp.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=8))

    made.close()

    assert tree(project) == {}


def test_a_file_that_was_removed_meanwhile_stays_removed(
    sessions: Sessions, settings: Path
) -> None:
    made = sessions.start("gemini", kandev())
    settings.unlink()

    (note,) = made.close()

    assert "was removed meanwhile" in note
    assert not settings.exists()


def test_a_file_that_was_put_back_by_others_is_left_alone(
    sessions: Sessions, settings: Path
) -> None:
    made = sessions.start("gemini", kandev())
    settings.write_text(THEIRS)
    os.utime(settings, ns=(LONG_AGO + 1, LONG_AGO + 1))

    assert made.close() == ()
    assert settings.stat().st_mtime_ns == LONG_AGO + 1


def test_a_project_that_was_removed_meanwhile_is_no_error(
    sessions: Sessions, settings: Path, project: Path
) -> None:
    made = sessions.start("gemini", kandev())
    project.rename(project.with_name("elsewhere"))

    (note,) = made.close()

    assert "was removed meanwhile" in note
    assert not list((sessions.root / "journal").iterdir())


def test_a_file_that_cannot_be_read_any_more_is_put_right_when_it_can_be(
    sessions: Sessions, settings: Path
) -> None:
    made = sessions.start("gemini", kandev())
    merged = settings.read_text()
    settings.write_text(merged + "}")

    (note,) = made.close()

    assert "Until then it still holds the entries kandev." in note
    with pytest.raises(ConfigError, match=str(settings)):
        sessions.start("gemini", server("other"))
    settings.write_text(merged + "\n")
    sessions.start("claude")
    assert settings.read_text() == THEIRS + "\n"


def as_link(settings: Path) -> None:
    settings.rename(settings.with_name("elsewhere"))
    settings.symlink_to("elsewhere")


def as_dangling_link(settings: Path) -> None:
    settings.unlink()
    settings.symlink_to("nowhere")


def in_a_linked_folder(settings: Path) -> None:
    elsewhere = settings.parent.rename(settings.parents[2] / "elsewhere")
    settings.parent.symlink_to(elsewhere)


def with_a_second_name(settings: Path) -> None:
    settings.with_name("second").hardlink_to(settings)


def as_fifo(settings: Path) -> None:
    settings.unlink()
    os.mkfifo(settings)


def as_folder(settings: Path) -> None:
    settings.unlink()
    settings.mkdir()


def in_no_folder(settings: Path) -> None:
    settings.unlink()
    settings.parent.rmdir()
    settings.parent.write_text("a file")


def too_large(settings: Path) -> None:
    settings.write_text(THEIRS + " " * (5 << 20))


def not_json(settings: Path) -> None:
    settings.write_text('{"s3cr3t": ')


def not_text(settings: Path) -> None:
    settings.write_bytes(b'{"s3cr3t": "\xff"}')


def another_shape(settings: Path) -> None:
    settings.write_text('{"mcpServers": ["s3cr3t"]}')


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (as_link, "symbolic link"),
        (as_dangling_link, "symbolic link"),
        (in_a_linked_folder, "symbolic link"),
        (with_a_second_name, "hard link"),
        (as_fifo, "no plain file"),
        (as_folder, "no plain file"),
        (in_no_folder, "Not a directory"),
        (too_large, "larger than 4 MiB"),
        (not_json, "line 1"),
        (not_text, "no UTF-8 text"),
        (another_shape, "'mcpServers' is no object"),
    ],
)
def test_what_could_not_be_put_back_is_refused_and_nothing_is_touched(
    sessions: Sessions, settings: Path, spoil: Callable[[Path], None], words: str
) -> None:
    spoil(settings)
    before = tree(settings.parents[1])

    with pytest.raises(ConfigError, match=words) as refused:
        sessions.start("gemini")

    assert str(settings.parent) in str(refused.value)
    assert refused.value.reason_code == ReasonCode.MATERIALIZATION_FAILED
    assert "s3cr3t" not in str(refused.value)
    assert tree(settings.parents[1]) == before
    assert sorted(path.name for path in sessions.root.iterdir()) == ["journal", "lock"]
    assert not list((sessions.root / "journal").iterdir())


def test_a_link_that_comes_in_meanwhile_is_not_followed(
    sessions: Sessions, settings: Path, tmp_path: Path
) -> None:
    made = sessions.start("gemini", kandev())
    precious = tmp_path / "precious.json"
    settings.rename(precious)
    settings.symlink_to(precious)
    content = precious.read_bytes()

    (note,) = made.close()

    assert "symbolic link" in note
    assert precious.read_bytes() == content


def test_a_project_may_itself_be_reached_over_a_link(
    sessions: Sessions, settings: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(settings.parents[1])

    first = sessions.start("gemini", server("first"), cwd=link)
    second = sessions.start("gemini", server("second"))
    first.close()
    second.close()

    assert settings.read_text() == THEIRS


def test_a_project_that_is_not_there_is_named(sessions: Sessions, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere") as refused:
        sessions.start("gemini", cwd=tmp_path / "nowhere")

    assert refused.value.reason_code == ReasonCode.MATERIALIZATION_FAILED


@pytest.mark.req("SA-5")
@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
@pytest.mark.parametrize("place", ["root", "folder"])
def test_a_folder_that_others_can_enter_is_refused(
    sessions: Sessions, place: str, mode: int
) -> None:
    folder = sessions.root / "session-1"
    folder.mkdir(mode=0o700, parents=True)
    sessions.root.chmod(0o700)
    (folder if place == "folder" else sessions.root).chmod(mode)

    with pytest.raises(ConfigError, match="you alone can enter"):
        sessions.start("claude")


def test_a_folder_that_the_caller_made_is_taken(sessions: Sessions) -> None:
    folder = sessions.root / "session-1"
    sessions.root.mkdir(mode=0o700)
    folder.mkdir(mode=0o700)

    made = sessions.start("claude")

    assert made.files[0].parent == folder


def test_two_sessions_cannot_have_one_folder(sessions: Sessions, project: Path) -> None:
    made = sessions.start("claude")

    with pytest.raises(ConfigError, match="another session uses this folder"):
        materialize(strategy("claude"), (), cwd=project, folder=made.files[0].parent)

    assert made.files[0].exists()


def test_a_record_that_cannot_be_read_stops_its_file_and_no_other(
    sessions: Sessions, settings: Path, tmp_path: Path
) -> None:
    sessions.start("gemini", kandev())
    (record,) = (sessions.root / "journal").iterdir()
    content = record.read_text()
    record.write_text('{"s3cr3t": 1}')
    other = tmp_path / "other"
    other.mkdir()

    with pytest.raises(ConfigError, match="this record cannot be read") as refused:
        sessions.start("gemini", server("mine"))
    sessions.start("gemini", server("mine"), cwd=other)

    assert str(record) in str(refused.value)
    assert "s3cr3t" not in str(refused.value)
    record.write_text(content)


@pytest.mark.req("SA-1")
def test_nothing_that_is_said_holds_a_value(
    sessions: Sessions, settings: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = sessions.start("gemini"), sessions.start("gemini")
    edit(settings, "dark", "s3cr3t-of-the-user")
    first.close()
    settings.write_text(settings.read_text() + "}")
    second.close()

    assert caplog.records
    assert not [secret for secret in (*SECRETS, "s3cr3t") if secret in caplog.text]


def test_whoever_closes_second_waits_until_the_file_is_put_back(
    sessions: Sessions, settings: Path, root: Path
) -> None:
    made = sessions.start("gemini")
    seen = list[str]()

    def close() -> None:
        made.close()
        seen.append(settings.read_text())

    both = [threading.Thread(target=close) for _ in range(2)]
    with Journal(root).alone():
        for thread in both:
            thread.start()
            thread.join(0.2)
        assert seen == []
    for thread in both:
        thread.join()

    assert seen == [THEIRS, THEIRS]


def test_a_file_that_cannot_be_put_back_any_more_is_named(
    sessions: Sessions, settings: Path, root: Path
) -> None:
    made = sessions.start("gemini")
    shutil.rmtree(root)

    (note,) = made.close()

    assert str(settings) in note
    assert "was removed meanwhile" in note
    assert not any(secret in note for secret in SECRETS)
