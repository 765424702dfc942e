"""The schema table of a tool: right for every animal of the zoo, and for none does it raise."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kandev_nb.attachment import ToolSummary, limits, words
from kandev_nb.attachment.arguments import Argument, Arguments, arguments
from kandev_nb.attachment.catalog import schema_bytes
from tests.attachment.schemas import INTEGER, STRING, ZOO, Animal, an_object, lines, ref

CUT: Final = "Too large or too deep for a table: not everything is shown."
ENOUGH_ROWS: Final = 5_000
ENOUGH_BYTES: Final = 1_500_000


def table_of(schema: Any) -> Arguments:
    return arguments(ToolSummary(name="tool", input_schema=schema))


def names_of(rows: tuple[Argument, ...]) -> list[str]:
    return [row.name for row in rows]


def every_row(table: Arguments) -> list[Argument]:
    rows = [*table.rows, *(row for branch in table.branches for row in branch.rows)]
    for row in rows:
        rows += row.children
    return rows


def said(table: Arguments) -> list[str]:
    return [note.text for note in table.notes]


@pytest.mark.req("CA-6", "CA-5")
@pytest.mark.parametrize("animal", ZOO, ids=lambda animal: animal.name)
def test_each_animal_of_the_zoo_has_its_table(animal: Animal) -> None:
    assert lines(table_of(animal.schema)) == animal.table.strip("\n")


@pytest.mark.req("CA-6", "CA-2")
def test_a_schema_that_was_left_out_is_too_large_to_display() -> None:
    tool = ToolSummary(name="tool", input_schema_truncated=True)

    assert lines(arguments(tool)) == "state: Schema too large to display."


@pytest.mark.req("CA-6")
def test_the_page_gets_the_fields_that_it_was_promised() -> None:
    wire = table_of(an_object(a={"type": "array", "items": an_object(b=STRING)})).model_dump(
        mode="json"
    )

    assert list(wire) == ["state", "rows", "branches", "notes", "schema"]
    assert wire["rows"][0] == {
        "name": "a",
        "type": "object[]",
        "required": False,
        "default": None,
        "values": [],
        "constraints": [],
        "description": "",
        "children": [{**wire["rows"][0], "name": "b", "type": "string", "children": []}],
        "note": None,
    }


@pytest.mark.req("CA-6")
def test_the_json_is_the_schema_and_is_left_out_where_the_table_tells_all() -> None:
    nested = an_object(a=an_object(b={"enum": ["ü", "\u202e", "\U000e0001", "\n"]}))

    assert json.loads(table_of(nested).json_text or "") == nested
    assert table_of(nested).json_text == (table_of(nested).json_text or "").replace("\u202e", "")
    assert table_of(an_object(a=STRING, b=INTEGER)).json_text is None


@pytest.mark.req("CA-6")
def test_a_text_that_was_cut_is_whole_in_the_json() -> None:
    long = "x" * 2_000

    for schema in ({"description": long}, {"default": [long]}, {"enum": [long]}, {"pattern": long}):
        table = table_of(an_object(a=schema))
        assert long not in lines(table)
        assert long in (table.json_text or "")


@pytest.mark.req("CA-5")
def test_a_description_keeps_its_lines_and_a_name_does_not() -> None:
    row = table_of({"type": "object", "properties": {"a\nb": {"description": "c\nd\u2028e"}}}).rows[
        0
    ]

    assert (row.name, row.description) == ("a\\u000ab", "c\nd\\u2028e")


@pytest.mark.req("CA-6")
def test_a_thousand_properties_and_a_name_of_500_characters_are_all_there() -> None:
    expected = [f"p{n}" for n in range(1_000)] + ["n" * 500]
    schema = {"type": "object", "properties": dict.fromkeys(expected, STRING)}

    table = table_of({**schema, "required": ["p999"]})

    assert names_of(table.rows) == ["p999", *(name for name in expected if name != "p999")]
    assert said(table) == []


@pytest.mark.req("CA-6")
def test_a_schema_that_nests_as_deep_as_is_kept_is_shown_to_its_end() -> None:
    schema: Any = STRING
    while schema_bytes(deeper := an_object(x=schema)) <= limits.SCHEMA_BYTES:
        schema = deeper
    table = table_of(schema)

    assert len(every_row(table)) == (limits.SCHEMA_DEPTH - 1) // 2
    assert every_row(table)[-1].type == "string"
    assert said(table) == []
    assert json.loads(table.model_dump_json())["schema"]


@pytest.fixture
def requests() -> Iterator[tuple[str, list[str]]]:
    """The URL of a real server, and the requests that it got."""
    got: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            got.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(an_object(stolen=STRING)).encode())

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", got
        server.shutdown()
        thread.join()


@pytest.mark.req("CA-6")
def test_a_reference_that_leads_out_is_named_and_no_request_is_made(
    requests: tuple[str, list[str]],
) -> None:
    url, got = requests
    schema = {
        "$id": f"{url}/root",
        "$schema": f"{url}/dialect",
        **an_object(a=ref(f"{url}/a.json"), b=ref("b.json"), c={"$dynamicRef": f"{url}/c#x"}),
    }

    table = table_of(schema)

    assert [str(row.note) for row in table.rows] == [
        f"Refers to {url}/a.json: not followed.",
        "Refers to b.json: not followed.",
        f"Refers to {url}/c#x: not followed.",
    ]
    assert got == []


def chained(link: Any, length: int) -> dict[str, Any]:
    """Definitions of which each is made of the next."""
    return {"$defs": {f"d{n}": link(ref(f"#/$defs/d{n + 1}")) for n in range(length)}}


def nested(wrap: Any, depth: int) -> Any:
    schema: Any = STRING
    for _ in range(depth):
        schema = wrap(schema)
    return schema


def with_bomb(bomb: Any, **definitions: Any) -> dict[str, Any]:
    rest = an_object(bomb=bomb, b=an_object(inner=STRING), first=INTEGER)
    return {**rest, "required": ["first"], **definitions}


MANY: Final = an_object(**dict.fromkeys(map(str, range(1_000)), STRING))
START: Final = ref("#/$defs/d0")
BOMBS: Final[dict[str, Any]] = {
    "doubles": with_bomb(START, **chained(lambda d: an_object(l=d, r=d), 2_000)),
    "unions": with_bomb(START, **chained(lambda d: {"anyOf": [d] * 32}, 2_000)),
    "named unions": with_bomb(
        START, **chained(lambda d: {"oneOf": [an_object(l=d), an_object(r=d), d]}, 2_000)
    ),
    "parts": with_bomb(START, **chained(lambda d: {"allOf": [d] * 32, **MANY}, 2_000)),
    "chain": with_bomb(START, **chained(lambda d: d, 2_000)),
    "objects": with_bomb(nested(lambda s: an_object(x=s), 2_000)),
    "arrays": with_bomb(nested(lambda s: {"type": "array", "items": s}, 2_000)),
    "tuples": with_bomb(nested(lambda s: {"prefixItems": [s, s]}, 2_000)),
    "alternatives": with_bomb(nested(lambda s: {"anyOf": [s, an_object(z=STRING)]}, 2_000)),
    "one alternative": with_bomb(nested(lambda s: {"anyOf": [s]}, 2_000)),
    "conditions": with_bomb(
        nested(lambda s: {"if": True, "then": an_object(c=STRING), "anyOf": [s, STRING]}, 2_000)
    ),
    "all": with_bomb(nested(lambda s: {"allOf": [s, {"minLength": 1}]}, 2_000)),
    "pointer": with_bomb(ref("#" + "/properties/bomb" * 50_000)),
    "long words": with_bomb(
        START, **{"$defs": {"d0": {"anyOf": [{"enum": ["y" * 500] * 5_000}] * 2}}}
    ),
}


@pytest.mark.req("CA-6")
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_bounded_said_to_be_cut_and_takes_no_other_rows_place(bomb: str) -> None:
    table = table_of(BOMBS[bomb])

    first, _, b = table.rows
    assert names_of(table.rows) == ["first", "bomb", "b"]
    assert (first.type, b.type) == ("integer", "object")
    assert [(row.name, row.type) for row in b.children] == [("inner", "string")]
    assert len(every_row(table)) < ENOUGH_ROWS
    assert len(table.model_dump_json()) < ENOUGH_BYTES
    if bomb not in ("pointer", "long words"):
        assert CUT in said(table)


@pytest.mark.req("CA-6")
@pytest.mark.parametrize(
    "bomb", [an_object(**dict.fromkeys(map(str, range(100_000)), STRING)), an_object(x=START)]
)
def test_a_branch_that_is_a_bomb_takes_no_other_branches_place(bomb: Any) -> None:
    options = [bomb, an_object(a=an_object(inner=STRING))]
    schema = {"type": "object", "oneOf": options, "$defs": BOMBS["named unions"]["$defs"]}

    table = table_of(schema)

    [a] = table.branches[1].rows
    assert [(row.name, row.type) for row in a.children] == [("inner", "string")]
    assert CUT in said(table)


@pytest.mark.req("CA-6")
@pytest.mark.parametrize(
    "schema",
    [
        an_object(**dict.fromkeys(map(str, range(100_000)), STRING)),
        {"type": "object", "required": list(map(str, range(100_000)))},
        {"type": "object", "oneOf": [an_object(a=STRING)] * 100_000},
        {"type": "object", "allOf": [an_object(a=STRING)] * 100_000},
        {"type": "object", "patternProperties": dict.fromkeys(map(str, range(100_000)), STRING)},
        an_object(a={"type": ["x"] * 100_000, "enum": list(range(100_000))}),
    ],
    ids=["properties", "required", "oneOf", "allOf", "patternProperties", "values"],
)
def test_a_hundred_thousand_of_anything_are_bounded(schema: dict[str, Any]) -> None:
    table = table_of(schema)

    assert 0 < len(every_row(table)) < ENOUGH_ROWS
    assert len(table.model_dump_json()) < ENOUGH_BYTES
    assert CUT in said(table) or "99,936 more values" in lines(table)
    assert table.json_text


@pytest.mark.req("CA-6")
@pytest.mark.parametrize(("bomb", "calls"), [("objects", 300), ("arrays", 720)])
def test_a_notebook_that_is_deep_in_calls_already_can_make_a_table(bomb: str, calls: int) -> None:
    def deep(calls: int) -> Arguments:
        return deep(calls - 1) if calls else table_of(BOMBS[bomb])

    assert CUT in said(deep(calls))


@pytest.mark.req("CA-6")
def test_a_number_that_python_does_not_write_is_cut() -> None:
    table = table_of(an_object(a={"type": "integer", "default": 10**5_000}, b=STRING))

    assert lines(table).splitlines()[:2] == ["a: integer, default …", "b: string"]


@pytest.mark.req("CA-6")
def test_a_row_has_a_bounded_number_of_constraints_and_the_json_has_all() -> None:
    options = [{"type": "integer", "minimum": n, "maximum": n + 1} for n in range(30)]

    table = table_of(an_object(a={"anyOf": options}))

    assert len(table.rows[0].constraints) == 32
    assert '"minimum": 29' in (table.json_text or "")


keywords = st.sampled_from(
    [
        *("type", "properties", "required", "items", "prefixItems", "enum", "const", "default"),
        *("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref", "$id", "$anchor"),
        *("$defs", "$dynamicRef", "additionalProperties", "patternProperties", "description"),
        *("dependentSchemas", "dependentRequired", "dependencies", "title", "examples", "format"),
        *("minimum", "exclusiveMinimum", "unevaluatedProperties", "propertyNames", "a", "b"),
    ]
)
texts = st.text(max_size=6) | st.sampled_from(
    ["object", "array", "string", "null", "#", "#/$defs/a", "#a", "a", "http://[", "#/%", "~2", "/"]
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(keywords | texts, inner, max_size=6)
        | st.dictionaries(keywords, inner, max_size=6)
    ),
    max_leaves=40,
)
rooted = st.dictionaries(keywords, anything, max_size=8).map(lambda s: {**s, "type": "object"})


@pytest.mark.req("CA-6", "CA-5")
@given(anything | rooted)
def test_any_json_at_all_has_a_table_that_can_be_shown(schema: Any) -> None:
    assert_can_be_shown(schema)


VECTORS: Final = Path(__file__).parent.parent / "data" / "o200k_vectors.json"
SERVED: Final = [
    case["tool"].get("inputSchema")
    for case in json.loads(VECTORS.read_text(encoding="utf-8"))["tools"]
]


@pytest.mark.req("CA-6", "CA-5")
@given(st.sampled_from([*SERVED, *(animal.schema for animal in ZOO)]), st.data())
def test_any_change_of_a_schema_leaves_one_with_a_table(schema: Any, data: Any) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        schema = changed(schema, data)

    assert_can_be_shown(schema)


def changed(schema: Any, data: Any) -> Any:
    """The schema with something else in one place of it, or one keyword under another's name."""
    if not isinstance(schema, (dict, list)) or not schema or data.draw(st.integers(0, 5)) == 0:
        return data.draw(anything | st.just(schema).map(lambda same: {"allOf": [same, same]}))
    places = list(schema) if isinstance(schema, dict) else list(range(len(schema)))
    place = data.draw(st.sampled_from(places))
    if isinstance(schema, dict) and data.draw(st.integers(0, 5)) == 0:
        return {data.draw(keywords) if key == place else key: schema[key] for key in schema}
    copy = schema.copy()
    copy[place] = changed(schema[place], data)
    return copy


def assert_can_be_shown(schema: Any) -> None:
    table = table_of(schema)
    wire = json.loads(table.model_dump_json())

    assert wire["state"] or wire["rows"] or wire["branches"]
    for row in every_row(table):
        shown = [row.name, row.type, row.default or "", *row.values, *row.constraints]
        assert all(words.visible(text) == text for text in shown)
        assert all(words.visible(line) == line for line in row.description.split("\n"))
    required = [row.required for row in table.rows]
    assert required == sorted(required, reverse=True)
    if isinstance(schema, dict) and schema.get("type") == "object" and table.rows:
        assert_names_are_there(schema, table)


def assert_names_are_there(schema: dict[str, Any], table: Arguments) -> None:
    """Every declared name has one row, and the words of none are lost."""
    declared = schema.get("properties")
    if isinstance(declared, dict):
        clear = [n for n in declared if n.isalnum() and n.isascii()]
        for name in clear:
            note_free = [r for r in table.rows if r.name == name and not is_pattern(r)]
            assert len(note_free) == 1


def is_pattern(row: Argument) -> bool:
    return bool(row.note) and str(row.note) in (
        words.ENGLISH["arguments.pattern_name"],
        words.ENGLISH["arguments.other_name"],
    )
