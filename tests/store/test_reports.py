"""What goes into a store comes out of it, whatever else is in there."""

import json
from pathlib import Path

import pytest

from kandev_nb import StoreError
from kandev_nb.attachment import EndpointTestResult, History, decode_history
from kandev_nb.attachment.model import NOTHING_STARTED
from kandev_nb.store import Store, StoreWriter, reading
from kandev_nb.store.migrations import HEAD
from kandev_nb.store.opening import migrate
from tests.attachment.story import at
from tests.store.conftest import Sql
from tests.store.stories import TOOLS, full, record, revised, story


def put(writer: StoreWriter, *offers: tuple[str, History], **changes: str) -> None:
    for session_id, history in offers:
        writer.offer(record(session_id, **changes), history)
    assert writer.flush(30)
    assert (writer.problem, writer.waiting, writer.refused) == ("", 0, ())


@pytest.mark.req("EV-11", "AC.12")
def test_a_report_comes_back_as_it_went_in(store: Store, writer: StoreWriter) -> None:
    reports = {"session-0": NOTHING_STARTED, "session-1": story().history, "session-2": full()}

    put(writer, *reports.items())
    writer.close(10)

    read = Store(store._database.place.url.render_as_string(hide_password=False))
    found = {session.session_id: session.report.to_wire() for session in read.sessions()}
    read.close()
    assert found == {name: history.to_wire() for name, history in reports.items()}


@pytest.mark.req("EV-11")
def test_what_a_newer_writer_adds_to_a_report_is_kept(store: Store, writer: StoreWriter) -> None:
    wire = story().history.to_wire()
    wire["current"]["mood"] = {"good": [True, None, "\u0000", 1.5]}
    wire["current"]["servers"][0]["reason_code"] = "who_knows"
    history = decode_history(wire)
    assert history

    put(writer, ("session-1", history))

    assert store.session("session-1").report.to_wire() == wire


@pytest.mark.req("EV-11")
def test_a_session_is_kept_with_its_task_agent_and_times(store: Store, writer: StoreWriter) -> None:
    given = record("session-1", name="Ünï \0 one", task_title="\ud800 t", state="ended")

    writer.offer(given, story().history)
    assert writer.flush(30)

    (session,) = store.sessions(task_id="task-1")
    assert session.model_dump(include=set(type(given).model_fields)) == given.model_dump()
    assert session.task_title == "? t"
    assert session.name == "Ünï \ufffd one"
    assert session.updated_at == story().attempt.updated_at
    assert not session.is_live_elsewhere
    assert not store.sessions(task_id="task-2")


@pytest.mark.req("CA-4")
def test_a_catalog_is_stored_once_and_only_while_the_current_attempt_has_it(
    store: Store, writer: StoreWriter, sql: Sql
) -> None:
    told = story()
    put(writer, ("session-1", told.history))
    (first,) = sql("SELECT content_hash, body FROM kandev_nb_catalogs")
    sql("UPDATE kandev_nb_catalogs SET body = body || ' '")

    told.tell("tools_list_observed", "c1", tool_count=3, tools=TOOLS)
    put(writer, ("session-1", told.history))
    again = sql("SELECT content_hash, body FROM kandev_nb_catalogs")
    told.tell("tools_list_observed", "c1", tool_count=1, tools=TOOLS[:1])
    put(writer, ("session-1", told.history))
    both = sql("SELECT content_hash FROM kandev_nb_catalogs")
    read = store.session("session-1").report.current
    told.start("attempt-3")
    put(writer, ("session-1", told.history))

    assert again == [(first[0], first[1] + " ")], "the same catalog is not written again"
    assert len(both) == 2
    assert read
    assert [len(row.tools) for row in read.servers] == [1, 3, 0]
    assert sql("SELECT count(*) FROM kandev_nb_catalogs") == [(0,)]
    (body,) = sql("SELECT body FROM kandev_nb_reports")
    assert "tool_0" not in body[0]


@pytest.mark.req("EV-11")
@pytest.mark.parametrize("stale", ["revision", "attempt", "time"])
def test_an_older_report_never_replaces_a_newer_one(
    store: Store, writer: StoreWriter, stale: str
) -> None:
    told = story()
    older = told.history
    if stale == "attempt":
        newer = told.start("attempt-3").history
        older = revised(older, 99)
    else:
        newer = told.tell("delivered").history
    if stale == "revision":
        newer, older = revised(newer, 8), revised(newer.updated(), 7)

    put(writer, ("session-1", newer))
    put(writer, ("session-1", older), state="closed")

    session = store.session("session-1")
    assert session.report.to_wire() == newer.to_wire()
    assert session.state == "closed", "the session itself is as it was told last"


@pytest.mark.req("EV-11")
def test_unreadable_reports_are_skipped_with_a_reason_and_the_rest_load(
    store: Store, writer: StoreWriter, sql: Sql
) -> None:
    names = ("cut", "later", "lost", "none", "wild", "good")
    put(writer, *((name, story().history) for name in names))
    for statement in (
        "UPDATE kandev_nb_reports SET body = substr(body, 1, 300) WHERE session_id = 'cut'",
        """UPDATE kandev_nb_reports SET body = '{"version": 2}' WHERE session_id = 'later'""",
        "DELETE FROM kandev_nb_catalogs WHERE session_id = 'lost'",
        "UPDATE kandev_nb_reports SET catalogs = '{\"0\": \"gone\"}' WHERE session_id = 'lost'",
        "DELETE FROM kandev_nb_reports WHERE session_id = 'none'",
        "UPDATE kandev_nb_reports SET catalogs = '[[' WHERE session_id = 'wild'",
    ):
        sql(statement)

    sessions = store.sessions()

    assert [session.session_id for session in sessions] == ["good"]
    assert sessions[0].report.to_wire() == story().history.to_wire()
    reasons = dict(sessions.skipped)
    assert reasons.keys() == set(names) - {"good"}
    assert "malformed" in reasons["cut"]
    assert "another version" in reasons["later"]
    assert "catalog" in reasons["lost"]
    assert "no report" in reasons["none"]
    assert "skipped cut" in repr(sessions)
    with pytest.raises(StoreError, match="malformed"):
        store.session("cut")
    with pytest.raises(StoreError, match="none of this ID"):
        store.session("nobody")


@pytest.mark.req("EV-11")
@pytest.mark.parametrize("version", ["0001", HEAD])
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE kandev_nb_reports SET body = CAST(body AS BLOB)",
        "UPDATE kandev_nb_reports SET body = 7",
        "UPDATE kandev_nb_reports SET body = CAST(x'ff80' AS TEXT)",
        "UPDATE kandev_nb_reports SET body = replace(body, '\":\"', '\":\"\\ud800')",
        "UPDATE kandev_nb_sessions SET changed = 'never', started_at = 'never'",
    ],
)
def test_what_sqlite_holds_in_other_types_hides_none_of_the_others(
    tmp_path: Path, damage: str, version: str
) -> None:
    file = tmp_path / "store.db"
    store = Store(file)
    writer = StoreWriter(store)
    put(writer, *((name, story().history) for name in ("odd", "good")), state="closed")
    writer.close(10)
    with store._database.writing() as connection:
        migrate(connection, version)
        connection.exec_driver_sql(f"{damage} WHERE session_id = 'odd'")
    store.close()

    sessions = Store(file).sessions()

    assert [session.session_id for session in sessions] == ["good"]
    assert sessions[0].report.to_wire() == story().history.to_wire()
    assert [(gone.session_id, "malformed" in gone.reason) for gone in sessions.skipped] == [
        ("odd", True)
    ]


@pytest.mark.req("EV-11")
def test_a_report_that_somebody_edited_is_shown_as_it_is_now(
    store: Store, writer: StoreWriter, sql: Sql
) -> None:
    put(writer, ("session-1", story().history))
    sql("UPDATE kandev_nb_reports SET body = replace(body, 'github', 'gitlab')")

    current = store.sessions()[0].report.current

    assert current
    assert current.server("gitlab")


@pytest.mark.req("DI-1")
def test_the_last_endpoint_tests_of_a_server_are_kept(
    store: Store, writer: StoreWriter, sql: Sql
) -> None:
    history = story().history
    assert history.current
    first, *others = history.current.servers
    for second in range(25):
        result = EndpointTestResult(outcome="ok", at=at(second), duration_ms=second)
        servers = (first.updated(endpoint_test=result), *others)
        tested = history.updated(current=history.current.updated(servers=servers))
        put(writer, ("session-1", tested), ("session-2", tested))

    tests = store.endpoint_tests("session-1")

    assert [test.result.duration_ms for test in tests] == [*range(24, 4, -1)]
    assert {test.server_name for test in tests} == {"kandev"}
    assert sql("SELECT count(*) FROM kandev_nb_endpoint_tests") == [(40,)]
    kept = store.session("session-1").report.current
    assert kept
    assert kept.servers[0].endpoint_test == tests[0].result


@pytest.mark.req("EV-11")
def test_the_session_that_changed_last_comes_first(store: Store, writer: StoreWriter) -> None:
    told = story()
    put(writer, ("early", told.history))
    put(writer, ("late", told.tell("delivered").history))
    put(writer, ("middle", revised(story().tell("delivered").history, 5)))

    assert [session.session_id for session in store.sessions()] == ["late", "middle", "early"]
    assert [session.session_id for session in store.sessions(limit=1)] == ["late"]


@pytest.mark.req("SE-5")
def test_a_transaction_that_reads_before_it_writes_is_not_overtaken(
    store: Store, writer: StoreWriter, database: str
) -> None:
    put(writer, ("session-1", story().history))
    other = StoreWriter(Store(database))

    with store._database.writing() as connection:
        assert reading.fetch(connection, None, None, None).rows
        other.offer(record("session-2"), story().history)
        other.flush(0.5)
        connection.exec_driver_sql(
            "UPDATE kandev_nb_sessions SET state = 'ended' WHERE session_id = 'session-1'"
        )

    assert other.close(20)
    other._opened().close()
    states = {session.session_id: session.state for session in store.sessions()}
    assert states == {"session-1": "ended", "session-2": "running"}


@pytest.mark.req("SA-1")
def test_nothing_but_the_report_and_the_session_is_stored(
    store: Store, writer: StoreWriter, sql: Sql
) -> None:
    put(writer, ("session-1", story().history))

    (row,) = sql("SELECT body FROM kandev_nb_reports")

    assert json.loads(row[0]).keys() == {"version", "current", "previous"}
