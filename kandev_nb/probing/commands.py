"""``kandev-nb probe`` and ``kandev-nb matrix``. What is heavy is loaded when one of them runs."""

import json
import logging
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from kandev_nb.probing.matrix import Cell

_TRANSPORTS: Final = click.Choice(["http", "sse", "stdio"])
_REQUIRED: Final = click.Choice(["initialize", "tools", "call"])
_SECONDS: Final = click.FloatRange(min=0, max=86_400)
_FOLDER: Final = click.Path(file_okay=False, path_type=Path)
_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_RAW: Final = "which hold prompts, paths and whatever else is said, credentials too"

_TABLE_WIDTH: Final = 120
_STYLES: Final = {"observed": "green", "refused": "bold red", "denied": "red"}

Required = Literal["initialize", "tools", "call"] | None


@click.command()
@click.argument("agent", required=False)
@click.option("--exec", "command", metavar="CMD", help="A command over ACP, instead of AGENT.")
@click.option("--transport", type=_TRANSPORTS, help="Deliver over this one, advertised or not.")
@click.option("--no-mcp", is_flag=True, help="Deliver no MCP server.")
@click.option("--prompt", metavar="TEXT", help="Send TEXT once the tools are listed.")
@click.option("--model", metavar="ID", help="Choose the session's model.")
@click.option("--mode", metavar="ID", help="Choose the session's mode.")
@click.option("--load", metavar="ID", help="Load this session of the agent's, not a new one.")
@click.option("--timeout", type=_SECONDS, default=20.0, show_default=True, metavar="SECONDS")
@click.option("--linger", type=_SECONDS, default=0.0, metavar="SECONDS", help="Go on watching.")
@click.option(
    "--workdir", type=_FOLDER, metavar="DIR", help="The session's cwd; fresh and temporary without."
)
@click.option("--out", type=_FOLDER, metavar="DIR", help="The folder of the file of raw frames.")
@click.option("--file", type=_FILE, metavar="F", help="Instead, that file; it must not exist.")
@click.option("--stderr", is_flag=True, help="Record the agent's standard error as well.")
@click.option("--verbose", is_flag=True, help="Show every frame as it is sent or received.")
@click.option("--require", type=_REQUIRED, help="Leave with 1 where that was not observed.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.pass_context
def probe(
    context: click.Context,
    /,
    agent: str | None,
    command: str | None,
    transport: Literal["http", "sse", "stdio"] | None,
    no_mcp: bool,
    workdir: Path | None,
    out: Path | None,
    file: Path | None,
    stderr: bool,
    verbose: bool,
    require: Required,
    as_json: bool,
    **course: Any,
) -> None:
    """Start AGENT as a session does, hand it one harmless MCP server, and say what it did with it.

    The summary tells apart what the agent advertises, that the server was delivered, and whether
    initialize, tools/list and a call of the one tool were observed, with seconds after the session
    request and after the prompt. Each of these is observed, unobserved, refused (an explicit error
    names it), denied (a permission) or not started (what comes before it did not happen).
    Unobserved is not failure.

    Without --prompt no model is needed. The agent is permitted to call the one tool and nothing
    else. Raw frames go to a file that only you can read, one JSON object a line.

    \b
    Leaves with
      0  the probe ran, whatever was observed
      1  what --require names was not observed
      2  the command line cannot be used
      3  the agent could not be started or ended by itself, or refused the
         session, its model or its mode
    """
    if (agent is None) == (command is None):
        raise click.UsageError("Name one agent, or give --exec CMD.")
    if out is not None and file is not None:
        raise click.UsageError("Give --out or --file, not both.")
    if no_mcp and transport:
        raise click.UsageError("Give --transport or --no-mcp, not both.")
    from kandev_nb.attachment.words import visible
    from kandev_nb.errors import ConfigError
    from kandev_nb.probing import asking

    _be_quiet()
    _end_in_order()
    mirror = (lambda line: click.echo(line, err=True)) if verbose else None
    with ExitStack() as stack:
        try:
            cwd = stack.enter_context(asking.workdir_of(workdir))
            watched = asking.read_course(**course)
            over = asking.read_over(transport, mcp=not no_mcp)
            place = asking.Place(out, file, stderr, mirror)
            ready = asking.prepare(agent, command, (), None, cwd, over, place)
        except ConfigError as error:
            raise click.UsageError(str(error)) from None
        shown = visible(str(ready.recorder.path))
        click.echo(f"Recording raw frames, {_RAW}, in {shown}", err=True)
        result = asking.run(ready, watched)
    click.echo(json.dumps(result.to_json()) if as_json else str(result))
    context.exit(result.status(require))


@click.command()
@click.option("--agent", "agents", multiple=True, metavar="ID", help="Only this one; repeatable.")
@click.option("--transport", "transports", type=_TRANSPORTS, multiple=True, help="Repeatable.")
@click.option("--require", type=_REQUIRED, help="Leave with 1 where that was not observed.")
@click.option("--timeout", type=_SECONDS, default=20.0, show_default=True, metavar="SECONDS")
@click.option("--prompt", metavar="TEXT", help="Send TEXT to each, once its tools are listed.")
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="How many at once."
)
@click.option("--out", type=_FOLDER, metavar="DIR", help="The folder of the files of raw frames.")
@click.option("--json", "json_file", type=click.Path(), metavar="FILE", help="- is stdout.")
@click.option("--junit", "junit_file", type=_FILE, metavar="FILE", help="For CI servers.")
@click.pass_context
def matrix(
    context: click.Context,
    /,
    agents: tuple[str, ...],
    transports: tuple[Literal["http", "sse", "stdio"], ...],
    require: Required,
    timeout: float,
    prompt: str | None,
    jobs: int,
    out: Path | None,
    json_file: str | None,
    junit_file: Path | None,
) -> None:
    """Probe every installed agent over every transport, and print a table.

    Each is probed as `kandev-nb probe AGENT --transport T` does. An agent that is not installed is
    listed as such and fails nothing.

    \b
    Leaves with
      0  the probes ran, whatever was observed
      1  what --require names was not observed of an installed agent, or a
         probe could not be begun
      2  the command line cannot be used
    """
    from kandev_nb.errors import ConfigError
    from kandev_nb.probing import asking
    from kandev_nb.probing.junit import junit
    from kandev_nb.probing.matrix import cells, run_matrix

    _be_quiet()
    _end_in_order()
    errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
    try:
        wanted = cells(agents, transports or asking.TRANSPORTS)
    except ConfigError as error:
        raise click.UsageError(str(error)) from None
    course = asking.read_course(prompt, timeout, 0.0, None, None, None)
    ended = _with_progress(
        errors, len(wanted), lambda done: run_matrix(wanted, course, out, jobs, done)
    )
    # First of all: a file that cannot be written costs nobody what was found.
    _print(ended, require, errors if json_file == "-" else None)
    if json_file is not None:
        _write(json_file, json.dumps([cell.to_json(require) for cell in ended], indent=2) + "\n")
    if junit_file is not None:
        _write(str(junit_file), junit(ended, require))
    context.exit(1 if any(cell.fails(require) for cell in ended) else 0)


def _with_progress(
    console: Console, total: int, run: Callable[[Callable[["Cell"], None]], tuple["Cell", ...]]
) -> tuple["Cell", ...]:
    """Run, with a bar that says how far it is."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("Probing", total=total)

        def done(cell: "Cell") -> None:
            progress.update(task, advance=1, description=f"Probed {cell.agent}")

        return run(done)


def _print(ended: Sequence["Cell"], require: Required, console: Console | None) -> None:
    """Print the table and what is to be said below it."""
    from rich import box
    from rich.text import Text

    from kandev_nb.attachment.words import visible
    from kandev_nb.probing.matrix import summary

    out = console or Console(highlight=False, soft_wrap=True, emoji=False)
    # No word of it is cut or folded, however narrow the terminal is.
    out.width = max(out.width, _TABLE_WIDTH)
    heads = ("agent", "transport", "advertised", "session", "initialize", "tools list", "tool call")
    table = Table(*heads, box=box.SIMPLE_HEAD, show_edge=False)
    for cell in ended:
        words = _cells(cell)
        table.add_row(*(Text(visible(word), style=_STYLES.get(word, "")) for word in words))
    out.print(table)
    for line in summary(ended, require):
        out.print(visible(line), markup=False)


def _cells(cell: "Cell") -> tuple[str, ...]:
    result = cell.result
    if result is None:
        return (cell.agent, cell.transport, "", "not probed" if cell.problem else "not installed")
    said = result.advertised
    advertised = "" if said is None else "yes" if cell.transport in ("stdio", *said) else "no"
    steps = (result.session, result.initialize, result.tools_list, result.tool_call)
    return (cell.agent, cell.transport, advertised, *(step.word for step in steps))


def _write(name: str, content: str) -> None:
    try:
        with click.open_file(name, "w", encoding="utf-8") as file:
            file.write(content)
    except OSError as error:
        raise click.ClickException(f"{name} cannot be written ({error.strerror}).") from None


def _end_in_order() -> None:
    """Let what else ends a command end it as Ctrl-C does, with nothing left behind."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def _be_quiet() -> None:
    # What a probe says it says once.
    logging.getLogger("kandev_nb").addHandler(logging.NullHandler())
