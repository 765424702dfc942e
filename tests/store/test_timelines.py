"""The timeline of all stored sessions, whatever their reports hold and whoever wrote them."""

import json
from contextlib import closing
from typing import Any

import pandas as pd
import pytest

from kandev_nb import Controller, frames
from kandev_nb.attachment import History, decode_history
from kandev_nb.attachment.columns import columns_of, events_of, packed
from kandev_nb.attachment.model import NOTHING_STARTED
from kandev_nb.store import Store, StoreWriter
from kandev_nb.store.opening import migrate
from kandev_nb.store.tables import REPORTS
from tests.attachment.story import Story, at
from tests.store.conftest import Sql
from tests.store.stories import full, record, story


def odd() -> History:
    """Times to the nanosecond, spaces, unknown kinds and fields, nulls, and what looks the same."""
    told = story()
    for number, fraction in enumerate(("", ".5", ".123456789", ".999999999", ".000001")):
        told.tell("tool_call_observed", "c 1", tool_name="a b" if number else "a", count=number)
        event = told.attempt.evidence[-1].updated(occurred_at=f"2026-08-01T09:30:00{fraction}Z")
        evidence = (*told.attempt.evidence[:-1], event)
        told.history = told.history.updated(current=told.attempt.updated(evidence=evidence))
    wire = told.history.to_wire()
    moods: list[Any] = [1, True, 1.0, None, {"a": []}, "\0"]
    for place, event in enumerate(wire["current"]["evidence"]):
        event["mood"] = moods[place % len(moods)]
    wire["current"]["evidence"][0] |= {"kind": "who_knows", "provenance": "rumoured"}
    wire["current"]["evidence"][1]["kind"] = "attempt_superseded"
    wire["current"]["evidence"][2] |= {"tool_count": 7, "summary": " "}
    wire["current"]["evidence"][3] |= {"summary": "Ünï \u2028 code", "reason_code": "who knows"}
    history = decode_history(wire)
    assert history
    return history


REPORTS_OF_ALL_SHAPES: dict[str, History] = {
    "nothing": NOTHING_STARTED,
    "no-evidence": Story().start("a").start("b").history,
    "one-event": Story().start("a").tell("configured").history,
    "story": story().history,
    "odd": odd(),
    "full": full(events=200),
    "same-times": Story()
    .start("a")
    .tell("delivered", second=5)
    .tell("delivered", second=5, server="b")
    .history,
}


def put(writer: StoreWriter, reports: dict[str, History]) -> None:
    for number, (name, history) in enumerate(reports.items()):
        writer.offer(record(name, name=f"session {number}", state="closed"), history)
    assert writer.flush(30)


def own_frame(name: str, number: int, history: History) -> pd.DataFrame:
    """The timeline of one session as it shows it itself, with whose it is."""
    frame = frames.timeline(history)
    whose = {"session_id": name, "session": f"session {number}", "task": "triage"}
    for place, (column, value) in enumerate({**whose, "agent": "scripted"}.items()):
        frame.insert(place, column, pd.Series([value] * len(frame), dtype="string"))
    return frame


def one_after_the_other(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """The frames below each other, with the categories that occur in any of them."""
    categorical = [name for name, dtype in parts[0].dtypes.items() if dtype == "category"]
    joined = pd.concat([part.astype(dict.fromkeys(categorical, "string")) for part in parts])
    return joined.reset_index(drop=True).astype(dict.fromkeys(categorical, "category"))


def as_it_was_before(store: Store) -> None:
    with store._database.writing() as connection:
        migrate(connection, "0001")


@pytest.mark.req("FR/timeline", "EV-11")
@pytest.mark.parametrize("written_by", ["this version", "the version before", "somebody else"])
def test_the_timeline_of_all_is_that_of_each_below_the_other(
    database: str, store: Store, writer: StoreWriter, sql: Sql, written_by: str
) -> None:
    put(writer, REPORTS_OF_ALL_SHAPES)
    if written_by == "the version before":
        as_it_was_before(store)
    if written_by == "somebody else":
        sql("UPDATE kandev_nb_reports SET checksum = ''")
    store.close()

    with closing(Controller(store=database)) as controller:
        assert controller.sessions().skipped == ()
        names = [session.session_id for session in controller.sessions()]
        every = controller.timeline()

    assert sorted(names) == sorted(REPORTS_OF_ALL_SHAPES)
    places = {name: number for number, name in enumerate(REPORTS_OF_ALL_SHAPES)}
    parts = [own_frame(name, places[name], REPORTS_OF_ALL_SHAPES[name]) for name in names]
    pd.testing.assert_frame_equal(every, one_after_the_other(parts), check_exact=True)
    assert {name: str(dtype) for name, dtype in every.dtypes.items()} == frames.ALL_TIMELINES
    assert every["kind"].eq("attempt_superseded").sum() == 6


@pytest.mark.req("FR/timeline")
def test_live_sessions_have_the_same_timeline_as_stored_ones(
    database: str, store: Store, writer: StoreWriter
) -> None:
    put(writer, REPORTS_OF_ALL_SHAPES)
    stored = store.sessions()
    with closing(Store(database)) as another:
        decoded = another.sessions()
        for session in decoded:
            session._is_ours = False

        pd.testing.assert_frame_equal(stored.timeline(), decoded.timeline(), check_exact=True)


@pytest.mark.req("EV-11")
def test_evidence_is_the_same_when_it_was_packed() -> None:
    for history in REPORTS_OF_ALL_SHAPES.values():
        for attempt in filter(None, (history.current, *history.previous)):
            columns = columns_of(attempt.evidence)
            name = attempt.attachment_attempt_id

            kept = json.loads(json.dumps(packed(columns)))

            assert repr(events_of(kept, name)) == repr(events_of(columns, name))


@pytest.mark.req("EV-11")
def test_columns_are_kept_as_codes_as_words_or_as_they_are() -> None:
    columns: dict[str, list[Any]] = {
        "few": ["a", None, "a", "c d", "a", None],
        "numbers": [1, 2, 2, 1, None, None],
        "words": ["a", "b", "c", "d", "e", "f"],
        "missing": ["a", "b", "c", "d", "e", None],
        "spaces": ["a", "b", "c", "d", "e", "f g"],
        "mixed": [1, True, 1, True, 1, True],
    }

    assert packed(columns) == {
        **columns,
        "few": {"values": ["a", None, "c d"], "codes": "010201"},
        "numbers": {"values": [1, 2, None], "codes": "011022"},
        "words": "a b c d e f",
    }


@pytest.mark.req("EV-11")
def test_a_store_of_the_version_before_holds_the_same_before_and_after(
    store: Store, writer: StoreWriter, sql: Sql
) -> None:
    rows = "SELECT session_id, body, checksum FROM kandev_nb_reports ORDER BY session_id"
    put(writer, {**REPORTS_OF_ALL_SHAPES, "edited": story().history, "cut": story().history})
    sql("UPDATE kandev_nb_reports SET body = substr(body, 1, 99) WHERE session_id = 'cut'")
    sql(
        "UPDATE kandev_nb_reports SET body = replace(body, 'github', 'gitlab') "
        "WHERE session_id = 'edited'"
    )
    now = sql(rows)

    as_it_was_before(store)
    before = {name: (body, checksum) for name, body, checksum in sql(rows)}
    store.close()
    sessions = {session.session_id: session for session in store.sessions()}

    assert sql(rows) == now
    assert before["cut"] == next(row[1:] for row in now if row[0] == "cut")
    evidence = json.loads(before["one-event"][0])["current"]["evidence"]
    assert evidence == {"server_name": ["kandev"], "kind": ["configured"], "occurred_at": [at(2)]}
    for name in ("full", "edited"):
        attempt = json.loads(before[name][0])["current"]
        assert {type(values) for values in attempt["evidence"].values()} == {list}
    assert {name for name, session in sessions.items() if not session._is_ours} == {"edited"}
    edited = sessions["edited"].report.current
    assert edited
    assert edited.server("gitlab")


@pytest.mark.req("EV-11")
def test_more_reports_than_one_step_of_a_migration_takes_are_all_rewritten(
    store: Store, writer: StoreWriter
) -> None:
    put(writer, {f"session-{number}": story().history for number in range(205)})

    def written() -> set[str]:
        with store._database.reading() as connection:
            return {
                type(json.loads(row.body)["current"]["evidence"]["server_name"]).__name__
                for row in connection.execute(REPORTS.select())
            }

    now = written()
    as_it_was_before(store)

    assert (now, written()) == ({"dict"}, {"list"})
