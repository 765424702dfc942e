"""What a user wants probed: the arguments of :func:`probe` come in, its result leaves.

Arguments are read before anything is started or written; the errors are those of a session's start.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, NamedTuple, get_args

from kandev_nb import logs, runtime
from kandev_nb.agents.finding import find_program
from kandev_nb.probing.recorder import Mirror, Recorder, new_file
from kandev_nb.probing.running import Course, Probe
from kandev_nb.probing.sentinel import allowing_sentinel, sentinel_tools
from kandev_nb.probing.summary import ProbeResult
from kandev_nb.session.launch import Command, Launch, Offers, Probed, read_launch, seconds, wrong
from kandev_nb.session.launch import text as read_text

Transport = Literal["http", "sse", "stdio"]

TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)
TIMEOUT: Final = 20.0
"""Seconds that a probe waits for tools to be listed."""


class Place(NamedTuple):
    """Where the frames of a probe go, and what is recorded with them."""

    out: Path | None = None
    file: Path | None = None
    stderr: bool = False
    mirror: Mirror | None = None


def probe(
    agent: str | None = None,
    *,
    exec: Command | None = None,  # noqa: A002 - the word that the field uses
    args: Command = (),
    env: Mapping[str, str] | None = None,
    transport: Transport | None = None,
    mcp: bool = True,
    prompt: str | None = None,
    model: str | None = None,
    mode: str | None = None,
    load: str | None = None,
    timeout: float = TIMEOUT,
    linger: float = 0.0,
    workdir: str | Path | None = None,
    out: str | Path | None = None,
    file: str | Path | None = None,
    stderr: bool = False,
) -> ProbeResult:
    """Start an agent, hand it one MCP server of ours with one tool, and say what it did with it.

    Every frame is recorded, raw, in a file that only its owner can read; ``.file`` of the result
    names it and :func:`probe_frame` reads it. What the agent fails at is part of the result. It is
    permitted to call the one tool and nothing else.

    Args:
        agent: a registered agent's ID, such as ``"scripted"``.
        exec: instead, any command line that speaks ACP on its standard input and output.
        args: more arguments for the command, as a list or a command line.
        env: laid over this process's environment for the agent.
        transport: deliver the server over this one, also when the agent does not advertise it:
            ``"http"``, ``"sse"`` or ``"stdio"``. By default the first that the agent takes.
        mcp: ``False`` delivers no server.
        prompt: what the agent is told once its tools are listed, or after 5 s. Without it no prompt
            is sent, and no model is needed.
        model: the model that is chosen for the session.
        mode: the mode that is chosen for the session.
        load: the agent's own ID of an earlier session, to be loaded instead of a new one.
        timeout: seconds to wait for the tools to be listed, and again for the prompt's turn.
        linger: seconds to go on watching after that.
        workdir: the agent's working directory; a fresh temporary one when left out.
        out: the folder of the file, below Jupyter's data directory when left out.
        file: instead, the file itself; one that exists is not overwritten.
        stderr: record what the agent writes to its standard error as well.

    Raises:
        ConfigError: the input cannot be used; nothing was started.
    """
    course = read_course(prompt, timeout, linger, model, mode, load)
    place = Place(_path(out, "out="), _path(file, "file="), stderr)
    over = read_over(transport, mcp)
    with workdir_of(workdir) as cwd:
        ready = prepare(agent, exec, args, env, cwd, over, place)
        return run(ready, course)


class Ready(NamedTuple):
    """A probe that can be started."""

    launch: Launch
    recorder: Recorder


def run(ready: Ready, course: Course) -> ProbeResult:
    """Run one probe to its end."""
    return runtime.call(lambda: Probe(*_of(ready, course)).run(), timeout=None, what="The probe")


def prepare(
    agent: str | None,
    exec: Command | None,  # noqa: A002 - as in probe
    args: Command,
    env: Mapping[str, str] | None,
    cwd: Path,
    over: Any,
    place: Place,
) -> Ready:
    """Return a probe that can be started, with its file. Raises ``ConfigError``."""
    logs.restrain()
    launch = _found(read_launch(agent, exec, args, None, None, env, cwd, npx=False))
    path = new_file(launch.agent.id, place.out, place.file)
    recorder = Recorder(path, stderr=place.stderr, mirror=place.mirror)
    offers = Offers(permissions=allowing_sentinel(recorder.note), files=False)
    probed = Probed(recorder, sentinel_tools(), over)
    return Ready(launch._replace(offers=offers, probed=probed), recorder)


def read_course(
    prompt: str | None,
    timeout: float,
    linger: float,
    model: str | None,
    mode: str | None,
    load: str | None,
) -> Course:
    """Return what is done with the agent. Raises ``ConfigError``, which names the argument."""
    given = {"prompt": prompt, "model": model, "mode": mode, "load": load}
    words = {
        name: None if word is None else read_text(word, f"{name}=") for name, word in given.items()
    }
    if words["load"] == "":
        raise wrong("load= is empty. Give the agent's ID of a session, or leave it out.")
    return Course(timeout=_bound(timeout, "timeout="), linger=_bound(linger, "linger="), **words)


def read_over(transport: str | None, mcp: bool) -> str:
    """Return how the endpoint is delivered. Raises ``ConfigError``, which names the argument."""
    if not mcp and transport is not None:
        raise wrong("transport= says how a server is delivered, and mcp=False that none is.")
    if transport is not None and transport not in TRANSPORTS:
        raise wrong(f"transport= is none that is known. Give one of {', '.join(TRANSPORTS)}.")
    return (transport or "") if mcp else "nothing"


@contextmanager
def workdir_of(workdir: str | Path | None) -> Iterator[Path]:
    """Return the working directory of a probe: a fresh temporary one unless one is named."""
    if workdir is not None:
        yield Path(workdir)
        return
    with TemporaryDirectory(prefix="kandev-nb-probe-", ignore_cleanup_errors=True) as fresh:
        yield Path(fresh).resolve()


def _found(launch: Launch) -> Launch:
    """Return the launch with its program as it is found from here, if not from its directory.

    That may be a temporary one, in which no project has installed anything.
    """
    spec, environ = launch.agent, {**os.environ, **launch.env}
    program, *more = spec.command
    if not launch.is_registered and os.sep not in program:
        return launch
    places = (launch.cwd, Path.cwd())
    path = next(filter(None, (find_program(program, environ, place) for place in places)), program)
    return launch._replace(agent=spec.model_copy(update={"command": (path, *more)}))


def _of(ready: Ready, course: Course) -> tuple[Launch, Course, Recorder]:
    return ready.launch, course, ready.recorder


def _bound(value: float, argument: str) -> float:
    if (bound := seconds(value, argument)) is None:
        raise wrong(f"{argument} is no bound for a probe. Give a number of seconds.")
    return bound


def _path(value: str | Path | None, argument: str) -> Path | None:
    if not isinstance(value, str | Path | None):
        raise wrong(f"{argument} is not a path. Give a str or a pathlib.Path.")
    return None if value is None else Path(value)
