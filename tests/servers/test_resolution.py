"""One decision for each entry: what can be delivered, and why the rest cannot."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kandev_nb.attachment import KnownSecrets
from kandev_nb.attachment.reasons import REASONS
from kandev_nb.servers import Decision, Entry, Policy, Profile, renamed, resolve

PYTHON = sys.executable
FOLDER, _, PROGRAM = PYTHON.rpartition("/")
ENVIRON = {"PATH": FOLDER, "TOKEN": "filled-in"}
OK = {"type": "stdio", "command": PYTHON}
WEB = {"type": "http", "url": "https://h.test/mcp"}


def decided(
    *entries: dict[str, Any],
    policy: Policy | None = None,
    environ: Mapping[str, str] = ENVIRON,
    **profile: Any,
) -> tuple[Decision, ...]:
    made = tuple(Entry(**{"name": "a", **entry}) for entry in entries)
    return resolve(
        Profile(entries=made, **profile), policy or Policy(), environ, Path("/somewhere")
    )


@pytest.mark.req("CF-1", "CF-5")
@pytest.mark.parametrize(
    ("entry", "outcome", "reason"),
    [
        (OK, "delivered", ""),
        (WEB, "delivered", ""),
        ({"type": "sse", "url": "https://h.test/sse"}, "delivered", ""),
        ({"type": "streamable_http", "url": "https://h.test/mcp"}, "delivered", ""),
        ({**WEB, "mode": "shared"}, "delivered", ""),
        ({**OK, "mode": "per_session"}, "delivered", ""),
        ({**OK, "disabled": True}, "filtered", "disabled"),
        ({**OK, "name": "kandev"}, "filtered", "reserved_name"),
        ({"type": "acp"}, "filtered", "acp_unsupported"),
        ({}, "unavailable", "missing_type"),
        ({"type": "carrier-pigeon"}, "unavailable", "unknown_transport"),
        ({"type": "stdio"}, "unavailable", "missing_command"),
        ({"type": "stdio", "command": "  "}, "unavailable", "missing_command"),
        ({"type": "http"}, "unavailable", "missing_url"),
        ({"type": "sse", "url": " "}, "unavailable", "missing_url"),
        ({**OK, "mode": "shared"}, "unavailable", "shared_stdio"),
        ({**OK, "mode": "sometimes"}, "unavailable", "invalid_entry"),
        ({**OK, "env": {"A": "${NO_SUCH}"}}, "unavailable", "placeholder_unresolved"),
        ({"type": "http", "url": "${NO_SUCH}"}, "unavailable", "placeholder_unresolved"),
        ({"type": "stdio", "command": "${NO_SUCH}"}, "unavailable", "placeholder_unresolved"),
        ({"type": "stdio", "command": "./server"}, "unavailable", "relative_command"),
        ({"type": "stdio", "command": "bin/server"}, "unavailable", "relative_command"),
        ({"type": "http", "url": "ftp://h.test"}, "unavailable", "invalid_entry"),
        ({"type": "http", "url": "https:///mcp"}, "unavailable", "invalid_entry"),
        ({"type": "http", "url": "https://h.test:port"}, "unavailable", "invalid_entry"),
        ({"type": "http", "url": "https://h.test/a b"}, "unavailable", "invalid_entry"),
        ({**WEB, "headers": {"A B": "x"}}, "unavailable", "invalid_entry"),
        ({**WEB, "headers": {"A": "x\r\nB: y"}}, "unavailable", "invalid_entry"),
        ({**OK, "env": {"A=B": "x"}}, "unavailable", "invalid_entry"),
        ({**OK, "args": ("a\0b",)}, "unavailable", "invalid_entry"),
        ({**OK, "faults": ("args: must be a list",)}, "unavailable", "invalid_entry"),
    ],
)
def test_every_entry_gets_a_decision_with_a_stable_reason(
    entry: dict[str, Any], outcome: str, reason: str
) -> None:
    (made,) = decided(entry)

    assert (made.outcome, made.reason_code) == (outcome, reason)
    assert (made.server is not None) == (outcome == "delivered")
    assert not reason or REASONS[reason].settle


@pytest.mark.req("CF-1")
def test_one_bad_entry_keeps_no_other_from_its_decision() -> None:
    made = decided({"name": "bad", "faults": ("env: must be an object",)}, {"name": "good", **OK})

    assert [(d.row, d.outcome) for d in made] == [("bad", "unavailable"), ("good", "delivered")]


@pytest.mark.req("CF-1")
def test_every_fault_of_an_entry_is_named_and_the_first_is_the_reason() -> None:
    (made,) = decided(
        {"type": "stdio", "mode": "shared", "command": "./x", "env": {"A": "${NO_SUCH}"}}
    )

    assert made.reason_code == "shared_stdio"
    assert [hint.code for hint in made.hints[:2]] == ["relative_command", "placeholder_unresolved"]
    assert made.hints[1].words == "There is no value for ${NO_SUCH}."


@pytest.mark.req("CF-1")
def test_every_wrong_field_is_named_at_once() -> None:
    (made,) = decided({**WEB, "url": "nowhere", "headers": {"A B": "x"}, "mode": "never"})

    assert made.reason
    assert made.reason.words == (
        "mode: must be 'auto', 'shared' or 'per_session'; "
        "url: must begin with http:// or https:// and have a host; "
        "headers: a header cannot be called what begins with 'A'"
    )


@pytest.mark.req("CF-1", "EV-14")
def test_of_two_entries_of_a_name_the_last_counts_and_the_other_has_a_row_of_its_own() -> None:
    made = decided(OK, WEB, {**OK, "name": "a (2)"}, {**OK, "name": "a"})

    assert [(d.row, d.name, d.reason_code) for d in made] == [
        ("a (3)", "a", "duplicate_name"),
        ("a (4)", "a", "duplicate_name"),
        ("a (2)", "a (2)", ""),
        ("a", "a", ""),
    ]


@pytest.mark.req("CF-2", "EV-14")
@pytest.mark.parametrize("name", ["kandev", " kandev "])
def test_an_old_kandev_entry_never_takes_the_row_of_the_built_in_server(name: str) -> None:
    made = decided({**OK, "name": name}, {**OK, "name": "kandev (profile)"})

    assert [(d.row, d.reason_code) for d in made] == [
        ("kandev (profile) (2)", "reserved_name"),
        ("kandev (profile)", ""),
    ]


@pytest.mark.req("CF-1")
def test_a_profile_that_is_switched_off_filters_every_server() -> None:
    made = decided(OK, {"name": "b"}, enabled=False)

    assert [(d.outcome, d.reason_code) for d in made] == [("filtered", "profile_disabled")] * 2


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("policy", "reasons"),
    [
        (Policy(allow_stdio=False), ["transport_denied", "", ""]),
        (Policy(allow_http=False), ["", "transport_denied", ""]),
        (Policy(allow_streamable_http=False), ["", "", "transport_denied"]),
        (Policy(denylist_servers=("local",)), ["policy_denied", "", ""]),
        (Policy(allowlist_servers=("local",)), ["", "policy_denied", "policy_denied"]),
        (
            Policy(allowlist_servers=("local",), denylist_servers=("local", "web")),
            ["", "policy_denied", "policy_denied"],
        ),
    ],
)
def test_a_policy_leaves_servers_out_by_transport_and_by_name(
    policy: Policy, reasons: list[str]
) -> None:
    made = decided(
        {**OK, "name": "local"},
        {**WEB, "name": "web"},
        {**WEB, "type": "streamable_http", "name": "stream"},
        policy=policy,
    )

    assert [d.reason_code for d in made] == reasons
    assert all(d.outcome == "filtered" for d in made if d.reason_code)


@pytest.mark.req("CF-1")
def test_a_policy_rewrites_urls_and_injects_variables_that_the_server_has_not() -> None:
    policy = Policy(
        url_rewrite={"https://h.test": "http://gateway.test:8080"},
        env_injection={"HTTPS_PROXY": "p", "OWN": "theirs"},
    )

    local, remote = decided(
        {**OK, "name": "local", "env": {"OWN": "mine"}}, {**WEB, "name": "web"}, policy=policy
    )

    assert local.server
    assert remote.server
    assert local.server.model_dump()["env"] == {"HTTPS_PROXY": "p", "OWN": "mine"}
    assert remote.server.model_dump()["url"] == "http://gateway.test:8080/mcp"
    assert remote.shown_target == "http://gateway.test:8080"


@pytest.mark.req("CF-1", "CF-5")
def test_placeholders_are_filled_in_everywhere_and_never_expanded_twice() -> None:
    made = decided(
        {
            "type": "stdio",
            "command": "${HERE}/" + PROGRAM,
            "args": ("--token=${TOKEN}", "${NO_SUCH:-fallback}"),
            "env": {"A": "${env:TOKEN}", "B": "${NESTED}"},
        },
        {
            "name": "b",
            "type": "http",
            "url": "https://h.test/${TOKEN}",
            "headers": {"H": "${TOKEN}"},
        },
        environ={**ENVIRON, "HERE": FOLDER, "NESTED": "${TOKEN}"},
    )

    local, remote = (d.server.model_dump() for d in made if d.server)
    assert local["command"] == PYTHON
    assert local["args"] == ("--token=filled-in", "fallback")
    assert local["env"] == {"A": "filled-in", "B": "${TOKEN}"}
    assert remote["url"] == "https://h.test/filled-in"
    assert remote["headers"] == {"H": "filled-in"}


@pytest.mark.req("CF-5")
def test_values_are_taken_from_the_variables_that_codex_names() -> None:
    entry = {**WEB, "headers_from": {"X-Key": "TOKEN"}, "bearer_from": "TOKEN"}
    left_out = {**OK, "name": "b", "env_from": {"TOKEN": "TOKEN", "OTHER": "NO_SUCH"}}
    missing = {**WEB, "name": "c", "bearer_from": "NO_SUCH"}

    (given, lacking, without) = decided(entry, left_out, missing, format="codex")

    assert given.server
    assert given.server.model_dump()["headers"] == {
        "X-Key": "filled-in",
        "Authorization": "Bearer filled-in",
    }
    assert lacking.server
    assert lacking.server.model_dump()["env"] == {"TOKEN": "filled-in"}
    assert [str(hint) for hint in lacking.hints] == ["Replaced by nothing: NO_SUCH."]
    assert str(without.reason) == "There is no value for NO_SUCH."


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("entry", "code", "words"),
    [
        ({"type": "stdio", "command": "no-such-program"}, "command_not_found", ""),
        ({"type": "stdio", "command": "/no/such/program"}, "command_not_found", ""),
        ({"type": "stdio", "command": f"{PROGRAM} -m server"}, "command_line", ""),
        ({**OK, "unused": {"timeout": 3}}, "unused_keys", "Not used: timeout."),
        (
            {**OK, "unused": {"enviroment": {}}},
            "unused_keys",
            "Not used: enviroment (meant as env?).",
        ),
        ({**OK, "unused": {"dev": {}, "env": 1}}, "unused_keys", "Not used: dev, env."),
        (
            {**OK, "unused": {"cwd": "x", "oauth": {}}},
            "keys_not_passed_on",
            "Not passed on: cwd (the folder it starts in), oauth (its login).",
        ),
        (
            {**OK, "unused": {"disabled": True}},
            "keys_not_passed_on",
            "Not passed on: disabled (its client has no such switch).",
        ),
        (
            {**OK, "unused": {"password=hunter2-abc": 1}},
            "unused_keys",
            "Not used: password=[redacted].",
        ),
        (
            {"type": "stdio", "command": "/etc/passwd"},
            "command_not_found",
            "The command is no file that can be executed.",
        ),
        ({**OK, "unused": {"Env": {}}}, "unused_keys", "Not used: Env (meant as env?)."),
        ({**OK, "url": "https://h.test"}, "unused_keys", "Not used: url."),
        ({**WEB, "env": {"A": "1"}}, "unused_keys", "Not used: env."),
    ],
)
def test_a_hint_says_what_may_matter_and_the_server_is_delivered(
    entry: dict[str, Any], code: str, words: str
) -> None:
    (made,) = decided(entry)

    assert made.outcome == "delivered"
    assert [(hint.code, hint.words) for hint in made.hints] == [(code, words)]


@pytest.mark.req("CF-1")
def test_a_misspelt_key_is_named_with_the_one_that_was_meant() -> None:
    (made,) = decided({"unused": {"ulr": "https://h.test"}})

    assert made.reason_code == "missing_type"
    assert str(made.hints[0]) == "Not used: ulr (meant as url?)."


@pytest.mark.req("CF-1")
def test_a_name_that_cannot_be_one_gets_a_row_all_the_same() -> None:
    made = decided({**OK, "name": ""}, {**OK, "name": "n" * 300}, {**OK, "name": ""})

    assert [d.row for d in made] == ["(unnamed) (2)", "n" * 256, "(unnamed)"]
    assert [d.reason_code for d in made] == ["duplicate_name", "invalid_entry", "invalid_entry"]


@pytest.mark.req("SA-1", "CF-5")
def test_no_words_and_no_repr_hold_a_value() -> None:
    secret = "planted-1234"
    made = decided(
        {
            **OK,
            "args": (secret, "${NO_SUCH}"),
            "env": {"A": f"{secret}\0"},
            "unused": {"k": secret},
        },
        {**WEB, "name": "b", "url": f"ftp://{secret}@h.test/{secret}", "headers": {"H": secret}},
        {**WEB, "name": "c", "headers": {"H": f"{secret}\n"}},
        {"name": "d", "type": "stdio", "command": f"./{secret}"},
    )

    for decision in made:
        assert secret not in repr(decision)
        assert secret not in f"{decision.reason} {decision.hints}"
    assert os.sep not in made[3].shown_target


@pytest.mark.req("CF-5")
@pytest.mark.parametrize(
    ("format_", "text", "words"),
    [
        ("cursor", "${TOKEN}", "Cursor does not fill in ${TOKEN}."),
        ("cursor", "${env:NO_SUCH}", "There is no value for ${env:NO_SUCH}."),
        ("claude_code", "${env:TOKEN}", "Claude Code does not fill in ${env:TOKEN}."),
        ("opencode", "{file:./key.txt}", "{file:./key.txt} is not read here."),
        (
            "vscode",
            "${input:key}",
            "There is no value for ${input:key}: give it one with env={'input:key': …}.",
        ),
    ],
)
def test_a_placeholder_without_a_value_says_why_it_has_none(
    format_: str, text: str, words: str
) -> None:
    (made,) = decided({**OK, "env": {"A": text}}, format=format_)

    assert made.reason_code == "placeholder_unresolved"
    assert str(made.reason) == words


@pytest.mark.req("CF-1")
def test_what_a_policy_changes_is_said_and_its_placeholders_are_filled_in() -> None:
    policy = Policy(
        env_injection={"A": "${TOKEN}", "OWN": "x", "C": "y"},
        url_rewrite={"https://h.test": "https://${HOST}"},
    )

    local, remote = decided(
        {**OK, "env": {"OWN": "mine"}},
        {**WEB, "name": "b"},
        policy=policy,
        environ={**ENVIRON, "HOST": "gateway.test"},
    )
    (lacking,) = decided(WEB, policy=policy)
    (once,) = decided(
        {"type": "http", "url": "https://h.test/${PATH_PART}"},
        policy=Policy(url_rewrite={"https://h.test": "https://g.test"}),
        environ={**ENVIRON, "PATH_PART": "${TOKEN}"},
    )

    assert once.server
    assert once.server.model_dump()["url"] == "https://g.test/${TOKEN}", "filled in once"
    assert local.server
    assert local.server.model_dump()["env"] == {"A": "filled-in", "OWN": "mine", "C": "y"}
    assert [str(hint) for hint in local.hints] == ["Added by the policy: A, C."]
    assert remote.shown_target == "https://gateway.test"
    assert [hint.code for hint in remote.hints] == ["url_rewritten"]
    assert str(lacking.reason) == "There is no value for ${HOST}."


@pytest.mark.req("CF-5")
@pytest.mark.parametrize(
    ("path", "workspace"),
    [
        ("/project/.cursor/mcp.json", "/project"),
        ("/project/.vscode/mcp.json", "/project"),
        ("/home/me/.cursor/mcp.json", "/somewhere"),
        ("/project/mcp.json", "/somewhere"),
        (None, "/somewhere"),
    ],
)
def test_the_workspace_of_a_document_is_the_project_that_it_lies_in(
    monkeypatch: pytest.MonkeyPatch, path: str | None, workspace: str
) -> None:
    monkeypatch.setenv("HOME", "/home/me")

    (made,) = decided(
        {**OK, "args": ("${workspaceFolder}",)},
        format="cursor",
        path=Path(path) if path else None,
    )

    assert made.server
    assert made.server.model_dump()["args"] == (workspace,)


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"url": "https://h.test"}, "It has a url and no type: is it http or sse?"),
        ({"type": "htpp"}, "Its type is no transport that is known; was http meant?"),
        (
            {"type": "stdio", "command": "~/bin/server"},
            "The command begins with ~, for which an agent puts no home folder.",
        ),
        (
            {**OK, "disabled": True, "disabled_by": "mcp.excluded"},
            "mcp.excluded of the document leaves it out.",
        ),
    ],
)
def test_a_reason_says_what_exactly_where_its_code_does_not(
    entry: dict[str, Any], words: str
) -> None:
    (made,) = decided(entry)

    assert str(made.reason) == words


@pytest.mark.req("CF-1")
def test_a_command_is_looked_for_on_the_path_that_its_entry_gives_it() -> None:
    (made,) = decided({"type": "stdio", "command": PROGRAM, "env": {"PATH": FOLDER}}, environ={})

    assert made.hints == ()


@pytest.mark.req("CF-1")
def test_blanks_around_a_url_are_no_part_of_it() -> None:
    (made,) = decided({"type": "http", "url": " https://h.test/mcp "})

    assert made.server
    assert made.server.model_dump()["url"] == "https://h.test/mcp"


@pytest.mark.req("SA-1")
@pytest.mark.parametrize(
    ("entry", "target"),
    [
        ({"type": "stdio", "command": "npx remote https://h.test/pl4nted"}, "npx"),
        ({"type": "stdio", "command": "server token/pl4nted"}, "server"),
        ({"type": "stdio", "command": PYTHON}, PROGRAM),
        ({"type": "http", "url": "pl4nted"}, ""),
        ({"type": "http", "url": "//h.test/pl4nted"}, ""),
        ({"type": "ws", "url": "ws://pl4nted"}, ""),
        ({"type": "pl4nted", "url": "https://h.test"}, ""),
        ({"type": "http", "url": "https://h.test/pl4nted"}, "https://h.test"),
    ],
)
def test_a_target_is_a_program_or_an_origin_and_nothing_else(
    entry: dict[str, Any], target: str
) -> None:
    (made,) = decided(entry)

    assert made.shown_target == target
    assert "pl4nted" not in f"{made} {made.transport} {made.reason} {made.hints}"


@pytest.mark.req("SA-1", "CF-5")
@pytest.mark.parametrize(
    "entry",
    [
        {**WEB, "bearer_from": "sk-pl4nted-1"},
        {**WEB, "headers_from": {"A": "Bearer pl4nted"}},
        {**OK, "env_from": {"T": "T=pl4nted"}},
        {**OK, "env": {"TOKEN=pl4nted": ""}},
        {**WEB, "headers": {"Authorization: Bearer pl4nted": ""}},
    ],
)
def test_a_value_that_stands_where_a_name_belongs_is_not_repeated(entry: dict[str, Any]) -> None:
    (made,) = decided(entry, format="codex")

    assert made.reason or made.hints
    assert "pl4nted" not in f"{made} {made.reason} {made.hints} {Entry(name='a', **entry)!r}"


@pytest.mark.req("CF-1")
def test_what_is_not_utf8_is_a_fault_of_its_entry_and_no_crash() -> None:
    made = decided(
        {**OK, "env": {"A": "${RAW}"}},
        {**WEB, "name": "b", "headers": {"A": "${RAW}"}},
        environ={**ENVIRON, "RAW": "\udcff\udcfetoken"},
    )

    assert [decision.reason_code for decision in made] == ["invalid_entry"] * 2
    assert "\udcff" not in KnownSecrets(made[0].secrets).mask("x ??token y")


@pytest.mark.req("EV-14")
def test_long_names_keep_rows_of_their_own() -> None:
    made = decided({**OK, "name": "n" * 256}, {**OK, "name": "n" * 256}, {**OK, "name": "n" * 300})

    rows = [decision.row for decision in made]
    assert len({row.encode()[:256] for row in rows}) == 3
    assert all(len(row) <= 256 for row in rows)
    changed = renamed(decided({**OK, "name": "é" * 128}, {**OK, "name": "è" * 128}), "a-z_")
    assert len({decision.row for decision in changed}) == 2


@pytest.mark.req("CF-1", "CF-5")
def test_a_client_that_fills_in_nothing_leaves_a_shell_its_variables() -> None:
    entry = {"type": "stdio", "command": "/bin/sh", "args": ("-c", "exec x --key=${NO_SUCH}")}

    left, filled = (decided(entry, format=f)[0] for f in ("claude_desktop", "claude_code"))

    assert left.server
    assert left.server.model_dump()["args"] == entry["args"]
    assert filled.reason_code == "placeholder_unresolved"


@pytest.mark.req("CF-5")
def test_codex_leaves_out_what_is_blank_and_its_own_values_stand_first() -> None:
    environ = {**ENVIRON, "BLANK": "", "TOKEN": "outer"}
    made = decided(
        {**OK, "env": {"TOKEN": "own"}, "env_from": {"TOKEN": "TOKEN"}},
        {**WEB, "name": "b", "headers_from": {"A": "BLANK"}},
        {**WEB, "name": "c", "bearer_from": "BLANK"},
        format="codex",
        environ=environ,
    )

    assert made[0].server
    assert made[0].server.model_dump()["env"] == {"TOKEN": "own"}
    assert made[1].server
    assert made[1].server.model_dump()["headers"] == {}
    assert made[2].reason_code == "placeholder_unresolved"


@pytest.mark.req("CF-5")
def test_a_relative_path_with_a_blank_is_relative() -> None:
    (made,) = decided({"type": "stdio", "command": "My Dir/server"})

    assert made.reason_code == "relative_command"
