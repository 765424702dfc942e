"""Decisions against what an agent takes, and the shape in which it gets its servers."""

from pathlib import Path

import pytest

from kandev_nb.servers import (
    Decision,
    Entry,
    Policy,
    Profile,
    Transports,
    acp_server,
    built_in,
    deliver,
    deliver_built_in,
    renamed,
    resolve,
)

BOTH = Transports(frozenset({"http", "sse"}))
NEITHER = Transports(frozenset())
SSE_ONLY = Transports(frozenset({"sse"}))
OWN = built_in("http://127.0.0.1:1/mcp", "http://127.0.0.1:1/sse", ("py", "-m", "x"), {"A": "1"})


def meant(*entries: Entry) -> tuple[Decision, ...]:
    return resolve(Profile(entries=entries), Policy(), {"PATH": "/bin"}, Path("/"))


LOCAL = Entry(name="local", type="stdio", command="/bin/sh", args=("-c", "x"), env={"A": "1"})
WEB = Entry(name="web", type="http", url="https://h.test/mcp", headers={"H": "v"})
STREAM = Entry(name="stream", type="streamable_http", url="https://h.test/mcp")
EVENTS = Entry(name="events", type="sse", url="https://h.test/sse")
BROKEN = Entry(name="broken", type="http")


@pytest.mark.req("CF-2")
@pytest.mark.parametrize(
    ("transports", "reasons"),
    [
        (BOTH, ["", "", "", ""]),
        (NEITHER, ["", "http_unsupported", "http_unsupported", "sse_unsupported"]),
        (SSE_ONLY, ["", "http_unsupported", "http_unsupported", ""]),
    ],
)
def test_what_the_agent_does_not_take_is_filtered(
    transports: Transports, reasons: list[str]
) -> None:
    made = deliver(meant(LOCAL, WEB, STREAM, EVENTS), transports)

    assert [d.reason_code for d in made] == reasons
    assert all(d.outcome == ("filtered" if d.reason_code else "delivered") for d in made)
    assert not any(d.hints or d.on_delivery for d in made)


@pytest.mark.req("CF-1", "CF-2")
def test_an_earlier_decision_stands_whatever_the_agent_takes() -> None:
    (made,) = deliver(meant(BROKEN), NEITHER)

    assert (made.outcome, made.reason_code) == ("unavailable", "missing_url")


@pytest.mark.req("CF-2")
@pytest.mark.parametrize(
    ("transports", "outcome", "rests_on"),
    [
        (Transports(frozenset(), frozenset({"http"})), "delivered", "transport_assumed"),
        (Transports(frozenset({"http"}), frozenset({"http"})), "delivered", ""),
        (Transports(frozenset(), frozenset()), "filtered", ""),
        (Transports(None, frozenset({"http"})), "delivered", "transport_assumed"),
        (Transports(None, frozenset()), "filtered", "transport_assumed"),
        (Transports(None, None), "delivered", "transport_unconfirmed"),
    ],
)
def test_what_rests_on_the_registry_is_marked_as_assumed(
    transports: Transports, outcome: str, rests_on: str
) -> None:
    (made,) = deliver(meant(WEB), transports)

    assert (made.outcome, made.on_delivery.code if made.on_delivery else "") == (outcome, rests_on)


@pytest.mark.req("CF-3")
@pytest.mark.parametrize(
    ("transports", "transport", "rests_on"),
    [
        (BOTH, "http", ""),
        (SSE_ONLY, "sse", ""),
        (NEITHER, "stdio", "bridged"),
        (Transports(frozenset(), frozenset({"http"})), "http", "transport_assumed"),
        (Transports(), "http", "transport_unconfirmed"),
    ],
)
def test_the_built_in_server_reaches_every_agent(
    transports: Transports, transport: str, rests_on: str
) -> None:
    made = deliver_built_in(OWN, transports)

    assert made.delivers
    assert made.wire_transport == transport
    assert (made.on_delivery.code if made.on_delivery else "") == rests_on


@pytest.mark.req("CF-1")
def test_servers_are_handed_over_in_the_shape_of_acp() -> None:
    made = deliver(meant(LOCAL, WEB, STREAM, EVENTS), BOTH)

    assert [acp_server(decision) for decision in made] == [
        {
            "name": "local",
            "command": "/bin/sh",
            "args": ["-c", "x"],
            "env": [{"name": "A", "value": "1"}],
        },
        {
            "type": "http",
            "name": "web",
            "url": "https://h.test/mcp",
            "headers": [{"name": "H", "value": "v"}],
        },
        {"type": "http", "name": "stream", "url": "https://h.test/mcp", "headers": []},
        {"type": "sse", "name": "events", "url": "https://h.test/sse", "headers": []},
    ]


@pytest.mark.req("CF-2", "EV-14")
def test_names_change_only_where_an_agent_needs_it_and_never_collide() -> None:
    names = ("my server", "my.server", "my_server", "plain", "kandev")
    decisions = meant(*(LOCAL.model_copy(update={"name": name}) for name in names))

    changed = renamed(decisions, "A-Za-z0-9_-")

    assert [(d.name, d.row) for d in changed] == [
        ("my server", "my_server_"),
        ("my.server", "my_server__"),
        ("my_server", "my_server"),
        ("plain", "plain"),
        ("kandev", "kandev (profile)"),
    ]
    assert acp_server(changed[0])["name"] == "my_server_"
    assert renamed(decisions, "") == decisions
