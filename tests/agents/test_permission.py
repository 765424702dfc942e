"""Who decides about what an agent wants to be allowed, and what becomes of the answer."""

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kandev_nb.agents.permission import Choice, PermissionCounts, PermissionRequest, Permissions
from kandev_nb.agents.requests import Client
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError
from tests.agents.asking import ASKING, CANCELLED, SESSION, ask, permission, request, selected
from tests.agents.conftest import Opening, until
from tests.processes import eventually

pytestmark = [pytest.mark.anyio, pytest.mark.req("SE-4")]

ALL = ("reject_always", "allow_always", "reject_once", "allow_once")
SECRET = "sk-live-do-not-log-this"

Answering = Callable[..., Client]


@pytest.fixture
def client(tmp_path: Path) -> Answering:
    def client(permissions: Permissions, **options: Any) -> Client:
        return Client.in_directory(tmp_path, permissions=permissions, **options)

    return client


@pytest.mark.parametrize(
    ("choice", "offered", "outcome"),
    [
        (True, ALL, selected("allow_once")),
        (False, ALL, selected("reject_once")),
        ("allow_once", ALL, selected("allow_once")),
        ("allow_always", ALL, selected("allow_always")),
        ("reject_once", ALL, selected("reject_once")),
        ("reject_always", ALL, selected("reject_always")),
        (True, ("reject_once", "allow_always"), selected("allow_always")),
        ("allow_always", ("reject_once", "allow_once"), selected("allow_once")),
        (False, ("reject_always", "allow_once"), selected("reject_always")),
        ("reject_always", ("reject_once", "allow_once"), selected("reject_once")),
        (True, ("reject_once", "reject_always"), CANCELLED),
        (False, ("allow_once", "allow_always"), CANCELLED),
        (True, ("something_new",), CANCELLED),
        (True, (), CANCELLED),
    ],
)
async def test_an_option_is_chosen_by_its_kind_and_never_from_the_other_side(
    opened: Opening,
    client: Answering,
    choice: Choice,
    offered: tuple[str, ...],
    outcome: dict[str, Any],
) -> None:
    async with opened(ASKING, client=client(lambda _: choice)) as connection:
        assert (await ask(connection, permission(*offered)))[0] == outcome


async def test_the_first_of_two_options_of_one_kind_is_chosen(
    opened: Opening, client: Answering
) -> None:
    asked = permission()
    asked["params"]["options"] = [
        "odd",
        {"kind": "allow_once"},
        {"kind": ["allow_once"], "optionId": "z"},
        {"kind": "allow_once", "optionId": "first"},
        {"kind": "allow_once", "optionId": "second"},
    ]
    async with opened(ASKING, client=client("allow")) as connection:
        answer = (await ask(connection, asked))[0]
    assert answer == {"result": {"outcome": {"outcome": "selected", "optionId": "first"}}}


@pytest.mark.parametrize(
    ("permissions", "kind"),
    [("allow", "allow_once"), ("deny", "reject_once"), ("ask", "reject_once")],
)
async def test_a_word_decides_at_once_and_nobody_to_ask_is_a_no(
    opened: Opening, client: Answering, permissions: Permissions, kind: str
) -> None:
    async with opened(ASKING, client=client(permissions)) as connection:
        assert (await ask(connection, permission(*ALL)))[0] == selected(kind)


async def test_a_function_sees_what_is_asked_off_the_loop(
    opened: Opening, client: Answering
) -> None:
    seen: list[tuple[PermissionRequest, threading.Thread]] = []

    def decide(asked: PermissionRequest) -> bool:
        seen.append((asked, threading.current_thread()))
        return True

    wanted = permission(
        "allow_once",
        "reject_once",
        title="Look up \x1b[31mtoken=abcdefghijklmnop1234",
        kind="fetch",
        rawInput={"password": SECRET},
        _meta={"other": 1, "vendor": {"toolName": "mcp__github__search"}},
    )
    async with opened(ASKING, client=client(decide, session="mine")) as connection:
        await ask(connection, wanted, permission("allow_once", title="plain", kind=7))
    (full, thread), (bare, _) = sorted(seen, key=lambda each: each[0].title)
    assert full == PermissionRequest(
        session="mine",
        title="Look up \x1b[31mtoken=abcdefghijklmnop1234",
        tool="mcp__github__search",
        kind="fetch",
        tool_call_id="call-1",
        options=("allow_once", "reject_once"),
    )
    assert full.arguments == {"password": SECRET}
    assert (bare.tool, bare.kind, bare.arguments) == ("plain", "other", None)
    assert thread is not threading.current_thread()
    assert "mcp__github__search" in repr(full)
    for hidden in (SECRET, "abcdefghijklmnop1234", "\x1b"):
        assert hidden not in repr(full)


async def _decide(_: PermissionRequest) -> Choice:
    await asyncio.sleep(0)
    _threads.append(threading.current_thread())
    return "allow_always"


class _Decider:
    async def __call__(self, asked: PermissionRequest) -> Choice:
        return await _decide(asked)


_threads: list[threading.Thread] = []


@pytest.mark.parametrize(
    "permissions",
    [_decide, _Decider(), lambda asked: _decide(asked)],
    ids=["def", "call", "lambda"],
)
async def test_a_coroutine_function_decides_on_a_loop_of_the_tools(
    opened: Opening, client: Answering, permissions: Permissions
) -> None:
    _threads.clear()
    async with opened(ASKING, client=client(permissions)) as connection:
        assert (await ask(connection, permission(*ALL)))[0] == selected("allow_always")
    assert [thread is threading.current_thread() for thread in _threads] == [False]


def _raise(error: BaseException) -> Callable[[PermissionRequest], Any]:
    def decide(_: PermissionRequest) -> Any:
        raise error

    return decide


def _raise_later(error: BaseException) -> Callable[[PermissionRequest], Any]:
    async def decide(_: PermissionRequest) -> Any:
        raise error

    return decide


@pytest.mark.req("SE-7")
@pytest.mark.req("SA-1")
@pytest.mark.parametrize(
    ("permissions", "said"),
    [
        (lambda _: None, "NoneType"),
        (lambda _: f"yes {SECRET}", "str"),
        (lambda _: 1, "int"),
        (lambda _: [SECRET], "list"),
        (_raise(RuntimeError(SECRET)), "RuntimeError"),
        (_raise(SystemExit(SECRET)), "SystemExit"),
        (_raise(KeyboardInterrupt(SECRET)), "KeyboardInterrupt"),
        (_raise(TimeoutError(SECRET)), "TimeoutError"),
        (_raise_later(RuntimeError(SECRET)), "RuntimeError"),
        (_raise_later(SystemExit(SECRET)), "SystemExit"),
        (_raise_later(asyncio.CancelledError(SECRET)), "CancelledError"),
    ],
)
async def test_no_answer_that_can_be_used_is_a_no_and_the_log_says_its_type_alone(
    opened: Opening,
    client: Answering,
    caplog: pytest.LogCaptureFixture,
    permissions: Permissions,
    said: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    wanted = permission(*ALL, title=SECRET, rawInput=SECRET)
    async with opened(ASKING, client=client(permissions)) as connection:
        assert (await ask(connection, wanted))[0] == selected("reject_once")
        # Nothing of it ended what answers requests.
        assert (await ask(connection, permission("reject_always")))[0] == selected("reject_always")
    formatter = logging.Formatter("%(name)s %(message)s")
    logged = "\n".join(map(formatter.format, caplog.records))
    assert said in logged
    assert SECRET not in logged


@pytest.mark.parametrize("is_async", [False, True])
async def test_no_answer_in_time_is_a_no(
    opened: Opening, client: Answering, caplog: pytest.LogCaptureFixture, is_async: bool
) -> None:
    late = threading.Event()

    def decide(_: PermissionRequest) -> bool:
        return late.wait(30)

    async def decide_async(_: PermissionRequest) -> bool:
        await asyncio.Event().wait()
        return True

    permissions = decide_async if is_async else decide
    async with opened(ASKING, client=client(permissions, ask_timeout=0.1)) as connection:
        async with asyncio.timeout(3):
            answer = (await ask(connection, permission(*ALL)))[0]
        late.set()
    assert answer == selected("reject_once")
    assert "more than 0.1 s" in caplog.text


async def test_two_permissions_are_asked_for_at_one_time(
    opened: Opening, client: Answering
) -> None:
    both = threading.Barrier(2, timeout=10)

    def decide(asked: PermissionRequest) -> bool:
        both.wait()
        return asked.title == "first"

    first, second = permission(*ALL, title="first"), permission(*ALL, title="second")
    async with opened(ASKING, client=client(decide)) as connection:
        answers = await ask(connection, first, second)
    assert answers[0] == selected("allow_once")
    assert answers[1] == selected("reject_once")


async def test_a_function_that_takes_its_time_holds_up_no_other_request(
    opened: Opening, client: Answering, tmp_path: Path
) -> None:
    written = tmp_path / "written"
    write = request("fs/write_text_file", path=str(written), content="x")
    async with opened(ASKING, client=client(lambda _: eventually(written.exists))) as connection:
        answers = await ask(connection, permission(*ALL), write)
    assert answers.order == [1, 0]
    assert answers[0] == selected("allow_once")


async def test_cancelling_the_turn_answers_what_is_asked_in_it(
    opened: Opening, client: Answering
) -> None:
    asked: list[PermissionRequest] = []
    go_on = threading.Event()

    def decide(request: PermissionRequest) -> bool:
        asked.append(request)
        return go_on.wait(30)

    offering, elsewhere = client(decide), permission(*ALL)
    elsewhere["params"]["sessionId"] = "another session"
    async with opened(ASKING, client=offering) as connection:
        turn = asyncio.create_task(ask(connection, permission(*ALL), elsewhere, permission(*ALL)))
        await until(lambda: len(asked) == 3)
        await connection.cancel(SESSION)
        offering.cancelled(SESSION)
        go_on.set()
        async with asyncio.timeout(10):
            answers = await turn
    assert answers[0] == answers[2] == CANCELLED
    assert answers[1] == selected("allow_once")
    assert offering.permission_counts == PermissionCounts(asked=3, allowed=1)


async def test_the_end_of_the_agent_ends_the_asking(opened: Opening, client: Answering) -> None:
    began, given_up = threading.Event(), threading.Event()

    async def decide(_: PermissionRequest) -> bool:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()
        return True

    async with opened(ASKING, client=client(decide)) as connection:
        turn = asyncio.create_task(ask(connection, permission(*ALL)))
        await until(began.is_set)
        connection._process._transport.kill()
        await until(given_up.is_set)
        await asyncio.wait((turn,))
    assert turn.exception() is not None


async def test_permissions_are_counted_by_what_the_agent_got(
    opened: Opening, client: Answering
) -> None:
    offering = client(lambda asked: asked.title == "yes")
    async with opened(ASKING, client=offering) as connection:
        yes, no = permission(*ALL, title="yes"), permission(*ALL, title="no")
        await ask(connection, yes, yes, no, permission("reject_once", title="yes"))
    assert offering.permission_counts == PermissionCounts(asked=4, allowed=2, denied=2)


@pytest.mark.parametrize("permissions", ["yes", "", None, True, 1])
async def test_what_cannot_decide_is_refused_before_anything_starts(
    client: Answering, permissions: Any
) -> None:
    with pytest.raises(ConfigError, match="permissions=") as failure:
        client(permissions)
    assert failure.value.reason_code == ReasonCode.WRONG_ARGUMENT
