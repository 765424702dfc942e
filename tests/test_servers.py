"""What was configured, and what of it reaches the agent."""

from typing import Any

import pytest

from kandev_nb import ConfigError
from kandev_nb.servers import Transports, acp_server, decide, read_servers

BOTH = Transports(http=True, sse=True)
STDIO_ONLY = Transports(http=False, sse=False)


@pytest.mark.req("CF-1", "CF-2", "EV-14")
@pytest.mark.parametrize(
    ("name", "entry", "transports", "decision"),
    [
        ("a", {"command": "npx"}, STDIO_ONLY, ("a", "delivered", "")),
        ("a", {"url": "https://h.test"}, BOTH, ("a", "delivered", "")),
        ("a", {"type": "streamable-http", "url": "https://h.test"}, BOTH, ("a", "delivered", "")),
        ("a", {"url": "https://h.test"}, STDIO_ONLY, ("a", "filtered", "http_unsupported")),
        (
            "a",
            {"type": "sse", "url": "https://h.test"},
            Transports(http=True, sse=False),
            ("a", "filtered", "sse_unsupported"),
        ),
        ("a", {"command": "npx", "disabled": True}, BOTH, ("a", "filtered", "disabled")),
        ("kandev", {"command": "npx"}, BOTH, ("kandev (profile)", "filtered", "reserved_name")),
        ("a", {"type": "stdio"}, BOTH, ("a", "unavailable", "missing_command")),
        ("a", {}, BOTH, ("a", "unavailable", "missing_command")),
        ("a", {"type": "http"}, BOTH, ("a", "unavailable", "missing_url")),
    ],
)
def test_every_entry_gets_a_decision_with_its_reason(
    name: str, entry: dict[str, Any], transports: Transports, decision: tuple[str, str, str]
) -> None:
    (made,) = decide(read_servers({name: entry}), transports)

    assert (made.row, made.outcome, made.reason_code) == decision


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("servers", "message"),
    [
        ([], "servers= is not a dict of name to entry"),
        ({"": {}}, "A server has no name"),
        ({7: {}}, "A server has no name"),
        ({"github": "npx"}, "The entry of server 'github' is not a dict"),
        ({"github": {"type": "carrier-pigeon"}}, "server 'github' cannot be used: unknown type"),
        ({"github": {"command": ["npx"]}}, "server 'github' cannot be used: command:"),
        ({"github": {"command": "x", "args": "-y"}}, "server 'github' cannot be used: args:"),
        ({"github": {"command": "x", "env": {"A": 1}}}, "server 'github' cannot be used: env.A:"),
        ({"a": {"url": "http://h", "headers": []}}, "server 'a' cannot be used: headers:"),
        ({"a": {"url": "not a url"}}, "server 'a' cannot be used: url: not an http or https URL"),
        ({"a": {"url": "ftp://h/x"}}, "server 'a' cannot be used: url: not an http or https URL"),
        ({"a": {"command": "x", "url": "http://h"}}, "it has both a command and a url"),
        ({"github": {"command": "x", "disabled": "no"}}, "cannot be used: disabled:"),
    ],
)
def test_an_unreadable_entry_is_named_with_its_field(servers: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_servers(servers)

    assert message in str(refused.value)
    assert refused.value.reason_code == "invalid_profile"


@pytest.mark.req("CF-1")
def test_a_whole_document_is_taken_as_what_it_holds() -> None:
    (entry,) = read_servers({"mcpServers": {"files": {"command": "npx"}}})

    assert entry.name == "files"


@pytest.mark.req("CF-1")
def test_keys_that_are_not_used_are_said(caplog: pytest.LogCaptureFixture) -> None:
    read_servers({"files": {"command": "npx", "Env": {"KEY": "hunter2"}, "timeout": 3}})

    assert "server 'files': these keys are not used: Env, timeout" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.req("SA-1")
def test_an_error_of_an_entry_echoes_no_value() -> None:
    with pytest.raises(ConfigError) as refused:
        read_servers({"x": {"command": "c", "env": {"KEY": ["hunter2"]}, "args": {"a": "hunter2"}}})

    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.req("CF-1")
def test_entries_are_handed_over_in_the_shape_of_acp() -> None:
    entries = read_servers(
        {
            "files": {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}},
            "github": {"url": "https://h.test/mcp", "headers": {"H": "v"}},
            "events": {"type": "sse", "url": "https://h.test/sse"},
        }
    )

    assert [acp_server(entry) for entry in entries] == [
        {
            "name": "files",
            "command": "npx",
            "args": ["-y", "x"],
            "env": [{"name": "A", "value": "1"}],
        },
        {
            "type": "http",
            "name": "github",
            "url": "https://h.test/mcp",
            "headers": [{"name": "H", "value": "v"}],
        },
        {"type": "sse", "name": "events", "url": "https://h.test/sse", "headers": []},
    ]


@pytest.mark.req("SA-2")
def test_the_secrets_of_an_entry_are_its_values_and_not_its_names() -> None:
    (local, remote) = read_servers(
        {
            "local": {
                "command": "npx",
                "args": ["-y", "@scope/server", "--token", "s1", "--key=s2", "--verbose", "s3"],
                "env": {"NAME": "s4"},
            },
            "remote": {
                "url": "https://s5:s6@h.test/s7/mcp?key=s8&b=s9#s10",
                "headers": {"Authorization": "s11"},
            },
        }
    )

    assert {"s1", "s2", "s3", "s4"} <= set(local.secrets())
    assert {"s5", "s6", "s7", "/s7/mcp", "s8", "s9", "s10", "s11"} <= set(remote.secrets())
    assert not {"npx", "-y", "NAME", "h.test", "mcp", "Authorization"} & {
        *local.secrets(),
        *remote.secrets(),
    }
