"""Every client's documents, whole and broken: the folder ``tests/data/documents`` is the table.

Each format has a golden document that uses every key of its schema, with the profile it is, and a
folder of broken ones, each with its exact error or the exact faults of its entries. A new file
there is a new test. What stands in a broken document as ``hidden`` must not be said of it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kandev_nb.errors import ConfigError
from kandev_nb.servers.documents import FORMATS, read_document
from kandev_nb.servers.entry import Profile

DOCUMENTS = Path(__file__).parents[2] / "data" / "documents"


def golden(format_: str) -> Path:
    return next(
        path for path in (DOCUMENTS / format_).glob("golden.*") if "expected" not in path.name
    )


def broken() -> Iterator[Any]:
    for path in sorted(DOCUMENTS.glob("*/broken/*")):
        if path.name != "expected.json":
            yield pytest.param(path, id=f"{path.parts[-3]}-{path.stem}")


def expected(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path.parent / "expected.json").read_text())[path.name]
    return found


def said_of(path: Path) -> tuple[dict[str, Any], str]:
    """Return what is said of a document, and all of it that a user may see."""
    try:
        profile = read_document(path, format=path.parts[-3])
    except ConfigError as error:
        message = str(error).replace(str(path), "<file>")
        return {"error": message}, message
    faults = [[entry.name, list(entry.faults)] for entry in profile.entries]
    said = {"faults": faults} | ({"notes": list(profile.notes)} if profile.notes else {})
    return said, f"{said} {profile!r}"


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("format_", FORMATS)
def test_a_document_with_every_key_of_its_client_is_read_as_that_client_reads_it(
    format_: str,
) -> None:
    path = golden(format_)

    profile = read_document(path, format=format_)

    wanted = json.loads((path.parent / "golden.expected.json").read_text())
    assert profile == Profile.model_validate({**wanted, "path": path})


@pytest.mark.req("CF-1", "SA-1")
@pytest.mark.parametrize("path", [*broken()])
def test_a_broken_document_is_said_to_be_what_it_is_without_its_values(path: Path) -> None:
    said, shown = said_of(path)

    assert said == expected(path)
    assert "hidden" not in shown


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("format_", FORMATS)
def test_each_client_has_broken_documents_and_all_of_them_are_expected(format_: str) -> None:
    folder = DOCUMENTS / format_ / "broken"
    names = {path.name for path in folder.iterdir()} - {"expected.json"}

    assert len(names) >= 10
    assert names == set(json.loads((folder / "expected.json").read_text()))


@pytest.mark.req("CF-1")
def test_the_fault_of_one_entry_leaves_the_others_as_they_are() -> None:
    profile = read_document(
        {
            "mcpServers": {
                "broken": 7,
                "fine": {"command": "npx", "args": ["-y"]},
                "late": {"url": []},
            }
        }
    )

    assert [entry.name for entry in profile.entries] == ["broken", "fine", "late"]
    assert profile.entries[1].model_dump(exclude_defaults=True) == {
        "name": "fine",
        "type": "stdio",
        "command": "npx",
        "args": ("-y",),
    }


@pytest.mark.req("CF-1", "EV-14")
def test_a_server_that_is_named_twice_is_two_entries_in_order() -> None:
    profile = read_document(
        '{"mcpServers": {"a": {"command": "x"}, "b": {}, "a": {"command": "y"}}}'
    )

    assert [(entry.name, entry.command) for entry in profile.entries] == [
        ("a", "x"),
        ("b", ""),
        ("a", "y"),
    ]


@pytest.mark.req("CF-1")
def test_a_container_that_is_given_twice_is_noted() -> None:
    profile = read_document('{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}')

    assert [entry.name for entry in profile.entries] == ["b"]
    assert profile.notes == ("key 'mcpServers' is given more than once; the last one counts",)


@pytest.mark.req("CF-1")
def test_the_servers_of_single_projects_are_noted_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / ".claude.json"
    path.write_text(
        '{"numStartups": 3, "mcpServers": {"mine": {"command": "x"}},'
        ' "projects": {"/a": {"mcpServers": {"b": {}}}, "/c": {"mcpServers": {}}, "/d": 1}}'
    )

    profile = read_document(path)

    assert [entry.name for entry in profile.entries] == ["mine"]
    assert profile.notes == ("the servers of single projects are not read ('projects', 1)",)


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("settings", "disabled"),
    [
        ({}, []),
        ({"allowed": ["A "]}, ["b"]),
        ({"allowed": []}, []),
        ({"excluded": ["B"]}, ["b"]),
        ({"allowed": ["a", "b"], "excluded": ["a"]}, ["a"]),
    ],
)
def test_gemini_disables_what_its_settings_do_not_admit(
    settings: dict[str, Any], disabled: list[str]
) -> None:
    servers = {"a": {"command": "x"}, "b": {"command": "x"}}

    profile = read_document({"mcp": settings, "mcpServers": servers}, format="gemini")

    assert [entry.name for entry in profile.entries if entry.disabled] == disabled


@pytest.mark.req("CF-1")
def test_the_inputs_of_vscode_settings_are_read_where_its_servers_stand() -> None:
    inputs = [{"id": "host", "default": "example.com"}]

    profile = read_document({"editor": {}, "mcp": {"servers": {"a": {}}, "inputs": inputs}})

    assert (profile.format, profile.inputs, profile.notes) == (
        "vscode",
        {"host": "example.com"},
        (),
    )


@pytest.mark.req("CF-1")
def test_what_no_process_or_header_can_hold_is_a_fault() -> None:
    profile = read_document({"a\ud800": {"command": "x\0", "args": ["\ud800"], "env": {1: "x"}}})

    (entry,) = profile.entries
    assert entry.name == "a?"
    assert entry.faults == (
        "its name holds a character that no text may hold",
        "command: holds a character that no text may hold",
        "args[0]: holds a character that no text may hold",
        "env: a name in it must be text, is a number",
    )


@pytest.mark.req("CF-1")
def test_a_name_is_shown_on_one_line() -> None:
    (entry,) = read_document({"a": {"command": "x", "env": {"A\x1b[31m": 1}}}).entries

    assert entry.faults == (r"env.A\x1b[31m: must be text, is a number",)


@pytest.mark.req("SA-1")
@pytest.mark.parametrize("name", ["TOKEN=pl4nted", "Authorization: pl4nted", "A pl4nted"])
def test_a_value_that_stands_in_a_name_is_not_repeated(name: str) -> None:
    document = {"a": {"command": "x", "env": {name: 1}}, "b": {"url": "x", "headers": {name: 1}}}

    for entry in read_document(document).entries:
        assert entry.faults
        assert "pl4nted" not in str(entry.faults)
