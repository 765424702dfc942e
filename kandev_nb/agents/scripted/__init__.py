"""The reference agent: a real agent process that does with MCP servers exactly what you tell it.

Use it to see how a notebook, a server or an endpoint copes with the agents of this world, without
a login or a model::

    python -m kandev_nb.agents.scripted --scenario reconnects

It speaks ACP version 1 on its standard input and output, takes MCP servers over stdio, HTTP and
SSE, and really connects to them. A *scenario* says what it does unasked when a session is opened
(:data:`~kandev_nb.agents.scripted.scenarios.SCENARIOS`; ``--help`` prints the table). A *prompt*
makes it do more, one command a line (:data:`~kandev_nb.agents.scripted.grammar.GRAMMAR`)::

    call github search_issues {"query": "is:open"}
    wait 2
    close github

In tests, :func:`command` spells the command line.
"""

import sys

__all__ = ["command"]


def command(scenario: str = "lists-and-calls", **options: str | float | bool) -> tuple[str, ...]:
    """Return the command that starts the reference agent.

    ``options`` are its command-line options with underscores: ``command("crashes", at="prompt",
    after=True)``. A flag is given as True.
    """
    # -P: a session's directory must not lend its modules to the agent.
    words = [sys.executable, "-P", "-m", __name__, "--scenario", scenario]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        words += [flag] if value is True else [flag, str(value)]
    return tuple(words)
