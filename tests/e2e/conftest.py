"""A browser and a Jupyter server for all browser tests, and notebooks to open in them."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.e2e.jupyter import ROOT, App, JupyterServer, NotebookPage, open_notebook, serve

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class OpenNotebook(Protocol):
    """Opens a notebook of the server's folder in one of the applications."""

    def __call__(self, app: App, notebook: str) -> AbstractContextManager[NotebookPage]: ...


# Playwright keeps an event loop running in the main thread, where other tests need their own: it
# goes with this package, not with the whole run.


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.fail("No Chromium here: apt-get install -y --no-install-recommends chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def front_end() -> None:
    """The two bundles, built from the sources as they are now."""
    subprocess.run([sys.executable, str(ROOT / "labextension" / "toolchain.py")], check=True)


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, front_end: None) -> Iterator[JupyterServer]:
    with serve(tmp_path_factory.mktemp("jupyter")) as running:
        yield running


@pytest.fixture(scope="package")
def notebook(browser: Browser, server: JupyterServer) -> OpenNotebook:
    def open_in(app: App, notebook: str) -> AbstractContextManager[NotebookPage]:
        return open_notebook(browser, server, app, notebook)

    return open_in
