"""The command line: ``kandev-nb``."""

import click
from rich.console import Console

from kandev_nb._version import __version__

_SERVERS = {"github": {"url": "https://mcp.example.com/github"}}


@click.group()
@click.version_option(__version__)
def main() -> None:
    """See what each agent session really did with its MCP servers."""


@main.command()
def demo() -> None:
    """Run the reference agent against the Kandev endpoint and print the report."""
    from kandev_nb import Controller

    console = Console(highlight=False, soft_wrap=True)
    console.print("Starting the scripted reference agent and the Kandev MCP endpoint …\n")
    with Controller() as kandev:
        session = kandev.task("demo").start("scripted", servers=_SERVERS)
        session.wait_for("kandev", "active")
        session.prompt('call kandev create_task_plan_kandev {"content": "1. Look."}')
        console.print(str(session.view), markup=False)
        console.print()
        columns = ["server", "kind", "seconds", "provenance", "connection_id", "tool_count"]
        console.print(session.timeline()[columns].to_string(index=False), markup=False)


if __name__ == "__main__":
    main()
