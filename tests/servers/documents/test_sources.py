"""Files and texts: what is read, and what is said of one that cannot be."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kandev_nb.errors import ConfigError
from kandev_nb.servers.documents import read_document

DOCUMENT = '{"mcpServers": {"a": {"command": "x"}}}'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@contextmanager
def nobody() -> Iterator[None]:
    """Be somebody else for a while: root may read everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def refusal(source: Any, **options: Any) -> str:
    with pytest.raises(ConfigError) as raised:
        read_document(source, **options)
    assert raised.value.reason_code == "invalid_profile"
    return str(raised.value)


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    "text",
    [
        DOCUMENT,
        f"  {DOCUMENT}",
        f"\ufeff{DOCUMENT}",
        f"/* one */ /* two */ {DOCUMENT}",
        f"// one\n{DOCUMENT}",
        DOCUMENT.replace(" ", "\r\n"),
        "mcp_servers.a.command = 'x'\n",
        "[mcp_servers.a]\ncommand = 'x'",
    ],
)
def test_text_is_told_from_a_path(text: str) -> None:
    profile = read_document(text)

    assert [entry.command for entry in profile.entries] == ["x"]
    assert profile.path is None


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("name", ["mcp.json", "config.toml"])
def test_a_byte_order_mark_is_passed_over(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = DOCUMENT if name == "mcp.json" else "[mcp_servers.a]\r\ncommand = 'x'\r\n"
    path.write_bytes(b"\xef\xbb\xbf" + content.encode())

    assert [entry.command for entry in read_document(path).entries] == ["x"]


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("given", ["~/x/mcp.json", Path("~/x/mcp.json")])
def test_a_path_in_the_home_folder_is_found_and_named_with_its_tilde(
    home: Path, given: str | Path
) -> None:
    path = home / "x" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{\n  "mcpServers": {"a" {}}\n}')

    assert refusal(given) == (
        "~/x/mcp.json:2:22: missing a colon after a name of object member; correct it there."
    )


@pytest.mark.req("CF-1")
def test_each_way_in_which_a_file_cannot_be_read_has_its_own_words(home: Path) -> None:
    (home / "folder").mkdir()
    os.mkfifo(home / "pipe")
    (home / "large.json").write_bytes(b" " * (8 * 1024 * 1024 + 1))
    (home / "blank.json").write_text(" \n\t\n")
    (home / "latin.json").write_bytes(b'{"mcpServers": {"caf\xe9": {}}}')
    (home / "loop.json").symlink_to("loop.json")
    words = {
        "none.json": "~/none.json does not exist; correct the path.",
        "folder": "~/folder is a folder; name the file in it.",
        "pipe": "~/pipe is no regular file; name the file itself.",
        "large.json": "~/large.json is larger than 8 MiB; no configuration is.",
        "blank.json": "~/blank.json is empty; write the servers into it.",
        "latin.json": "~/latin.json is not UTF-8 (at byte 20); save it as UTF-8.",
    }

    assert {name: refusal(home / name) for name in words} == words
    assert refusal(home / "loop.json").startswith("~/loop.json ")


@pytest.mark.req("CF-1")
def test_a_file_that_may_not_be_read_is_said_to_be_so(home: Path) -> None:
    (home / "secret.json").write_text(DOCUMENT)
    (home / "secret.json").chmod(0)

    with nobody():
        said = refusal("~/secret.json")

    assert said == "~/secret.json may not be read; change its permissions."


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "the document is empty; write the servers into it."),
        ("\ufeff\n", "the document is empty; write the servers into it."),
        ("[" + " " * 8 * 1024 * 1024, "the document is larger than 8 MiB; no configuration is."),
        ("~nobody-of-this-name/x", "there is no such home folder; give the whole path."),
        ("a\0b", "is neither the path of a file nor a document that can be read."),
        (7, "the document must be a path, text or a dict, is a number."),
        ([{"name": "a"}], "the document must be a path, text or a dict, is a list."),
        ("[1, 2]", "the document: must be an object, is a list; name the servers in it."),
    ],
)
def test_what_is_no_document_is_refused_in_words(source: Any, words: str) -> None:
    assert refusal(source).endswith(words)


@pytest.mark.req("CF-1", "SA-1")
def test_a_broken_document_on_one_line_is_not_shown_as_a_path() -> None:
    assert "hidden" not in refusal('"mcpServers": {"a": {"env": {"TOKEN": "hidden"}}}')


@pytest.mark.req("CF-1")
def test_a_long_name_is_cut_in_the_message() -> None:
    assert len(refusal("x" * 100_000)) < 1000


@pytest.mark.req("CF-1")
def test_a_client_that_takes_no_comments_is_named_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text('{\n  "mcpServers": {} // none\n}')

    assert refusal(path) == (
        f"{path}:2:20: Claude Code reads plain JSON: comments are not allowed; take it out."
    )
    assert read_document(path, format="cursor").entries == ()


@pytest.mark.req("CF-1")
def test_a_long_run_of_comments_takes_no_long_time_to_tell() -> None:
    assert refusal("/**/" * 200_000 + "x").endswith("a document that can be read.")


@pytest.mark.req("SA-1")
@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers.x.bearer_token = "pl4nted"',
        "mcp_servers.a={command='x',env={T='pl4nted'}}",
        "token: pl4nted",
        '"mcpServers": "pl4nted"',
    ],
)
def test_a_line_that_is_no_document_and_no_path_is_not_repeated(text: str) -> None:
    assert "pl4nted" not in refusal(text)


@pytest.mark.req("CF-1")
def test_whose_document_a_file_is_does_not_depend_on_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini" / "settings.json").write_text(DOCUMENT)
    monkeypatch.chdir(tmp_path / ".gemini")

    assert read_document("settings.json").format == "gemini"


@pytest.mark.req("CF-1")
def test_a_url_is_no_document_and_says_so() -> None:
    assert refusal("https://mcp.test/mcp") == (
        "the servers are a URL; give {name: {'url': …}} instead."
    )
