"""One test from its start to the answer: every phase under one deadline, everything closed."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, NamedTuple

from anyio import move_on_after

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.diagnose.endpoint.channel import Channel
from kandev_nb.diagnose.endpoint.course import Course
from kandev_nb.diagnose.endpoint.faults import HTTP_ERRORS, Fault, from_http
from kandev_nb.diagnose.endpoint.result import stray
from kandev_nb.diagnose.endpoint.sse import sse
from kandev_nb.diagnose.endpoint.stdio import stdio
from kandev_nb.diagnose.endpoint.streamable import streamable
from kandev_nb.diagnose.endpoint.talk import converse
from kandev_nb.servers.server import Server, SseServer, StdioServer

_AWAITED: Final = {
    "spawn": "its start",
    "connect": "the connection",
    "await_endpoint": "the endpoint event",
    "initialize": "the handshake",
    "list_tools": "tools/list",
}


class Ended(NamedTuple):
    """How a test went. ``code`` is why it ended early, ``detail`` what is told beside it."""

    course: Course
    code: str = ""
    detail: str = ""


async def run(server: Server, env: Mapping[str, str], cwd: Path, timeout: float) -> Ended:
    """Reach a server and list its tools in at most ``timeout`` seconds; closing may take 2 more.

    ``env`` is laid over this process's environment, for a server that is started in ``cwd``.
    """
    course = Course()
    try:
        with move_on_after(timeout) as deadline:
            async with _opened(server, env, cwd, course) as channel:
                await converse(channel)
                course.stop()
    except Fault as fault:
        return _ended(course, fault)
    except HTTP_ERRORS as error:
        return _ended(course, from_http(error))
    if deadline.cancelled_caught:
        return _ended(course, _late(course, isinstance(server, StdioServer), timeout))
    return Ended(course)


def _opened(
    server: Server, env: Mapping[str, str], cwd: Path, course: Course
) -> AbstractAsyncContextManager[Channel]:
    if isinstance(server, StdioServer):
        return stdio(server, env, cwd, course)
    return sse(server, course) if isinstance(server, SseServer) else streamable(server, course)


def _late(course: Course, is_stdio: bool, timeout: float) -> Fault:
    """Return the fault of a server that did not answer in time: a process may be no server."""
    awaited = f"{_AWAITED[course.phase]} within {timeout:g} s"
    if not is_stdio or course.has_spoken or course.phase == "spawn":
        return Fault(ReasonCode.TIMEOUT, awaited)
    if course.stray_lines:
        return Fault(ReasonCode.NON_PROTOCOL_OUTPUT, awaited)
    return Fault(ReasonCode.NO_PROTOCOL_OUTPUT, awaited)


def _ended(course: Course, fault: Fault) -> Ended:
    course.stop()
    told = filter(None, (fault.detail, stray(course.stray_lines) if course.stray_lines else ""))
    return Ended(course, fault.code, "; ".join(told))
