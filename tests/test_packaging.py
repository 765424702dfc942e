"""What `pip install` brings: built on a machine without Node, from a clean copy of the sources."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
EXTENSION = "share/jupyter/labextensions/kandev-nb"
MEGABYTE = 1_000_000

# A first build fetches Node and the npm packages; with cold caches that takes minutes.
pytestmark = pytest.mark.timeout(900)

Run = Callable[..., str]


@pytest.fixture(scope="module")
def without_node(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs Python with a PATH on which there is a shell and nothing else."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "sh").symlink_to("/bin/sh")

    def run(*arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            env=os.environ | {"PATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the project, and nothing that was built from them."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    copy = tmp_path_factory.mktemp("sources")
    for name in filter(lambda name: (ROOT / name).is_file(), listed.stdout.splitlines()):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    return copy


def _environment(folder: Path) -> Path:
    venv.create(folder, with_pip=False)
    return folder


@pytest.fixture(scope="module")
def editable(sources: Path, without_node: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with an editable install, which builds the front end in ``sources``."""
    environment = _environment(tmp_path_factory.mktemp("editable"))
    python = environment / "bin" / "python"
    without_node("-m", "pip", "--python", python, "install", "--no-deps", "-e", sources)
    return environment


@pytest.fixture(scope="module")
def wheel(
    editable: Path, sources: Path, without_node: Run, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The wheel, built in the same sources again."""
    folder = tmp_path_factory.mktemp("wheel")
    without_node("-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, sources)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def toolchain(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The toolchain of a front end that is one source and its two bundles."""
    here = tmp_path_factory.mktemp("project") / "labextension"
    (here / "src").mkdir(parents=True)
    shutil.copy(ROOT / "labextension" / "toolchain.py", here)
    spec = importlib.util.spec_from_file_location("toolchain", here / "toolchain.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in (*module.SOURCES[1:], "src/index.ts", *module.OUTPUTS):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).touch()
    return module


@pytest.fixture
def aged(toolchain: ModuleType) -> Iterator[Path]:
    """The folder of that front end, whose bundles are newer than its sources."""
    here = Path(toolchain.HERE)
    for path in here.rglob("*"):
        os.utime(path, (1000, 1000))
    for name in toolchain.OUTPUTS:
        os.utime(here / name, (2000, 2000))
    yield here
    for name in toolchain.OUTPUTS:
        (here / name).touch()


def test_a_wheel_holds_each_bundle_once_and_no_sources_of_them(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    packed = [name for name in names if "labextension" in name]

    assert len(names) == len(set(names))
    assert names.count("kandev_nb/static/widget.js") == 1
    assert sum("remoteEntry." in name for name in names) == 1
    assert all(f".data/data/{EXTENSION}/" in name for name in packed)
    assert not any(name.endswith((".ts", ".tsx", ".mjs")) for name in names)


def test_a_wheel_holds_the_token_vocabulary(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()

    assert any(name.startswith("kandev_nb/tokens/o200k_base.") for name in names)


def test_a_wheel_takes_at_most_three_megabytes(wheel: Path) -> None:
    assert wheel.stat().st_size <= 3 * MEGABYTE


def test_an_installed_wheel_brings_the_extension_enabled_and_ok(
    wheel: Path, without_node: Run, tmp_path: Path
) -> None:
    environment = _environment(tmp_path / "fresh")
    python = environment / "bin" / "python"
    without_node("-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)

    installed = environment / EXTENSION
    metadata = json.loads((installed / "package.json").read_text())
    assert (installed / metadata["jupyterlab"]["_build"]["load"]).is_file()
    assert json.loads((installed / "install.json").read_text())["packageName"] == "kandev-nb"
    listed = _listed(environment)
    assert f"kandev-nb v{metadata['version']} enabled OK (python, kandev-nb)" in listed


def test_an_editable_install_brings_the_extension_and_the_widget(
    editable: Path, sources: Path
) -> None:
    assert (editable / EXTENSION / "package.json").is_file()
    assert (sources / "kandev_nb" / "static" / "widget.js").is_file()


def test_a_source_distribution_holds_what_a_build_needs_and_no_more(
    sources: Path, without_node: Run, tmp_path: Path
) -> None:
    without_node("-m", "build", "--sdist", "--outdir", tmp_path, sources)

    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"labextension/toolchain.py", "labextension/package-lock.json"} <= names
    assert {"labextension/src/widget.ts", "kandev_nb/__init__.py"} <= names
    unwanted = ("tests/", "labextension/tests/", "labextension/node_modules/", "labextension/lib/")
    built = ("kandev_nb/static/", "kandev_nb/labextension/")
    assert not any(name.startswith((*unwanted, *built)) for name in names)


def test_the_front_end_and_the_package_have_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    front_end = json.loads((ROOT / "labextension" / "package.json").read_text())
    lock = json.loads((ROOT / "labextension" / "package-lock.json").read_text())

    assert front_end["version"] == lock["version"] == project["version"]


@pytest.mark.parametrize("folder", ["labextension", "tests/typescript"])
def test_an_npm_lock_names_no_registry(folder: str) -> None:
    lock = (ROOT / folder / "package-lock.json").read_text()

    assert '"resolved"' not in lock


def test_bundles_newer_than_their_sources_are_not_built_again(
    aged: Path, toolchain: ModuleType
) -> None:
    assert not toolchain.is_stale()


def test_a_changed_source_makes_the_bundles_stale(aged: Path, toolchain: ModuleType) -> None:
    (aged / "src" / "index.ts").touch()

    assert toolchain.is_stale()


def test_a_source_that_was_taken_away_makes_the_bundles_stale(
    aged: Path, toolchain: ModuleType
) -> None:
    (aged / "src" / "gone.ts").touch()
    (aged / "src" / "gone.ts").unlink()

    assert toolchain.is_stale()


def test_a_missing_bundle_is_built(aged: Path, toolchain: ModuleType) -> None:
    (aged / toolchain.OUTPUTS[0]).unlink()

    assert toolchain.is_stale()


def test_without_any_node_the_error_says_what_to_do(aged: Path, tmp_path: Path) -> None:
    (aged / "src" / "index.ts").touch()

    done = subprocess.run(
        [sys.executable, "-S", str(aged / "toolchain.py")],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert "needs Node.js" in done.stderr
    assert "pip install ." in done.stderr


def _listed(environment: Path) -> str:
    """Return what `jupyter labextension list` says with that environment's extensions, as words."""
    done = subprocess.run(
        [sys.executable, "-m", "jupyter", "labextension", "list"],
        env=os.environ | {"JUPYTER_PATH": str(environment / "share" / "jupyter")},
        capture_output=True,
        text=True,
        check=True,
    )
    return " ".join(re.sub(r"\x1b\[\d*m", "", done.stdout + done.stderr).split())
