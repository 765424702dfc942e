"""``kandev-nb report``: a stored session out of a store or out of Kandev's database, only read."""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Final

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from kandev_nb import Controller, Session, Store
from kandev_nb.reporting import report
from tests.postgres import PostgresServer, binaries
from tests.store.test_kandev_database import Kandev

SCHEMA: Final = json.loads(
    (files("kandev_nb.diagnose") / "diagnostics.schema.json").read_text(encoding="utf-8")
)


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(report, [str(word) for word in words])


def contents(folder: Path) -> dict[str, str]:
    """The files of a folder by name, each as a digest of its bytes."""
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A store of two closed sessions, both called main, and one called other; and their IDs."""
    file = tmp_path_factory.mktemp("kept") / "store.db"
    with Controller(store=file) as kandev:
        sessions = [
            closed(kandev, *names) for names in (("a", "main"), ("b", "main"), ("b", "other"))
        ]
    return file, [session.session_id for session in sessions]


def closed(kandev: Controller, task: str, name: str) -> Session:
    session = kandev.task(task).start("scripted", name=name)
    session.wait_for("kandev", "active")
    session.close()
    return session


@pytest.fixture
def kandev_file(tmp_path: Path) -> Path:
    """A database of Kandev's with two sessions, which Kandev has closed."""
    made = Kandev(str(tmp_path / "data" / "kandev.db"))
    made.names()
    made.session("session-1", name="first")
    made.session("session-2")
    made.engine.dispose()
    return Path(made.database)


@pytest.mark.req("DI-2")
def test_a_session_is_found_by_its_id_the_beginning_of_it_or_its_name(
    kept: tuple[Path, list[str]],
) -> None:
    file, ids = kept

    by_id = run(ids[0], "--store", file)
    by_beginning = run(ids[1][:-2], "--store", file)
    by_name = run("other", "--store", file)

    for printed, session_id in zip((by_id, by_beginning, by_name), ids, strict=True):
        assert printed.exit_code == 0, printed.output
        assert f"session ID        {session_id}" in printed.stdout
        assert "Server kandev: Active" in printed.stdout
        assert "Stored; nothing here is live." in printed.stdout
        assert printed.stderr == ""


@pytest.mark.req("DI-2")
def test_the_json_is_of_the_published_schema_and_equals_what_the_session_says(
    kept: tuple[Path, list[str]],
) -> None:
    file, ids = kept

    told = json.loads(run(ids[0], "--store", file, "--format", "json").stdout)

    jsonschema_rs.Draft202012Validator(SCHEMA).validate(told)
    session = Store(file).session(ids[0])
    assert {**told, "made_at": ""} == {**session.diagnostics().to_json(), "made_at": ""}


@pytest.mark.req("DI-2")
def test_markdown_has_a_heading_for_each_server(kept: tuple[Path, list[str]]) -> None:
    file, ids = kept

    printed = run(ids[0], "--store", file, "--format", "markdown")

    assert "## MCP diagnostics\n" in printed.stdout
    assert "\n#### Server `kandev`: Active\n" in printed.stdout
    assert "\n- ○ Used: `not observed`\n" in printed.stdout


@pytest.mark.req("DI-2")
def test_the_store_of_the_environment_is_looked_into_and_the_process_leaves_with_0(
    kept: tuple[Path, list[str]],
) -> None:
    file, ids = kept
    done = subprocess.run(
        [sys.executable, "-m", "kandev_nb.cli", "report", ids[2]],
        env={**os.environ, "KANDEV_NB_STORE": str(file), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert ids[2] in done.stdout
    assert "\\u2713 Connected" in done.stdout


@pytest.mark.req("DI-2")
@pytest.mark.parametrize("wanted", ["main", "session-"])
def test_what_may_be_several_sessions_is_refused_with_their_ids(
    kept: tuple[Path, list[str]], wanted: str
) -> None:
    file, ids = kept
    meant = ids[:2] if wanted == "main" else ids

    printed = run(wanted, "--store", file)

    assert printed.exit_code == 1
    assert printed.stdout == ""
    assert f"store.db has {len(meant)} sessions {wanted!r}. Give the ID of one:" in printed.stderr
    assert {line.split()[0] for line in printed.stderr.splitlines()[1:]} == set(meant)


@pytest.mark.req("DI-2")
def test_an_unknown_session_is_named_with_those_that_there_are(
    kept: tuple[Path, list[str]],
) -> None:
    file, ids = kept

    printed = run("nobody", "--store", file)

    assert printed.exit_code == 1
    assert "store.db has no session 'nobody'. It has:" in printed.stderr
    assert all(f"  {session_id} · " in printed.stderr for session_id in ids)


@pytest.mark.req("DI-2")
def test_without_a_store_nothing_is_made_and_the_ways_out_are_said(tmp_path: Path) -> None:
    printed = run("main", "--store", tmp_path / "none" / "store.db")

    assert printed.exit_code == 1
    for words in ("'main'", str(tmp_path / "none" / "store.db"), "--store", "KANDEV_NB_STORE"):
        assert words in printed.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("DI-2")
def test_a_database_lists_its_sessions_and_one_of_them_is_picked(
    kept: tuple[Path, list[str]],
) -> None:
    file, ids = kept

    listed = run(file)
    as_json = json.loads(run(file, "--format", "json").stdout)
    picked = run(file, "--session", "other")

    assert listed.stdout.splitlines()[0] == "store.db has 3 sessions. Pick one with --session."
    assert f"{ids[2]} · b · other · scripted" in listed.stdout.splitlines()
    assert {row["session_id"] for row in as_json} == set(ids)
    assert f"session ID        {ids[2]}" in picked.stdout


@pytest.mark.req("DI-2", "EV-11")
def test_a_database_of_kandevs_is_read_as_it_is(kandev_file: Path) -> None:
    before = contents(kandev_file.parent)

    listed = run(kandev_file)
    by_name = run(kandev_file, "--session", "first", "--format", "json")
    by_id = run(f"sqlite:///{kandev_file}", "--session", "session-2")

    assert "session-1 · Triage · first · Claude" in listed.stdout.splitlines()
    told = json.loads(by_name.stdout)
    jsonschema_rs.Draft202012Validator(SCHEMA).validate(told)
    assert told["session"]["session_id"] == "session-1"
    assert told["agent"]["title"] == "Claude"
    assert "Stored by Kandev in kandev.db; nothing here is live." in by_id.stdout
    assert contents(kandev_file.parent) == before


@pytest.mark.req("DI-2", "EV-11")
def test_what_cannot_be_read_of_a_database_is_said_beside_the_rest(kandev_file: Path) -> None:
    with closing(sqlite3.connect(kandev_file)) as file, file:
        file.execute("UPDATE task_sessions SET metadata = 'mcp_attachment_state\"' || metadata")
        file.execute("UPDATE task_sessions SET metadata = substr(metadata, 22) WHERE id LIKE '%2'")

    printed = run(kandev_file)

    assert printed.exit_code == 0
    assert "skipped session-1: the session's metadata is not JSON" in printed.stderr
    assert "session-2" in printed.stdout


@pytest.mark.req("DI-2")
def test_a_store_that_is_closed_is_not_changed_by_being_read(
    kept: tuple[Path, list[str]],
) -> None:
    file, ids = kept
    before, stat = contents(file.parent), file.stat()

    assert run(ids[0], "--store", file).exit_code == 0
    assert run(file).exit_code == 0

    assert contents(file.parent) == before
    assert file.stat().st_mtime_ns == stat.st_mtime_ns


@pytest.mark.req("DI-2", "EV-11")
def test_a_session_that_is_live_in_a_kernel_is_reported_as_it_is_now(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with Controller(store=file) as kandev:
        session = kandev.task("triage").start("scripted", name="main")
        session.wait_for("kandev", "active")
        assert kandev._keeping
        assert kandev._keeping.flush(30)

        printed = run("main", "--store", file)

        assert printed.exit_code == 0, printed.output
        assert "the session is live in another kernel" in printed.stdout
        assert "Server kandev: Active" in printed.stdout
        assert session.prompt("say hello").stop_reason == "end_turn"


@pytest.mark.req("DI-2", "EV-11")
@pytest.mark.parametrize(
    ("other", "way_out"), [("0001", "brings it up to date"), ("9999", "Update")]
)
def test_a_store_of_another_version_is_left_as_it_is(
    tmp_path: Path, other: str, way_out: str
) -> None:
    file = tmp_path / "store.db"
    Store(file).sessions()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE kandev_nb_version SET version_num = ?", (other,))
    before = contents(tmp_path)

    printed = run("main", "--store", file)

    assert printed.exit_code == 1
    assert f"version {other}" in printed.stderr
    assert way_out in printed.stderr
    assert contents(tmp_path) == before


@pytest.mark.req("DI-2", "EV-11")
@pytest.mark.skipif(binaries() is None, reason="PostgreSQL is not installed")
def test_stores_and_databases_of_kandevs_on_a_server_are_read_by_url() -> None:
    with PostgresServer() as server:
        ours, kandevs = server.database(), server.database()
        with Controller(store=ours) as kandev:
            session_id = closed(kandev, "triage", "main").session_id
        made = Kandev(kandevs)
        made.names()
        made.session("session-1", name="first")

        by_name = run("main", "--store", ours)
        by_url = run(ours)
        of_kandev = run(kandevs)

    for printed in (by_name, by_url):
        assert printed.exit_code == 0, printed.output
        assert f"session ID        {session_id}" in printed.stdout
    assert "first · session-1" in of_kandev.stdout


@pytest.mark.req("DI-2")
def test_a_file_that_is_no_database_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database")

    printed = run(tmp_path / "notes.txt")

    assert printed.exit_code == 1
    assert "notes.txt is no SQLite database" in printed.stderr


@pytest.mark.req("DI-2")
def test_a_url_with_a_password_that_leads_nowhere_is_refused_without_it() -> None:
    printed = run("postgresql://me:hunter2-hunter2@127.0.0.1:9/kandev?connect_timeout=2")

    assert printed.exit_code == 1
    assert "127.0.0.1:9/kandev" in printed.stderr
    assert "hunter2" not in printed.output


def test_picking_a_session_of_a_session_is_a_wrong_command_line() -> None:
    printed = run("no-such-file", "--session", "main")

    assert printed.exit_code == 2
    assert "DATABASE" in printed.stderr


@pytest.mark.req("DI-2", "CA-5")
def test_what_cannot_be_seen_in_the_version_of_a_store_is_shown_escaped(
    kept: tuple[Path, list[str]], tmp_path: Path
) -> None:
    file = Path(shutil.copy(kept[0], tmp_path / "store.db"))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE kandev_nb_version SET version_num = char(27) || '[8mx'")
        connection.commit()

    printed = run(file)

    assert printed.exit_code == 1
    assert "is of version \\u001b[8mx" in printed.stderr
