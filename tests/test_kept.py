"""What outlives a kernel: reports in the store, and what a new kernel shows of them."""

import logging
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest

from kandev_nb import (
    ConfigError,
    Controller,
    Store,
    StoredSession,
    StoreError,
    frames,
)
from kandev_nb.attachment.display import MIME_TYPE
from kandev_nb.widgets import StatusWidget
from tests.processes import eventually, run_script

WIDGET: Final = "application/vnd.jupyter.widget-view+json"
GITHUB: Final[dict[str, Any]] = {"github": {"url": "http://127.0.0.1:9/mcp"}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def work(file: Path | str, name: str = "main") -> str:
    """One session that goes to Active and is closed with its controller; return its ID."""
    with Controller(store=file) as kandev:
        session = kandev.task("triage").start("scripted", servers=GITHUB, name=name)
        session.wait_for("kandev", "active")
        session.close()
        return session.session_id


def stored(kandev: Controller, at: int = 0) -> StoredSession:
    session = kandev.sessions()[at]
    assert isinstance(session, StoredSession)
    return session


@pytest.mark.req("EV-11", "AC.10", "CA-4")
def test_a_new_kernel_shows_the_last_report_with_its_catalog(file: Path) -> None:
    with Controller(store=file) as kandev:
        session = kandev.task("triage").start("scripted", servers=GITHUB, name="main")
        session.wait_for("kandev", "active")
        session.close()
        last = session.report

    with Controller(store=Store(file)) as kandev:
        kept = stored(kandev)
        assert kept.report.to_wire() == last.to_wire()
        assert kept.report.current
        row = kept.report.current.server("kandev")

    assert row
    assert len(row.tools) == row.tool_count == 7
    assert (kept.task_title, kept.name, kept.agent_id) == ("triage", "main", "scripted")
    assert kept.state == "closed"
    assert kept.status("github") == "delivered"
    assert "Proven: Configured, Delivered" in kept.explain("github")
    assert str(kept).splitlines()[-1] == "Stored; nothing here is live."
    assert kept._repr_mimebundle_()[MIME_TYPE]["rows"]["rows"][0]["name"] == "kandev"


@pytest.mark.req("EV-11", "FR/timeline", "FR/servers")
def test_live_and_stored_sessions_stand_in_one_list_and_in_one_frame(file: Path) -> None:
    earlier = work(file)
    with Controller(store=Store(file)) as kandev:
        session = kandev.task("now").start("scripted", name="live")
        session.wait_for("kandev", "active")

        known = kandev.sessions()

        assert [each.session_id for each in known] == [session.session_id, earlier]
        assert known[0] is session
        assert repr(known).splitlines() == [
            'now · session "live" · scripted · running · live here',
            'triage · session "main" · scripted · closed · stored',
        ]
        timeline, servers = kandev.timeline(), kandev.servers()
    assert {name: str(dtype) for name, dtype in timeline.dtypes.items()} == dict(
        frames.ALL_TIMELINES
    )
    assert list(dict.fromkeys(timeline["session_id"])) == [session.session_id, earlier]
    assert set(servers["task"]) == {"now", "triage"}
    own = timeline[timeline["session_id"] == earlier].reset_index(drop=True)
    single = known[1].timeline()
    pd.testing.assert_frame_equal(own[single.columns], single, check_categorical=False)


@pytest.mark.req("EV-11", "SE-5")
def test_what_a_session_learned_is_on_disk_a_moment_later(file: Path) -> None:
    with Controller(store=file) as kandev:
        session = kandev.task("triage").start("scripted")
        session.wait_for("kandev", "active")
        other = Store(file)

        def is_there() -> bool:
            found = other.sessions()
            return bool(found) and found[0].report.to_wire() == session.report.to_wire()

        assert eventually(is_there, 2)
        assert other.sessions()[0].is_live_elsewhere
        assert other.sessions()[0].state == "running"


@pytest.mark.req("EV-11", "UI/Trigger")
def test_a_session_that_is_live_in_another_kernel_is_shown_as_it_changes(file: Path) -> None:
    with Controller(store=file) as elsewhere:
        session = elsewhere.task("triage").start("scripted", args=["--scenario", "ignores"])
        assert elsewhere._keeping
        assert elsewhere._keeping.flush(30)
        found = Store(file).sessions()[0]
        assert found.is_live_elsewhere
        assert WIDGET in found._repr_mimebundle_()
        assert found._followed
        widget = StatusWidget(found._followed())
        assert statuses(widget) == ["delivered"]
        assert "live in another kernel" in str(widget.rows["notes"])

        session.prompt("connect kandev\nlist kandev")

        assert eventually(lambda: statuses(widget) == ["active"])
    assert eventually(lambda: "nothing here is live" in str(widget.rows["notes"]))
    assert eventually(lambda: not any(t.name == "kandev-nb-follow" for t in threading.enumerate()))
    widget.close()


def statuses(widget: StatusWidget) -> list[str]:
    return [row["status"] for row in widget.rows["rows"]]


@pytest.mark.req("EV-11", "SE-5")
def test_a_killed_kernels_session_is_shown_as_it_was_last_seen(file: Path) -> None:
    script = f"""
        from kandev_nb import Controller
        kandev = Controller(store={str(file)!r})
        session = kandev.task("triage").start("scripted")
        session.wait_for("kandev", "active")
        session.report
        assert kandev._keeping.flush(30)
        print("there", flush=True)
        input()
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as kernel:
        assert kernel.stdout
        assert kernel.stdout.readline() == b"there\n"
        kernel.send_signal(signal.SIGKILL)

    with Controller(store=file) as kandev:
        kept = stored(kandev)
        assert kept.status("kandev") == "active"
        assert kept.state == "running"
        with closing(sqlite3.connect(file)) as database:
            database.execute("UPDATE kandev_nb_sessions SET lease_until = 1")
            database.commit()
        assert "its kernel has ended" in repr(kandev.sessions())


@pytest.mark.req("EV-11", "SE-3")
def test_a_script_that_ends_with_live_sessions_keeps_that_they_were_closed(file: Path) -> None:
    done = run_script(f"""
        from kandev_nb import Controller
        kandev = Controller(store={str(file)!r})
        sessions = [kandev.task("t").start("scripted") for _ in range(3)]
        """)
    kept = Store(file).sessions()

    assert (done.returncode, done.stderr) == (0, "")
    assert [session.state for session in kept] == ["closed"] * 3
    ends = [session.report.current for session in kept]
    assert [attempt and attempt.end_reason for attempt in ends] == ["closed"] * 3


@pytest.mark.req("SE-5")
def test_a_store_that_cannot_be_written_never_touches_a_session(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "folder" / "store.db"
    with Controller(store=file) as kandev:
        file.parent.rmdir() if file.parent.exists() else None
        file.parent.write_text("no folder")

        session = kandev.task("triage").start("scripted")
        session.wait_for("kandev", "active")
        assert eventually(lambda: bool(kandev.health().store_problem))

        health = kandev.health()
        assert not health.is_well
        assert health.store_waiting == 1
        assert "Sessions that are kept in memory: 1" in repr(health)
        known = kandev.sessions()
        assert list(known) == [session]
        assert "Stored sessions are missing: " in repr(known)
        warnings = [r for r in caplog.records if r.name == "kandev_nb.store"]
        assert len([r for r in warnings if r.levelno >= logging.WARNING]) == 1

        file.parent.unlink()

        assert eventually(lambda: kandev.health().is_well, 40)
        assert stored_ids(file) == [session.session_id]


def stored_ids(file: Path) -> list[str]:
    return [session.session_id for session in Store(file).sessions()]


@pytest.mark.req("SE-5")
def test_a_controller_may_have_no_store(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KANDEV_NB_STORE", str(file))
    with Controller(store=False) as kandev:
        session = kandev.task("triage").start("scripted")
        session.wait_for("kandev", "active")

        assert list(kandev.sessions()) == [session]
        assert kandev.store is None

    assert not file.exists()


@pytest.mark.req("SA-1")
def test_the_default_is_what_the_environment_names_else_a_file_of_the_owners_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KANDEV_NB_STORE", str(tmp_path / "named.db"))
    with Controller() as kandev:
        assert kandev.store
        assert kandev.store.name == str(tmp_path / "named.db")
    del kandev
    monkeypatch.delenv("KANDEV_NB_STORE")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    with Controller() as kandev:
        assert kandev.store
        path = Path(kandev.store.name)
        list(kandev.sessions())

    assert path.is_relative_to(tmp_path / "data")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.req("SA-1", "SA-2")
def test_no_secret_of_a_session_is_in_the_store(file: Path) -> None:
    secrets = ("planted-in-a-header", "planted-in-env", "planted-in-the-url")
    servers = {
        "web": {
            "url": f"http://127.0.0.1:9/{secrets[2]}/mcp",
            "headers": {"Authorization": f"Bearer {secrets[0]}"},
        },
        "local": {"command": "true", "env": {"KEY": secrets[1]}},
    }
    with Controller(store=file) as kandev:
        session = kandev.task("triage").start("scripted", servers=servers)
        session.wait_for("kandev", "active")
        session.prompt('call kandev create_task_plan_kandev {"content": "planted-words"}')
        session.close()

    kept = b"".join(path.read_bytes() for path in file.parent.iterdir())
    assert session.session_id.encode() in kept
    for secret in (*secrets, "planted-words"):
        assert secret.encode() not in kept


@pytest.mark.req("EV-11", "AC.12")
def test_one_broken_report_leaves_the_others_and_is_counted(file: Path) -> None:
    work(file, "fine")
    broken = work(file, "broken")
    with closing(sqlite3.connect(file)) as database:
        database.execute(
            "UPDATE kandev_nb_reports SET body = substr(body, 1, 200) WHERE session_id = ?",
            (broken,),
        )
        database.commit()

    with Controller(store=Store(file)) as kandev:
        known = kandev.sessions()

        assert [session.name for session in known] == ["fine"]
        assert [skipped.session_id for skipped in known.skipped] == [broken]
        assert "1 stored session could not be read" in repr(known)
        assert set(kandev.timeline()["session"]) == {"fine"}


@pytest.mark.req("EV-11")
@pytest.mark.parametrize("store", [7, True, b"x", {}])
def test_what_names_no_store_is_refused(store: Any) -> None:
    with pytest.raises(ConfigError, match="store= is neither a path nor a URL"):
        Controller(store=store)


@pytest.mark.req("SA-1")
def test_a_url_of_another_database_is_refused_without_its_password() -> None:
    with pytest.raises(StoreError) as raised:
        Controller(store="mysql://me:s3cr3t-word@127.0.0.1/x")

    assert raised.value.reason_code == "invalid_store"
    assert "s3cr3t-word" not in str(raised.value)


@pytest.mark.req("SE-6")
def test_the_controller_of_a_cell_that_runs_again_goes_on_with_the_same_store(file: Path) -> None:
    first = Controller(store=file)
    session = first.task("triage").start("scripted", name="main")
    session.wait_for("kandev", "active")
    del session
    first = Controller(store=file)
    second = first.task("triage").start("scripted", name="main")
    second.wait_for("kandev", "active")

    assert eventually(lambda: [s.state for s in first.sessions()] == ["running", "closed"])
    first.close()
