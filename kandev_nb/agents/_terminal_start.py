"""A command started in a new terminal; :mod:`kandev_nb.agents.terminal` does the rest.

Taking a terminal happens in the new process, and Python cannot be run there between fork and exec
while the kernel has threads. So a small program takes it, then becomes the command, and tells over
a pipe when it cannot.
"""

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

_CHILD: Final = Path(__file__).with_name("_terminal_child.py")

_PATIENCE: Final = 10.0
"""Seconds to wait for the word that the command runs."""


class Started(NamedTuple):
    """A process, our end of its terminal, and the pipe that ends when the command runs."""

    transport: asyncio.SubprocessTransport
    number: int
    told: int


async def started(
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    size: tuple[int, int],
    end: Callable[[], asyncio.SubprocessProtocol],
) -> Started:
    """Start the program that becomes ``command``; ``size`` is rows and columns.

    Raises :class:`OSError`, :class:`ValueError` or :class:`TypeError`.
    """
    ours, theirs = os.openpty()
    told, tells = os.pipe()
    try:
        termios.tcsetwinsize(ours, size)
        os.set_blocking(ours, False)
        transport = await _spawned(command, env, cwd, theirs, tells, end)
    except BaseException:
        close(ours, told)
        raise
    finally:
        close(theirs, tells)
    return Started(transport, ours, told)


async def runs(told: int) -> None:
    """Wait until the command runs; raise the :class:`OSError` for which it does not."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(told, "rb", buffering=0)
    )
    words = b""
    try:
        # A process that was forked at this moment may hold the pipe open.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                words = await reader.read()
    finally:
        transport.close()
    if words:
        raise OSError(int(words), os.strerror(int(words)))


def close(*numbers: int) -> None:
    """Close file descriptors."""
    for number in numbers:
        os.close(number)


async def _spawned(
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    theirs: int,
    tells: int,
    end: Callable[[], asyncio.SubprocessProtocol],
) -> asyncio.SubprocessTransport:
    program, *arguments = command
    transport, _ = await asyncio.get_running_loop().subprocess_exec(
        end,
        *(sys.executable, "-I", "-S", str(_CHILD), str(tells), program, *arguments),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        # Whatever the kernel itself was started in, this is what the CLI is in.
        env={**os.environ, "TERM": "xterm-256color", **env},
        cwd=cwd,
        pass_fds=(tells,),
        start_new_session=True,
    )
    return transport
