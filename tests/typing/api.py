"""The public API as a type checker sees it; checked by mypy, never run."""

from pathlib import Path
from typing import assert_type

import pandas as pd

from kandev_nb import (
    Controller,
    Diagnostics,
    EndpointTest,
    History,
    PermissionRequest,
    Plan,
    Policy,
    ProbeResult,
    Profile,
    PromptResult,
    Session,
    StoredSession,
    Task,
    plan,
    probe,
    probe_frame,
    read_policy,
    read_profile,
)
from kandev_nb.agents.permission import PermissionCounts
from kandev_nb.attachment import ServerAttachment, View
from kandev_nb.servers import HttpServer, StdioServer


def synchronous() -> None:
    with Controller() as kandev:
        task = assert_type(kandev.task("t"), Task)
        session = assert_type(task.start("scripted", servers={"x": {"command": "y"}}), Session)
        assert_type(session.wait_for("x", "active", timeout=1), ServerAttachment)
        assert_type(session.prompt("say hello"), PromptResult)
        assert_type(session.report, History)
        assert_type(session.view, View)
        assert_type(session.status("x"), str)
        assert_type(session.timeline(), pd.DataFrame)
        assert_type(session.servers(), pd.DataFrame)
        unsubscribe = session.subscribe(lambda history: print(history.revision))  # noqa: T201
        unsubscribe()
        assert_type(kandev.health().tools_overdue, tuple[str, ...])

        @session.tool
        def add(a: int, b: int) -> int:
            return a + b

        @kandev.tool(name="wait", timeout=None)
        async def wait_for_it(seconds: float) -> None: ...

        assert_type(add(1, 2), int)
        assert_type(session.tool(add, name="plus")(1, 2), int)
        session.remove_tool("plus")
        session.close()


def meant(task: Task) -> None:
    profile = assert_type(read_profile(Path("mcp.json"), format="cursor"), Profile)
    policy = assert_type(read_policy({"allow_sse": False}), Policy)
    made = assert_type(plan(profile, policy, "scripted", env={"A": "b"}, cwd="."), Plan)
    assert_type(made.frame, pd.DataFrame)
    assert_type(made.to_json(), list[dict[str, str]])
    task.start("scripted", servers="mcp.json", policy="local")
    models = [StdioServer(name="a", command="b"), HttpServer(name="c", url="https://h.test")]
    task.start("scripted", servers=models, policy=Path("policy.toml"))


def conversed(task: Task) -> None:
    def allow(request: PermissionRequest) -> bool:
        return request.kind == "read"

    session = task.start("gemini", npx=True, permissions=allow, files=False, terminal=True)
    session.prompt("say hello", on_text=print, echo=True)
    session.reset(servers={"x": {"command": "y"}}, policy="local")
    session.load("id")
    session.set_mode("plan")
    assert_type(session.modes, tuple[str, ...])
    assert_type(session.permission_counts, PermissionCounts | None)
    task.start("claude", permissions="allow", resume="id")


async def awaited(task: Task) -> None:
    session = assert_type(await task.aio.start(exec=["agent", "acp"]), Session)
    assert_type(await session.aio.wait_for("x"), ServerAttachment)
    assert_type(await session.aio.prompt("say hello"), PromptResult)
    await session.aio.close()


async def looked_into(session: Session, stored: StoredSession) -> None:
    assert_type(session.test_endpoint("x", timeout=5, consent=True), EndpointTest)
    assert_type(await session.aio.test_endpoint("x"), EndpointTest)
    assert_type(session.diagnostics(), Diagnostics)
    assert_type(stored.diagnostics(), Diagnostics)
    assert_type(probe("scripted", transport="http", prompt="say hello"), ProbeResult)
    assert_type(probe_frame("probe.jsonl"), pd.DataFrame)
