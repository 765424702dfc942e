"""What was meant, as a person sees it: every kind of gray row, and the notebook that shows how."""

import json
import shutil
from typing import Final

import pytest
from playwright.sync_api import expect

from kandev_nb.attachment.reasons import settle
from tests.e2e.conftest import OpenNotebook
from tests.e2e.jupyter import ROOT, JupyterServer
from tests.test_meant import LEFT_OUT, POLICY

CONFIGURATION: Final = ROOT / "notebooks" / "configuration.ipynb"

ENTRIES: Final = {
    reason: next(iter(servers.values()))
    for reason, (servers, _) in LEFT_OUT.items()
    if reason not in ("reserved_name", "profile_disabled", "policy_denied")
}
DOCUMENT: Final = json.dumps(
    {**ENTRIES, "denied": {"url": "http://127.0.0.1:9/"}, "kandev": {"command": "/bin/sh"}}
)
TWICE: Final = DOCUMENT[:-1] + ', "twice": {"command": "x"}, "twice": {"command": "/bin/sh"}}'

START = f"""
from kandev_nb import Controller
kandev = Controller()
session = kandev.task("meant").start(
    "scripted", args=["--mcp-capabilities", "none"], servers={TWICE!r}, policy={POLICY!r}
)
session
"""


@pytest.mark.req("CF-1", "CF-2", "UI/Labels and dots")
def test_every_row_that_is_left_out_is_gray_and_says_why(
    server: JupyterServer, notebook: OpenNotebook
) -> None:
    server.write("meant.ipynb", START, "print(session.view); kandev.close()")

    with notebook("lab", "meant.ipynb") as page:
        table = page.run(0)
        text = page.run(1).inner_text()
        rows = {reason: reason for reason in ENTRIES}
        rows |= {"policy_denied": "denied", "reserved_name": "kandev (profile)"}
        rows["duplicate_name"] = "twice (2)"
        for reason, name in rows.items():
            row = table.get_by_test_id(f"kandev-server-row-{name}")
            label = "Unavailable" if reason in UNAVAILABLE else "Filtered"
            expect(row).to_contain_text(label)
            expect(row.locator(".dot.gray")).to_be_visible()
            summary = row.locator(".summary").inner_text()
            assert summary, reason
            assert settle(reason), reason
            assert f"{name} " in text
            assert summary in text
        page.screenshot("configuration-left-out", of=table.last)


UNAVAILABLE: Final = {
    "duplicate_name",
    *(reason for reason, (_, outcome) in LEFT_OUT.items() if outcome == "unavailable"),
}


@pytest.mark.req("CF-1", "CF-3")
def test_the_notebook_on_configurations_runs_as_a_user_runs_it(
    server: JupyterServer, notebook: OpenNotebook
) -> None:
    cells = json.loads(CONFIGURATION.read_text())["cells"]
    code = [place for place, cell in enumerate(cells) if cell["cell_type"] == "code"]
    shutil.copy(CONFIGURATION, server.folder / "configuration.ipynb")

    with notebook("lab", "configuration.ipynb") as page:
        outputs = {place: page.run(place) for place in code}
        shown = next(p for p in code if "servers=document" in "".join(cells[p]["source"]))
        row = outputs[shown].get_by_test_id("kandev-server-row-search")
        expect(row).to_contain_text("Unavailable")
        expect(row).to_contain_text("The entry names no URL to connect to.")
        page.screenshot("configuration", of=outputs[shown].last)
        page.screenshot("configuration-plan", of=outputs[code[1]].last)
