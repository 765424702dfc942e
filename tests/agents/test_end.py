"""The end of an agent, however it comes, and what is left: nothing."""

import asyncio
import gc
import os
from pathlib import Path

import psutil
import pytest
from acp.schema import McpServerStdio

from kandev_nb.agents.watchdog import watchdog
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import AgentError
from tests.agents.conftest import Opening, Recorder, fake_agent, open_session, until

pytestmark = pytest.mark.anyio


@pytest.mark.req("SE-4")
async def test_sudden_death_ends_every_call_that_waits(
    opened: Opening, events: Recorder, tmp_path: Path
) -> None:
    agent = fake_agent("serve_session(); receive(); receive(); os.kill(os.getpid(), 9)")
    async with opened(agent) as connection:
        session = await open_session(connection, tmp_path)
        calls = [
            asyncio.create_task(connection.prompt(session, "go")),
            asyncio.create_task(open_session(connection, tmp_path)),
        ]
        async with asyncio.timeout(3):
            results = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(result) for result in results] == [AgentError, AgentError]
        assert all("SIGKILL" in str(result) for result in results)
        assert events.exits == [-9]
        await connection.cancel(session)
    assert events.exits == [-9]


async def test_closing_ends_calls_that_wait(opened: Opening, tmp_path: Path) -> None:
    async with opened(fake_agent("serve_session(); receive(); sys.stdin.read()")) as connection:
        session = await open_session(connection, tmp_path)
        turn = asyncio.create_task(connection.prompt(session, "go"))
        await asyncio.sleep(0)
        await connection.close()
        with pytest.raises(AgentError, match="closed") as failure:
            await turn
        assert failure.value.reason_code == ReasonCode.CLOSED
        await connection.close()


async def test_an_agent_that_reads_nothing_can_be_closed(
    opened: Opening, events: Recorder, tmp_path: Path
) -> None:
    async with opened(fake_agent("shake_hands(); time.sleep(600)")) as connection:
        large = McpServerStdio(name="large", command="x", args=["a" * (8 << 20)], env=[])
        opening = asyncio.create_task(open_session(connection, tmp_path, large))
        await asyncio.sleep(0)
        await connection.close()
        with pytest.raises(AgentError):
            await opening
    assert events.exits == [-15]


async def test_agents_get_their_environment_and_directory(opened: Opening, tmp_path: Path) -> None:
    agent = fake_agent("""
        name = os.environ["GIVEN"] + " " + os.getcwd()
        answer(receive(), {"protocolVersion": 1, "agentInfo": {"name": name}})
        receive()
    """)
    async with opened(agent, env={"GIVEN": "value"}) as connection:
        assert connection.agent_name == f"value {tmp_path}"
        assert connection.pid == os.getpgid(connection.pid)


@pytest.mark.req("SE-3")
async def test_a_hundred_agents_leave_nothing_behind(opened: Opening, tmp_path: Path) -> None:
    us = psutil.Process()

    async def once() -> None:
        async with opened(fake_agent("serve_session(); receive()")) as connection:
            await open_session(connection, tmp_path)

    await once()
    gc.collect()
    before = (us.num_fds(), us.num_threads(), len(asyncio.all_tasks()), len(us.children()))
    for _ in range(20):
        await asyncio.gather(*(once() for _ in range(5)))
    await until(lambda: us.num_threads() <= before[1])
    gc.collect()
    after = (us.num_fds(), us.num_threads(), len(asyncio.all_tasks()), len(us.children()))
    assert after == before
    assert watchdog._groups == set()
