"""A prompt, performed: each command does one thing and is told in session updates.

Commands come in; calls to MCP servers, requests to the client and ``session/update`` notifications
leave. What goes wrong is said in the agent's words and does not end the turn.
"""

import asyncio
import itertools
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final

from acp import (
    Client,
    RequestError,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_tool_call,
)

from kandev_nb.agents.scripted.client_side import ClientSide
from kandev_nb.agents.scripted.grammar import Command, read, usage
from kandev_nb.agents.scripted.options import Script
from kandev_nb.agents.scripted.permission import ALLOWS, verdict
from kandev_nb.agents.scripted.session import ScriptedSession
from kandev_nb.agents.scripted.stage import Stage

_call_numbers: Final[Iterator[int]] = itertools.count(1)

Act = Callable[[Command], Awaitable[str | None]]
"""Performs a command; returns what is to be said of it, if that was not said on the way."""


class Performance:
    """One session's way of performing prompts."""

    def __init__(
        self, client: Client, session: ScriptedSession, script: Script, stage: Stage
    ) -> None:
        self._client = client
        self._session = session
        self._script = script
        self._stage = stage
        side = ClientSide(client, session)
        self._acts: Mapping[str, Act] = {
            "call": self._call,
            "list": self._list,
            "connect": self._connect,
            "close": self._close,
            "say": _say,
            "wait": _wait,
            "read": side.read,
            "write": side.write,
            "run": side.run,
            "ask": side.ask,
            "mode": self._mode,
            "model": self._model,
            "progress": self._progress,
            "fail": _fail,
            "stderr": _stderr,
            "exit": _exit,
            "": _explain,
        }

    async def perform(self, prompt: str) -> None:
        """Perform the commands of a prompt in order.

        Raises:
            RequestError: the prompt says ``fail``.
        """
        for command in list(read(prompt)) or [Command("")]:
            try:
                said = await self._acts[command.verb](command)
            except RequestError as error:
                if command.verb == "fail":
                    raise
                said = f"{_subject(command)}: error {error.code}"
            except LookupError as error:
                said = str(error.args[0])
            except Exception as error:  # noqa: BLE001 - the MCP library raises groups of anything
                said = f"{_subject(command)}: failed ({type(error).__name__})"
            if said is not None:
                await self.say(said)

    async def say(self, text: str) -> None:
        """Say one line."""
        await self._update(update_agent_message_text(f"{text}\n"))

    async def _update(self, update: Any) -> None:
        await self._client.session_update(self._session.id, update)

    async def _connect(self, command: Command) -> None:
        await self._session.connect(command.server, self._script, self._stage)

    async def _close(self, command: Command) -> None:
        await self._session.close(command.server)

    async def _list(self, command: Command) -> str:
        count = await self._session.attachment(command.server).list_tools()
        return f"{command.server} has {count} tools"

    async def _mode(self, _command: Command) -> str:
        return f"mode {self._session.choices.mode}"

    async def _model(self, _command: Command) -> str:
        return f"model {self._session.choices.model}"

    async def _progress(self, command: Command) -> None:
        count = int(command.number)
        for number in range(1, count + 1):
            await self.say(f"{number} of {count}")
            if number < count:
                call_id = f"call-{next(_call_numbers)}"
                await self._update(start_tool_call(call_id, "progress", status="in_progress"))
                await self._update(update_tool_call(call_id, status="completed"))

    async def _call(self, command: Command) -> str:
        if not self._script.scenario.calls:
            return "this scenario calls no tools"
        call_id = f"call-{next(_call_numbers)}"
        title = f"mcp__{command.server}__{command.tool}"
        text, failed = await self._settled(call_id, title, command)
        ended = update_tool_call(
            call_id,
            status="failed" if failed else "completed",
            content=[tool_content(text_block(text))],
        )
        await self._update(ended)
        return text

    async def _settled(self, call_id: str, title: str, command: Command) -> tuple[str, bool]:
        """Call the tool, if that is allowed; return what came of it, and whether it failed."""
        if not self._script.asks_permission:
            await self._update(start_tool_call(call_id, title, kind="other", status="in_progress"))
            return await self._result(command)
        await self._update(start_tool_call(call_id, title, kind="other", status="pending"))
        answer = await verdict(self._client, self._session, call_id, title)
        if answer not in ALLOWS:
            return f"{title}: not called ({answer})", True
        await self._update(update_tool_call(call_id, status="in_progress"))
        return await self._result(command)

    async def _result(self, command: Command) -> tuple[str, bool]:
        """Call the tool; whatever goes wrong is the result of a failed call."""
        try:
            attachment = self._session.attachment(command.server)
            return await attachment.call(command.tool, command.arguments)
        except Exception as error:  # noqa: BLE001 - the MCP library raises groups of anything
            return str(error) or type(error).__name__, True


def _subject(command: Command) -> str:
    return f"{command.verb} {command.server or command.path or command.text}".strip()


async def _say(command: Command) -> str:
    return command.text


async def _wait(command: Command) -> None:
    await asyncio.sleep(command.number)


async def _fail(command: Command) -> None:
    raise RequestError.internal_error({"details": command.text})


async def _stderr(command: Command) -> None:
    print(command.text, file=sys.stderr, flush=True)  # noqa: T201 - what it is for


async def _exit(command: Command) -> None:
    os._exit(int(command.number))


async def _explain(_command: Command) -> str:
    return f"I am a scripted agent and did not understand that.\n{usage()}"
