"""Which client a document belongs to, told by its path and by its content."""

from pathlib import Path
from typing import Any

import pytest

from kandev_nb.errors import ConfigError
from kandev_nb.servers.documents import FORMATS, read_document

ENTRIES = {"a": {"command": "x"}}


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("path", "content", "format_"),
    [
        ("claude_desktop_config.json", '{"mcpServers": {}}', "claude_desktop"),
        (".mcp.json", '{"mcpServers": {}}', "claude_code"),
        (".claude.json", '{"projects": {}}', "claude_code"),
        (".cursor/mcp.json", '{"mcpServers": {}}', "cursor"),
        (".gemini/settings.json", "{}", "gemini"),
        (".codeium/windsurf/mcp_config.json", '{"mcpServers": {}}', "windsurf"),
        ("mcp_config.json", '{"mcpServers": {}}', "windsurf"),
        (".vscode/mcp.json", '{"servers": {}}', "vscode"),
        (".vscode/settings.json", '{"mcp": {"servers": {}}}', "vscode"),
        ("Code/User/mcp.json", '{"servers": {}, "inputs": []}', "vscode"),
        ("Code/User/settings.json", '{"mcp": {"servers": {}}, "editor.tabSize": 4}', "vscode"),
        ("opencode.json", "{}", "opencode"),
        ("opencode.jsonc", '{"mcp": {}, // none\n}', "opencode"),
        (".codex/config.toml", 'model = "x"', "codex"),
        ("other.toml", "[mcp_servers.a]\ncommand = 'x'", "codex"),
        (".zed/settings.json", "{}", "zed"),
        (".config/zed/settings.json", "{}", "zed"),
        ("settings.json", '{"context_servers": {}}', "zed"),
        (".jupyter/mcp_settings.json", '{"mcp_servers": []}', "jupyter_ai"),
        ("mcp.json", '{"mcpServers": {}}', "mcp_servers"),
        ("servers", "[mcp_servers.a]\ncommand = 'x'", "codex"),
        ("servers", "/* all of them */ {}", "mcp_servers"),
    ],
)
def test_a_file_is_told_by_its_path_then_by_its_content(
    tmp_path: Path, path: str, content: str, format_: str
) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)

    profile = read_document(file)

    assert (profile.format, profile.path) == (format_, file)
    assert read_document(str(file)) == profile


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("document", "format_"),
    [
        ({"mcpServers": ENTRIES}, "mcp_servers"),
        ({"servers": ENTRIES, "inputs": []}, "vscode"),
        ({"servers": ENTRIES}, "vscode"),
        ({"mcp": {"servers": ENTRIES}}, "vscode"),
        ({"servers": ENTRIES, "enabled": True}, "kandev"),
        ({"servers": {}, "agent_id": "x"}, "kandev"),
        ({"servers": {}, "agent_name": "x"}, "kandev"),
        ({"servers": {"a": {"command": "x", "mode": "auto"}}}, "kandev"),
        ({"mcpServers": ENTRIES, "enabled": True}, "kandev"),
        ({"mcp": {"a": {"type": "local", "command": ["x"]}}}, "opencode"),
        ({"mcp": {"a": {"type": "remote", "url": "x"}}}, "opencode"),
        ({"mcp": {"a": {"enabled": False}}}, "opencode"),
        ({"context_servers": ENTRIES}, "zed"),
        ({"mcp_servers": ENTRIES}, "codex"),
        ({"mcp_servers": []}, "jupyter_ai"),
        (ENTRIES, "mcp_servers"),
        ({"a": {"url": "x"}}, "mcp_servers"),
        ({"a": {"httpUrl": "x"}}, "mcp_servers"),
        ({"a": {"serverUrl": "x"}}, "mcp_servers"),
        ({"a": {"type": "http"}, "b": None}, "mcp_servers"),
        ({"mcp": {"command": "x", "args": []}}, "mcp_servers"),
        ({"mcp": {"command": "x", "env": {"type": "y"}}}, "mcp_servers"),
        ({"servers": {"command": "x"}}, "mcp_servers"),
        ({}, "mcp_servers"),
    ],
)
def test_a_document_of_unknown_origin_is_told_by_what_it_holds(
    document: dict[str, Any], format_: str
) -> None:
    assert read_document(document).format == format_


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("document", [{"theme": "dark"}, {"mcpServer": {"a": ENTRIES}}, {"a": 5}])
def test_a_document_without_servers_says_what_was_looked_for(document: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="no MCP servers are in it") as raised:
        read_document(document)

    assert raised.value.reason_code == "invalid_profile"
    for key in ("'mcpServers'", "'servers'", "'context_servers'", "'mcp_servers'", "format="):
        assert key in str(raised.value)


@pytest.mark.req("CF-1")
def test_entries_alone_are_read_as_those_of_the_client_that_is_named() -> None:
    profile = read_document({"a": {"serverUrl": "https://example.com"}}, format="windsurf")

    assert profile.format == "windsurf"
    assert profile.entries[0].url == "https://example.com"
    assert profile.notes == ()


@pytest.mark.req("CF-1")
def test_a_named_client_reads_only_where_its_servers_stand() -> None:
    profile = read_document({"servers": {"a": {"x": {}}}}, format="cursor")

    assert profile.entries == ()
    assert profile.notes == (
        "it names no servers: there is no 'mcpServers'",
        "key 'servers' is not used (meant as mcpServers?)",
    )


@pytest.mark.req("CF-1")
def test_kandev_takes_mcp_servers_where_servers_is_empty() -> None:
    profile = read_document({"enabled": True, "servers": {}, "mcpServers": ENTRIES})

    assert [entry.name for entry in profile.entries] == ["a"]
    assert profile.notes == ()


@pytest.mark.req("CF-1")
def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError) as raised:
        read_document({}, format="emacs")

    assert all(name in str(raised.value) for name in FORMATS)


@pytest.mark.req("CF-1")
def test_every_format_has_the_name_of_its_client() -> None:
    assert len(FORMATS) == 12
    assert FORMATS["mcp_servers"] == "mcpServers JSON"
    assert len(set(FORMATS.values())) == len(FORMATS)
