"""What the reference agent asks of its client when a prompt says so: files, terminals, the unknown.

Commands of a prompt come in; requests to the client leave, and what came of them is returned in
words. An error of the client is raised as the ACP library does.
"""

import shlex
from pathlib import Path

from acp import Client
from acp.schema import WaitForTerminalExitResponse

from kandev_nb.agents.scripted.grammar import Command
from kandev_nb.agents.scripted.session import ScriptedSession


class ClientSide:
    """The client, as one session asks it."""

    def __init__(self, client: Client, session: ScriptedSession) -> None:
        self._client = client
        self._session = session

    async def read(self, command: Command) -> str:
        """Read a file (``fs/read_text_file``)."""
        answer = await self._client.read_text_file(self._session.id, self._path(command))
        return answer.content

    async def write(self, command: Command) -> str:
        """Write a file (``fs/write_text_file``)."""
        path = self._path(command)
        await self._client.write_text_file(self._session.id, path, command.text)
        return f"wrote {path}"

    async def run(self, command: Command) -> str:
        """Run a command line to its end (``terminal/*``); cancelling releases the terminal."""
        program, *arguments = shlex.split(command.text)
        session_id = self._session.id
        created = await self._client.create_terminal(
            session_id, program, arguments, cwd=self._session.cwd
        )
        terminal_id = created.terminal_id
        try:
            ended = await self._client.wait_for_terminal_exit(session_id, terminal_id)
            printed = await self._client.terminal_output(session_id, terminal_id)
        finally:
            await self._client.release_terminal(session_id, terminal_id)
        return f"{printed.output.rstrip()}\n{_exit_words(ended)}".lstrip("\n")

    async def ask(self, command: Command) -> str:
        """Send a request that no client knows."""
        await self._client.ext_method(f"kandev/{command.text}", {"sessionId": self._session.id})
        return f"ask {command.text}: answered"

    def _path(self, command: Command) -> str:
        # ACP wants absolute paths; whether they stay in the directory is the client's to judge.
        return str(Path(self._session.cwd, command.path))


def _exit_words(ended: WaitForTerminalExitResponse) -> str:
    return f"signal {ended.signal}" if ended.signal else f"exit code {ended.exit_code}"
