"""The quickstart notebook as a new user runs it."""

import json
import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import OpenNotebook
from tests.e2e.jupyter import ROOT, App, JupyterServer, NotebookPage

QUICKSTART = ROOT / "notebooks" / "quickstart.ipynb"


def code_cells() -> list[int]:
    """The places of the code cells in the notebook."""
    cells = json.loads(QUICKSTART.read_text())["cells"]
    return [place for place, cell in enumerate(cells) if cell["cell_type"] == "code"]


@pytest.fixture(params=["lab", "notebook"])
def quickstart(
    request: pytest.FixtureRequest, server: JupyterServer, notebook: OpenNotebook
) -> Iterator[NotebookPage]:
    app: App = request.param
    shutil.copy(QUICKSTART, server.folder / f"quickstart-{app}.ipynb")
    with notebook(app, f"quickstart-{app}.ipynb") as page:
        yield page


def label(table: Locator, server: str) -> Locator:
    return table.get_by_test_id(f"kandev-server-row-{server}")


@pytest.mark.req("AC.3", "AC.4", "UI/Labels and dots")
def test_a_row_turns_from_delivered_to_connected_to_active_before_the_readers_eyes(
    quickstart: NotebookPage,
) -> None:
    start, explain, connect, load, tools, prompt, *rest = code_cells()

    table = quickstart.run(start).locator(".kandev-nb").first
    expect(label(table, "kandev")).to_contain_text("Delivered · connection unverified")
    quickstart.run(explain)

    quickstart.run(connect)
    expect(label(table, "kandev")).to_contain_text("Connected")
    quickstart.run(load)
    expect(label(table, "kandev")).to_contain_text(re.compile(r"Active.*7 tools.*~\d+ tokens"))
    quickstart.run(tools)
    quickstart.run(prompt)
    expect(label(table, "kandev")).to_contain_text("used · 1 call")
    expect(label(table, "github")).to_contain_text("Delivered · connection unverified")
    quickstart.screenshot("quickstart", table)

    for place in rest:
        quickstart.run(place)
    expect(label(table, "kandev")).to_contain_text("ended")
    quickstart.screenshot("quickstart-end")
