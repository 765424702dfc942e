"""What is noted of a list of tools before any SDK reads it."""

import socket
import tracemalloc
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kandev_nb.attachment.words import visible
from kandev_nb.diagnose.lint import LintNote, lint

SCHEMA: Final[dict[str, Any]] = {"type": "object"}


def tool(name: str = "look", **fields: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": SCHEMA, **fields}


def schema(**keywords: Any) -> dict[str, Any]:
    return tool(inputSchema={"type": "object", **keywords})


def found(*tools: Any) -> list[tuple[str, int | None, str]]:
    return [(note.code, note.index, note.path) for note in lint(tools).notes]


@pytest.mark.req("DI-1")
def test_an_ordinary_list_has_no_notes() -> None:
    reference = {"$ref": "#/$defs/place"}
    full = schema(
        properties={"where": reference, "$ref": {"type": "string", "default": "http://a/b"}},
        required=["where"],
        **{"$defs": {"place": {"type": "string", "examples": [{"$ref": "http://a/b"}]}}},
    )

    linted = lint([tool("look", description="Looks.", title="Look", annotations={}), full])

    assert (linted.served, linted.usable) == (2, 2)
    assert [note.code for note in linted.notes] == ["duplicate_name"], "both are called look"


@pytest.mark.req("DI-1")
@pytest.mark.parametrize(
    ("entry", "path"),
    [
        (7, ""),
        (None, ""),
        ([], ""),
        ({"inputSchema": SCHEMA}, "name"),
        (tool(""), "name"),
        ({"name": 7, "inputSchema": SCHEMA}, "name"),
        ({"name": "look"}, "inputSchema"),
        (tool(inputSchema=None), "inputSchema"),
        (tool(inputSchema=True), "inputSchema"),
        (tool(inputSchema=[]), "inputSchema"),
        (tool(description=7), "description"),
        (tool(title={}), "title"),
        (tool(annotations=[]), "annotations"),
        (tool(outputSchema="text"), "outputSchema"),
        (schema(properties=[]), "inputSchema.properties"),
        (schema(properties={"a": True}), "inputSchema.properties.a"),
        (schema(required="a"), "inputSchema.required"),
        (schema(required=[1]), "inputSchema.required"),
    ],
)
def test_a_malformed_entry_is_named_by_index_and_field_and_the_good_ones_count(
    entry: Any, path: str
) -> None:
    linted = lint([tool("good"), entry, tool("fine")])

    malformed = [note for note in linted.notes if note.code == "malformed_entry"]
    assert [(note.index, note.path) for note in malformed] == [(1, path)]
    assert (linted.served, linted.usable) == (3, 2)
    assert "entry 1" in malformed[0].text.lower()


@pytest.mark.req("DI-1")
@pytest.mark.parametrize("root", [{}, {"type": "string"}, {"type": ["object"]}, {"anyOf": []}])
def test_a_schema_without_an_object_root_makes_a_tool_unusable(root: dict[str, Any]) -> None:
    tools = [tool(str(n), inputSchema=root) for n in range(9)]

    linted = lint(tools)

    assert (linted.served, linted.usable) == (9, 0)
    roots = [note for note in linted.notes if note.code == "no_object_root"]
    assert [note.index for note in roots] == list(range(9))


@pytest.mark.req("DI-1")
def test_what_no_json_schema_allows_is_noted_and_stays_usable() -> None:
    linted = lint([schema(properties={"a": {"type": "strange"}})])

    assert [note.code for note in linted.notes] == ["invalid_schema"]
    assert linted.usable == 1


@pytest.mark.req("DI-1")
@pytest.mark.parametrize("count", [40, 41, 128, 129])
def test_more_tools_than_clients_take_are_noted_once(count: int) -> None:
    codes = {40: [], 41: ["many_tools"], 128: ["many_tools"], 129: ["too_many_tools"]}

    notes = lint([tool(f"tool{n}") for n in range(count)]).notes

    assert [note.code for note in notes] == codes[count]
    assert all(note.index is None and str(count) in note.text for note in notes)


@pytest.mark.req("DI-1")
@pytest.mark.parametrize("name", ["a b", "a.b", "a/b", "é", "a\u202eb", "a\n"])
def test_names_that_providers_refuse_are_noted_and_shown_escaped(name: str) -> None:
    (note,) = lint([tool(name)]).notes

    assert note.code == "name_characters"
    assert note.text.isprintable()


@pytest.mark.req("DI-1")
def test_a_name_is_measured_with_the_prefix_that_clients_put_before_it() -> None:
    assert lint([tool("x" * 64)]).notes == ()
    assert [note.code for note in lint([tool("x" * 65)]).notes] == ["name_too_long"]
    assert lint([tool("x" * 51)], "github").notes == ()
    (note,) = lint([tool("x" * 52)], "github").notes
    assert (note.code, "65 characters" in note.text) == ("name_too_long", True)


@pytest.mark.req("DI-1")
@pytest.mark.parametrize(("letters", "codes"), [(512, []), (513, ["long_description"])])
def test_a_description_is_measured_in_bytes(letters: int, codes: list[str]) -> None:
    notes = lint([tool(description="é" * letters)]).notes

    assert [note.code for note in notes] == codes


@pytest.mark.req("DI-1", "CA-6")
def test_references_to_other_documents_are_noted_and_never_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema"
        far = {"$ref": url}
        notes = lint(
            [
                schema(properties={"a": {"items": [far]}}, anyOf=[far], **{"$schema": url}),
                schema(**{"$id": url, "$ref": "other.json"}),
            ]
        ).notes
        with pytest.raises(BlockingIOError):
            listener.accept()

    references = [note for note in notes if note.code == "external_reference"]
    assert {(note.index, note.path) for note in references} == {
        (0, "inputSchema.properties.a.items[0].$ref"),
        (0, "inputSchema.anyOf[0].$ref"),
        (1, "inputSchema.$ref"),
    }
    assert url not in "".join(note.text for note in notes)


@pytest.mark.req("DI-1")
def test_many_notes_of_a_code_are_cut_and_the_rest_is_counted() -> None:
    linted = lint([7] * 30)

    assert len(linted.notes) == 20
    assert linted.notes[-1].text.endswith("So are 10 more.")
    assert linted.usable == 0


@pytest.mark.req("DI-1")
def test_a_schema_of_any_size_and_depth_is_looked_through_in_bounds() -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(5000):
        deep = {"type": "object", "properties": {"inner": deep}}
    wide = schema(properties={f"p{n}": {"type": "string"} for n in range(50_000)})

    assert lint([tool("deep", inputSchema=deep), wide]).served == 2


@pytest.mark.req("DI-1")
@pytest.mark.parametrize(
    "make",
    [
        lambda: [schema(**{"k" * 20_000: [0] * 5_000})],
        lambda: [schema(x=[{"$ref": "far"}] * 50_000)],
        lambda: [0] * 100_000,
    ],
    ids=["a long name over many parts", "many references", "many bad entries"],
)
def test_what_is_wrong_takes_little_room_however_much_of_it_there_is(
    make: Callable[[], list[Any]],
) -> None:
    tools = make()
    lint(tools[:1])
    tracemalloc.start()
    lint(tools)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 20 * 2**20


@pytest.mark.req("DI-1", "SA-1")
def test_a_secret_is_taken_out_of_a_note_before_the_note_is_cut() -> None:
    secret = "value-of-the-header"
    name = f"{'a.' * 35}{secret}"
    told = schema(properties={secret: 7}, type=secret, **{secret: {"$ref": "far"}})

    notes = lint([tool(name), told], "", lambda text: text.replace(secret, "[redacted]")).notes

    assert {note.code for note in notes} == {
        "name_characters",
        "name_too_long",
        "no_object_root",
        "malformed_entry",
        "external_reference",
        "invalid_schema",
    }
    assert all(secret[:4] not in repr(note) for note in notes)
    assert "[redacted]" in "".join(note.text for note in notes)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
ENTRY = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("name", "description", "inputSchema", "outputSchema", "title", "annotations"), JSON
    ),
)
SCHEMAS = st.dictionaries(
    st.sampled_from(["type", "properties", "required", "$ref", "$defs", "anyOf", "$schema"]), JSON
)


@pytest.mark.req("DI-1")
@given(st.lists(JSON | ENTRY | SCHEMAS.map(lambda found: tool(inputSchema=found))))
def test_any_json_list_is_read(tools: list[Any]) -> None:
    linted = lint(tools)

    assert 0 <= linted.usable <= linted.served == len(tools)
    assert all(isinstance(note, LintNote) for note in linted.notes)
    assert all(visible(note.text) == note.text for note in linted.notes)
