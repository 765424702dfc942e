"""Updates and prompt turns."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.agents.conftest import (
    Complains,
    Opening,
    Recorder,
    Words,
    fake_agent,
    open_session,
    until,
)

pytestmark = pytest.mark.anyio


async def test_updates_are_handed_on_raw_and_in_order(
    opened: Opening, events: Recorder, tmp_path: Path
) -> None:
    agent = fake_agent("""
        serve_session()
        request = receive()
        for number in range(50):
            update = {"sessionUpdate": "kind of the future", "number": number, "_meta": {"a": [1]}}
            params = {"sessionId": "s", "update": update}
            send({"jsonrpc": "2.0", "method": "session/update", "params": params})
        for odd in (None, [], "x", {"sessionId": 5, "update": {}}, {"sessionId": "s"}):
            send({"jsonrpc": "2.0", "method": "session/update", "params": odd})
        send({"jsonrpc": "2.0", "method": "_auth/status_update", "params": {"a": 1}})
        answer(request, {"stopReason": "end_turn"})
        receive()
    """)
    async with opened(agent) as connection:
        session = await open_session(connection, tmp_path)
        result = await connection.prompt(session, "go")
        assert result.stop_reason == "end_turn"
        assert [update["number"] for _, update in events.updates] == list(range(50))
        assert events.updates[0] == (
            "s",
            {"sessionUpdate": "kind of the future", "number": 0, "_meta": {"a": [1]}},
        )
        assert connection.oddities.notifications == 1


TURN = """
    def update(kind, **more):
        params = {"sessionId": "s", "update": {"sessionUpdate": kind, **more}}
        send({"jsonrpc": "2.0", "method": "session/update", "params": params})

    def words(text):
        update("agent_message_chunk", content={"type": "text", "text": text})

    serve_session()
    request = receive()
"""


async def test_a_turn_gathers_the_words_and_the_tools(opened: Opening, tmp_path: Path) -> None:
    agent = fake_agent(
        TURN
        + """
    words("first ")
    update("agent_thought_chunk", content={"type": "text", "text": "hidden"})
    update("tool_call", toolCallId="1", title="echo")
    update("tool_call_update", toolCallId="1", title="echo (refined)", status="completed")
    update("tool_call_update", toolCallId="2", title="late", status="completed")
    update("tool_call", toolCallId="3", title="echo")
    update("tool_call", toolCallId="mcp_startup.x.1", title="mcp__x__startup", status="failed")
    update("tool_call", toolCallId=5, title=None)
    update("agent_message_chunk", content={"type": "image"})
    update("agent_message_chunk", content="odd")
    words("second")
    answer(request, {"stopReason": "end_turn"})
    receive()
    """
    )
    heard = Words()
    async with opened(agent) as connection:
        session = await open_session(connection, tmp_path)
        result = await connection.prompt(session, "go", heard)
    assert result.text == "first second"
    assert heard == ["first ", "second"]
    assert result.tool_names == ("echo", "late")


@pytest.mark.req("SA-1")
async def test_a_result_in_a_cell_does_not_show_the_words(opened: Opening, tmp_path: Path) -> None:
    agent = fake_agent(
        TURN
        + """
    words("private words")
    update("tool_call", toolCallId="1", title="mcp__tiny__echo")
    answer(request, {"stopReason": "refusal"})
    receive()
    """
    )
    async with opened(agent) as connection:
        session = await open_session(connection, tmp_path)
        shown = repr(await connection.prompt(session, "go"))
    assert "private" not in shown
    assert "text has its words" in shown
    assert "refusal" in shown
    assert "mcp__tiny__echo" in shown


async def test_a_listener_that_raises_does_not_end_the_turn(
    opened: Opening, tmp_path: Path
) -> None:
    agent = fake_agent(TURN + "    words('a')\n    answer(request, {})\n    receive()")
    async with opened(agent) as connection:
        session = await open_session(connection, tmp_path)
        result = await connection.prompt(session, "go", Complains())
    assert (result.text, result.stop_reason) == ("a", "unknown")


@pytest.mark.req("SE-7")
async def test_cancelling_a_prompt_cancels_its_turn(
    opened: Opening, events: Recorder, tmp_path: Path
) -> None:
    agent = fake_agent(
        TURN
        + """
    words("working")
    cancelled = receive()
    words(json.dumps(cancelled))
    answer(request, {"stopReason": "cancelled"})
    receive()
    """
    )
    async with opened(agent) as connection:
        session = await open_session(connection, tmp_path)
        heard = Words()
        turn = asyncio.create_task(connection.prompt(session, "go", heard))
        await until(lambda: heard == ["working"])
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        await until(lambda: len(events.updates) == 2)
        frame = json.loads(events.updates[1][1]["content"]["text"])
    assert frame["method"] == "session/cancel"
    assert frame["params"] == {"sessionId": "s"}


@pytest.mark.req("SE-7", "SE-2")
async def test_a_prompt_waits_for_the_end_of_the_one_that_was_given_up(
    opened: Opening, tmp_path: Path
) -> None:
    agent = fake_agent("""
        import select
        serve_session()
        first = receive()
        receive()
        early = select.select([sys.stdin], [], [], 0.5)[0]
        answer(first, {"stopReason": "cancelled"})
        answer(receive(), {"stopReason": "refusal" if early else "end_turn"})
        receive()
    """)
    async with opened(agent) as connection:
        session = await open_session(connection, tmp_path)
        turn = asyncio.create_task(connection.prompt(session, "first"))
        await asyncio.wait([turn], timeout=0.2)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

        result = await connection.prompt(session, "second")

    assert result.stop_reason == "end_turn"
