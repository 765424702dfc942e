"""The status widget in the hands of a person, in JupyterLab and in Notebook 7."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import OpenNotebook
from tests.e2e.jupyter import App, JupyterServer, NotebookPage

SHOW = """
from kandev_nb.widgets import StatusWidget
from tests.widgets.source import FakeSource, row

source = FakeSource(row("kandev"), row("github", "filtered", "Left out by the policy"))
StatusWidget(source)
"""

# The cell ends, and the row changes, when the test writes to the pipe of that name.
BUSY = """
import pathlib, threading

def activate():
    pathlib.Path("activate").read_text()
    source.show(row("kandev", "active"), row("github", "filtered", "Left out by the policy"))

threading.Thread(target=activate, daemon=True).start()
pathlib.Path("finish").read_text()
"""

NASTY_NAME = '<img src=x onerror="document.title=1">**b**\u202ecod'
NASTY_SHOWN = '<img src=x onerror="document.title=1">**b**\\u202ecod'
NASTY = f"source.show(row({NASTY_NAME!r}, 'failed', '<b>bold</b> \\x1b[31m'), row('a' * 300))"

PLAIN, RUNNING, MARKUP = 0, 1, 2


@pytest.fixture(scope="module", params=["lab", "notebook"])
def opened(
    request: pytest.FixtureRequest, server: JupyterServer, notebook: OpenNotebook
) -> Iterator[NotebookPage]:
    """A notebook whose first cell shows the widget."""
    app: App = request.param
    server.write(f"widget-{app}.ipynb", SHOW, BUSY, NASTY)
    with notebook(app, f"widget-{app}.ipynb") as page:
        page.run(PLAIN)
        yield page


@pytest.fixture
def table(opened: NotebookPage) -> Locator:
    """The widget's own element, around its shadow root."""
    return opened.output(PLAIN).locator(".kandev-nb")


@pytest.fixture
def pipes(server: JupyterServer) -> Iterator[tuple[Path, Path]]:
    """What the busy cell waits for."""
    pipes = server.folder / "activate", server.folder / "finish"
    for pipe in pipes:
        os.mkfifo(pipe)
    yield pipes
    for pipe in pipes:
        pipe.unlink()


@pytest.mark.req("UI/Labels and dots")
def test_a_row_turns_from_delivered_to_active_while_the_cell_still_runs(
    opened: NotebookPage, table: Locator, pipes: tuple[Path, Path]
) -> None:
    activate, finish = pipes
    row = table.get_by_test_id("kandev-server-row-kandev")
    expect(row).to_contain_text("Delivered · connection unverified")
    opened.screenshot("widget-delivered")

    opened.start(RUNNING)
    expect(opened.prompt(RUNNING)).to_have_text("[*]:")
    activate.write_text("now")

    expect(row).to_contain_text("Active")
    expect(row.locator(".dot.green")).to_be_visible()
    expect(opened.prompt(RUNNING)).to_have_text("[*]:")
    opened.screenshot("widget-active-while-busy")
    finish.write_text("now")
    expect(opened.prompt(RUNNING)).to_have_text(re.compile(r"\[\d+\]:"))


@pytest.mark.req("UI")
def test_keys_typed_in_the_widget_stay_there(opened: NotebookPage, table: Locator) -> None:
    before = opened.cell_count()

    table.get_by_text("MCP servers").click()
    opened.page.keyboard.press("a")
    opened.page.keyboard.press("b")
    inside = opened.cell_count()
    opened.prompt(MARKUP).click()
    opened.page.keyboard.press("b")
    outside = opened.cell_count()

    assert (inside, outside) == (before, before + 1)


@pytest.mark.req("CA-5")
def test_markup_in_names_and_summaries_stays_text(opened: NotebookPage, table: Locator) -> None:
    opened.run(MARKUP)

    row = table.get_by_test_id(f"kandev-server-row-{NASTY_NAME}")
    expect(row.locator(".name")).to_have_text(NASTY_SHOWN)
    expect(row.locator(".summary")).to_have_text("<b>bold</b> \\u001b[31m")
    expect(table.locator("img")).to_have_count(0)
    assert opened.page.title() != "1"


@pytest.mark.req("UI")
def test_in_a_box_of_250_pixels_the_widget_wraps_and_never_overflows_sideways(
    opened: NotebookPage, table: Locator
) -> None:
    opened.run(PLAIN)
    opened.run(MARKUP)
    table.evaluate("element => element.style.width = '250px'")

    overflow = table.evaluate(
        """element => [...element.shadowRoot.querySelectorAll('*')].filter(
             inner => inner.getBoundingClientRect().right >
               element.getBoundingClientRect().right + 0.5
           ).map(inner => inner.outerHTML.slice(0, 80))"""
    )

    opened.screenshot("widget-narrow", of=table)
    assert overflow == []


@pytest.mark.req("UI/Labels and dots")
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_widget_is_accessible_in_both_themes(
    opened: NotebookPage, table: Locator, theme: str
) -> None:
    opened.run(PLAIN)
    opened.use_theme(theme)
    expect(table.get_by_test_id("kandev-server-row-kandev")).to_be_visible()

    violations = opened.accessibility_violations(".kandev-nb")

    opened.screenshot(f"widget-{theme.rsplit(' ', 1)[-1].lower()}")
    opened.use_theme("JupyterLab Light")
    assert violations == []
