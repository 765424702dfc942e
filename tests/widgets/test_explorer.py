"""The explorer, as the kernel sees it. What a person makes of it: ``tests/e2e``."""

import gc
import json
import os
import signal
import threading
import weakref
from functools import partial
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets  # type: ignore[import-untyped]
import pytest
import traitlets

from kandev_nb import ConfigError, Controller, Explorer, Session, Store, Task
from tests.processes import eventually
from tests.widgets.explored import Page, shown

IGNORES = ("--scenario", "ignores")
FILES = {"files": {"command": "no-such-command-4711", "args": ["--root", "/srv"]}}


@pytest.mark.req("UI/Explorer, wide")
def test_an_explorer_of_a_session_shows_its_servers_and_what_can_be_done(task: Task) -> None:
    session = task.start("scripted", servers=FILES, name="triage")
    with shown(session) as page:
        page.reply("watch")
        page.wait_for_status("kandev", "active")
        row = page.explorer.rows["rows"][0]

        assert page.explorer.session == session.session_id
        assert [each["id"] for each in page.explorer.sessions] == [session.session_id]
        assert "triage" in page.explorer.sessions[0]["label"]["text"]
        assert page.explorer.actions == [
            "test_endpoint",
            "recent_output",
            "diagnostics",
            "reset",
            "restart",
        ]
        assert (row["built_in"], row["tools"]) == (
            True,
            session.report.current.servers[0].tool_count,  # type: ignore[union-attr]
        )
        assert row["tokens"] > 100
        assert not page.explorer.saved


@pytest.mark.req("UI/Explorer, wide")
def test_a_status_reaches_the_page_when_it_changes(task: Task) -> None:
    session = task.start("scripted", args=IGNORES)
    with shown(session) as page:
        page.reply("watch")
        assert page.statuses() == {"kandev": "delivered"}

        session.prompt("connect kandev\nlist kandev")

        page.wait_for_status("kandev", "active")


@pytest.mark.req("UI/Explorer, wide", "DI-4")
def test_the_page_is_told_the_details_of_the_server_that_it_selects_and_of_no_other(
    task: Task,
) -> None:
    session = task.start("scripted", servers=FILES)
    with shown(session) as page:
        page.choose(server="kandev")
        page.draw()
        assert page.details() == []

        page.reply("watch")
        page.wait_until(lambda: bool(page.details()))
        page.choose(server="files")
        page.wait_until(lambda: page.details()[-1]["detail"]["server"] == "files")

        assert page.details()[-1]["session"] == session.session_id
        assert {told["detail"]["server"] for told in page.details()} == {"kandev", "files"}


@pytest.mark.req("UI")
def test_a_second_view_is_told_the_details_again_and_one_that_knows_them_is_not(
    task: Task,
) -> None:
    session = task.start("scripted")
    session.wait_for("kandev")
    with shown(session) as page:
        page.choose(server="kandev")
        page.reply("watch")
        page.wait_until(lambda: len(page.details()) == 1)

        page.choose(server="kandev")
        page.choose(session=session.session_id)
        page.reply("catalog", session=session.session_id, server="kandev")
        page.reply("watch")
        page.wait_until(lambda: len(page.details()) == 2)

        assert page.details()[0] == page.details()[1]


@pytest.mark.req("SA-1", "SA-3")
def test_what_no_notebook_may_save_is_no_part_of_the_state(task: Task) -> None:
    session = task.start("scripted", env={"A_TOKEN": "secret-4711"})
    session.wait_for("kandev")
    with shown(session) as page:
        page.choose(server="kandev")
        page.reply("watch")
        page.wait_until(lambda: bool(page.details()))
        page.reply("recent_output", session=session.session_id)
        own = {"view", "rows", "sessions", "session", "server", "actions", "saved"}
        inherited = set(anywidget.AnyWidget.class_trait_names(sync=True))

        state = page.explorer.get_state()

        assert set(state) - inherited == {*own, "_esm", "_anywidget_id"}
        assert "checklist" not in json.dumps({name: state[name] for name in own})
        assert "secret-4711" not in json.dumps([state[name] for name in own] + page.messages)


@pytest.mark.req("UI")
def test_a_status_change_with_five_servers_takes_at_most_4_kilobytes(task: Task) -> None:
    servers = {f"server-{n}": {"url": f"http://127.0.0.1:9/{n}"} for n in range(4)}
    session = task.start("scripted", servers=servers)
    session.wait_for("kandev")
    with shown(session) as page:
        page.wait_for_status("kandev", "active")
        assert len(page.explorer.rows["rows"]) == 5

        assert len(json.dumps(page.explorer.rows, separators=(",", ":")).encode()) <= 4096


@pytest.mark.req("UI/Explorer, wide")
def test_sessions_come_and_go_in_the_switcher_and_the_view_falls_back_to_an_open_one(
    task: Task,
) -> None:
    first = task.start("scripted", name="first")
    with shown(task) as page:
        page.reply("watch")
        assert ids(page) == [first.session_id]

        second = task.start("scripted", name="second")
        page.wait_until(lambda: ids(page) == [first.session_id, second.session_id])
        assert page.explorer.session == first.session_id

        first.close()
        page.wait_until(lambda: ids(page) == [second.session_id])
        assert page.explorer.session == second.session_id

        second.close()
        page.wait_until(lambda: page.explorer.actions == ["diagnostics"])
        assert page.explorer.session == second.session_id
        assert page.statuses() == {"kandev": "active"}

        third = task.start("scripted", name="third")
        page.wait_until(lambda: page.explorer.session == third.session_id)


@pytest.mark.req("UI/Explorer, wide", "SE-1")
def test_an_explorer_of_a_controller_shows_the_sessions_of_all_tasks_by_task() -> None:
    with Controller(store=False) as kandev, shown(kandev) as page:
        page.reply("watch")
        assert page.explorer.rows["empty"]["key"] == "empty.nothing_started"

        one = kandev.task("one").start("scripted")
        page.wait_until(lambda: page.explorer.session == one.session_id)
        two = kandev.task("two").start("scripted")
        page.wait_until(lambda: ids(page) == [one.session_id, two.session_id])

        labels = [each["label"]["text"] for each in page.explorer.sessions]
        assert labels == ['one · session "1" · scripted', 'two · session "1" · scripted']


@pytest.mark.req("UI/Explorer, wide")
def test_each_choice_of_a_session_brings_new_rows_also_of_the_same_session(task: Task) -> None:
    first, second = task.start("scripted"), task.start("scripted")
    for session in (first, second):
        session.wait_for("kandev")
    with shown(task) as page:
        page.choose(session=first.session_id)
        page.wait_until(lambda: page.explorer.rows["choices"] == 1)
        before = page.explorer.rows

        page.choose(session=first.session_id)
        page.wait_until(lambda: page.explorer.rows["choices"] == 2)
        assert page.explorer.rows == before | {"choices": 2}

        page.choose(session="session-of-nobody")
        page.wait_until(lambda: page.explorer.rows["choices"] == 3)
        assert page.explorer.session == second.session_id


@pytest.mark.req("UI/Actions")
def test_only_what_a_session_can_do_now_is_offered_and_done(task: Task) -> None:
    session = task.start("scripted")
    agent = session._core.agent
    assert agent
    with shown(session) as page:
        page.reply("watch")
        os.kill(agent.pid, signal.SIGKILL)
        page.wait_until(lambda: "test_endpoint" not in page.explorer.actions)
        assert page.explorer.actions == ["recent_output", "diagnostics", "restart"]
        assert "does not offer" in page.refusal("reset", session=session.session_id)

        assert page.reply("restart", session=session.session_id) == {}
        page.wait_until(lambda: "reset" in page.explorer.actions)
        assert page.reply("reset", session=session.session_id) == {}

    assert session.report.current
    assert session.report.current.kind == "reset"
    assert [attempt.kind for attempt in session.report.previous] == ["restart", "new"]


@pytest.mark.req("UI/Actions")
def test_a_cli_in_a_terminal_is_offered_no_reset(task: Task) -> None:
    session = task.start(passthrough=["sh", "-c", "cat"], strategy="claude")
    with shown(session) as page:
        assert "restart" in page.explorer.actions
        assert "reset" not in page.explorer.actions


@pytest.mark.req("DI-1", "UI/Actions")
def test_a_test_that_starts_a_command_asks_first_and_starts_nothing(task: Task) -> None:
    session = task.start("scripted", servers=FILES)
    whose = {"session": session.session_id, "server": "files"}
    with shown(session) as page:
        asked = page.reply("test_endpoint", **whose, consent=False)
        assert "no-such-command-4711" in asked["consent"]["text"]
        assert "2 arguments" in asked["consent"]["text"]
        assert "/srv" not in asked["consent"]["text"]
        row = session.report.current and session.report.current.server("files")
        assert row
        assert row.endpoint_test is None

        tested = page.reply("test_endpoint", **whose, consent=True)
        assert tested["consent"] is None
        assert tested["text"]["text"].startswith("Test failed: The command was not found")

        own = page.reply("test_endpoint", session=session.session_id, server="kandev")
        assert own["text"]["text"].startswith("Test reached the server: 7 tools in ")


@pytest.mark.req("DI-2", "SA-3", "UI/Actions")
def test_output_and_diagnostics_are_replies_that_say_what_they_hold(task: Task) -> None:
    session = task.start("scripted")
    whose = {"session": session.session_id}
    with shown(session) as page:
        output = page.reply("recent_output", **whose)
        assert "credentials" in output["warning"]["text"]
        assert bool(output["lines"]) is not bool(output["why_none"])

        made = page.reply("diagnostics", **whose)
        assert session.session_id in made["text"]
        assert "Raw ACP and MCP frames" in made["left_out"]["text"]


@pytest.mark.req("CA-6", "UI/Explorer, wide")
def test_a_catalog_is_that_of_its_revision_and_says_how_clients_name_a_tool(task: Task) -> None:
    session = task.start("scripted")
    session.wait_for("kandev")
    with shown(session) as page:
        page.wait_for_status("kandev", "active")
        row = page.explorer.rows["rows"][0]
        whose = {"session": session.session_id, "server": "kandev"}
        catalog = page.reply("catalog", **whose, revision=row["catalog"])

        assert catalog["revision"] == row["catalog"] != ""
        assert len(catalog["tools"]) == row["tools"]
        assert sum(tool["tokens"] for tool in catalog["tools"]) == row["tokens"]
        plan = next(t for t in catalog["tools"] if t["name"] == "create_task_plan_kandev")
        assert plan["names"][0] == {
            "client": "Claude Code",
            "name": "mcp__kandev__create_task_plan_kandev",
        }
        assert [argument["name"] for argument in plan["arguments"]["rows"]]


@pytest.mark.req("UI")
@pytest.mark.parametrize(
    ("op", "args", "words"),
    [
        ("dance", {}, "does not offer"),
        ("catalog", {"server": "nobody"}, "no server of that name"),
        ("test_endpoint", {"server": "nobody"}, "It has: kandev"),
        ("reset", {"session": "session-of-nobody"}, "not shown here"),
        ("words", {"language": "../de"}, "no words in that language"),
        ("words", {"language": "eo"}, "no words in that language"),
    ],
)
def test_a_request_that_cannot_be_met_is_answered_with_the_reason(
    kandev: Controller, op: str, args: dict[str, Any], words: str
) -> None:
    task = kandev.task("refused")
    session = task.sessions[0] if task.sessions else task.start("scripted")
    with shown(session) as page:
        assert words in page.refusal(op, **{"session": session.session_id, **args})


@pytest.mark.req("SA-2")
def test_of_an_error_that_is_not_ours_only_the_type_is_told(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = task.start("scripted")

    async def fail(launch: object) -> None:
        raise OSError("secret-4711")

    monkeypatch.setattr(session._core, "restart", fail)
    with shown(session) as page:
        assert page.refusal("restart", session=session.session_id) == (
            "That could not be done: OSError"
        )


@pytest.mark.req("UI")
@pytest.mark.parametrize("message", [None, 5, {}, {"id": 5}, {"op": "reset"}], ids=repr)
def test_a_message_of_another_shape_is_no_request(task: Task, message: Any) -> None:
    with shown(task) as page:
        page.explorer._handle_custom_msg(message, [])

        assert page.refusal("reset", session="none")
        assert len(page.messages) == 1


@pytest.mark.req("SE-5")
def test_a_closed_explorer_runs_nothing_and_watches_nobody(task: Task) -> None:
    session = task.start("scripted")
    session.wait_for("kandev")
    before = threads()
    with shown(session) as page:
        page.reply("watch")
        page.draw()
        assert threads() == before + 1

    assert eventually(lambda: threads() == before)
    assert session._core.task.changes._watchers == []
    told = len(page.rows)
    session.reset()
    assert len(page.rows) == told


@pytest.mark.req("SE-5")
def test_the_page_that_closes_an_explorer_ends_it(task: Task) -> None:
    explorer = Explorer(task)
    explorer.observe(lambda _: None, "rows")
    assert len(task._core.changes._watchers) == 1

    explorer.comm.handle_close({})

    assert task._core.changes._watchers == []
    assert explorer.comm is None


@pytest.mark.req("SE-5")
def test_an_explorer_that_nobody_looks_at_draws_nothing(task: Task) -> None:
    explorer = Explorer(task)
    before = explorer.rows

    task.start("scripted").wait_for("kandev")

    assert task._core.changes._watchers == []
    assert explorer.rows == before
    explorer._repr_mimebundle_()
    assert eventually(lambda: explorer.rows["rows"] != [])
    explorer.close()


@pytest.mark.req("SE-6")
def test_a_displayed_explorer_keeps_no_controller_alive() -> None:
    kandev = Controller(store=False)
    task = kandev.task("t")
    session = task.start("scripted")
    dropped = weakref.ref(kandev)
    pages = [Page(Explorer(each)) for each in (kandev, task, session)]
    for page in pages:
        page.reply("watch")
        page.draw()

    del kandev, task, session
    gc.collect()

    assert dropped() is None
    for page in pages:
        explorer = page.explorer
        assert eventually(partial(lambda of: of.actions == ["diagnostics"], explorer))
        page.explorer.close()


@pytest.mark.req("UI")
def test_an_explorer_composes_with_other_widgets(task: Task) -> None:
    session = task.start("scripted", servers=FILES)
    session.wait_for("kandev")
    explorer = Explorer(session)
    name = ipywidgets.Text()
    seen: list[dict[str, Any]] = []
    box = ipywidgets.Tab([ipywidgets.VBox([explorer, name])], titles=["Servers"])

    traitlets.link((explorer, "server"), (name, "value"))
    explorer.observe(lambda change: seen.append(change["new"]), "rows")
    explorer.set_state({"server": "files"})
    linked, name.value = name.value, "kandev"

    assert isinstance(explorer, ipywidgets.DOMWidget)
    assert box.children[0].children[0] is explorer
    assert linked == "files"
    assert explorer.server == "kandev"
    session.reset()
    assert eventually(lambda: bool(seen))
    assert session._core.task.changes._watchers
    explorer.close()


@pytest.mark.req("UI")
def test_the_text_of_an_explorer_is_the_table(task: Task) -> None:
    session = task.start("scripted")
    session.wait_for("kandev")
    explorer = Explorer(session)

    bundle = explorer._repr_mimebundle_()

    assert bundle
    assert bundle[0]["text/plain"] == str(session)
    assert "application/vnd.jupyter.widget-view+json" in bundle[0]
    assert repr(explorer) == "Explorer()"
    explorer.close()


@pytest.mark.req("EV-11", "UI/States every view must have")
def test_a_stored_session_is_explored_as_saved_and_offers_nothing(tmp_path: Path) -> None:
    with Controller(store=tmp_path / "store.db") as kandev:
        session = kandev.task("t").start("scripted", name="main")
        session.wait_for("kandev")
    stored = Store(tmp_path / "store.db").session(session.session_id)

    with shown(stored) as page:
        page.choose(server="kandev")
        page.reply("watch")
        page.wait_until(lambda: bool(page.details()))

        assert page.explorer.saved
        assert page.explorer.actions == []
        assert page.statuses() == {"kandev": "active"}
        assert "does not offer" in page.refusal("diagnostics", session=session.session_id)
        catalog = page.reply("catalog", session=session.session_id, server="kandev")
        assert len(catalog["tools"]) == 7


def test_an_explorer_of_anything_else_is_refused() -> None:
    with pytest.raises(ConfigError, match="An explorer shows no str"):
        Explorer("triage")  # type: ignore[arg-type]


def stored_status(place: Path, session: Session) -> str:
    try:
        return Store(place).session(session.session_id).status("kandev")
    except ConfigError:
        return ""


def ids(page: Page) -> list[str]:
    return [each["id"] for each in page.explorer.sessions]


def threads() -> int:
    return sum(thread.name == "kandev-nb-subscriber" for thread in threading.enumerate())
