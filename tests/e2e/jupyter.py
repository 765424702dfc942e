"""JupyterLab and Notebook 7, served on loopback for one test run, and a notebook open in them.

Browser tests come in with cells and get a :class:`NotebookPage`: what a person would do there, and
every error that the page reported meanwhile. One server serves both applications. Its folders are
its own; the front end is the one that was just built, not one that happens to be installed.
"""

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect

App = Literal["lab", "notebook"]
Cell = dict[str, Any]

ROOT: Final = Path(__file__).parents[2]
ARTIFACTS: Final = ROOT / "tests" / "artifacts"
SECONDS: Final = 60_000
"""How long a page may take for one step, in milliseconds."""

_PATHS: Final[Mapping[App, str]] = {"lab": "doc/tree", "notebook": "notebooks"}
_NOTICES: Final = "@jupyterlab/apputils-extension/notification.jupyterlab-settings"
_FLAGS: Final = (
    "--no-browser",
    "--allow-root",
    "--ServerApp.ip=127.0.0.1",
    "--ServerApp.port=0",
    "--LabApp.expose_app_in_browser=True",
    "--JupyterNotebookApp.expose_app_in_browser=True",
    "--LabApp.news_url=",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
_KNOWN_ERRORS: Final = re.compile(
    # Notebook 7 raises these with and without extensions: the first at any start, the second
    # where JupyterLab has saved a workspace.
    r"Cannot read properties of undefined \(reading 'schema'\)"
    r"|Command 'filebrowser:open-path' not registered"
)
_METADATA: Final = {"kernelspec": {"display_name": "Python 3", "name": "python3"}}
_READY: Final = """() => {
  const context = globalThis.jupyterapp?.shell?.currentWidget?.sessionContext;
  const kernel = context?.session?.kernel;
  return context?.isReady && kernel?.status === 'idle'
    && kernel?.connectionStatus === 'connected' && !document.querySelector('.jp-Spinner');
}"""


class JupyterServer:
    """A running Jupyter server; notebooks lie in ``folder``, which is also a kernel's folder."""

    def __init__(self, folder: Path, url: str, token: str) -> None:
        self.folder = folder
        self._url = url
        self._token = token

    def address(self, app: App, notebook: str) -> str:
        """Return where that notebook is shown in that application."""
        return f"{self._url}{_PATHS[app]}/{notebook}?token={self._token}"

    def write(self, notebook: str, *sources: str, outputs: Sequence[Cell] = ()) -> None:
        """Write a notebook of code cells that have not been run.

        ``outputs`` are put under the first cell, as someone else might have written them.
        """
        cells = [_code_cell(source) for source in sources]
        cells[0]["outputs"] = list(outputs)
        content = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
        (self.folder / notebook).write_text(json.dumps(content))


def _code_cell(source: str) -> Cell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": secrets.token_hex(4),
        "metadata": {},
        "outputs": [],
        "source": source.strip(),
    }


@contextmanager
def serve(home: Path) -> Iterator[JupyterServer]:
    """Run a server with all of its folders below ``home`` until the block ends."""
    folder, token = home / "work", secrets.token_hex(16)
    folder.mkdir()
    environment = _environment(home)
    command = (sys.executable, "-m", "jupyterlab", *_FLAGS, f"--ServerApp.root_dir={folder}")
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [*command, f"--IdentityProvider.token={token}"],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield JupyterServer(folder, _url(home, server), token)
    finally:
        server.terminate()
        server.wait(30)


def _environment(home: Path) -> dict[str, str]:
    folders = {
        "IPYTHONDIR": home / "ipython",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_PATH": home / "share",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "PYTHONPATH": ROOT,
    }
    extensions = home / "share" / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "kandev-nb").symlink_to(ROOT / "kandev_nb" / "labextension")
    notices = home / "settings" / _NOTICES
    notices.parent.mkdir(parents=True)
    notices.write_text('{"fetchNews": "false", "checkForUpdates": false}')
    return os.environ | {name: str(folder) for name, folder in folders.items()}


def _url(home: Path, server: subprocess.Popen[bytes]) -> str:
    """Return the server's address, once it says that it listens there."""
    address = re.compile(r"(http://127\.0\.0\.1:[1-9]\d*/)lab\?token=")
    log = home / "server.log"
    while server.poll() is None:
        if found := address.search(log.read_text()):
            return found[1]
        _pause(server)
    raise AssertionError(f"the Jupyter server ended:\n{log.read_text()}")


def _pause(server: subprocess.Popen[bytes]) -> None:
    try:
        server.wait(0.1)
    except subprocess.TimeoutExpired:
        return


class NotebookPage:
    """One notebook, open in one application, with its kernel ready."""

    def __init__(self, page: Page, app: App, address: str) -> None:
        self.page = page
        self.app: App = app
        self.errors: list[str] = []
        self._address = address
        page.set_default_timeout(SECONDS)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._error(str(error)))
        self.open()

    def open(self) -> None:
        """Load the page, anew when it is open already, and wait for the kernel."""
        self.page.goto(self._address)
        self.page.wait_for_function(_READY)

    def start(self, cell: int) -> None:
        """Run a cell, and go on while it runs."""
        self._execute("notebook:run-cell", cell)

    def run(self, cell: int) -> Locator:
        """Run a cell to its end and return its output."""
        self.start(cell)
        expect(self.prompt(cell)).to_have_text(re.compile(r"\[\d+\]:"), timeout=SECONDS)
        return self.output(cell)

    def save(self) -> None:
        """Write the notebook to its file."""
        self.page.evaluate("() => jupyterapp.shell.currentWidget.context.save()")

    def use_theme(self, name: str) -> None:
        """Change the theme, say to ``JupyterLab Dark``, and wait until it is there."""
        self.page.evaluate(
            "name => jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name
        )
        expect(self.page.locator(f'body[data-jp-theme-name="{name}"]')).to_be_attached()

    def cell(self, number: int) -> Locator:
        """Return a cell, by its place from 0."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def output(self, cell: int) -> Locator:
        """Return the output of a cell."""
        return self.cell(cell).locator(".jp-OutputArea-output")

    def prompt(self, cell: int) -> Locator:
        """Return the prompt of a cell: ``[*]:`` while it runs."""
        return self.cell(cell).locator(".jp-InputPrompt")

    def cell_count(self) -> int:
        """Return how many cells the notebook has."""
        count = self.page.evaluate("() => jupyterapp.shell.currentWidget.content.widgets.length")
        return int(count)

    def screenshot(self, name: str, of: Locator | None = None) -> None:
        """Keep a picture of the page, or of a part of it, for a person to look at."""
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        (of or self.page).screenshot(path=ARTIFACTS / f"{name}-{self.app}.png")

    def accessibility_violations(self, selector: str) -> list[str]:
        """Return what axe-core finds wrong in an element and in the shadow roots within."""
        if not self.page.evaluate("() => 'axe' in globalThis"):
            axe = ROOT / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
            self.page.evaluate(axe.read_text())
        found: list[dict[str, Any]] = self.page.evaluate(
            "async of => (await axe.run({include: of})).violations", selector
        )
        return [json.dumps([v["id"], v["nodes"][0]["html"], v["help"]]) for v in found]

    def _execute(self, command: str, cell: int) -> None:
        self.page.evaluate(
            """([command, cell]) => {
              jupyterapp.shell.currentWidget.content.activeCellIndex = cell;
              void jupyterapp.commands.execute(command);
            }""",
            [command, cell],
        )

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._error(f"{message.text} ({message.location['url']})")

    def _error(self, text: str) -> None:
        if self.app == "lab" or not _KNOWN_ERRORS.search(text):
            self.errors.append(text)


@contextmanager
def open_notebook(
    browser: Browser, server: JupyterServer, app: App, notebook: str
) -> Iterator[NotebookPage]:
    """Show a notebook in a browser of its own; the block fails if the page reported an error."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    try:
        opened = NotebookPage(context.new_page(), app, server.address(app, notebook))
        yield opened
        assert not opened.errors, "\n".join(opened.errors)
    finally:
        context.close()
