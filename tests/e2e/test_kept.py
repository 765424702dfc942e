"""A second notebook, in a kernel of its own, sees what the first one left and what it does now."""

from typing import Final

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import OpenNotebook
from tests.e2e.jupyter import JupyterServer

WORK: Final = """
from kandev_nb import Controller
kandev = Controller(store="reports.db")
session = kandev.task("triage").start("scripted", args=["--scenario", "ignores"], name="main")
assert kandev._keeping.flush(30)
"""
CONNECT: Final = """
session.prompt("connect kandev\\nlist kandev")
session.wait_for("kandev", "active").status
"""
LOOK: Final = """
from kandev_nb import Controller
kandev = Controller(store="reports.db")
print(kandev.sessions())
kandev.sessions()[0]
"""


@pytest.mark.req("EV-11", "AC.10")
def test_a_fresh_notebook_shows_the_last_state_marked_as_stored(
    server: JupyterServer, notebook: OpenNotebook
) -> None:
    server.write("work.ipynb", WORK, CONNECT, "kandev.close()")
    server.write("look.ipynb", LOOK, LOOK)

    with notebook("lab", "work.ipynb") as work, notebook("lab", "look.ipynb") as look:
        work.run(0)
        seen = look.run(0)
        row = seen.get_by_test_id("kandev-server-row-kandev")
        expect(row).to_contain_text("Delivered")
        expect(seen.last).to_contain_text("live in another kernel")

        work.run(1)

        expect(row).to_contain_text("Active")
        look.screenshot("kept-live-elsewhere", of=seen.last)
        work.run(2)
        expect(seen.last).to_contain_text("Stored; nothing here is live.")
        stored = look.run(1)
        expect(stored.last.get_by_test_id("kandev-server-row-kandev")).to_contain_text("Active")
        expect(stored.last).to_contain_text("Stored; nothing here is live.")
        expect(stored.first).to_contain_text('triage · session "main" · scripted · closed · stored')
        look.screenshot("kept-stored", of=stored.last)
