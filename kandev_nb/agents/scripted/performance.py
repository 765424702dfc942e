"""A prompt, performed: each command does one thing and is told in session updates.

Commands come in; calls to MCP servers and ``session/update`` notifications leave. What goes wrong
with a server is said in the agent's words and does not end the turn.
"""

import asyncio
import itertools
import os
import sys
from collections.abc import Iterator
from typing import Final

from acp import (
    Client,
    RequestError,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_tool_call,
)

from kandev_nb.agents.scripted.grammar import Command, read, usage
from kandev_nb.agents.scripted.scenarios import Script
from kandev_nb.agents.scripted.session import ScriptedSession
from kandev_nb.agents.scripted.stage import Stage

_call_numbers: Final[Iterator[int]] = itertools.count(1)


class Performance:
    """One session's way of performing prompts."""

    def __init__(
        self, client: Client, session: ScriptedSession, script: Script, stage: Stage
    ) -> None:
        self._client = client
        self._session = session
        self._script = script
        self._stage = stage

    async def perform(self, prompt: str) -> None:
        """Perform the commands of a prompt in order.

        Raises:
            RequestError: the prompt says ``fail``.
        """
        for command in list(read(prompt)) or [Command("")]:
            try:
                await self._perform(command)
            except RequestError:
                raise
            except LookupError as error:
                await self.say(str(error.args[0]))
            except Exception as error:  # noqa: BLE001 - the MCP library raises groups of anything
                await self.say(f"{command.verb} {command.server}: failed ({type(error).__name__})")

    async def say(self, text: str) -> None:
        """Say one line."""
        await self._client.session_update(self._session.id, update_agent_message_text(f"{text}\n"))

    async def _perform(self, command: Command) -> None:
        match command.verb:
            case "call":
                await self._call(command)
            case "list":
                await self._list(command.server)
            case "connect":
                await self._session.connect(command.server, self._script, self._stage)
            case "close":
                await self._session.close(command.server)
            case "say":
                await self.say(command.text)
            case "wait":
                await asyncio.sleep(command.number)
            case "fail":
                raise RequestError.internal_error({"details": command.text})
            case "stderr":
                print(command.text, file=sys.stderr, flush=True)  # noqa: T201 - what it is for
            case "exit":
                os._exit(int(command.number))
            case _:
                await self.say(f"I am a scripted agent and did not understand that.\n{usage()}")

    async def _list(self, server: str) -> None:
        count = await self._session.attachment(server).list_tools()
        await self.say(f"{server} has {count} tools")

    async def _call(self, command: Command) -> None:
        if not self._script.scenario.calls:
            await self.say("this scenario calls no tools")
            return
        call_id = f"call-{next(_call_numbers)}"
        title = f"mcp__{command.server}__{command.tool}"
        started = start_tool_call(call_id, title, kind="other", status="in_progress")
        await self._client.session_update(self._session.id, started)
        text, failed = await self._result(command)
        ended = update_tool_call(
            call_id,
            status="failed" if failed else "completed",
            content=[tool_content(text_block(text))],
        )
        await self._client.session_update(self._session.id, ended)
        await self.say(text)

    async def _result(self, command: Command) -> tuple[str, bool]:
        """Call the tool; whatever goes wrong is the result of a failed call."""
        try:
            attachment = self._session.attachment(command.server)
            return await attachment.call(command.tool, command.arguments)
        except Exception as error:  # noqa: BLE001 - the MCP library raises groups of anything
            return str(error) or type(error).__name__, True
