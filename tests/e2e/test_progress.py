"""A prompt while it is under way, as a person sees it and interrupts it."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import OpenNotebook
from tests.e2e.jupyter import App, JupyterServer, NotebookPage

WORDS = "reading the code"
TOOL = "mcp__kandev__look_around"

START_CELL = """
import threading
from kandev_nb import Controller

kandev = Controller()
seen = threading.Event()

@kandev.tool
def look_around() -> str:
    "Look until it is seen."
    seen.wait()
    return "seen"

session = kandev.task("t").start("scripted", name="triage")
"""
# Spelled backwards: a notebook saves its own cells.
PROMPT_CELL = f"""
words = "{WORDS[::-1]}"[::-1]
session.prompt(f"say {{words}}\\nsay <b>{{words}}</b>\\u202e\\ncall kandev look_around {{{{}}}}")
"""
NEXT_CELL = """
seen.set()
session.prompt("say hello").text
"""
START, PROMPT, NEXT = 0, 1, 2


@pytest.fixture(params=["lab", "notebook"])
def opened(
    request: pytest.FixtureRequest, server: JupyterServer, notebook: OpenNotebook
) -> Iterator[NotebookPage]:
    app: App = request.param
    server.write(f"progress-{app}.ipynb", START_CELL, PROMPT_CELL, NEXT_CELL)
    with notebook(app, f"progress-{app}.ipynb") as page:
        page.run(START)
        yield page


def saved(opened: NotebookPage, server: JupyterServer) -> str:
    """What the notebook's file holds when it is saved now."""
    opened.save()
    return (server.folder / f"progress-{opened.app}.ipynb").read_text()


def look(opened: NotebookPage, view: Locator) -> list[str]:
    """Look at the view in both themes; return what hinders some people."""
    violations = []
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        opened.use_theme(theme)
        expect(view).to_be_visible()
        opened.screenshot(f"progress-{theme.rsplit(' ', 1)[-1].lower()}")
        violations += opened.accessibility_violations(".kandev-nb")
    return violations


@pytest.mark.req("SA-1", "SE-7")
def test_words_and_tool_calls_are_seen_while_a_prompt_runs_and_are_never_saved(
    opened: NotebookPage, server: JupyterServer
) -> None:
    opened.start(PROMPT)
    view = opened.cell(PROMPT).locator(".kandev-nb")
    expect(view.get_by_test_id("kandev-turn-words")).to_contain_text(WORDS)
    expect(view.get_by_test_id("kandev-turn-words")).to_contain_text(f"<b>{WORDS}</b>\\u202e")
    expect(view.get_by_test_id("kandev-tool-call")).to_have_text(f"{TOOL}running")
    expect(view.get_by_test_id("kandev-turn-state")).to_have_text(
        "The agent is working · 1 tool call"
    )
    expect(opened.prompt(PROMPT)).to_have_text("[*]:")
    assert WORDS not in saved(opened, server)
    assert look(opened, view) == []

    opened.page.evaluate("() => void jupyterapp.commands.execute('notebook:interrupt-kernel')")

    expect(view.get_by_test_id("kandev-turn-state")).to_contain_text("Interrupted")
    expect(view.get_by_test_id("kandev-tool-call")).to_have_text(f"{TOOL}cancelled")
    opened.screenshot("progress-interrupted")
    expect(opened.output(PROMPT).last).to_contain_text("KeyboardInterrupt")
    expect(view).to_have_count(0)
    expect(opened.run(NEXT)).to_contain_text("hello")
    opened.screenshot("progress-gone")
    file = saved(opened, server)
    assert WORDS not in file
    assert [output.get("data") for output in json.loads(file)["cells"][PROMPT]["outputs"]] == [
        {},
        None,
    ]
