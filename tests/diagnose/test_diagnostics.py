"""What is copied into a bug report: whole, in order, of a published form, and safe to paste."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
from IPython.core.formatters import DisplayFormatter
from markdown_it import MarkdownIt

from kandev_nb import (
    AgentError,
    ConfigError,
    Controller,
    Diagnostics,
    Session,
    Store,
    Task,
    Unsupported,
)
from kandev_nb.attachment import decode_history, sanitize_summary
from kandev_nb.attachment.model import NOTHING_STARTED
from kandev_nb.diagnose.diagnostics import gather
from kandev_nb.shown import Background, Whose
from tests.processes import eventually

SCHEMA: Final = json.loads(
    (files("kandev_nb.diagnose") / "diagnostics.schema.json").read_text(encoding="utf-8")
)
PUBLISHED: Final = jsonschema_rs.Draft202012Validator(SCHEMA)
REDUCED: Final = Path(__file__).parent.parent / "data" / "reducer.jsonl"
GOLDEN: Final = [json.loads(line) for line in REDUCED.read_text().splitlines()]
NOBODY: Final = Whose("session-1", "main", "triage", "scripted")
SERVERS: Final[dict[str, Any]] = {
    "github": {"url": "http://127.0.0.1:9/mcp"},
    "events": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
}


def of(report: dict[str, Any], background: Background | None = None) -> Diagnostics:
    """The diagnostics of a stored report."""
    history = decode_history(report)
    assert history
    return gather(history, NOBODY, background or Background(sanitize_summary))


def attempt(**more: Any) -> dict[str, Any]:
    """A version-1 report of one attempt."""
    facts = {"attachment_attempt_id": "attempt-1", "started_at": "2026-08-01T09:00:00Z", **more}
    return {"version": 1, "current": facts}


def section(text: str, title: str) -> list[str]:
    """The lines of one section of the text."""
    parts = [part.splitlines() for part in text.split("\n\n")]
    return next(lines[1:] for lines in parts if lines[0].startswith(title))


def active(task: Task, **options: Any) -> Session:
    session = task.start("scripted", servers=SERVERS, **options)
    session.wait_for("kandev", "active")
    return session


@pytest.mark.req("DI-2", "EV-8")
def test_diagnostics_name_the_owners_the_versions_and_what_is_proven_with_times(
    task: Task,
) -> None:
    session = active(task, policy={"allow_sse": False}, name="main")

    made = session.diagnostics()

    current = session.report.current
    assert current
    assert made.session.model_dump(include={"session_id", "name", "task_title", "state"}) == {
        "session_id": session.session_id,
        "name": "main",
        "task_title": task.title,
        "state": "running",
    }
    assert not made.session.is_stored
    assert made.agent.agent_id == "scripted"
    assert (made.agent.name, made.agent.version) == ("kandev-nb-scripted", "1")
    for name in ("kandev-nb", "mcp", "agent-client-protocol"):
        assert made.made_with.packages[name] == version(name)
        assert f"{name} " in "\n".join(section(made.text, "Made with"))
    for name in ("task_id", "session_id", "execution_id", "agent_profile_id", "acp_session_id"):
        assert getattr(made.attempts[0], name) == getattr(current, name) != ""
        assert getattr(current, name) in "\n".join(section(made.text, "Current attempt"))
    row = current.server("kandev")
    assert row
    own = section(made.text, "Server kandev: Active")
    assert any(line.startswith("  ✓ Connected ") and row.connected_at in line for line in own)
    assert any(line.startswith("  ○ Used ") and "not observed" in line for line in own)
    denied = section(made.text, "Server events: Filtered")
    assert not any("reached" in line for line in denied), "nobody was"
    assert any("reason" in line and "transport_denied" in line for line in denied)
    assert [one.name for one in made.attempts[0].servers] == ["kandev", "github", "events"]
    assert section(made.text, "Evidence")[0].endswith("kandev · configured · decided")


@pytest.mark.req("DI-2", "AC.2", "AC.6", "DI-1", "EV-7")
def test_earlier_attempts_are_historical_and_a_test_stands_beside_what_the_agent_did(
    task: Task,
) -> None:
    session = active(task)
    session.reset(servers=None)
    session.wait_for("kandev", "active")
    assert session.test_endpoint("kandev").reachable
    with pytest.raises(AgentError):
        session.prompt("exit 3")
    assert eventually(lambda: session.state == "ended")

    made = session.diagnostics()

    now, before = made.attempts
    assert (now.is_historical, before.is_historical) == (False, True)
    assert (now.kind, before.kind) == ("reset", "new")
    assert before.superseded_at == now.started_at
    assert "Earlier attempt (historical) " + before.attachment_attempt_id in made.text
    assert made.text.index(now.attachment_attempt_id) < made.text.index("(historical)")
    tested = now.servers[0].endpoint_test
    assert tested
    assert (tested.outcome, tested.tool_count) == ("ok", 7)
    assert now.servers[0].status == "active"
    assert before.servers[0].endpoint_test is None
    assert any(
        "endpoint test" in line and "ok · 7 tools" in line
        for line in section(made.text, "Server kandev")
    )
    assert now.session_error_code == "agent_exited"
    assert section(made.text, "Current attempt")[0].split() == [
        "session",
        "error",
        *f"agent_exited · {now.session_error}".split(),
    ]
    assert "  state            ended" in made.text


@pytest.mark.req("DI-2", "SA-1", "SA-3")
def test_what_the_agent_says_and_is_told_is_left_out_and_that_is_said(task: Task) -> None:
    session = active(task)
    session.prompt(
        "say of-the-answer\nstderr of-the-output\n"
        'call kandev create_task_plan_kandev {"content": "of-the-arguments"}'
    )
    assert eventually(lambda: "of-the-output" in session.recent_output().text)

    made = session.diagnostics()

    copied = f"{made.text}\n{made.markdown}\n{json.dumps(made.to_json())}"
    assert "create_task_plan_kandev" in copied, "the call is told"
    assert "of-the-" not in copied
    assert "get_task_plan_kandev" not in copied, "the tools that were listed are counted only"
    said = "\n".join(section(made.text, "Left out"))
    for what in ("Prompts", "arguments", "results", "headers", "environment", "URL", "frames"):
        assert what in said
    assert "session.recent_output().text" in said
    assert list(made.left_out) == [line.strip() for line in section(made.text, "Left out")]


@pytest.mark.req("DI-2", "SA-2")
def test_what_peers_and_users_call_things_loses_the_secrets_of_the_session(task: Task) -> None:
    kandev = task.start(
        "scripted", env={"API": "hunter-of-nine-lives"}, name="my hunter-of-nine-lives"
    )
    told = Background(
        kandev._core.ledger.redact,
        agent_name="I was told hunter-of-nine-lives",
        agent_version="hunter-of-nine-lives",
    )
    row = {
        "name": "x",
        "status": "active",
        "client_name": "hunter-of-nine-lives",
        "client_version": "2.1",
    }

    from_others = of(attempt(servers=[row]), told)

    assert "hunter" not in kandev.diagnostics().text
    assert "my [redacted]" in kandev.diagnostics().text
    assert "hunter" not in from_others.text + json.dumps(from_others.to_json())
    assert from_others.attempts[0].servers[0].client_version == "2.1"
    assert from_others.agent.name == "I was told [redacted]"


@pytest.mark.req("DI-2")
def test_the_published_schema_is_that_of_the_model() -> None:
    assert Diagnostics.model_json_schema() == SCHEMA
    assert SCHEMA["$id"] == "urn:kandev-nb:diagnostics:1"
    assert SCHEMA["properties"]["version"]["const"] == 1
    assert "version" in SCHEMA["required"]


@pytest.mark.req("DI-2", "EV-11")
@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_every_golden_report_gives_text_and_json_of_the_published_form(
    case: dict[str, Any],
) -> None:
    made = of(case["report"])

    wire = made.to_json()
    PUBLISHED.validate(wire)
    assert Diagnostics.model_validate(wire) == made
    assert wire["version"] == 1
    report = case["report"]
    attempts = [a for a in (report.get("current"), *report.get("previous", [])) if a]
    assert [a.attachment_attempt_id for a in made.attempts] == [
        a["attachment_attempt_id"] for a in attempts
    ]
    for known, told in zip(attempts, made.attempts, strict=True):
        assert [(s["name"], s["status"]) for s in known.get("servers", [])] == [
            (s.name, s.status) for s in told.servers
        ]
        assert (known.get("session_error") or "") in made.text


@pytest.mark.req("DI-2")
def test_the_order_is_the_same_in_every_process_and_only_the_time_differs() -> None:
    report = max((case["report"] for case in GOLDEN), key=lambda report: len(str(report)))
    script = (
        "import json, sys; from tests.diagnose.test_diagnostics import of; "
        "made = of(json.load(sys.stdin)).model_copy(update={'made_at': ''}); "
        "print(json.dumps(made.to_json())); print(made.text)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            input=json.dumps(report),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert "Server" in printed.pop()


@pytest.mark.req("DI-2", "CA-5")
def test_names_of_others_are_escaped_as_text_and_no_markup_as_markdown() -> None:
    name = "a`b``c](http://x.test)\u202e<img src=x>@someone #12 **bold**\n# Title"
    row = {"name": name, "status": "failed", "summary": "see <b>now & [here](x)"}
    made = of(attempt(servers=[row], agent_id="<script>"))

    page = MarkdownIt("commonmark").render(made.markdown)

    assert "\u202e" not in made.text + made.markdown
    assert (
        "a`b``c](http://x.test)\\u202e<img src=x>@someone #12 **bold**\\u000a# Title" in made.text
    )
    for markup in ("<img", "<script", "<a ", "<strong", "<b>", "<h1"):
        assert markup not in page
    code = "<code>a`b``c](http://x.test)\\u202e&lt;img src=x&gt;@someone #12 **bold**"
    assert code in page
    assert "<code>see &lt;b&gt;now &amp; [here](x)</code>" in page
    assert "@someone" not in "".join(part.rpartition("</code>")[2] for part in page.split("<code>"))


@pytest.mark.req("DI-2", "EV-11", "SA-1")
def test_fields_that_a_newer_writer_put_into_a_report_are_not_copied() -> None:
    test = {"outcome": "ok", "transcript": "newer-writer"}
    row = {"name": "x", "status": "sleeping", "prompt": "newer-writer", "endpoint_test": test}
    event = {"attachment_attempt_id": "attempt-1", "kind": "dreamt", "frame": "newer-writer"}
    event["occurred_at"] = "2026-08-01T09:00:01Z"

    made = of(attempt(servers=[row], evidence=[event], environment="newer-writer"))

    assert made.attempts[0].servers[0].status == "sleeping"
    assert made.attempts[0].evidence[0].kind == "dreamt"
    assert "newer-writer" not in made.text + json.dumps(made.to_json())


@pytest.mark.req("DI-2", "EV-9", "EV-7")
def test_what_was_lost_or_came_late_is_counted() -> None:
    late = {"count": 3, "at": "2026-08-01T09:00:01Z"}
    made = of(attempt(evidence_dropped=7, late_traffic=late))

    told = "\n".join(section(made.text, "Current attempt"))
    assert "7 older events are no longer kept." in told
    assert "(3 requests)" in told
    assert (made.attempts[0].evidence_dropped, made.attempts[0].late_requests) == (7, 3)
    assert "This session was given no servers." in made.text


@pytest.mark.req("DI-2")
def test_a_session_that_never_began_an_attempt_has_diagnostics_too() -> None:
    made = gather(NOTHING_STARTED, NOBODY, Background(sanitize_summary))

    assert "Nothing started yet." in made.text
    assert "attempts" not in made.to_json()
    PUBLISHED.validate(made.to_json())


@pytest.mark.req("DI-2")
def test_a_cell_shows_the_text_and_nothing_else() -> None:
    made = of(attempt())

    formats, _ = DisplayFormatter().format(made)  # type: ignore[no-untyped-call]

    assert formats == {"text/plain": made.text}
    assert str(made) == repr(made) == made.text


@pytest.mark.req("DI-2", "EV-11")
def test_a_stored_session_says_that_it_is_stored_and_whose_versions_these_are(
    tmp_path: Path,
) -> None:
    with Controller(store=tmp_path / "store.db") as kandev:
        session = active(kandev.task("triage"), name="main")
        session.close()
        live = session.diagnostics()

    stored = Store(tmp_path / "store.db").session(session.session_id).diagnostics()

    assert stored.attempts == live.attempts
    assert (live.session.is_stored, stored.session.is_stored) == (False, True)
    assert live.session.state == stored.session.state == "closed"
    assert stored.agent.title == live.agent.title
    assert stored.session.notes == ("Stored; nothing here is live.",)
    assert "  Stored; nothing here is live." in stored.text.splitlines()
    assert "those of its kernel are not kept" in "\n".join(section(stored.text, "Made with"))
    assert "those of its kernel" not in live.text


@pytest.mark.req("DI-1")
def test_a_stored_session_refuses_a_test_of_its_servers(tmp_path: Path) -> None:
    with Controller(store=tmp_path / "store.db") as kandev:
        closed = active(kandev.task("triage"), name="main")
        closed.close()
    stored = Store(tmp_path / "store.db").session(closed.session_id)

    for session in (closed, stored):
        with pytest.raises(Unsupported, match='"main" is not live') as refused:
            session.test_endpoint("github", timeout=1, consent=True)
        assert refused.value.reason_code == "not_live"
    with pytest.raises(ConfigError, match="It has: kandev, github, events"):
        stored.test_endpoint("elsewhere")


@pytest.mark.req("DI-2", "SE-2")
def test_a_session_that_could_not_start_says_why(kandev: Controller, task: Task) -> None:
    with pytest.raises(AgentError):
        task.start(exec=["/no/such/agent"])

    made = task.sessions[-1].diagnostics()

    assert made.session.state == "failed"
    assert made.attempts[0].session_error_code == "command_not_found"
    assert made.agent.name == ""
