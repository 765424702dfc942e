"""The schema zoo: what tools may serve as their input schema, and the table that a person gets."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kandev_nb.attachment.arguments import Argument, Arguments

STRING: Final[dict[str, Any]] = {"type": "string"}
INTEGER: Final[dict[str, Any]] = {"type": "integer"}
NULL: Final[dict[str, Any]] = {"type": "null"}


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def ref(place: str) -> dict[str, Any]:
    return {"$ref": place}


class Animal(NamedTuple):
    name: str
    schema: Any
    table: str
    """The lines of :func:`lines`, as a drawing."""


def lines(table: Arguments) -> str:
    """The table drawn as text, a row a line."""
    return "\n".join(line.rstrip() for line in _lines(table))


def _lines(table: Arguments) -> Iterator[str]:
    if table.state:
        yield f"state: {table.state}"
    for row in table.rows:
        yield from _row(row, "")
    for branch in table.branches:
        yield f"[{branch.label}]"
        for row in branch.rows:
            yield from _row(row, "  ")
    for note in table.notes:
        yield f"note: {note}"
    if table.json_text is not None:
        yield "json"


def _row(row: Argument, indent: str) -> Iterator[str]:
    facts = [
        f"{row.name or '-'}: {row.type}",
        "required" if row.required else "",
        f"default {row.default}" if row.default is not None else "",
        f"one of {' '.join(row.values)}" if row.values else "",
        *row.constraints,
        f"({row.note})" if row.note else "",
        f"“{row.description}”" if row.description else "",
    ]
    yield indent + ", ".join(filter(None, facts))
    for child in row.children:
        yield from _row(child, indent + "  ")


NODE: Final = an_object(
    value=INTEGER,
    left=ref("#/$defs/Node"),
    kids={"type": "array", "items": ref("#/$defs/Node")},
    up={"anyOf": [ref("#/$defs/Node"), NULL]},
)

ZOO: Final = (
    Animal(
        "no schema",
        None,
        "state: No schema given.",
    ),
    Animal(
        "an object of anything",
        {"type": "object"},
        "state: No arguments.",
    ),
    Animal(
        "an object without properties",
        {"type": "object", "properties": {}, "required": []},
        "state: No arguments.",
    ),
    Animal(
        "nothing else accepted, and nothing declared",
        {"type": "object", "additionalProperties": False},
        "state: No arguments.",
    ),
    Animal(
        "everything accepted",
        {"type": "object", "additionalProperties": True},
        """\
state: No arguments.
note: Other arguments are accepted too.
""",
    ),
    Animal(
        "an empty schema",
        {},
        """\
state: No arguments.
note: Root has no type: many clients reject this tool.
""",
    ),
    Animal(
        "true",
        True,
        """\
state: Root is true: clients reject this tool.
json
""",
    ),
    Animal(
        "false",
        False,
        """\
state: Root is false: clients reject this tool.
json
""",
    ),
    Animal(
        "a list",
        [STRING],
        """\
state: Root is array: clients reject this tool.
json
""",
    ),
    Animal(
        "a number",
        5,
        """\
state: Root is integer: clients reject this tool.
json
""",
    ),
    Animal(
        "text",
        "object",
        """\
state: Root is string: clients reject this tool.
json
""",
    ),
    Animal(
        "root is a string",
        STRING,
        """\
state: Root is string: clients reject this tool.
json
""",
    ),
    Animal(
        "root is an array",
        {"type": "array", "items": STRING},
        """\
state: Root is string[]: clients reject this tool.
json
""",
    ),
    Animal(
        "root is null or an object",
        {"type": ["object", "null"], "properties": {"a": STRING}},
        """\
a: string
note: Root is object | null: clients reject this tool.
""",
    ),
    Animal(
        "root has a type that is none",
        {"type": 5},
        """\
state: Root is 5: clients reject this tool.
json
""",
    ),
    Animal(
        "root has an empty list of types",
        {"type": []},
        """\
state: Root is []: clients reject this tool.
json
""",
    ),
    Animal(
        "root has no type",
        {"properties": {"a": STRING}},
        """\
a: string
note: Root has no type: many clients reject this tool.
""",
    ),
    Animal(
        "root refers to its arguments",
        {"type": "object", "$ref": "#/$defs/Args", "$defs": {"Args": an_object(a=STRING)}},
        """\
a: string
json
""",
    ),
    Animal(
        "root refers to a string",
        {"$ref": "#/$defs/Args", "$defs": {"Args": STRING}},
        """\
state: Root is string: clients reject this tool.
json
""",
    ),
    Animal(
        "root refers to itself",
        {"type": "object", "$ref": "#", "properties": {"a": STRING}},
        """\
a: string
json
""",
    ),
    Animal(
        "root is elsewhere",
        {"type": "object", "$ref": "https://example.com/args.json"},
        """\
state: Refers to https://example.com/args.json: not followed.
json
""",
    ),
    Animal(
        "required ones first, the rest in their order",
        {**an_object(z=STRING, y=STRING, x=STRING, w=STRING), "required": ["w", "y"]},
        """\
y: string, required
w: string, required
z: string
x: string
""",
    ),
    Animal(
        "required and not declared",
        {**an_object(a=STRING, b=STRING), "required": ["ghost", "b"]},
        """\
b: string, required
ghost: any, required, (Required, but not declared here.)
a: string
""",
    ),
    Animal(
        "required is no list of names",
        {**an_object(a=STRING), "required": [1, None, "a", "a"]},
        "a: string, required",
    ),
    Animal(
        "root with sets of required names",
        {**an_object(a=STRING, b=INTEGER), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        """\
a: string
b: integer
[Option 1 of 2; at least one applies]
  a: string, required
[Option 2 of 2; at least one applies]
  b: integer, required
json
""",
    ),
    Animal(
        "root is one of several",
        {
            "type": "object",
            "oneOf": [ref("#/$defs/A"), {"title": "Bee", "properties": {"b": STRING}}, NULL],
            "$defs": {"A": an_object(a=STRING)},
        },
        """\
[Option 1 of 3; exactly one applies: A]
  a: string
[Option 2 of 3; exactly one applies: Bee]
  b: string
[Option 3 of 3; exactly one applies: null]
json
""",
    ),
    Animal(
        "root is several at once",
        {"type": "object", "allOf": [an_object(a=STRING), {"required": ["z"]}]},
        """\
[Part 1 of 2; all apply]
  a: string
[Part 2 of 2; all apply]
  z: any, required, (Required, but not declared here.)
json
""",
    ),
    Animal(
        "root with a condition",
        {
            **an_object(kind=STRING),
            "if": {"properties": {"kind": {"const": "x"}}},
            "then": {"required": ["kind"]},
            "else": an_object(why=STRING),
        },
        """\
kind: string
[If]
  kind: string, one of x
[Then]
  kind: string, required
[Otherwise]
  why: string
json
""",
    ),
    Animal(
        "a condition without consequence",
        {**an_object(a=STRING), "if": True},
        """\
a: string
json
""",
    ),
    Animal(
        "a type list",
        an_object(
            a={"type": ["string", "null"]}, b={"type": ["array", "integer"], "items": STRING}
        ),
        """\
a: string | null
b: string[] | integer
""",
    ),
    Animal(
        "something or null",
        an_object(
            a={"anyOf": [STRING, NULL], "default": None},
            b={
                "oneOf": [
                    {"type": "string", "enum": ["x", "y"], "description": "of X"},
                    {"const": None},
                ]
            },
        ),
        """\
a: string | null, default null
b: string | null, one of x y, “of X”
json
""",
    ),
    Animal(
        "unions in unions",
        an_object(
            a={
                "anyOf": [
                    {"anyOf": [STRING, {"type": "integer", "minimum": 2}]},
                    {"oneOf": [{"type": "boolean"}, NULL]},
                ]
            },
            b={"type": "array", "items": {"anyOf": [STRING, INTEGER]}},
            c={"anyOf": [{"const": "a"}, {"const": "b"}]},
        ),
        """\
a: string | integer | boolean | null, integer: ≥ 2
b: (string | integer)[]
c: string, one of a b
json
""",
    ),
    Animal(
        "unions that share a type",
        an_object(a={"anyOf": [{"type": ["string", "null"]}, {"type": ["integer", "null"]}]}),
        """\
a: string | null | integer
json
""",
    ),
    Animal(
        "a union of which one has names",
        an_object(a={"anyOf": [{**an_object(x=STRING), "description": "As an object."}, STRING]}),
        """\
a: object | string, “As an object.”
  x: string
json
""",
    ),
    Animal(
        "a union of objects",
        an_object(shape={"oneOf": [ref("#/$defs/Circle"), an_object(side=INTEGER)]})
        | {"$defs": {"Circle": {**an_object(radius=INTEGER), "required": ["radius"]}}},
        """\
shape: Circle | object
  -: Circle, (Option 1 of 2; exactly one applies: Circle)
    radius: integer, required
  -: object, (Option 2 of 2; exactly one applies)
    side: integer
json
""",
    ),
    Animal(
        "values",
        an_object(
            a={"enum": ["a", "1", 1, 1.5, None, "", " x", "true", True]},
            b={"const": {"k": 1}},
            c={"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
        ),
        """\
a: string | integer | number | null | boolean, one of a "1" 1 1.5 null "" " x" "true" true
b: object, one of {"k": 1}
c: string[], one of x y
""",
    ),
    Animal(
        "defaults",
        an_object(
            a={"type": "string", "default": ""},
            b={"type": "string", "default": "null"},
            c={"default": None},
            d={"type": "object", "default": {"k": [1, "x"]}},
            e={"type": "boolean", "default": False},
        ),
        """\
a: string, default ""
b: string, default "null"
c: any, default null
d: object, default {"k": [1, "x"]}
e: boolean, default false
""",
    ),
    Animal(
        "ranges",
        an_object(
            a={"type": "integer", "minimum": 1, "maximum": 10},
            b={"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
            c={"type": "number", "minimum": 1, "exclusiveMinimum": True},
            d={"type": "array", "minItems": 1, "maxItems": 3, "uniqueItems": True},
            e={"type": "object", "minProperties": 2},
        ),
        """\
a: integer, ≥ 1, ≤ 10
b: number, > 0, multiple of 0.5
c: number, ≥ 1, not 1
d: array, at least 1 item, at most 3 items, no item twice
e: object, at least 2 names
""",
    ),
    Animal(
        "formats and patterns",
        an_object(
            a={
                "type": "string",
                "format": "uri",
                "minLength": 1,
                "maxLength": 80,
                "pattern": "^a.*\\d$",
            },
            b={"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"},
            c={"type": "array", "items": {"type": "string", "format": "uuid"}},
            d={"anyOf": [{"type": "string", "format": "date"}, {"type": "integer", "minimum": 0}]},
        ),
        """\
a: string, format uri, pattern ^a.*\\d$, at least 1 character, at most 80 characters
b: string, encoded as base64, content image/png
c: string[], each: format uuid
d: string | integer, string: format date, integer: ≥ 0
json
""",
    ),
    Animal(
        "remarks",
        an_object(
            a={
                "type": "string",
                "deprecated": True,
                "examples": ["x", 1],
                "readOnly": True,
                "writeOnly": False,
            }
        ),
        "a: string, deprecated, read only, such as x, 1",
    ),
    Animal(
        "titles",
        an_object(
            repo_path={"title": "Repo Path"},
            x={"title": "Distance to the left"},
            y={"title": "Y", "description": "Distance to the top."},
        ),
        """\
repo_path: any
x: any, “Distance to the left”
y: any, “Distance to the top.”
""",
    ),
    Animal(
        "arrays",
        an_object(
            a={"type": "array"},
            b={"type": "array", "items": STRING},
            c={"type": "array", "items": {"type": "array", "items": STRING}},
            d={"items": True},
            e={"type": "array", "prefixItems": [STRING, an_object(k=INTEGER)]},
            f={"type": "array", "items": [STRING, INTEGER]},
        ),
        """\
a: array
b: string[]
c: string[][]
d: array
e: [string, object]
  [1]: object
    k: integer
f: [string, integer]
json
""",
    ),
    Animal(
        "arrays of objects",
        an_object(
            edits={
                "type": "array",
                "items": {**an_object(old=STRING, new=STRING), "required": ["new"]},
            }
        ),
        """\
edits: object[]
  new: string, required
  old: string
json
""",
    ),
    Animal(
        "nested objects",
        an_object(a=an_object(b=an_object(c=an_object(d=STRING)))),
        """\
a: object
  b: object
    c: object
      d: string
json
""",
    ),
    Animal(
        "a reference is named",
        an_object(
            c=ref("#/$defs/Color"),
            cs={"type": "array", "items": ref("#/$defs/Color")},
            n={"anyOf": [ref("#/$defs/Color"), NULL]},
            p=ref("#/definitions/Point"),
        )
        | {
            "$defs": {"Color": {"type": "string", "enum": ["red"]}},
            "definitions": {"Point": an_object(x=INTEGER)},
        },
        """\
c: Color (string), one of red
cs: Color[], one of red
n: Color (string) | null, one of red
p: Point
  x: integer
json
""",
    ),
    Animal(
        "a reference with words of its own",
        an_object(
            c={"$ref": "#/$defs/Color", "description": "Its own.", "default": "red"},
            d={"allOf": [ref("#/$defs/Color")], "default": "blue"},
        )
        | {"$defs": {"Color": {"type": "string", "description": "A color."}}},
        """\
c: Color (string), default red, “Its own.”
d: Color (string), default blue, “A color.”
json
""",
    ),
    Animal(
        "a recursive reference",
        an_object(tree=ref("#/$defs/Node")) | {"$defs": {"Node": NODE}},
        """\
tree: Node
  value: integer
  left: ↻ Node
  kids: ↻ Node[]
  up: ↻ Node | null
json
""",
    ),
    Animal(
        "the root in itself",
        {**an_object(name=STRING, inner=ref("#")), "title": "Folder"},
        """\
name: string
inner: ↻ Folder
json
""",
    ),
    Animal(
        "references in a circle",
        an_object(a=ref("#/$defs/A")) | {"$defs": {"A": ref("#/$defs/B"), "B": ref("#/$defs/A")}},
        """\
a: A
json
""",
    ),
    Animal(
        "references that lead nowhere",
        an_object(
            a=ref("#/$defs/None"),
            b=ref("#nobody"),
            c=ref("#/$defs/List/9"),
            d=ref("#/$defs/List/0"),
            e={"$ref": 5},
        )
        | {"$defs": {"List": [INTEGER]}},
        """\
a: any, (Refers to #/$defs/None, which is not there.)
b: any, (Refers to #nobody, which is not there.)
c: any, (Refers to #/$defs/List/9, which is not there.)
d: 0 (integer)
e: any
json
""",
    ),
    Animal(
        "references that lead out",
        an_object(
            a=ref("https://example.com/a.json#/x"),
            b=ref("file:///etc/passwd"),
            c=ref("other.json"),
            d=ref("http://["),
        ),
        """\
a: any, (Refers to https://example.com/a.json#/x: not followed.)
b: any, (Refers to file:///etc/passwd: not followed.)
c: any, (Refers to other.json: not followed.)
d: any, (Refers to http://[: not followed.)
json
""",
    ),
    Animal(
        "a reference that is no address",
        {"$id": "https://example.com/root", **an_object(a=ref("http://["))},
        """\
a: any, (Refers to http://[: not followed.)
json
""",
    ),
    Animal(
        "pointers with escapes",
        an_object(
            a=ref("#/$defs/a~1b"),
            b=ref("#/$defs/m~0n"),
            c=ref("#/$defs/50%25"),
            d=ref("#/$defs/~01"),
            e=ref("#/$defs/%C3%BC"),
        )
        | {
            "$defs": {
                "a/b": STRING,
                "m~n": INTEGER,
                "50%": {"type": "boolean"},
                "~1": {"type": "number"},
                "ü": NULL,
            }
        },
        """\
a: a/b (string)
b: m~n (integer)
c: 50% (boolean)
d: ~1 (number)
e: ü (null)
json
""",
    ),
    Animal(
        "anchors and identifiers",
        {
            "$id": "https://example.com/root/",
            **an_object(
                a=ref("#spot"),
                b=ref("item"),
                c=ref("https://example.com/root/item#/$defs/in"),
                d={"$dynamicRef": "#dyn"},
                e=ref("item#near"),
                f=ref("/root/item"),
            ),
            "$defs": {
                "A": {"$anchor": "spot", "type": "integer"},
                "B": {
                    "$id": "item",
                    "type": "boolean",
                    "$defs": {
                        "in": {"type": "number"},
                        "n": {"$anchor": "near", "$ref": "#/$defs/in"},
                    },
                },
                "D": {"$dynamicAnchor": "dyn", "type": "string"},
            },
        },
        """\
a: spot (integer)
b: item (boolean)
c: in (number)
d: dyn (string)
e: near (number)
f: item (boolean)
json
""",
    ),
    Animal(
        "identifiers in values are none",
        an_object(
            a=ref("#spot"), b={"const": {"$anchor": "spot"}}, c={"default": {"$anchor": "spot"}}
        ),
        """\
a: any, (Refers to #spot, which is not there.)
b: object, one of {"$anchor": "spot"}
c: any, default {"$anchor": "spot"}
json
""",
    ),
    Animal(
        "other names",
        an_object(
            a=an_object(x=STRING) | {"additionalProperties": False},
            b={"type": "object", "additionalProperties": INTEGER},
            c={"type": "object", "patternProperties": {"^x-": STRING}},
            d={"type": "object", "additionalProperties": True},
        )
        | {"additionalProperties": False},
        """\
a: object, no other names
  x: string
b: object
  *: integer, (Every name that is not listed.)
c: object
  ^x-: string, (Every name that matches this pattern.)
d: object
note: No other arguments are accepted.
json
""",
    ),
    Animal(
        "other names at the root",
        {
            "type": "object",
            "properties": {"*": STRING},
            "patternProperties": {"^x-": INTEGER},
            "additionalProperties": an_object(k=STRING),
        },
        """\
*: string
^x-: integer, (Every name that matches this pattern.)
*: object, (Every name that is not listed.)
  k: string
json
""",
    ),
    Animal(
        "unevaluated names",
        {"type": "object", "allOf": [an_object(a=STRING)], "unevaluatedProperties": False},
        """\
[Part 1 of 1; all apply]
  a: string
note: No other arguments are accepted.
json
""",
    ),
    Animal(
        "names that depend on names",
        {
            **an_object(a=STRING, b=STRING, c=STRING),
            "dependentRequired": {"a": ["b", "c"]},
            "dependentSchemas": {"b": an_object(d=STRING)},
            "dependencies": {"c": ["a"]},
        },
        """\
a: string, needs b, c
b: string
c: string, needs a
[When b is given]
  d: string
json
""",
    ),
    Animal(
        "what only the JSON can tell",
        {
            **an_object(
                a={"type": "array", "contains": STRING},
                b={"type": "object", "propertyNames": {"type": "string"}},
            ),
            "not": {"required": ["a"]},
        },
        """\
a: array
b: object
note: Only the JSON tells: not, contains.
json
""",
    ),
    Animal(
        "rules for names",
        an_object(a={"type": "object", "propertyNames": {"pattern": "^x"}}),
        """\
a: object
note: Only the JSON tells: propertyNames.
json
""",
    ),
    Animal(
        "parts that contradict",
        an_object(
            a={
                "allOf": [
                    {"type": "string", "pattern": "^a"},
                    {"pattern": "b$", "maxLength": 3},
                    an_object(x=STRING),
                    an_object(y=STRING),
                ]
            }
        ),
        """\
a: string, pattern ^a, at most 3 characters
  x: string
  y: string
note: Only the JSON tells: pattern, type.
json
""",
    ),
    Animal(
        "properties that are no schemas",
        an_object(
            a=True,
            b=False,
            c=5,
            d=None,
            e=[],
            f={},
            g={
                "type": "object",
                "properties": [1],
                "required": "x",
                "enum": 5,
                "anyOf": {},
                "items": 3,
            },
        ),
        """\
a: any
b: never, (Never accepted.)
c: any, (What describes it is not a schema.)
d: any, (What describes it is not a schema.)
e: any, (What describes it is not a schema.)
f: any
g: object
json
""",
    ),
    Animal(
        "names of every object in JavaScript",
        {
            "type": "object",
            "properties": {"__proto__": STRING, "constructor": STRING, "toString": STRING},
            "required": ["toString"],
        },
        """\
toString: string, required
__proto__: string
constructor: string
""",
    ),
    Animal(
        "names that are hard to see",
        {
            "type": "object",
            "properties": {
                "a b": STRING,
                " ": STRING,
                "": STRING,
                "end ": STRING,
                '"': STRING,
                "pay\u202eyap": STRING,
                "zero\u200bwidth": STRING,
                "two\nlines": STRING,
                "\ud800": STRING,
                "שלום": STRING,
            },
        },
        """\
a b: string
" ": string
"": string
"end ": string
\""": string
pay\\u202eyap: string
zero\\u200bwidth: string
two\\u000alines: string
\\ud800: string
שלום: string
""",
    ),
    Animal(
        "text that looks like something else",
        {
            "type": "object",
            "properties": {
                "<b>a</b>": {
                    "type": "<i>x</i>",
                    "default": "<script>",
                    "enum": ["**b**", "[x](http://y)"],
                    "pattern": "\u001b[31m",
                    "description": "  # Title\n\n\t<img src=x>\r\nhttps://example.com \u202e  ",
                }
            },
        },
        """\
<b>a</b>: <i>x</i>, default <script>, one of **b** "[x](http://y)", pattern \\u001b[31m, “# Title

    <img src=x>
https://example.com \\u202e”
""",
    ),
    Animal(
        "an unknown keyword",
        {**an_object(a=STRING), "x-order": ["a"]},
        """\
a: string
json
""",
    ),
)
