"""What the libraries log while kandev-nb runs, and what our own logger tells of it."""

import asyncio
import gc
import importlib.util
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from kandev_nb import Controller, logs, runtime
from tests.processes import eventually, run_script

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def restrained() -> Iterator[None]:
    before = logging.getLogRecordFactory()
    logs.restrain()
    yield
    logging.setLogRecordFactory(before)


def fail(error: BaseException) -> None:
    raise error


def log(name: str, caplog: pytest.LogCaptureFixture) -> str:
    caplog.clear()
    with caplog.at_level(logging.DEBUG, name):
        try:
            fail(ValueError(SECRET))
        except ValueError:
            logging.getLogger(name).exception("text %s", SECRET, stack_info=True)
    return caplog.text


@pytest.mark.req("SA-1")
@pytest.mark.parametrize("library", logs.LIBRARIES)
def test_a_library_logs_where_and_what_type_and_no_content(
    library: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name in (library, f"{library}.made.after.that"):
        text = log(name, caplog)
        assert SECRET not in text
        assert "log: ValueError" in text


@pytest.mark.parametrize("name", ["kandev_nb.x", "mcpx", "myapp", "root", "asyncio"])
def test_others_log_what_they_like(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert f"text {SECRET}" in log(name, caplog)


@pytest.mark.req("SA-1")
@pytest.mark.parametrize("library", ["mcp", "acp"])
def test_what_a_library_logs_on_the_root_logger_is_restrained_too(
    library: str, caplog: pytest.LogCaptureFixture
) -> None:
    spec = importlib.util.find_spec(library)
    assert spec
    assert spec.origin
    code = compile(
        f"def careless(logging): logging.warning('text {SECRET}')",
        str(Path(spec.origin).parent / "somewhere.py"),
        "exec",
    )
    careless: dict[str, object] = {}
    exec(code, careless)

    careless["careless"](logging)  # type: ignore[operator]

    assert SECRET not in caplog.text
    assert "careless" in caplog.text


@pytest.mark.req("SA-1")
def test_asyncio_reports_of_our_loops_tasks_by_place_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def forgotten() -> None:
        async def fails() -> None:
            raise ValueError(SECRET)

        task = asyncio.create_task(fails())
        await asyncio.wait([task])
        del task
        gc.collect()

    runtime.call(forgotten, timeout=10, what="the call")

    assert eventually(lambda: "default_exception_handler" in caplog.text)
    assert SECRET not in caplog.text


def test_restraining_again_adds_nothing_and_survives_another_factory() -> None:
    once = logging.getLogRecordFactory()
    logs.restrain()
    assert logging.getLogRecordFactory() is once

    logging.setLogRecordFactory(lambda *details, **more: once(*details, **more))
    wrapped = logging.getLogRecordFactory()
    logs.restrain()
    assert logging.getLogRecordFactory() is wrapped
    logging.setLogRecordFactory(logging.LogRecord)
    logs.restrain()
    assert logging.getLogRecordFactory() is not logging.LogRecord


def test_a_cancelled_request_is_nothing_to_report(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    try:
        fail(asyncio.CancelledError())
    except asyncio.CancelledError:
        logging.getLogger("uvicorn.error").exception("request cancelled")

    assert caplog.records == []


@pytest.mark.req("SA-1")
def test_our_own_logger_tells_at_debug_level_what_happens_and_no_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "kandev_nb")
    with Controller() as kandev:
        session = kandev.task("t").start(
            "scripted", servers={"github": {"url": f"http://127.0.0.1:9/{SECRET}"}}
        )
        session.wait_for("kandev", "active")
        session.prompt(f'call kandev create_task_plan_kandev {{"content": "{SECRET}"}}')
        attempt = session.report.current
        assert attempt

    told = [record.getMessage() for record in caplog.records if record.name.startswith("kandev_nb")]
    for words in (
        "github delivered",
        "kandev tools_list_observed 7 on mcp-1",
        "kandev tool_call_observed create_task_plan_kandev on mcp-1",
    ):
        assert f"{attempt.attachment_attempt_id}: {words}" in told
    assert any(words.startswith("the agent's process has started") for words in told)
    assert any(words.startswith("the agent's process has ended") for words in told)
    assert SECRET not in caplog.text


@pytest.mark.req("SA-1")
def test_nothing_is_printed_unasked_and_the_root_logger_gets_no_handler() -> None:
    script = """
        from kandev_nb import Controller

        with Controller() as kandev:
            session = kandev.task("t").start("scripted", args=["--mcp-capabilities", "sse"])
            session.wait_for("kandev", "active")
        import acp, logging, mcp.server.sse
        for module in (acp.connection, acp.task.sender, acp.task.supervisor, mcp.server.sse):
            module.logging.debug("careless")
        assert logging.getLogger().handlers == []
    """
    done = run_script(script)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
