"""How a session of the reference agent is opened: new, loaded, resumed or forked, all alike.

A session that is not attached to its servers comes in. It is attached, and what could not be
reached is told, or the request that opened it is refused; both as the script says.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from acp import Client, RequestError

from kandev_nb.agents.scripted import reports
from kandev_nb.agents.scripted.failures import Failure, Opening
from kandev_nb.agents.scripted.options import Script
from kandev_nb.agents.scripted.session import ScriptedSession
from kandev_nb.agents.scripted.stage import Stage


class Reception:
    """Opens sessions, and remembers all that it has opened, closed and refused ones included."""

    def __init__(self, script: Script, stage: Stage) -> None:
        self._script = script
        self._stage = stage
        self._opened: list[ScriptedSession] = []
        self._background: set[asyncio.Task[Any]] = set()

    async def open(self, client: Client, session: ScriptedSession, opening: Opening) -> None:
        """Do with the session's servers what the script says.

        Raises:
            RequestError: the script refuses the request.
        """
        failure = self._script.failure_at(opening)
        if failure and not failure.connects:
            raise _error(failure)
        for replaced in [each for each in self._opened if each.id == session.id and each.is_open]:
            await self.close(replaced)
        attaching = self.start(self._attach(session))
        if failure or self._script.connect_before:
            await attaching
            self._refuse(session, failure)
        if self._script.scenario.tells_failures == "at-startup":
            self.start(self._report(client, session, attaching))

    async def close(self, session: ScriptedSession) -> None:
        """Close a session: end its turn, and its connections where they belong to it."""
        session.is_open = False
        if session.turn is not None:
            session.turn.cancel()
        if self._script.after_reset == "separate":
            await session.end_connections()

    async def end(self) -> None:
        """End the servers that are processes of this agent."""
        await asyncio.gather(*(session.end_processes() for session in self._opened))

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do something in a task of its own, which is not forgotten before it ends."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _attach(self, session: ScriptedSession) -> None:
        earlier = tuple(self._opened)
        self._opened.append(session)
        await session.attach_all(self._script, self._stage, earlier)
        if self._script.scenario.tells_failures == "on-stderr":
            reports.on_stderr(session, self._script.wording)

    def _refuse(self, session: ScriptedSession, failure: Failure | None) -> None:
        if failure:
            raise _error(failure)
        if error := reports.second_refusal(session):
            raise error
        at_once = self._script.scenario.tells_failures == "at-session-new"
        if at_once and (error := reports.refusal(session)):
            raise error

    async def _report(
        self, client: Client, session: ScriptedSession, attaching: asyncio.Task[Any]
    ) -> None:
        # A task starts when the request's own has written its answer.
        await attaching
        await reports.at_startup(client, session)


def _error(failure: Failure) -> RequestError:
    return RequestError(failure.code, failure.message, failure.data)
