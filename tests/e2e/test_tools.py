"""The notebook on tools of one's own, as a user runs it."""

import json
import shutil

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import OpenNotebook
from tests.e2e.jupyter import ROOT, JupyterServer

TOOLS = ROOT / "notebooks" / "tools.ipynb"


@pytest.mark.req("CA-1", "UI/Labels and dots")
def test_the_table_says_that_the_catalog_may_be_stale_until_it_is_listed_again(
    server: JupyterServer, notebook: OpenNotebook
) -> None:
    cells = json.loads(TOOLS.read_text())["cells"]
    code = [place for place, cell in enumerate(cells) if cell["cell_type"] == "code"]
    shown = next(place for place in code if "".join(cells[place]["source"]) == "session")
    shutil.copy(TOOLS, server.folder / "tools.ipynb")

    with notebook("lab", "tools.ipynb") as page:
        for place in code[: code.index(shown)]:
            page.run(place)
        row = page.run(shown).get_by_test_id("kandev-server-row-kandev")
        expect(row).to_contain_text("7 tools")
        expect(row).to_contain_text("catalog may be stale")
        page.screenshot("tools-stale", row)

        page.run(code[code.index(shown) + 1])
        expect(row).to_contain_text("8 tools")
        expect(row).not_to_contain_text("stale")
        for place in code[code.index(shown) + 2 :]:
            page.run(place)
        expect(row).to_contain_text("ended")
        page.screenshot("tools")
