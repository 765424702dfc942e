"""What a policy allows and changes, and what is said of one that cannot be used."""

import json
import os
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kandev_nb.errors import ConfigError
from kandev_nb.servers.policy import PRESETS, Policy, read_policy

TRANSPORTS = ("stdio", "http", "sse", "streamable_http")
SECRET = "s3cret-hunter2"

GIVEN: dict[str, Any] = {
    "allow_sse": False,
    "allowlist_servers": ["github"],
    "denylist_servers": ["files"],
    "url_rewrite": {"http://localhost:9/": "https://h.test/"},
    "env_injection": {"REGION": "north"},
}
AS_JSON = json.dumps(GIVEN)
AS_JSONC = (
    '{\n // none over SSE\n "allow_sse": false, "allowlist_servers": ["github",], /* */\n'
    + (
        ' "denylist_servers": ["files"], "url_rewrite": {"http://localhost:9/": "https://h.test/"},\n'
        ' "env_injection": {"REGION": "north"}}'
    )
)
AS_TOML = """
allow_sse = false
allowlist_servers = ["github"]
denylist_servers = ["files"]
[url_rewrite]
"http://localhost:9/" = "https://h.test/"
[env_injection]
REGION = "north"
"""


def refusal(given: Any) -> str:
    """What is said of a policy that cannot be used."""
    with pytest.raises(ConfigError) as caught:
        read_policy(given)
    assert caught.value.reason_code == "invalid_policy"
    assert caught.value.__cause__ is None
    return str(caught.value)


@pytest.mark.req("CF-1")
def test_without_a_policy_everything_may_be_delivered() -> None:
    policy = read_policy(None)

    assert policy == read_policy("local") == Policy() == PRESETS["local"]
    assert all(map(policy.permits_transport, TRANSPORTS))
    assert policy.permits_name("github")
    assert policy.rewrite("https://h.test/mcp") == "https://h.test/mcp"
    assert not [*policy.secrets(), *policy.notes(["github"])]


@pytest.mark.req("CF-1")
def test_deny_all_admits_no_transport() -> None:
    assert not any(map(read_policy("deny_all").permits_transport, TRANSPORTS))


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("denied", TRANSPORTS)
def test_each_transport_is_denied_by_itself(denied: str) -> None:
    policy = read_policy({f"allow_{denied}": False})

    assert [each for each in TRANSPORTS if not policy.permits_transport(each)] == [denied]


@pytest.mark.req("CF-1")
@pytest.mark.parametrize("unknown", ["", "ws", "list_servers", "stdio "])
def test_a_transport_that_is_not_known_is_not_permitted(unknown: str) -> None:
    assert not Policy().permits_transport(unknown)


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("allowed", "denied", "permitted"),
    [
        ((), (), ["a", "b"]),
        (("a",), (), ["a"]),
        ((), ("a",), ["b"]),
        (("a",), ("b",), ["a"]),
        (("a", "b"), ("a", "b"), ["a", "b"]),
    ],
)
def test_an_allowlist_admits_only_its_names_and_wins_over_a_denylist(
    allowed: tuple[str, ...], denied: tuple[str, ...], permitted: list[str]
) -> None:
    policy = Policy(allowlist_servers=allowed, denylist_servers=denied)

    assert list(filter(policy.permits_name, ["a", "b"])) == permitted


@pytest.mark.req("CF-1")
def test_names_on_both_lists_and_names_of_no_server_are_said() -> None:
    policy = Policy(allowlist_servers=("b", "a", "stidio"), denylist_servers=("a", "b", "z"))

    assert policy.notes({"a", "b", "studio"}) == (
        "The policy allows and denies 'a': it is allowed.",
        "The policy allows and denies 'b': it is allowed.",
        "The policy names 'stidio', which no server of the profile has (did you mean 'studio'?).",
        "The policy names 'z', which no server of the profile has.",
    )


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("url", "rewritten"),
    [
        ("http://a.test/mcp", "https://exact.test/x"),
        ("http://a.test", "https://b.test"),
        ("http://a.test/other", "https://b.test/other"),
        ("http://a.test/mcp/deeper", "https://deep.test/deeper"),
        ("http://a.test/mcp?key=1", "https://exact.test/x?key=1"),
        ("http://a.test#top", "https://b.test#top"),
        ("http://a.test/mcp2", "https://b.test/mcp2"),
        ("http://a.test.evil/x", "http://a.test.evil/x"),
        ("http://a.test:8080/x", "http://a.test:8080/x"),
        ("http://slash.test/x", "https://c.test/x"),
        ("http://slash.test", "http://slash.test"),
        ("http://plain.test/x", "https://d.test/x"),
        ("http://plain.test?x", "https://d.test/?x"),
        ("https://other.test/mcp", "https://other.test/mcp"),
        ("", ""),
    ],
)
def test_a_url_is_rewritten_by_its_own_rule_or_by_the_longest_that_ends_at_a_boundary(
    url: str, rewritten: str
) -> None:
    policy = Policy(
        url_rewrite={
            "http://a.test": "https://b.test",
            "http://a.test/mcp": "https://exact.test/x",
            "http://a.test/mcp/": "https://deep.test/",
            "http://slash.test/": "https://c.test",
            "http://plain.test": "https://d.test/",
        }
    )

    assert policy.rewrite(url) == rewritten


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("start", "url"),
    [
        ("https://a.test", "https://a.test:443/x?y=1"),
        ("http://a.test:80", "http://a.test/x?y=1"),
        ("https://a.test", "https://user:word@a.test/x?y=1"),
        ("https://A.test", "HTTPS://a.TEST/x?y=1"),
    ],
)
def test_no_spelling_of_a_host_passes_a_rewrite(start: str, url: str) -> None:
    assert Policy(url_rewrite={start: "http://b.test"}).rewrite(url) == "http://b.test/x?y=1"


@pytest.mark.req("CF-1", "SA-2")
def test_what_a_policy_holds_is_known_as_secret_and_not_shown() -> None:
    policy = Policy(
        url_rewrite={f"https://ada:{SECRET}@a.test/x": "https://b.test/?key=abcdefgh"},
        env_injection={"TOKEN": "ijklmnop"},
    )

    assert {SECRET, "abcdefgh", "ijklmnop"} <= {*policy.secrets()}
    assert not [each for each in (SECRET, "abcdefgh", "ijklmnop") if each in repr(policy)]


@pytest.mark.req("CF-1")
def test_a_policy_cannot_be_changed_once_it_is_read() -> None:
    env = {"A": "1"}
    policy = read_policy({"env_injection": env})
    env["A"] = "2"

    with pytest.raises(ValidationError):
        policy.allow_stdio = False
    assert policy.env_injection == {"A": "1"}
    assert read_policy(policy) is policy


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    "given",
    [GIVEN, MappingProxyType(GIVEN), AS_JSON, f"  \n{AS_JSONC}", AS_TOML],
    ids=["dict", "mapping", "JSON", "JSON with comments", "TOML"],
)
def test_a_policy_reads_the_same_in_each_form(given: Any) -> None:
    assert read_policy(given) == Policy(**GIVEN)


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", AS_JSON),
        ("a.jsonc", AS_JSONC),
        ("A.TOML", AS_TOML),
        ("b.json", f"\ufeff{AS_JSON}"),
    ],
)
def test_a_policy_is_read_from_a_file_named_by_a_path_or_by_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / name).write_text(content, encoding="utf-8")

    for path in (tmp_path / name, str(tmp_path / name), f"~/{name}", Path("~") / name):
        assert read_policy(path) == Policy(**GIVEN)


@pytest.mark.req("CF-1")
def test_text_of_one_toml_line_is_no_path() -> None:
    assert read_policy('allowlist_servers = ["a.toml"]') == Policy(allowlist_servers=("a.toml",))


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("lokal", "There is no policy 'lokal' (did you mean 'local'?). Give the preset local or"),
        ("", "The policy is empty text. Give the preset local or deny_all"),
        (" \n", "The policy is empty text."),
        ("# nothing\n", "The policy text says nothing."),
        (f"env_injection: {{T: {SECRET}}}", "There is no policy of that name. Give"),
        ("policy.yaml", "There is no policy 'policy.yaml'. Give"),
        ("x" * 500, f"There is no policy '{'x' * 80}…'. Give"),
        (7, "The policy must be text, a path or a mapping; it is of the type int. Give"),
        ([], "The policy must be text, a path or a mapping; it is of the type list. Give"),
        ("{", "The policy text:1:2: a key in double quotes is expected"),
        (
            '{"allow_stdio":\n  ?}',
            "The policy text:2:3: this is no JSON value (read as JSON). Correct",
        ),
        (
            "allow_stdio = false\nallow_sse = no\n",
            "The policy text:2:13: invalid value (read as TOML).",
        ),
        (
            {"allow_sdio": True},
            "cannot be used: unknown key 'allow_sdio' (did you mean 'allow_stdio'",
        ),
        (
            {"color": 1},
            "cannot be used: unknown key 'color'. The keys are allow_stdio, allow_http,",
        ),
        ({7: 1}, "cannot be used: unknown key '7'. The keys are"),
        ({"allow_stdio": "false"}, "cannot be used: allow_stdio: must be true or false. The"),
        ({"allow_http": 0}, "cannot be used: allow_http: must be true or false. The"),
        ({"allow_sse": None}, "cannot be used: allow_sse: must be true or false. The"),
        ({"allowlist_servers": "github"}, "used: allowlist_servers: must be a list of names. The"),
        ({"denylist_servers": {"a": 1}}, "used: denylist_servers: must be a list of names. The"),
        ({"denylist_servers": None}, "used: denylist_servers: must be a list of names. The"),
        (
            {"denylist_servers": ["a", " ", 7]},
            "used: denylist_servers[1]: must be text that is not empty; "
            "denylist_servers[2]: must be text that is not empty. The",
        ),
        ({"url_rewrite": []}, "used: url_rewrite: must be a mapping of URL to URL. The"),
        ({"env_injection": ["A=1"]}, "used: env_injection: must be a mapping of name to text. The"),
        ({"env_injection": {"A": 1}}, "used: env_injection.A: must be text. The"),
        ({"env_injection": {"A": "\0"}}, "used: env_injection.A: holds a NUL character. The"),
        (
            {"env_injection": {"A": "1", "": "1"}},
            "used: env_injection: name 2 is empty, or no text, or holds = or NUL. The",
        ),
        ('{"allow_sse": true, "allow_sse": false}', "used: 'allow_sse' stands more than once. The"),
        (
            '{"env_injection": {"A": "1", "A": "2"}}',
            "used: env_injection: a name stands more than once. The",
        ),
        (
            '{"url_rewrite": {"http://a": "http://b", "http://a": "http://c"}}',
            "used: url_rewrite: a URL stands more than once. The",
        ),
    ],
)
def test_a_policy_that_cannot_be_used_is_refused_with_the_place_and_the_way_out(
    given: Any, words: str
) -> None:
    said = refusal(given)

    assert words in said
    assert SECRET not in said


@pytest.mark.req("CF-1", "SA-1")
@pytest.mark.parametrize(
    "url",
    [
        f"https:///{SECRET}",
        f"ftp://h.test/{SECRET}",
        f"h.test/{SECRET}",
        f"https://h.test:port/{SECRET}",
        f"http://h.test/ {SECRET}",
        f"http://[{SECRET}",
        "",
        7,
    ],
)
@pytest.mark.parametrize("side", ["source", "target"])
def test_a_rewrite_takes_only_network_urls_and_its_error_holds_none(side: str, url: object) -> None:
    sound = "https://sound.test"
    rewrite = {url: sound} if side == "source" else {sound: url}

    said = refusal({"url_rewrite": {"https://first.test": "https://b.test", **rewrite}})

    assert f"url_rewrite: {side} 2 is not an http or https URL with a host" in said
    assert SECRET not in said


@pytest.mark.req("CF-1", "SA-1")
def test_every_fault_is_said_at_once_and_no_value() -> None:
    given = {
        "allow_stdio": SECRET,
        "alow_http": SECRET,
        "allowlist_servers": ["", [SECRET]],
        "url_rewrite": {SECRET: SECRET},
        "env_injection": {f"A={SECRET}": SECRET, "PORT": [SECRET]},
    }

    said = refusal(given)

    for fault in (
        "allow_stdio: must be true or false",
        "unknown key 'alow_http' (did you mean 'allow_http'?)",
        "allowlist_servers[0]: must be",
        "allowlist_servers[1]: must be",
        "url_rewrite: source 1 is not",
        "url_rewrite: target 1 is not",
        "env_injection: name 1 is empty, or no text, or holds = or NUL",
        "env_injection.PORT: must be text",
    ):
        assert fault in said
    assert SECRET not in said


@pytest.mark.req("CF-1", "SA-1")
@pytest.mark.parametrize(
    "given", [{"url_rewrite": {SECRET: SECRET}}, {"env_injection": {"A": [SECRET]}}]
)
def test_a_policy_made_in_a_cell_says_no_value_either(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        Policy(**given)

    assert SECRET not in str(caught.value)


@pytest.mark.req("CF-1")
def test_a_file_that_cannot_be_used_is_named_with_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "latin.json").write_bytes(b'{"allow_sse": "\xe9"}')
    (tmp_path / "large.json").write_bytes(b" " * (1024 * 1024 + 1))
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "broken.toml").write_text("a = 1\nb = = 2\n")
    (tmp_path / "wrong.toml").write_text("allow_http = 1\n")
    (tmp_path / "other.yaml").write_text("allow_sse: no\n")
    os.mkfifo(tmp_path / "pipe.json")

    for name, words in {
        "none.json": "There is no policy file {}.",
        "folder.json": "The policy file {} is a directory or another thing than a file.",
        "pipe.json": "The policy file {} is a directory or another thing than a file.",
        "latin.json": "The policy file {} is not UTF-8, at byte 15.",
        "large.json": "The policy file {} is larger than 1024 KiB.",
        "list.json": "{} must hold an object.",
        "empty.json": "{}:1:1: ",
        "broken.toml": "{}:2:5: invalid value (read as TOML). Correct it there.",
        "wrong.toml": "{} cannot be used: allow_http: must be true or false. The keys are",
        "other.yaml": "The policy file {} is not named .json, .jsonc or .toml.",
    }.items():
        assert words.format(tmp_path / name) in refusal(tmp_path / name)


@pytest.mark.req("CF-1")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("a" * 300 + ".json", "cannot be read: File name too long. Give"),
        ("a\0.json", "cannot be read: no file can have this name. Give"),
        ("/dev/null/a.json", "cannot be read: Not a directory. Give"),
        (
            "~nobody-of-this-name/a.json",
            "There is no policy file ~nobody-of-this-name/a.json. Give",
        ),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(given: str, words: str) -> None:
    assert words in refusal(given)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
keys = st.sampled_from([*Policy.model_fields, "other"]) | st.integers()


@pytest.mark.req("CF-1")
@given(st.text() | st.dictionaries(keys, values, max_size=4) | values)
def test_whatever_is_given_becomes_a_policy_or_a_clear_refusal(given: Any) -> None:
    try:
        assert isinstance(read_policy(given), Policy)
    except ConfigError:
        assert (
            "Give the preset" in (said := refusal(given))
            or "keys are" in said
            or "it there" in said
        )
