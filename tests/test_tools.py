"""Tools of the user's own, as a notebook registers them and a real agent calls them."""

import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kandev_nb import AgentError, ConfigError, Controller, Session, Task, ToolError
from kandev_nb.endpoint import BUILT_IN_NAMES
from tests.processes import eventually, run_script

BUILT_IN = len(BUILT_IN_NAMES)


@pytest.fixture
def own() -> Iterator[Controller]:
    """A controller of one test, because its tools reach every session."""
    with Controller() as controller:
        yield controller


def call(session: Session, tool: str, arguments: str = "{}") -> str:
    return session.prompt(f"call kandev {tool} {arguments}").text.strip()


def test_an_agent_calls_a_tool_of_the_session_and_the_function_stays_a_function(
    task: Task,
) -> None:
    session = task.start("scripted", name="with tools")

    @session.tool
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    assert add(1, 2) == 3
    assert call(session, "add", '{"a": 40, "b": 2}') == "42"
    assert "used" in repr(session)


def test_a_coroutine_function_and_other_names_words_and_bounds(task: Task) -> None:
    session = task.start("scripted")
    other = task.start("scripted")

    @session.tool(name="greet.politely", description="Greet.", timeout=5)
    async def greet(name: str) -> dict[str, str]:
        """This is not what the model reads."""
        return {"greeting": f"Good day, {name}"}

    assert call(session, "greet.politely", '{"name": "Ada"}') == '{"greeting":"Good day, Ada"}'
    assert "Unknown tool" in call(other, "greet.politely", '{"name": "Ada"}')
    row = wait_for_tools(session, BUILT_IN + 1)
    (shown,) = [tool for tool in row.tools if tool.name == "greet.politely"]
    assert shown.description == "Greet."


def wait_for_tools(session: Session, count: int) -> Any:
    session.prompt("list kandev")
    row = session.wait_for("kandev")
    assert row.tool_count == count
    return row


def test_a_tool_of_the_controller_reaches_every_session_now_and_later(own: Controller) -> None:
    before = own.task("t").start("scripted")

    @own.tool
    def where() -> str:
        """Say where this is."""
        return "everywhere"

    after = own.task("another").start("scripted")

    assert call(before, "where") == call(after, "where") == "everywhere"
    assert after.wait_for("kandev").tool_count == BUILT_IN + 1


def test_a_sessions_tool_stands_before_the_controllers_of_its_name(own: Controller) -> None:
    session, other = (own.task("t").start("scripted") for _ in range(2))
    own.tool(lambda: "the controller's", name="whose")
    session.tool(lambda: "the session's", name="whose")

    assert call(session, "whose") == "the session's"
    assert call(other, "whose") == "the controller's"
    session.remove_tool("whose")
    assert call(session, "whose") == "the controller's"
    own.remove_tool("whose")
    assert "Unknown tool" in call(session, "whose")


@pytest.mark.req("SE-6")
def test_running_the_cell_again_puts_the_new_function_in_place(task: Task) -> None:
    session = task.start("scripted")
    for answer in ("first", "second"):
        session.tool(lambda answer=answer: answer, name="version")
        assert call(session, "version") == answer

    assert wait_for_tools(session, BUILT_IN + 1)


@pytest.mark.req("CA-1")
def test_the_row_says_that_its_catalog_may_be_stale_until_the_agent_lists_again(
    task: Task,
) -> None:
    session = task.start("scripted")
    session.wait_for("kandev", "active")
    assert "stale" not in repr(session)

    session.tool(lambda: "x", name="new")

    assert "7 tools" in repr(session)
    assert "catalog may be stale" in repr(session)
    assert "The tools have changed since they were listed" in session.explain("kandev")
    session.prompt("list kandev")
    assert "have changed" not in session.explain("kandev")
    assert "8 tools" in repr(session)
    assert "stale" not in repr(session)


def test_a_name_of_kandevs_own_is_refused(task: Task, own: Controller) -> None:
    session = task.start("scripted")

    for offers in (session, own):
        with pytest.raises(ConfigError, match="a tool of Kandev's own") as refused:
            offers.tool(lambda: "x", name="get_task_plan_kandev")
        assert refused.value.reason_code == "invalid_tool"


def test_what_was_not_registered_cannot_be_removed_and_what_is_there_is_said(
    own: Controller,
) -> None:
    with pytest.raises(ConfigError, match=r"No tool 'x' was registered here\. Registered: none"):
        own.remove_tool("x")
    own.tool(lambda: "y", name="y")
    with pytest.raises(ConfigError, match="Registered: y"):
        own.remove_tool("get_task_plan_kandev")


@pytest.mark.parametrize("timeout", [-1, "soon", True])
def test_a_bound_that_is_no_number_of_seconds_is_refused(own: Controller, timeout: Any) -> None:
    with pytest.raises(ConfigError, match="timeout= is no number of seconds"):
        own.tool(timeout=timeout)


def test_a_closed_session_takes_no_tools(task: Task) -> None:
    session = task.start("scripted")
    session.close()

    with pytest.raises(AgentError, match="is closed"):
        session.tool(lambda: "x", name="x")


@pytest.mark.req("SE-6")
def test_a_tool_that_knows_its_session_does_not_keep_the_controller_alive() -> None:
    kandev = Controller()
    session = kandev.task("t").start("scripted")

    @session.tool
    def name() -> str:
        """Say the session's name."""
        return session.name

    assert call(session, "name") == "1"
    del kandev
    gc.collect()

    assert eventually(lambda: session.state == "closed")


@pytest.mark.req("SE-7")
def test_a_tool_that_fails_is_told_to_the_agent_and_the_session_goes_on(task: Task) -> None:
    session = task.start("scripted")

    @session.tool
    def fails(how: str) -> str:
        """Fail."""
        if how == "politely":
            raise ToolError("Ask me tomorrow.")
        if how == "at once":
            raise SystemExit(1)
        raise ValueError("no such order")

    assert "Ask me tomorrow." in call(session, "fails", '{"how": "politely"}')
    assert "The tool failed: SystemExit." in call(session, "fails", '{"how": "at once"}')
    assert "The tool failed: ValueError: no such order" in call(session, "fails", '{"how": ""}')
    assert session.state == "running"
    assert session.status("kandev") == "active", "a tool that raises is no attachment failure"


@pytest.mark.req("SE-7")
def test_health_counts_what_runs_and_what_ran_over_its_time(own: Controller) -> None:
    session = own.task("t").start("scripted")
    released, entered = threading.Event(), threading.Event()

    @session.tool(timeout=0.3)
    def stuck() -> str:
        """Stay."""
        entered.set()
        released.wait(60)
        return "late"

    assert own.health().is_well
    assert "The tool did not end within 0.3 s" in call(session, "stuck")

    health = own.health()
    assert (health.open_sessions, health.tools_overdue) == (1, ("stuck",))
    assert not health.is_well
    assert "tool calls over their time: stuck × 1" in repr(health)
    released.set()
    assert eventually(lambda: own.health().is_well)
    session.close()
    assert own.health().open_sessions == 0


@pytest.mark.req("CF-3", "AC.4")
def test_an_agent_that_takes_no_http_gets_the_built_in_server_over_sse(task: Task) -> None:
    session = task.start("scripted", args=["--mcp-capabilities", "sse"])

    row = session.wait_for("kandev", "active")
    assert (row.transport, row.tool_count, row.connection_id) == ("sse", BUILT_IN, "mcp-1")
    assert '"sessions"' in call(
        session, "list_task_sessions_kandev", f'{{"task_id": "{task.task_id}"}}'
    )

    session.close()
    assert "connection_closed" not in set(session.timeline()["kind"])
    assert session.status("kandev") == "active"


@pytest.mark.req("EV-5")
def test_the_death_of_an_agent_over_sse_changes_no_row(task: Task) -> None:
    session = task.start("scripted", args=["--mcp-capabilities", "sse"])
    session.wait_for("kandev", "active")

    with pytest.raises(AgentError, match="exit code 7"):
        session.prompt("exit 7")

    attempt = session.report.current
    assert attempt
    assert attempt.ended_at
    assert session.status("kandev") == "active"
    assert "connection_closed" not in set(session.timeline()["kind"])


@pytest.mark.req("CF-2", "CF-3")
def test_an_agent_that_takes_neither_lists_the_tools_over_the_bridge(task: Task) -> None:
    session = task.start("scripted", args=["--mcp-capabilities", "none"])

    session.wait_for("kandev", "active")

    row = session.view.row("kandev")
    assert row
    assert "over the stdio bridge" in [detail.text for detail in row.details]


@pytest.mark.req("SE-7")
def test_a_second_prompt_is_refused_while_the_first_is_answered(task: Task) -> None:
    session = task.start("scripted")
    refusals: list[str] = []

    @session.tool
    def ask_again() -> str:
        """Prompt the session that is being answered."""
        try:
            return session.prompt("say second").text
        except AgentError as refused:
            refusals.append(refused.reason_code)
            raise

    answer = call(session, "ask_again")

    assert "is answering a prompt. Wait for it or interrupt it" in answer
    assert refusals == ["prompt_under_way"]
    assert session.prompt("say again").text.strip() == "again"


def test_the_built_in_names_are_those_of_the_tools(task: Task) -> None:
    session = task.start("scripted")

    assert sorted(tool.name for tool in session.wait_for("kandev").tools) == sorted(BUILT_IN_NAMES)


@pytest.mark.req("SE-7", "SE-3")
@pytest.mark.parametrize("end", ["session.close()", ""], ids=["close", "exit"])
def test_nothing_is_said_when_a_session_ends_during_a_call(end: str) -> None:
    script = f"""
        import threading
        from kandev_nb import AgentError, Controller

        kandev = Controller()
        session = kandev.task("t").start("scripted")
        entered = threading.Event()

        @session.tool
        async def stays() -> str:
            import asyncio
            entered.set()
            await asyncio.Event().wait()

        def ask():
            try:
                session.prompt("call kandev stays {{}}")
            except AgentError:  # The session ends.
                pass
        threading.Thread(target=ask, daemon=True).start()
        assert entered.wait(20)
        {end}
    """
    done = run_script(script)

    assert (done.returncode, done.stderr) == (0, "")
