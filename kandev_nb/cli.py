"""The command line: ``kandev-nb``."""

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.text import Text

from kandev_nb._version import __version__
from kandev_nb.probing.commands import matrix, probe
from kandev_nb.reporting import report

if TYPE_CHECKING:
    from kandev_nb.agents.listing import Listed
    from kandev_nb.doctor import Check

_SERVERS = {"github": {"url": "https://mcp.example.com/github"}}

_MARKS: Final = {"ok": "✓", "note": "·", "problem": "✗"}
_ASCII_MARKS: Final = {"ok": "+", "note": "-", "problem": "x"}
_STYLES: Final = {"ok": "green", "note": "dim", "problem": "bold red"}
_ASSUMED: Final = (
    "The transports are those that it advertises for MCP servers; assumed is what it takes "
    "without saying so."
)


@click.group()
@click.version_option(__version__)
def main() -> None:
    """See what each agent session really did with its MCP servers."""


main.add_command(probe)
main.add_command(matrix)
main.add_command(report)


@main.command()
def demo() -> None:
    """Run the reference agent against the Kandev endpoint and print the report."""
    from kandev_nb import Controller

    console = Console(highlight=False, soft_wrap=True, emoji=False)
    console.print("Starting the scripted reference agent and the Kandev MCP endpoint …\n")
    with Controller() as kandev:
        session = kandev.task("demo").start("scripted", servers=_SERVERS)
        session.wait_for("kandev", "active")
        session.prompt('call kandev create_task_plan_kandev {"content": "1. Look."}')
        console.print(str(session.view), markup=False)
        console.print()
        columns = ["server", "kind", "seconds", "provenance", "connection_id", "tool_count"]
        console.print(session.timeline()[columns].to_string(index=False), markup=False)


@main.command()
@click.argument("file", metavar="FILE")
@click.option("--agent", metavar="NAME", help="A registered agent; any agent over ACP without it.")
@click.option("--strategy", metavar="NAME", help="Its own CLI instead: claude, codex, gemini, …")
@click.option("--policy", metavar="POLICY", help="local, deny_all, or a JSON or TOML file.")
@click.option("--format", metavar="CLIENT", help="Whose document FILE is, where nothing tells.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects.")
def plan(
    file: str,
    agent: str | None,
    strategy: str | None,
    policy: str | None,
    format: str | None,  # noqa: A002 - the word of the option
    as_json: bool,
) -> None:
    """Say which servers of a configuration FILE will reach an agent, and why the rest will not.

    FILE is the document of any common client: Claude, Cursor, Gemini, VS Code, Windsurf, opencode,
    Codex, Zed, Jupyter AI or Kandev; - is the standard input. Nothing is started and nothing
    contacted. Leaves with 0 whatever the decisions are, and with 1 when something cannot be read.
    """
    from kandev_nb import KandevError, plan

    # What a plan says it says once.
    logging.getLogger("kandev_nb").addHandler(logging.NullHandler())
    text = sys.stdin.read() if file == "-" else file
    try:
        made = plan(text, policy, agent, format=format, strategy=strategy)
    except KandevError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json.dumps(made.to_json(), indent=2))
        for note in made.notes:
            click.echo(note, err=True)
        return
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    for line in str(made).splitlines():
        console.print(_shown(line, console), markup=False)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects.")
def agents(as_json: bool) -> None:
    """Say which agents can be started by name, where they are and what they need.

    They are looked for as a session in this directory would: on PATH, then in node_modules/.bin
    here and above. Nothing is started.
    """
    import os
    from pathlib import Path

    from kandev_nb.agents.listing import listed

    rows = listed(os.environ, Path.cwd())
    if as_json:
        click.echo(json.dumps([row.to_json() for row in rows], indent=2))
        return
    console = Console(highlight=False, soft_wrap=True)
    for line in _table(rows, console):
        console.print(line)
    installed = sum(bool(row.path) for row in rows)
    console.print(f"\n{installed} of {len(rows)} agents are installed. {_ASSUMED}", markup=False)


@main.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Say whether kandev-nb works in this environment, and what to do where it does not.

    Leaves with 1 where there is a problem; a note needs nothing done.
    """
    from kandev_nb.doctor import examine

    # What is wrong is said in the table, once.
    logging.getLogger("kandev_nb").addHandler(logging.NullHandler())
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    checks = examine()
    width = max(len(_shown(check.name, console)) for check in checks)
    for check in checks:
        console.print(_row(check, width, console))
    problems = [_shown(check.name, console) for check in checks if check.state == "problem"]
    console.print(f"\n{_summary(len(checks), problems)}", markup=False)
    context.exit(1 if problems else 0)


def _table(rows: Sequence["Listed"], console: Console) -> Iterator[Text]:
    """Yield a row for each agent, its lines below it, with columns that stand below each other."""
    cells = [
        [_shown(word, console) for word in (row.spec.id, row.spec.title, row.transports)]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row, words in zip(rows, cells, strict=True):
        columns = "  ".join(f"{word:<{width}}" for word, width in zip(words, widths, strict=True))
        text = _marked("ok" if row.path else "note", console)
        text.append(f" {columns}  {_shown(row.place, console)}")
        for line in row.lines():
            text.append(f"\n{'':{widths[0] + 4}}{_shown(line, console)}")
        yield text


def _row(check: "Check", width: int, console: Console) -> Text:
    row = _marked(check.state, console)
    row.append(f" {_shown(check.name, console):<{width}}  {_shown(check.found, console)}")
    if check.advice:
        row.append(f"\n{'':{width + 4}}{_shown(check.advice, console)}")
    return row


def _marked(state: str, console: Console) -> Text:
    marks = _ASCII_MARKS if console.options.ascii_only else _MARKS
    return Text.assemble((marks[state], _STYLES[state]))


def _shown(text: str, console: Console) -> str:
    """Return what the console can show of ``text``, with the rest of it escaped (CA-5)."""
    printable = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return printable.encode(console.encoding, "backslashreplace").decode(console.encoding)


def _summary(count: int, problems: list[str]) -> str:
    if not problems:
        return f"{count} checks, no problem found."
    what = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return f"{count} checks, {what}: {', '.join(problems)}."


if __name__ == "__main__":
    main()
