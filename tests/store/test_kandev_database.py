"""Reading the reports that Kandev itself stored: real databases, written as Kandev writes them."""

import hashlib
import json
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd
import psycopg
import pytest
from sqlalchemy import Connection, NullPool, create_engine, text

from kandev_nb import ConfigError, StoreError, frames
from kandev_nb.attachment import decode_history
from kandev_nb.attachment.display import MIME_TYPE
from kandev_nb.store import kandev_open, kandev_rows
from kandev_nb.store.kandev import KandevReports, read_kandev
from tests.postgres import PostgresServer

DATA: Final = Path(__file__).parent.parent / "data"
GOLDEN: Final[dict[str, dict[str, Any]]] = {
    case["name"]: case["report"]
    for case in map(json.loads, (DATA / "reducer.jsonl").read_text().splitlines())
}
REPORT: Final = GOLDEN["happy-path"]
KEY: Final = kandev_rows.KEY
NOBODY: Final = 65534


def metadata(report: object = REPORT, **others: object) -> str:
    """A session's metadata as Kandev's JSON encoder writes it."""
    return json.dumps({**others, KEY: report}, separators=(",", ":"))


class Kandev:
    """A database of Kandev's: its tables of one month, a task, an agent with two profiles."""

    def __init__(self, database: str, month: str = "2026-08") -> None:
        self.database = database
        self.is_file = "://" not in database
        if self.is_file:
            Path(database).parent.mkdir(exist_ok=True)
        address = f"sqlite:///{database}" if self.is_file else database.replace(":", "+psycopg:", 1)
        self.engine = create_engine(address, poolclass=NullPool)
        if self.is_file:
            self.run("PRAGMA journal_mode=WAL")
        for statement in (DATA / "kandev" / f"{month}.sql").read_text().split(";"):
            if statement.strip():
                self.run(statement)

    def run(self, statement: str, **values: object) -> None:
        with self.engine.begin() as connection:
            connection.execute(text(statement), values)

    def put(self, table: str, **values: object) -> None:
        """Insert one row; a time is written as Kandev's driver writes it."""
        times = {"created_at", "updated_at", "started_at"} & self.columns(table)
        moment = "2026-08-01 09:00:00.5+00:00" if self.is_file else "2026-08-01 09:00:00.5"
        row = {**dict.fromkeys(times, moment), **values}
        names = ", ".join(row)
        self.run(
            f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in row)})", **row
        )

    def columns(self, table: str) -> set[str]:
        with self.engine.connect() as connection:
            return set(connection.execute(text(f"SELECT * FROM {table} LIMIT 0")).keys())

    def names(self) -> None:
        """Put in the task and the agent that sessions refer to."""
        self.put("tasks", id="task-1", title="Triage")
        self.put("agents", id="agent-1", name="claude-acp")
        display = {"agent_display_name": "Claude"}
        known = display if "agent_display_name" in self.columns("agent_profiles") else {}
        self.put("agent_profiles", id="profile-1", agent_id="agent-1", name="Default", **known)

    def session(self, session_id: str = "session-1", stored: object = None, **values: Any) -> None:
        """Put in a session; without ``stored``, one with a good report."""
        row = {"task_id": "task-1", "agent_profile_id": "profile-1", **values}
        written = metadata() if stored is None else stored
        self.put("task_sessions", id=session_id, metadata=written, **row)


@pytest.fixture
def kandev(database: str) -> Kandev:
    """A database of August 2026, in a file and then on a server."""
    made = Kandev(database)
    made.names()
    return made


@pytest.fixture
def file(tmp_path: Path) -> Kandev:
    """A database of August 2026 in a file that Kandev has closed."""
    made = Kandev(str(tmp_path / "data" / "kandev.db"))
    made.names()
    return made


def skipped(reports: KandevReports) -> dict[str, str]:
    return {gone.session_id: gone.reason for gone in reports.skipped}


def contents(folder: Path) -> dict[str, str]:
    """The files of a folder by name, each as a digest of its bytes."""
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


@pytest.mark.req("EV-11")
def test_every_golden_report_of_a_kandev_database_is_read_as_it_was_stored(kandev: Kandev) -> None:
    for name, report in GOLDEN.items():
        kandev.session(name, metadata(report, context_window={"used": 1}))

    reports = read_kandev(kandev.database)

    assert not reports.skipped
    assert {session.session_id for session in reports} == set(GOLDEN)
    for session in reports:
        assert session.report.to_wire() == GOLDEN[session.session_id]


@pytest.mark.req("EV-11")
def test_a_report_that_postgresql_laid_out_anew_is_found(postgres: PostgresServer) -> None:
    kandev = Kandev(postgres.database())
    kandev.names()
    kandev.session(stored="{}")
    kandev.run(
        "UPDATE task_sessions SET metadata = "
        "jsonb_set(metadata::jsonb, ARRAY[:key], CAST(:report AS jsonb), true)::text",
        key=KEY,
        report=json.dumps(REPORT),
    )

    (session,) = read_kandev(kandev.database)

    assert session.report.to_wire() == REPORT


@pytest.mark.req("EV-11")
@pytest.mark.parametrize("month", ["2026-07", "2026-08"])
def test_task_agent_and_session_have_the_names_of_the_database(database: str, month: str) -> None:
    kandev = Kandev(database, month)
    kandev.names()
    kandev.session(name="first try")

    (session,) = read_kandev(kandev.database)

    assert (session.session_id, session.task_id) == ("session-1", "task-1")
    assert (session.task_title, session.agent_name) == ("Triage", "Claude")
    assert (session.name, session.started_at) == ("first try", "2026-08-01T09:00:00.5Z")


@pytest.mark.req("EV-11")
def test_an_older_schema_leaves_out_the_names_it_does_not_have(tmp_path: Path) -> None:
    kandev = Kandev(str(tmp_path / "kandev.db"), "2026-01")
    kandev.names()
    kandev.session()

    (session,) = read_kandev(kandev.database)

    assert (session.task_title, session.agent_name, session.name) == ("Triage", "claude-acp", "")


@pytest.mark.req("EV-11")
def test_a_database_with_nothing_but_sessions_is_read(kandev: Kandev) -> None:
    kandev.session()
    for table in ("task_sessions", "tasks", "agents", "agent_profiles"):
        kandev.run(f"ALTER TABLE {table} RENAME TO old_{table}")
    kandev.run("CREATE TABLE task_sessions AS SELECT id, metadata FROM old_task_sessions")

    (session,) = read_kandev(kandev.database)

    assert session.report.to_wire() == REPORT
    assert (session.task_id, session.task_title, session.agent_name) == ("", "", "")
    assert session.started_at == ""
    assert "session session-1" in repr(session)


@pytest.mark.req("EV-11")
def test_the_agent_is_the_one_that_a_dynamic_profile_chose(kandev: Kandev) -> None:
    kandev.put(
        "agent_profiles",
        id="profile-2",
        agent_id="agent-1",
        name="Fast",
        agent_display_name="Codex",
    )
    kandev.session(execution_profile_id="profile-2")

    assert [session.agent_name for session in read_kandev(kandev.database)] == ["Codex"]


HOSTILE: Final[dict[str, tuple[object, str | None]]] = {
    "cut off": (metadata()[:-9], kandev_rows.NOT_JSON),
    "deeply nested": (metadata([]).replace("[]", "[" * 200_000), kandev_rows.NOT_JSON),
    "nested in the report": (
        metadata().replace('"version":1', '"version":1,"new":' + "[" * 900 + "]" * 900),
        kandev_rows.MALFORMED,
    ),
    "nested too deep to show": (
        metadata().replace('"version":1', '"version":1,"new":' + "[" * 300 + "]" * 300),
        kandev_rows.MALFORMED,
    ),
    "long number": (metadata(0).replace(":0", ":" + "9" * 9_000), kandev_rows.NOT_JSON),
    "huge": (metadata(padding="x" * kandev_rows.METADATA_BYTES), kandev_rows.TOO_LARGE),
    "version 2": (metadata({**REPORT, "version": 2}), kandev_rows.OTHER_VERSION),
    "version 0": (metadata({**REPORT, "version": 0}), kandev_rows.OTHER_VERSION),
    "no version": (metadata({"current": REPORT["current"]}), kandev_rows.MALFORMED),
    "version as text": (metadata({**REPORT, "version": "1"}), kandev_rows.MALFORMED),
    "no attempt ID": (
        metadata({"version": 1, "current": {**REPORT["current"], "attachment_attempt_id": ""}}),
        kandev_rows.MALFORMED,
    ),
    "empty attempt ID": (
        metadata(
            {"version": 1, "current": {**REPORT["current"], "attachment_attempt_id": "\x1b[0m"}}
        ),
        kandev_rows.MALFORMED,
    ),
    "report as text": (metadata(json.dumps(REPORT)), kandev_rows.MALFORMED),
    "report as list": (metadata([REPORT]), kandev_rows.MALFORMED),
    "servers as text": (
        metadata({**REPORT, "current": {**REPORT["current"], "servers": "all"}}),
        kandev_rows.MALFORMED,
    ),
    "impossible time": (
        metadata({**REPORT, "current": {**REPORT["current"], "started_at": "yesterday"}}),
        kandev_rows.MALFORMED,
    ),
    "no report": ("{}", None),
    "null report": (metadata(None), None),
    "null metadata": ("null", None),
    "empty metadata": ("", None),
    "list as metadata": (json.dumps([KEY]), None),
    "key elsewhere": (json.dumps({"other": {KEY: REPORT}}), None),
    "malformed without the key": ("{", None),
}


@pytest.mark.req("EV-11")
def test_hostile_rows_are_skipped_with_the_reason_and_the_others_are_read(
    kandev: Kandev, caplog: pytest.LogCaptureFixture
) -> None:
    for name, (stored, _) in HOSTILE.items():
        kandev.session(name, stored)
    kandev.session("NULL", "")
    kandev.run("UPDATE task_sessions SET metadata = NULL WHERE id = 'NULL'")
    kandev.session("good")

    reports = read_kandev(kandev.database)

    assert [session.session_id for session in reports] == ["good"]
    assert skipped(reports) == {name: code for name, (_, code) in HOSTILE.items() if code}
    assert f"1 report read · {len(reports.skipped)} skipped" in repr(reports)
    for gone in reports.skipped:
        assert gone.reason in repr(reports)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@pytest.mark.req("EV-11")
def test_what_sqlite_holds_in_other_types_is_read_or_skipped(file: Kandev) -> None:
    file.session("as bytes", metadata().encode())
    file.session("a number", 42)
    file.session("no UTF-8", b"\xff" + metadata().encode())
    file.session("a NUL first", "\0" + metadata())
    file.session("a NUL in a name", metadata({**REPORT, "new": "a\0b"}))
    file.put("tasks", id="task-2", title=b"\xfe")
    file.run("UPDATE tasks SET title = CAST(title AS TEXT) WHERE id = 'task-2'")
    file.session("odd names", task_id="task-2", name=7, started_at="yesterday")

    reports = read_kandev(file.database)

    read = {session.session_id: session for session in reports}
    assert set(read) == {"as bytes", "a NUL in a name", "odd names"}
    assert skipped(reports) == {
        "no UTF-8": kandev_rows.NOT_JSON,
        "a NUL first": kandev_rows.NOT_JSON,
    }
    odd = read["odd names"]
    assert (odd.task_title, odd.name, odd.started_at) == ("\ufffd", "7", "")


@pytest.mark.req("EV-11", "SA-1")
def test_what_a_stored_report_should_not_hold_is_gone(kandev: Kandev) -> None:
    current = REPORT["current"]
    row = {**current["servers"][1], "target": "https://user:hunter22@api.test/p?key=hunter22"}
    report = {**REPORT, "current": {**current, "servers": [row]}}
    kandev.session(stored=metadata(report, prompt="hunter22"))

    reports = read_kandev(kandev.database)

    shown = json.dumps(reports[0]._repr_mimebundle_()) + reports.servers().to_csv()
    assert "https://api.test" in shown
    assert "hunter22" not in shown


@pytest.mark.req("SA-1")
def test_no_log_of_any_level_tells_what_was_read(
    kandev: Kandev, caplog: pytest.LogCaptureFixture
) -> None:
    kandev.session(stored=metadata(prompt="hunter22"))

    with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, "sqlalchemy"):
        assert len(read_kandev(kandev.database)) == 1

    assert "hunter22" not in caplog.text


@pytest.mark.req("EV-11")
def test_a_closed_file_is_read_without_a_trace(file: Kandev) -> None:
    file.session()
    folder = Path(file.database).parent
    before = contents(folder)

    assert len(read_kandev(file.database)) == 1

    assert contents(folder) == before
    assert list(before) == ["kandev.db"]


@pytest.mark.req("EV-11")
@pytest.mark.parametrize("name", ["a b.db", "50%.db", "what?.db", "a#b.db", "übung.db"])
def test_any_file_name_is_read(file: Kandev, name: str) -> None:
    file.session()
    other = Path(file.database).with_name(name)
    other.write_bytes(Path(file.database).read_bytes())

    assert len(read_kandev(other)) == 1


@pytest.mark.req("EV-11")
def test_kandev_goes_on_writing_while_its_file_is_read(file: Kandev) -> None:
    file.session("before")
    writer = sqlite3.connect(file.database, timeout=0, isolation_level=None)
    writer.execute(
        "INSERT INTO task_sessions (id, task_id, metadata, started_at, updated_at) "
        "VALUES ('committed', 'task-1', ?, '', '')",
        [metadata()],
    )
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE task_sessions SET id = 'uncommitted' WHERE id = 'before'")
    folder = Path(file.database).parent
    before = contents(folder)

    reports = read_kandev(file.database)

    assert {session.session_id for session in reports} == {"before", "committed"}
    assert {name: before[name] for name in ("kandev.db", "kandev.db-wal")} == {
        name: contents(folder)[name] for name in ("kandev.db", "kandev.db-wal")
    }
    assert set(contents(folder)) == set(before)
    writer.execute("COMMIT")
    assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    assert "uncommitted" in {session.session_id for session in read_kandev(file.database)}
    writer.close()


@pytest.mark.req("EV-11")
def test_each_reading_is_of_one_moment_while_kandev_writes(file: Kandev) -> None:
    """Kandev adds sessions in pairs: a reading with an odd number would be of two moments."""
    file.session("0-a")
    file.session("0-b")
    done = threading.Event()
    writer = threading.Thread(target=_add_pairs, args=(file.database, done))
    writer.start()
    try:
        counts = [len(read_kandev(file.database))]
        while len(set(counts)) < 5:
            assert writer.is_alive()
            counts.append(len(read_kandev(file.database)))
    finally:
        done.set()
        writer.join()

    assert not [count for count in counts if count % 2]
    assert counts == sorted(counts)


def _add_pairs(database: str, done: threading.Event) -> None:
    number = 0
    while not done.is_set():
        number += 1
        # Opened anew each time: the log comes and goes under the reader.
        connection = sqlite3.connect(database, timeout=60)
        with connection:
            for half in "ab":
                connection.execute(
                    "INSERT INTO task_sessions (id, task_id, metadata, started_at, updated_at) "
                    "VALUES (?, 'task-1', ?, '', '')",
                    [f"{number}-{half}", metadata()],
                )
        connection.close()


@pytest.mark.req("EV-11")
def test_a_file_that_changes_under_the_reader_is_read_again(file: Kandev) -> None:
    file.session()
    seen: list[int] = []

    def work(connection: Connection, _: str) -> int:
        count = len(list(kandev_rows.rows(connection)))
        if not seen:
            file.session("meanwhile")
        seen.append(count)
        return count

    assert kandev_open.reading(file.database, work).result == 2
    assert seen == [1, 2]


@pytest.fixture
def unprivileged() -> Iterator[Callable[[], None]]:
    """Give up root's right to read and write everything; folders of this test lie under /tmp."""
    before = os.geteuid()

    def give_up() -> None:
        if before == 0:
            os.seteuid(NOBODY)

    yield give_up
    os.seteuid(before)


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that any user may enter, and only its owner write to."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
        Path(folder).chmod(0o755)


@pytest.mark.req("EV-11")
@pytest.mark.parametrize("state", ["closed", "in use", "without the index of its log"])
def test_a_file_in_a_folder_that_cannot_be_written_to_is_read(
    file: Kandev, elsewhere: Path, unprivileged: Callable[[], None], state: str
) -> None:
    file.session()
    writer = sqlite3.connect(file.database)
    if state != "closed":
        writer.execute("SELECT * FROM tasks").fetchall()
        file.session("in the log")
        assert Path(f"{file.database}-wal").stat().st_size
    for path in Path(file.database).parent.iterdir():
        if state != "without the index of its log" or not path.name.endswith("-shm"):
            shutil.copy(path, elsewhere)
    writer.close()
    elsewhere.chmod(0o555)
    before = contents(elsewhere)
    unprivileged()

    reports = read_kandev(elsewhere / "kandev.db")

    whole = state != "without the index of its log"
    assert len(reports) == (2 if state == "in use" else 1)
    assert (kandev_open.WITHOUT_LOG in repr(reports)) is not whole
    assert contents(elsewhere) == before


def refusal(path_or_url: str | Path) -> StoreError:
    """The error of a database that cannot be read; nothing it says may tell the password."""
    with pytest.raises(StoreError) as caught:
        read_kandev(path_or_url)
    assert "hunter22" not in "".join(traceback.format_exception(caught.value))
    return caught.value


@pytest.mark.req("EV-11")
def test_a_file_that_is_not_there_is_named_and_not_made(tmp_path: Path) -> None:
    error = refusal(tmp_path / "kandev.db")

    assert error.reason_code == "database_not_found"
    assert "kandev.db" in str(error)
    assert not list(tmp_path.iterdir())
    assert refusal(tmp_path / "kan\0dev.db").reason_code == "database_not_found"


@pytest.mark.req("EV-11")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not_a_kandev_database"),
        (b"SQLite format 3\0", "not_a_database"),
        (b"{}" * 999, "not_a_database"),
        (os.urandom(9_999), "not_a_database"),
    ],
    ids=["empty", "header", "text", "encrypted"],
)
def test_a_file_that_is_no_database_of_kandevs_says_so(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "kandev.db"
    path.write_bytes(content)

    assert refusal(path).reason_code == reason
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["kandev.db"]


@pytest.mark.req("EV-11")
def test_a_database_of_somebody_else_names_the_table_that_is_missing(database: str) -> None:
    other = Kandev(database)
    other.run("DROP TABLE task_sessions")

    error = refusal(database)

    assert error.reason_code == "not_a_kandev_database"
    assert "task_sessions" in str(error)


@pytest.mark.req("EV-11")
def test_a_damaged_file_is_told_from_one_that_is_none(file: Kandev) -> None:
    for number in range(99):
        file.session(str(number))
    path = Path(file.database)
    pages = bytearray(path.read_bytes())
    pages[3 * 4096 :] = b"\x55" * (len(pages) - 3 * 4096)
    path.write_bytes(pages)

    assert refusal(path).reason_code == "database_corrupt"


@pytest.mark.req("EV-11")
def test_a_file_that_is_locked_or_forbidden_or_a_folder_says_so(
    file: Kandev, elsewhere: Path, unprivileged: Callable[[], None]
) -> None:
    file.run("PRAGMA journal_mode=DELETE")
    writer = sqlite3.connect(file.database, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    assert refusal(file.database).reason_code == "database_locked"
    writer.close()

    assert refusal(elsewhere).reason_code == "database_unreadable"
    forbidden = Path(shutil.copy(file.database, elsewhere))
    forbidden.chmod(0)
    elsewhere.chmod(0o555)
    unprivileged()
    assert refusal(forbidden).reason_code == "database_unreadable"


@pytest.mark.req("EV-11")
@pytest.mark.parametrize(
    "url",
    [
        "mysql://kandev:hunter22@127.0.0.1/kandev",
        "postgresql://kandev:hunter22@127.0.0.1:hunter22/kandev",
        "postgresql+psycopg2://kandev:hunter22@127.0.0.1/kandev",
        "https://hunter22",
        "://hunter22",
    ],
)
def test_a_url_of_another_kind_is_refused_without_its_password(url: str) -> None:
    assert refusal(url).reason_code == "database_url_invalid"


@pytest.mark.req("EV-11")
def test_a_server_that_does_not_let_us_in_is_named_without_the_password(
    postgres: PostgresServer,
) -> None:
    here = f"127.0.0.1:{postgres.port}"
    urls = {
        "127.0.0.1:1/kandev": "postgresql://kandev:hunter22@127.0.0.1:1/kandev",
        f"{here}/postgres": f"postgresql://kandev:hunter22@{here}/postgres",
        f"{here}/none": postgres.url("none"),
        f"{here}/postgres ": f"{postgres.url()}?sslmode=hunter22",
    }
    for name, url in urls.items():
        error = refusal(url)
        assert error.reason_code == "database_unreachable"
        assert name.strip() in str(error)
        assert postgres.password not in str(error)


@pytest.mark.req("EV-11")
@pytest.mark.parametrize("is_in_use", [False, True])
def test_what_reads_cannot_write(kandev: Kandev, is_in_use: bool) -> None:
    def write(connection: Connection, _: str) -> None:
        connection.execute(text("DELETE FROM tasks"))
        connection.commit()

    with kandev.engine.connect() as other:
        if is_in_use:
            other.execute(text("SELECT * FROM tasks"))
        with pytest.raises(StoreError):
            kandev_open.reading(kandev.database, write)

    with kandev.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM tasks")).scalar() == 1


@pytest.mark.req("EV-11")
def test_a_user_who_may_not_read_the_tables_is_told_so(postgres: PostgresServer) -> None:
    kandev = Kandev(postgres.database())
    with psycopg.connect(kandev.database, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'hunter22'")
    url = kandev.database.replace(f"kandev:{postgres.password}", "guest:hunter22")

    error = refusal(url)

    assert error.reason_code == "database_failed"
    assert "42501" in str(error)


@pytest.mark.req("EV-11")
def test_a_missing_driver_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)

    error = refusal("postgresql://kandev:hunter22@127.0.0.1:1/kandev")

    assert error.reason_code == "driver_missing"
    assert 'pip install "kandev-nb[postgres]"' in str(error)


@pytest.mark.req("EV-11")
def test_a_stored_session_shows_the_rows_that_a_live_one_shows(file: Kandev) -> None:
    file.session(name="first try")
    (session,) = read_kandev(f"sqlite:///{file.database}")
    history = decode_history(REPORT)
    assert history

    shown = session._repr_mimebundle_()

    assert shown["text/plain"] == repr(session) == str(session.view)
    heading, *lines = repr(session).splitlines()
    assert heading == 'MCP servers · task "Triage" · session "first try" · Claude'
    assert lines[-1] == "Stored by Kandev in kandev.db; nothing here is live."
    assert lines[:-1] == repr(history).splitlines()[1:]
    assert shown[MIME_TYPE]["report"] == REPORT
    assert shown[MIME_TYPE]["rows"] == session.view.to_rows()
    assert session.status("kandev") == "active"
    assert session.explain("kandev").startswith("kandev is Active.")
    with pytest.raises(ConfigError, match="It has: kandev, github, files"):
        session.status("gitlab")
    assert session.servers().equals(frames.servers(history))
    assert session.timeline().equals(frames.timeline(history))


@pytest.mark.req("EV-11")
def test_the_reports_are_a_sequence_the_oldest_first(file: Kandev) -> None:
    file.session("b", started_at="2026-08-02 00:00:00+00:00")
    file.session("c", started_at="2026-08-02 01:00:00+02:00")
    file.session("a", started_at="2026-08-02 00:00:00+00:00")

    reports = read_kandev(file.database)

    assert [session.session_id for session in reports] == ["c", "a", "b"]
    assert reports[0] in reports
    assert [session.session_id for session in reports[1:]] == ["a", "b"]
    assert repr(reports) == "Kandev · kandev.db · 3 reports read · 0 skipped"


@pytest.mark.req("EV-11", "FR/servers", "FR/timeline")
def test_the_frames_of_all_sessions_have_the_rows_of_each(file: Kandev) -> None:
    for number, report in enumerate(GOLDEN.values()):
        file.session(f"{number:02}", metadata(report))
    reports = read_kandev(file.database)

    for one, every, schema in [
        (frames.servers, reports.servers(), frames.ALL_SERVERS),
        (frames.timeline, reports.timeline(), frames.ALL_TIMELINES),
    ]:
        assert {name: str(dtype) for name, dtype in every.dtypes.items()} == dict(schema)
        assert set(every["task"]) == {"Triage"}
        for session in reports:
            own = every[every["session_id"] == session.session_id].reset_index(drop=True)
            single = one(session.report)
            pd.testing.assert_frame_equal(own[single.columns], single, check_categorical=False)


@pytest.mark.req("EV-11", "FR/servers", "FR/timeline")
def test_a_database_without_reports_gives_empty_frames_of_the_same_columns(file: Kandev) -> None:
    reports = read_kandev(file.database)

    assert len(reports) == 0
    for frame, schema in [
        (reports.servers(), frames.ALL_SERVERS),
        (reports.timeline(), frames.ALL_TIMELINES),
    ]:
        assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == dict(schema)
        assert frame.empty


@pytest.mark.req("EV-11")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of one program")
def test_five_thousand_sessions_fit_into_little_memory(database: str, tmp_path: Path) -> None:
    kandev = Kandev(database)
    kandev.names()
    kandev.session("0000", metadata(GOLDEN["129-tools"], padding="x" * 20_000))
    one = str(tmp_path / "one.db")
    first = Kandev(one)
    first.names()
    first.session()
    kandev.run(
        "INSERT INTO task_sessions (id, task_id, metadata, started_at, updated_at) "
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4999) "
        "SELECT 'session-' || i, task_id, metadata, started_at, updated_at "
        "FROM task_sessions CROSS JOIN n"
    )

    run = subprocess.run(
        [sys.executable, "-c", _READER, one, database], capture_output=True, text=True, check=True
    )

    count, before, most = map(int, run.stdout.split())
    assert count == 5_000
    assert most - before < 64 * 1024, (before, most)


_READER: Final = """
import sys
from pathlib import Path
import psycopg
from kandev_nb.store.kandev import read_kandev
def peak():
    (line,) = [l for l in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in l]
    return line.split()[1]
one, database = sys.argv[1:]
read_kandev(one)
before = peak()
reports = read_kandev(database)
assert reports[4_999].status("kandev") == "active"
print(len(reports), before, peak())
"""
