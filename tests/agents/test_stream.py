"""Agents that write other things than frames, or frames that are nearly right."""

from pathlib import Path

import pytest

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import AgentError
from tests.agents.conftest import Opening, fake_agent, open_session

pytestmark = pytest.mark.anyio


@pytest.mark.req("SE-4")
@pytest.mark.parametrize(
    "junk",
    [
        b"not JSON",
        b'{"jsonrpc":',
        b"\xff\xfe",
        b"42",
        b"[1]",
        b'"x"',
        b"null",
        b'{"jsonrpc": "2.0", "id": [1], "result": {}}',
        b'{"jsonrpc": "2.0", "id": 1.5, "method": "x"}',
        b'{"jsonrpc": "2.0", "id": 99, "result": {}}',
        b'{"jsonrpc": "2.0", "method": 7}',
    ],
)
async def test_what_is_no_frame_changes_nothing(
    opened: Opening, tmp_path: Path, junk: bytes
) -> None:
    agent = fake_agent(f"""
        send({junk!r})
        shake_hands()
        send({junk!r})
        answer(receive(), {{"sessionId": "s"}})
        receive()
    """)
    async with opened(agent) as connection:
        assert await open_session(connection, tmp_path) == "s"
        assert connection.oddities.lines == (0 if b"99" in junk else 2)


@pytest.mark.req("SE-4")
async def test_an_id_that_comes_back_as_text_is_understood(opened: Opening, tmp_path: Path) -> None:
    agent = fake_agent("""
        shake_hands()
        request = receive()
        send({"jsonrpc": "2.0", "id": str(request["id"]), "result": {"sessionId": "s"}})
        receive()
    """)
    async with opened(agent) as connection:
        assert await open_session(connection, tmp_path) == "s"


async def test_a_second_answer_to_one_request_is_ignored(opened: Opening, tmp_path: Path) -> None:
    agent = fake_agent("""
        shake_hands()
        request = receive()
        answer(request, {"sessionId": "s"})
        answer(request, {"sessionId": "t"})
        answer(receive(), {"sessionId": "u"})
        receive()
    """)
    async with opened(agent) as connection:
        assert await open_session(connection, tmp_path) == "s"
        assert await open_session(connection, tmp_path) == "u"


async def test_the_last_frame_counts_without_its_line_end(opened: Opening, tmp_path: Path) -> None:
    agent = fake_agent("""
        shake_hands()
        frame = {"jsonrpc": "2.0", "id": receive()["id"], "result": {"sessionId": "s"}}
        sys.stdout.write(json.dumps(frame))
        sys.stdout.flush()
    """)
    async with opened(agent) as connection:
        assert await open_session(connection, tmp_path) == "s"


@pytest.mark.req("SE-4")
async def test_a_line_over_the_limit_ends_the_agent_and_says_so(
    opened: Opening, tmp_path: Path
) -> None:
    agent = fake_agent("""
        shake_hands()
        receive()
        while True:
            sys.stdout.write("a" * (1 << 20))
    """)
    async with opened(agent) as connection:
        with pytest.raises(AgentError, match="64 MiB") as failure:
            await open_session(connection, tmp_path)
    assert failure.value.reason_code == ReasonCode.AGENT_EXITED
