"""Whatever a document holds, reading it ends in a profile or in ``ConfigError``."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kandev_nb.errors import ConfigError
from kandev_nb.servers.documents import FORMATS, read_document

DOCUMENTS = Path(__file__).parents[2] / "data" / "documents"
PLACES = {
    "vscode": "servers",
    "opencode": "mcp",
    "zed": "context_servers",
    "jupyter_ai": "mcp_servers",
    "codex": "mcp_servers",
    "kandev": "servers",
}
KEYS = """
    args bearer_token bearer_token_env_var command disabled enabled env env_http_headers env_vars
    environment headers http_headers httpUrl id inputs mcp mode name projects serverUrl settings
    source tcp transport type url value mcpServers servers default
""".split()  # noqa: SIM905 - a table of words

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(KEYS)
)
words = st.sampled_from(sorted({*KEYS} - {"name"}))
keys = st.sampled_from(KEYS) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6)
)
entries = st.dictionaries(keys, values, max_size=8)


def read(source: Any, format_: str | None) -> None:
    try:
        profile = read_document(source, format=format_)
    except ConfigError as error:
        assert error.reason_code == "invalid_profile"  # noqa: PT017 - either outcome is right
    else:
        assert profile.format in FORMATS
        assert profile.model_dump_json(exclude={"entries": {"__all__": {"unused"}}})


@pytest.mark.req("CF-1")
@given(document=st.dictionaries(keys, values), format_=st.none() | st.sampled_from(list(FORMATS)))
def test_any_mapping_is_read_or_refused(document: dict[str, Any], format_: str | None) -> None:
    read(document, format_)


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("format_", FORMATS)
@given(servers=st.lists(entries | values, max_size=4))
def test_any_entry_is_read_by_every_client(format_: str, servers: list[Any]) -> None:
    named = servers if format_ == "jupyter_ai" else dict(enumerate(servers))

    profile = read_document({PLACES.get(format_, "mcpServers"): named}, format=format_)

    assert len(profile.entries) == len(servers)
    read({PLACES.get(format_, "mcpServers"): named}, format_)


hidden_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just("hidden"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=5),
)


@pytest.mark.req("CF-1", "SA-1")
@pytest.mark.parametrize("format_", FORMATS)
@given(entry=st.dictionaries(words, hidden_values, max_size=8), rest=hidden_values)
def test_no_value_is_shown_in_what_is_said_of_a_document(
    format_: str, entry: dict[str, Any], rest: Any
) -> None:
    servers = [{**entry, "name": "a"}] if format_ == "jupyter_ai" else {"a": entry}
    document = {"inputs": rest, "mcp": rest, PLACES.get(format_, "mcpServers"): servers}

    profile = read_document(document, format=format_)

    # Types, modes and the names of variables are names: they may be shown.
    names = {"type": "", "mode": "", "env_from": {}, "headers_from": {}, "bearer_from": ""}
    entry_shown = profile.entries[0].model_copy(update=names)
    assert "hidden" not in f"{entry_shown!r} {profile.notes}"


@pytest.mark.req("CF-1")
@given(document=values, format_=st.none() | st.sampled_from(list(FORMATS)))
def test_any_json_is_read_or_refused(document: Any, format_: str | None) -> None:
    read(json.dumps(document) + "\n", format_)


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("format_", FORMATS)
@given(cut=st.floats(0, 1), put=st.sampled_from(["", "}", '"', ",", "[", "\0", "\ud800", "\ufeff"]))
def test_a_document_damaged_anywhere_is_read_or_refused(format_: str, cut: float, put: str) -> None:
    golden = next(p for p in (DOCUMENTS / format_).glob("golden.*") if "expected" not in p.name)
    text = golden.read_text()
    at = int(cut * len(text))

    read(f"{text[:at]}{put}{text[at + 1 :]}\n", format_)
