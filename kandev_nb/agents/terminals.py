"""The commands that an agent runs through us, where the user allows it (ACP, "Terminals").

A command comes in; its output and its end leave. Each runs in the session's directory, in a
process group of its own that the watchdog knows, without input, and its group ends with it. What
it writes is kept up to a bound, the end of it, for the agent alone. All end with the agent.
"""

import asyncio
import codecs
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final, cast

from acp import RequestError
from anyio import to_thread

from kandev_nb.agents.files import FAILED, INVALID, NOT_FOUND, inside
from kandev_nb.agents.watchdog import watchdog

OUTPUT_BYTES: Final = 2**20
"""Bytes of output that are kept at most, whatever the agent asks for."""

TERMINALS: Final = 32
"""Terminals that an agent may have before it releases one."""

_GRACE: Final = 0.7
"""Seconds between SIGTERM and SIGKILL."""

_REMAINDER: Final = 0.4
"""Seconds that the children of a command get to end after it."""

_PATIENCE: Final = 2.0
"""Seconds after which a process that not even SIGKILL ends is left to the watchdog."""

_CONTINUATION: Final = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 that are not the first of a character."""


class Terminals:
    """The terminals of one agent. Belongs to one loop."""

    def __init__(self, root: Path, env: Mapping[str, str] | None = None) -> None:
        """Take the session's directory, and what is laid over this process's environment."""
        self._root = os.path.realpath(root)
        self._env = dict(env or {})
        self._numbers = count(1)
        self._open: dict[tuple[str, str], _Terminal] = {}
        self._over = False

    async def create(
        self,
        session: str,
        command: str,
        args: Sequence[str] = (),
        *,
        env: Mapping[str, str],
        cwd: str | None = None,
        limit: int | None = None,
    ) -> str:
        """Start a command and return the ID of its terminal.

        Raises:
            RequestError: -32602 for a directory outside or a command that cannot be started.
        """
        if self._over:
            raise RequestError(FAILED, "The session is over.")
        if len(self._open) >= TERMINALS:
            raise RequestError(FAILED, f"{TERMINALS} terminals are open. Release one first.")
        key = session, f"terminal-{next(self._numbers)}"
        # Entered before it runs, so that the bound holds and an end finds it.
        kept = OUTPUT_BYTES if limit is None else min(limit, OUTPUT_BYTES)
        terminal = self._open[key] = _Terminal(kept)
        try:
            await self._start(terminal, (command, *args), env, cwd or self._root)
        except BaseException:
            del self._open[key]
            raise
        if self._over:
            terminal.end()
        return key[1]

    def output(self, session: str, terminal_id: str) -> dict[str, Any]:
        """Return the output so far, whether some was dropped, and the exit status if it ended."""
        terminal = self._terminal(session, terminal_id)
        said = {"output": terminal.text, "truncated": terminal.truncated}
        return said | ({"exitStatus": terminal.status} if terminal.ended.is_set() else {})

    async def wait(self, session: str, terminal_id: str) -> dict[str, Any]:
        """Wait for the end of the command and return its exit status."""
        terminal = self._terminal(session, terminal_id)
        await terminal.ended.wait()
        return terminal.status

    async def kill(self, session: str, terminal_id: str) -> None:
        """End the command; its output can still be read."""
        await self._terminal(session, terminal_id).close()

    async def release(self, session: str, terminal_id: str) -> None:
        """End the command and forget it."""
        terminal = self._terminal(session, terminal_id)
        del self._open[session, terminal_id]
        await terminal.close()

    def end(self) -> None:
        """Ask every command to end: the agent is gone."""
        self._over = True
        for terminal in self._open.values():
            terminal.end()

    async def close(self) -> None:
        """End every command and wait until nothing is left of them."""
        self._over = True
        await asyncio.gather(*(terminal.close() for terminal in self._open.values()))
        self._open.clear()

    async def _start(
        self, terminal: "_Terminal", line: Sequence[str], env: Mapping[str, str], cwd: str
    ) -> None:
        directory = await to_thread.run_sync(_directory, self._root, cwd)
        environ = {**os.environ, **self._env, **env}
        watchdog.start()
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: terminal,
                *_words(line, environ.get("PATH"), directory),
                stdin=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.STDOUT,
                env=environ,
                cwd=directory,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            cause = getattr(error, "strerror", None) or type(error).__name__
            raise RequestError(INVALID, f"The command cannot be started: {cause}.") from None

    def _terminal(self, session: str, terminal_id: str) -> "_Terminal":
        try:
            return self._open[session, terminal_id]
        except KeyError:
            raise RequestError(NOT_FOUND, "The session has no such terminal.") from None


class _Terminal(asyncio.SubprocessProtocol):
    """One command, as the event loop reports it, and what is left of its process group."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._group: int | None = None
        self._process: asyncio.SubprocessTransport | None = None
        self._left = asyncio.Event()
        self.ended = asyncio.Event()
        self.truncated = False

    @property
    def text(self) -> str:
        """What is kept of the output. A character that is not whole yet is not shown yet."""
        head, rest = self._kept[:3], self._kept[3:]
        kept = bytes((head.lstrip(_CONTINUATION) if self.truncated else head) + rest)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # One byte for each undecodable byte keeps the text inside its bound.
        return decoder.decode(kept, final=self.ended.is_set()).replace("\ufffd", "?")

    @property
    def status(self) -> dict[str, Any]:
        """The exit status, once it has ended (ACP, ``TerminalExitStatus``)."""
        code = self._process.get_returncode() if self._process else None
        if code is None or code >= 0:
            return {"exitCode": code, "signal": None}
        known = {number.value: number.name for number in signal.Signals}
        return {"exitCode": None, "signal": known.get(-code, str(-code))}

    def end(self) -> None:
        """Ask the command and its children to end, and see to it."""
        if self._signal(signal.SIGTERM):
            asyncio.get_running_loop().call_later(_GRACE, self._signal, signal.SIGKILL)

    async def close(self) -> None:
        """End the command and wait until nothing is left of it."""
        self.end()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self.ended.wait()
                await self._left.wait()
        self._release()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._process = cast(asyncio.SubprocessTransport, transport)
        self._group = self._process.get_pid()
        watchdog.add(self._group)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._kept += data
        if (surplus := len(self._kept) - self._limit) > 0:
            del self._kept[:surplus]
            self.truncated = True

    def process_exited(self) -> None:
        if not self._signal(signal.SIGTERM):
            self._forget()
        # What a child that escaped the group holds open must not keep the agent waiting.
        asyncio.get_running_loop().call_later(_REMAINDER, self._release)

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()

    def _release(self) -> None:
        self._signal(signal.SIGKILL)
        self._forget()
        if self._process is not None:
            self._process.close()

    def _forget(self) -> None:
        """Let go of the group: from here on its number may belong to somebody else."""
        if self._group is not None:
            watchdog.discard(self._group)
            self._group = None
        self._left.set()

    def _signal(self, number: int) -> bool:
        """Signal the process group; False when nobody is left in it."""
        if self._group is None:
            return False
        try:
            os.killpg(self._group, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True


def _directory(root: str, path: str) -> str:
    real = inside(root, path)
    if not os.path.isdir(real):
        raise RequestError(INVALID, "cwd is no directory.")
    return real


def _words(line: Sequence[str], path: str | None, directory: str) -> Sequence[str]:
    """Return the words to run: some agents send a whole line for a shell as the command."""
    command, *args = line
    place = os.path.join(directory, command) if "/" in command else command
    if args or shutil.which(place, path=path):
        return line
    return ("/bin/sh", "-c", command)
