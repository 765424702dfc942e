"""What becomes of a placeholder, as the client whose document it is in would have it."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kandev_nb.servers.placeholders import Filled, Surroundings, fill

ENVIRON = {"TOKEN": "hunter2", "EMPTY": "", "HOME": "/home/ada", "_x1": "y"}
AROUND = Surroundings(ENVIRON, Path("/home/ada/garden"), {"region": "north", "key": ""})
NOWHERE = Surroundings({}, Path("/home/ada/garden"), {})

EXPANDING = ("mcp_servers", "claude_code", "gemini", "cursor", "windsurf", "vscode", "opencode")
AS_THEY_STAND = ("claude_desktop", "codex", "zed", "jupyter_ai", "kandev")
FORMATS = (*EXPANDING, *AS_THEY_STAND)


def missing(text: str, *references: str) -> Filled:
    """A text that nobody fills in."""
    return Filled(text, missing=references or (text,))


@pytest.mark.req("CF-5")
@pytest.mark.parametrize(
    ("format_id", "text", "filled"),
    [
        ("claude_code", "${TOKEN}", Filled("hunter2")),
        ("claude_code", "Bearer ${TOKEN}!", Filled("Bearer hunter2!")),
        ("claude_code", "${TOKEN}${_x1}", Filled("hunter2y")),
        ("claude_code", "${EMPTY}", Filled("")),
        ("claude_code", "${EMPTY:-d}", Filled("")),
        ("claude_code", "${UNSET:-d}", Filled("d")),
        ("claude_code", "${UNSET:-}", Filled("")),
        ("claude_code", "${UNSET:-https://h.test/a:1}", Filled("https://h.test/a:1")),
        ("claude_code", "${UNSET}", missing("${UNSET}")),
        ("claude_code", "${unset}", missing("${unset}")),
        ("claude_code", "$TOKEN", Filled("$TOKEN")),
        ("claude_code", "${env:TOKEN}", missing("${env:TOKEN}")),
        ("claude_code", "${workspaceFolder}", missing("${workspaceFolder}")),
        ("claude_code", "${line%.*} ${#list} ${}", Filled("${line%.*} ${#list} ${}")),
        ("mcp_servers", "${TOKEN} ${UNSET:-d}", Filled("hunter2 d")),
        ("mcp_servers", "${env:TOKEN} ${env:UNSET:-d}", Filled("hunter2 d")),
        ("mcp_servers", "${env:UNSET}", missing("${env:UNSET}")),
        ("mcp_servers", "pa$TOKEN and $5", Filled("pa$TOKEN and $5")),
        ("mcp_servers", "{env:TOKEN}", Filled("{env:TOKEN}")),
        ("gemini", "$TOKEN ${TOKEN} ${UNSET:-d}", Filled("hunter2 hunter2 d")),
        ("gemini", "a$TOKEN-b", Filled("ahunter2-b")),
        ("gemini", "$UNSET and $5", Filled("$UNSET and $5", kept=("$UNSET",))),
        ("gemini", "${UNSET}", missing("${UNSET}")),
        ("gemini", "${EMPTY:-d}", Filled("")),
        ("cursor", "${env:TOKEN}", Filled("hunter2")),
        ("cursor", "${env:UNSET}", missing("${env:UNSET}")),
        ("cursor", "${env:UNSET:-d}", missing("${env:UNSET:-d}", "${env:UNSET}")),
        ("cursor", "${userHome}${/}a${pathSeparator}b", Filled("/home/ada/a/b")),
        ("cursor", "${workspaceFolder}", Filled("/home/ada/garden")),
        ("cursor", "${workspaceFolderBasename}", Filled("garden")),
        ("cursor", "${TOKEN}", missing("${TOKEN}")),
        ("cursor", "$TOKEN ${cwd}", Filled("$TOKEN ${cwd}")),
        ("windsurf", "${env:TOKEN}", Filled("hunter2")),
        ("windsurf", "${env:UNSET}", missing("${env:UNSET}")),
        ("windsurf", "${file:~/.keys/a}", missing("${file:~/.keys/a}")),
        ("vscode", "${env:TOKEN}", Filled("hunter2")),
        ("vscode", "<${env:UNSET}>", Filled("<>", emptied=("${env:UNSET}",))),
        ("vscode", "<${env:UNSET:-d}>", Filled("<>", emptied=("${env:UNSET}",))),
        ("vscode", "${input:region}", Filled("north")),
        ("vscode", "${input:key}", Filled("")),
        ("vscode", "${input:other-id}", missing("${input:other-id}")),
        ("vscode", "${cwd} ${workspaceFolder}", Filled("/home/ada/garden /home/ada/garden")),
        ("vscode", "${userHome}${/}${workspaceFolderBasename}", Filled("/home/ada/garden")),
        ("vscode", "${command:a.pick}", missing("${command:a.pick}")),
        ("vscode", "${config:a.b}", missing("${config:a.b}")),
        ("vscode", "${workspaceFolder:other}", missing("${workspaceFolder:other}")),
        ("vscode", "${fileBasename}", missing("${fileBasename}")),
        ("vscode", "${selectedText}", missing("${selectedText}")),
        ("vscode", "${TOKEN}", missing("${TOKEN}")),
        ("vscode", "${other}", Filled("${other}")),
        ("opencode", "{env:TOKEN}", Filled("hunter2")),
        ("opencode", "<{env:UNSET}>", Filled("<>", emptied=("{env:UNSET}",))),
        ("opencode", "{file:./key}", missing("{file:./key}")),
        ("opencode", "${env:TOKEN}", Filled("$hunter2")),
        ("opencode", "${TOKEN}", missing("${TOKEN}")),
        ("opencode", '{"a": {}}', Filled('{"a": {}}')),
    ],
)
def test_a_placeholder_is_filled_in_as_its_own_client_does(
    format_id: str, text: str, filled: Filled
) -> None:
    assert fill(text, format_id, AROUND) == filled


@pytest.mark.req("CF-5")
@pytest.mark.parametrize("format_id", [*AS_THEY_STAND, "a format of tomorrow"])
@pytest.mark.parametrize(
    ("text", "references"),
    [
        ("${TOKEN}", ("${TOKEN}",)),
        ("${TOKEN:-abc}", ("${TOKEN}",)),
        ("${env:TOKEN} ${input:key}", ("${env:TOKEN}", "${input:key}")),
        ("${workspaceFolder}/x", ("${workspaceFolder}",)),
        ("$TOKEN {env:TOKEN}", ()),
        ("for f in *; do echo ${f} ${f%.*} ${file:-x}; done", ()),
    ],
)
def test_a_client_that_fills_nothing_in_leaves_the_placeholders_of_others_missing(
    format_id: str, text: str, references: tuple[str, ...]
) -> None:
    assert fill(text, format_id, AROUND) == Filled(text, missing=references)


@pytest.mark.req("CF-5", "SA-1")
@pytest.mark.parametrize("format_id", FORMATS)
@pytest.mark.parametrize(
    "text",
    [
        "${TOKEN:-s3cret}",
        "${UNSET:-s3cret}",
        "${env:TOKEN:-s3cret}",
        "${env:UNSET:-s3cret}",
        "${env:UNSET-s3cret}",
        "${input:region:-s3cret}",
        "${UNSET:-${OTHER:-s3cret}}",
        "{env:UNSET:-s3cret}",
        "${UNSET-s3cret}",
        "${UNSET:?s3cret}",
        "${UNSET:=s3cret}",
        "${workspaceFolder:-s3cret}",
        "${file:/a:-s3cret}",
    ],
)
def test_no_default_and_no_value_is_ever_named(format_id: str, text: str) -> None:
    left = fill(text, format_id, AROUND)

    named = " ".join((*left.missing, *left.emptied, *left.kept))
    assert "s3cret" not in named
    assert "hunter2" not in named


@pytest.mark.req("CF-5")
@pytest.mark.parametrize("name", ["TOKEN", "UNSET"])
def test_a_reference_inside_a_default_is_missing_and_not_half_filled_in(name: str) -> None:
    text = f"${{{name}:-${{OTHER}}}}"

    assert fill(text, "claude_code", AROUND) == missing(text, f"${{{name}}}", "${OTHER}")


@pytest.mark.req("CF-5")
def test_a_reference_is_named_once_and_in_the_order_of_its_first_mention() -> None:
    text = "${B} ${A} ${B:-}${B} ${A}"

    assert fill(text, "claude_code", NOWHERE).missing == ("${B}", "${A}")


@pytest.mark.req("CF-5")
def test_an_input_that_the_environment_answers_is_not_asked_of_the_document() -> None:
    around = AROUND._replace(environ={"input:region": "south"})

    assert fill("${input:region}", "vscode", around) == Filled("south")


@pytest.mark.req("CF-5")
def test_a_home_that_the_environment_does_not_name_is_missing() -> None:
    assert fill("${userHome}/a", "cursor", NOWHERE) == missing("${userHome}/a", "${userHome}")


@pytest.mark.req("CF-5")
@pytest.mark.parametrize("format_id", ["gemini", "vscode", "opencode"])
@pytest.mark.parametrize(
    "unit", ["${", "${A:-", "${A", "{env:", "${env:", "_", "${_", "$A", "{", "${input:a ", "${A:-}"]
)
def test_a_hostile_text_is_read_in_good_time(format_id: str, unit: str) -> None:
    text = unit * (256 * 1024 // len(unit))
    started = time.process_time()

    fill(text, format_id, AROUND)
    fill(text + "}", format_id, AROUND)

    assert time.process_time() - started < 5


formats = st.sampled_from([*FORMATS, ""])
texts = st.text() | st.lists(
    st.sampled_from(
        ["$", "{", "}", "${", ":-", ":", "env:", "input:", "file:", "TOKEN", "UNSET", "a", "/", "é"]
    ),
    max_size=12,
).map("".join)


@pytest.mark.req("CF-5")
@given(formats, st.text(st.characters(exclude_characters="${")))
def test_a_text_without_placeholders_is_left_as_it_is(format_id: str, text: str) -> None:
    assert fill(text, format_id, AROUND) == Filled(text)


@pytest.mark.req("CF-5")
@given(formats, texts)
def test_any_text_is_taken_and_what_stays_missing_stays_in_it(format_id: str, text: str) -> None:
    left = fill(text, format_id, AROUND)

    for reference in (*left.missing, *left.kept):
        assert reference.rstrip("}") in left.text


@pytest.mark.req("CF-5")
@given(
    st.sampled_from(
        [
            ("claude_code", "${X}"),
            ("mcp_servers", "${env:X}"),
            ("gemini", "$X"),
            ("gemini", "${X:-d}"),
            ("cursor", "${env:X}"),
            ("windsurf", "${env:X}"),
            ("vscode", "${env:X}"),
            ("vscode", "${input:X}"),
            ("opencode", "{env:X}"),
        ]
    ),
    st.text() | st.sampled_from(["${X}", "$X", "{env:X}", r"\1\g<0>", "${env:X}}"]),
)
def test_a_value_stands_in_the_text_as_it_is_and_is_not_looked_at_again(
    written: tuple[str, str], value: str
) -> None:
    format_id, reference = written
    around = Surroundings({"X": value}, Path("/"), {"X": value})

    assert fill(f"<{reference}>", format_id, around) == Filled(f"<{value}>")


@pytest.mark.req("CF-5")
@given(
    st.sampled_from(
        [("claude_code", "${%s}"), ("vscode", "${env:%s}"), ("opencode", "{env:%s}")],
    ),
    st.lists(st.tuples(st.text(st.characters(exclude_characters="${")), st.booleans())),
)
def test_a_text_in_which_nothing_is_unset_is_filled_in_once_and_for_all(
    client: tuple[str, str], parts: list[tuple[str, bool]]
) -> None:
    format_id, form = client
    text = "".join(words + (form % "TOKEN" if is_followed else "") for words, is_followed in parts)
    expected = "".join(words + "hunter2" * is_followed for words, is_followed in parts)

    assert fill(text, format_id, AROUND) == Filled(expected)
    assert fill(expected, format_id, AROUND) == Filled(expected)
