"""The report that a notebook keeps: shown again without a kernel's help, and never an exception."""

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from kandev_nb.attachment.display import MIME_TYPE
from tests.attachment.story import Story
from tests.e2e.conftest import OpenNotebook
from tests.e2e.jupyter import App, JupyterServer

TABLE = "MCP servers, as a text table"


def bundle(saved: Any) -> dict[str, Any]:
    return {MIME_TYPE: saved, "text/plain": TABLE}


def display(saved: Any) -> str:
    return f"import json\ndisplay(json.loads({json.dumps(bundle(saved))!r}), raw=True)"


# The last line shows the report as session.report does.
GOOD = """
from tests.attachment.story import Story

story = Story().start(session_id="session-1")
story.tell("tools_list_observed", "c1", tool_count=1, tools=[{"name": "a"}])
story.tell("explicit_error", server="", summary="the agent ended")
story.history
"""
NEWER = {"version": 2, "something": "else"}
BROKEN = {"version": 1, "rows": {"rows": [1, 2, 3]}}


@pytest.mark.req("UI/States every view must have")
@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_saved_report_is_shown_after_reopening_and_marked_as_saved(
    app: App, server: JupyterServer, notebook: OpenNotebook
) -> None:
    name = f"saved-{app}.ipynb"
    server.write(name, GOOD, display(NEWER), display(BROKEN))
    with notebook(app, name) as page:
        for cell in range(3):
            page.run(cell)
        page.save()

    with notebook(app, name) as page:
        good, newer, broken = (page.output(cell) for cell in range(3))
        expect(good.get_by_test_id("kandev-server-row-kandev")).to_contain_text("Active")
        expect(good.get_by_test_id("kandev-session-error")).to_contain_text("the agent ended")
        expect(good.get_by_test_id("kandev-saved")).to_be_visible()
        expect(newer).to_contain_text("saved by a newer kandev-nb")
        expect(broken).to_contain_text("cannot be read")
        page.screenshot("saved-report")


@pytest.mark.req("UI")
def test_an_untrusted_notebook_shows_the_text_table(
    server: JupyterServer, notebook: OpenNotebook
) -> None:
    saved = Story().start().tell("delivered").history._repr_mimebundle_()[MIME_TYPE]
    output = {"output_type": "display_data", "data": bundle(saved), "metadata": {}}
    server.write("untrusted.ipynb", "", outputs=[output])

    with notebook("lab", "untrusted.ipynb") as page:
        expect(page.output(0)).to_have_text(TABLE)
