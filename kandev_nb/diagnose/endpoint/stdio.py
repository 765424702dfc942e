"""A server that is started for the test and spoken to over its standard input and output
(MCP, "Transports", stdio).
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from anyio import CancelScope
from anyio.lowlevel import checkpoint

from kandev_nb.agents.process import AgentProcess, LineTooLongError
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import sanitize_target
from kandev_nb.diagnose.endpoint import messages
from kandev_nb.diagnose.endpoint.channel import Channel
from kandev_nb.diagnose.endpoint.course import RECEIVED_BYTES, Course
from kandev_nb.diagnose.endpoint.faults import Fault
from kandev_nb.diagnose.endpoint.messages import Message
from kandev_nb.errors import KandevError
from kandev_nb.servers.server import StdioServer

_GRACE: Final = 0.5
"""Seconds that a server gets to end by itself: an interrupted call waits for two in all."""


@asynccontextmanager
async def stdio(
    server: StdioServer, env: Mapping[str, str], cwd: Path, course: Course
) -> AsyncIterator[Channel]:
    """Start the server for the block; afterwards nothing of its process group is left."""
    course.phase = "spawn"
    try:
        process = await AgentProcess.start(
            (server.command, *server.args), env={**env, **server.env}, cwd=cwd
        )
    except KandevError as error:
        code = ReasonCode(error.reason_code)
        is_command = code != ReasonCode.INVALID_WORKDIR
        shown = sanitize_target("stdio", server.command) if is_command else ""
        raise Fault(code, shown) from None
    try:
        course.phase = "initialize"
        yield _Stdio(process, course)
    finally:
        course.stop()
        with CancelScope(shield=True):
            await process.close(_GRACE)


class _Stdio(Channel):
    def __init__(self, process: AgentProcess, course: Course) -> None:
        super().__init__(course)
        self._process = process

    async def tell(self, message: Message) -> None:
        # One that no longer reads has ended, or will be found to say nothing.
        with suppress(ConnectionError):
            await self._process.write(json.dumps(message).encode() + b"\n")

    async def _exchange(self, asked: Message) -> AsyncGenerator[Message, None]:
        await self.tell(asked)
        while (line := await self._line()) is not None:
            if message := messages.read(line):
                self.course.take(len(line))
                yield message
            else:
                self.course.stray_lines += bool(line.strip())
                # What has been received already is read without a pause, and others wait.
                await checkpoint()
        raise await self._ended()

    async def _line(self) -> bytes | None:
        try:
            line = await self._process.read_line()
        except LineTooLongError:
            line = b" " * (RECEIVED_BYTES + 1)
        if line is not None and len(line) > RECEIVED_BYTES:
            raise Fault(
                ReasonCode.MALFORMED_RESPONSE, f"a line of more than {RECEIVED_BYTES >> 20} MiB"
            )
        return line

    async def _ended(self) -> Fault:
        """Return what it means that nothing more comes: the process has ended, or goes on mute."""
        self.course.stop()
        with CancelScope(shield=True):
            await self._process.close(_GRACE)
        if self._process.was_ended:
            return Fault(ReasonCode.NO_PROTOCOL_OUTPUT, "it closed its standard output")
        return Fault(ReasonCode.EXITED, _how(self._process.returncode))


def _how(returncode: int | None) -> str:
    if returncode is None or returncode >= 0:
        return f"status {returncode}"
    return f"signal {-returncode}"
