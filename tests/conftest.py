"""What every test shares."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from kandev_nb import Controller, Task

# No test writes into the store of whoever runs it.
_folder: Final = TemporaryDirectory(prefix="kandev-nb-tests-", ignore_cleanup_errors=True)
os.environ["KANDEV_NB_STORE"] = str(Path(_folder.name, "store.db"))

# A shared machine may be slow at any moment: how long an example takes proves nothing.
settings.register_profile("kandev", deadline=None, max_examples=60)
settings.load_profile("kandev")


_LONGEST: Final = ("test_load.py", "test_commands.py", "test_words.py", "test_kernel.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that none of them runs on alone at the end."""
    items.sort(key=lambda item: item.path.name not in _LONGEST)


@pytest.fixture(scope="module")
def kandev() -> "Iterator[Controller]":
    """A controller for the tests of one module."""
    from kandev_nb import Controller

    with Controller() as controller:
        yield controller


@pytest.fixture
def task(kandev: "Controller", request: pytest.FixtureRequest) -> "Iterator[Task]":
    """A task for one test; its sessions end with the test."""
    task = kandev.task(request.node.name)
    yield task
    task.close()
