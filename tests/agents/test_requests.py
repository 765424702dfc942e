"""What agents ask of us."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.conftest import Opening, fake_agent, open_session

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        (
            [
                {"optionId": "y", "name": "Yes", "kind": "allow_once"},
                {"optionId": "never", "name": "Never", "kind": "reject_always"},
                {"optionId": "n", "name": "No", "kind": "reject_once"},
            ],
            {"outcome": "selected", "optionId": "n"},
        ),
        (
            [{"optionId": "never", "name": "Never", "kind": "reject_always"}],
            {"outcome": "selected", "optionId": "never"},
        ),
        ([{"optionId": "y", "name": "Yes", "kind": "allow_once"}], {"outcome": "cancelled"}),
        (["odd", {"kind": "reject_once"}], {"outcome": "cancelled"}),
        (None, {"outcome": "cancelled"}),
    ],
)
async def test_permission_is_refused_by_kind(
    opened: Opening, tmp_path: Path, options: Any, outcome: dict[str, str]
) -> None:
    agent = fake_agent(f"""
        serve_session()
        request = receive()
        params = {{"sessionId": "s", "toolCall": {{"toolCallId": "1"}}, "options": {options!r}}}
        send({{"jsonrpc": "2.0", "id": 0, "method": "session/request_permission",
               "params": params}})
        answer(request, {{"stopReason": json.dumps(receive())}})
        receive()
    """)
    async with opened(agent) as connection:
        session = await open_session(connection, tmp_path)
        answered = json.loads((await connection.prompt(session, "go")).stop_reason)
    assert answered == {"jsonrpc": "2.0", "id": 0, "result": {"outcome": outcome}}


@pytest.mark.req("SE-4")
@pytest.mark.parametrize(
    "method",
    ["fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/kill", "x", "_x/y"],
)
async def test_what_was_not_offered_is_not_found(
    opened: Opening, tmp_path: Path, method: str
) -> None:
    agent = fake_agent(f"""
        serve_session()
        request = receive()
        send({{"jsonrpc": "2.0", "id": "abc", "method": {method!r}, "params": {{"path": "/"}}}})
        answer(request, {{"stopReason": json.dumps(receive())}})
        receive()
    """)
    async with opened(agent) as connection:
        session = await open_session(connection, tmp_path)
        answered = json.loads((await connection.prompt(session, "go")).stop_reason)
        assert answered["id"] == "abc"
        assert answered["error"]["code"] == -32601
        assert connection.oddities.requests == 1
