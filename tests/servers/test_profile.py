"""What a user hands over as servers: documents, dicts and models."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from kandev_nb import ConfigError
from kandev_nb.servers import (
    HttpServer,
    Profile,
    SseServer,
    StdioServer,
    StreamableHttpServer,
    read_profile,
)


@pytest.mark.req("CF-1")
def test_a_dict_a_text_and_a_path_of_one_document_are_one_profile(tmp_path: Path) -> None:
    text = '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "x"]}}}'
    path = tmp_path / "servers.json"
    path.write_text(text)

    by_text = read_profile(text)

    assert [(e.name, e.type, e.command, e.args) for e in by_text.entries] == [
        ("files", "stdio", "npx", ("-y", "x"))
    ]
    inner = {"files": {"command": "npx", "args": ["-y", "x"]}}
    for given in ({"mcpServers": inner}, inner, path, str(path)):
        assert read_profile(given).entries == by_text.entries
    assert read_profile(path).path == path


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("nothing", [None, {}, [], ()])
def test_no_servers_are_a_profile_without_any(nothing: Any) -> None:
    assert read_profile(nothing).entries == ()


@pytest.mark.req("CF-1")
def test_models_are_taken_as_they_are() -> None:
    given = [
        StdioServer(name="files", command="npx", args=("-y",), env={"A": "1"}),
        HttpServer(name="web", url="https://h.test/mcp", mode="shared"),
        SseServer(name="events", url="https://h.test/sse", headers={"H": "v"}),
        StreamableHttpServer(name="stream", url="https://h.test/mcp"),
    ]

    profile = read_profile(given)

    types = ["stdio", "http", "sse", "streamable_http"]
    assert [entry.type for entry in profile.entries] == types
    assert profile.entries[0].env == {"A": "1"}
    assert profile.entries[1].mode == "shared"
    assert read_profile(profile) is profile


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("given", [5, [{"name": "a"}], ["npx"], object()])
def test_what_is_no_profile_is_refused_with_the_way_out(given: Any) -> None:
    with pytest.raises(ConfigError, match="Give a dict of name to entry, the path") as refused:
        read_profile(given)

    assert refused.value.reason_code == "invalid_profile"


@pytest.mark.req("CF-1")
def test_a_stdio_server_cannot_be_shared_and_says_so() -> None:
    with pytest.raises(ValidationError, match="a stdio server cannot be shared"):
        StdioServer(name="files", command="npx", mode="shared")


@pytest.mark.req("SA-1")
def test_models_and_profiles_show_names_and_no_values() -> None:
    secret = "planted-1234"
    servers = [
        StdioServer(name="a", command="npx", args=(secret,), env={"A": secret}),
        HttpServer(name="b", url=f"https://h.test/{secret}", headers={"H": secret}),
    ]
    with pytest.raises(ValidationError) as refused:
        HttpServer(name="c", url=secret, headers={"H": f"{secret}\n"})

    profile = read_profile(servers)

    assert isinstance(profile, Profile)
    assert secret not in repr(servers) + repr(profile) + str(refused.value)
