"""What `kandev-nb doctor` says of whole environments and of broken ones, each made for real."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jupyter_core.paths import jupyter_path

from kandev_nb import doctor
from kandev_nb._version import __version__
from kandev_nb.doctor import Check

ROOT = Path(__file__).parents[1]
INSTALLED = Path(sys.prefix, "share", "jupyter", "labextensions", "kandev-nb")
EXTENSION = "JupyterLab extension"

Doctor = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Jupyter home of the test's own; its folders come before those of the environment."""
    for name in [name for name in os.environ if name.startswith(("JUPYTER", "PYTHON", "FORCE_"))]:
        monkeypatch.delenv(name)
    home = tmp_path / "jupyter"
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(home / "config"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(home / "data"))
    monkeypatch.setenv("JUPYTER_PATH", str(home / "share"))
    monkeypatch.setenv("JUPYTERLAB_DIR", str(home / "lab"))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    return home


@pytest.fixture
def run_doctor(tmp_path: Path) -> Doctor:
    """Runs the command in an empty directory, with variables laid over the test's."""
    (tmp_path / "here").mkdir()

    def run(
        python: str | Path = sys.executable, cwd: Path = tmp_path / "here", **env: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(python), "-m", "kandev_nb.cli", "doctor"],
            cwd=cwd,
            env=os.environ | env,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return run


def row(printed: str, name: str) -> str:
    """Return the line of one check, with its words one space apart."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    [found] = [line for line in lines if line[2:].startswith(f"{name} ")]
    return found


def distribution(folder: Path, name: str, version: str, **files: str) -> None:
    """Put the metadata of an installed package into ``folder``."""
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (metadata / "METADATA").write_text(text)
    for file, content in files.items():
        (metadata / f"{file}.txt").write_text(content)


def executable(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o700)


def environment(folder: Path, *without: str) -> Path:
    """Make an environment that has the packages of this one but some; return its Python.

    It has no labextensions: these are files of an environment, not of its packages.
    """
    venv.create(folder, symlinks=True, with_pip=False)
    for path in site_packages(Path(sys.prefix)).iterdir():
        if path.name.partition("-")[0] not in without:
            (site_packages(folder) / path.name).symlink_to(path)
    return folder / "bin" / "python"


def site_packages(environment: Path) -> Path:
    return environment / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)


def sources(folder: Path, *without: str) -> Path:
    """Copy the package but some of its files; return the directory to run it in."""
    shutil.copytree(
        ROOT / "kandev_nb",
        folder / "kandev_nb",
        ignore=shutil.ignore_patterns("__pycache__", *without),
    )
    return folder


def extension(share: Path, **changed: Any) -> Path:
    """Put a copy of the installed extension on a Jupyter path, with its metadata changed."""
    folder = share / "labextensions" / "kandev-nb"
    shutil.copytree(INSTALLED, folder)
    package = json.loads((folder / "package.json").read_text())
    (folder / "package.json").write_text(json.dumps(package | changed))
    return folder


def by_name() -> dict[str, Check]:
    return {check.name: check for check in doctor.examine()}


# The environment that the tests run in


def test_a_whole_installation_has_no_problem(run_doctor: Doctor) -> None:
    done = run_doctor()

    assert done.returncode == 0, done.stdout
    assert done.stderr == ""
    assert row(done.stdout, "kandev-nb").startswith(f"✓ kandev-nb {__version__}")
    assert "✓ vocabulary" in done.stdout
    assert done.stdout.endswith("no problem found.\n")


def test_a_piped_line_is_whole_and_has_no_trailing_space(run_doctor: Doctor) -> None:
    lines = run_doctor(COLUMNS="40").stdout.splitlines()

    [line] = [line for line in lines if line[2:].startswith(EXTENSION)]
    assert str(INSTALLED) in line
    assert [line for line in lines if line != line.rstrip()] == []


def test_the_findings_stand_below_each_other(run_doctor: Doctor, jupyter: Path) -> None:
    extension(jupyter / "share", version="9.9.9")

    lines = run_doctor(PATH="").stdout.splitlines()

    [fault] = [at for at, line in enumerate(lines) if line[2:].startswith(EXTENSION)]
    assert lines[fault].index("9.9.9") == lines[0].index(sys.version.split()[0])
    assert lines[fault + 1].index("Run `pip") == lines[fault].index("9.9.9")


def test_a_terminal_without_unicode_gets_what_it_can_show(
    run_doctor: Doctor, tmp_path: Path
) -> None:
    executable(tmp_path / "bén" / "opencode")

    done = run_doctor(PYTHONIOENCODING="ascii", PATH=str(tmp_path / "bén"))

    assert done.returncode == 0, done.stderr
    assert row(done.stdout, "opencode") == f"+ opencode {tmp_path}/b\\xe9n/opencode"
    assert row(done.stdout, "docker").startswith("- ")


def test_the_pythons_and_systems_that_are_supported_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    states = {minor: doctor.python((3, minor, 9)).state for minor in (10, 11, 14, 15)}

    assert project["requires-python"] == ">=3.11,<3.15"
    assert states == {10: "problem", 11: "ok", 14: "ok", 15: "problem"}
    assert doctor.python((3, 10, 9)).advice == "Use Python 3.11 to 3.14."
    assert [doctor.operating_system(name).state for name in ("linux", "darwin")] == ["ok", "ok"]
    assert "WSL 2" in doctor.operating_system("win32").advice
    assert doctor.operating_system("win32").state == "problem"


# What kandev-nb stands on


def test_a_package_of_another_version_than_needed_is_a_problem_with_its_way_out(
    run_doctor: Doctor, tmp_path: Path
) -> None:
    distribution(tmp_path / "older", "mcp", "1.9.0")

    done = run_doctor(PYTHONPATH=str(tmp_path / "older"))

    assert done.returncode == 1
    assert row(done.stdout, "mcp") == "✗ mcp 1.9.0, but kandev-nb needs <2.4,>=2.3"
    assert 'Run `pip install "mcp<2.4,>=2.3"`' in done.stdout
    assert done.stdout.endswith("1 problem: mcp.\n")


def test_without_pydantic_everything_else_is_still_said(run_doctor: Doctor, tmp_path: Path) -> None:
    done = run_doctor(environment(tmp_path / "environment", "pydantic"))

    assert done.returncode == 1
    assert row(done.stdout, "pydantic") == "✗ pydantic not installed"
    assert row(done.stdout, "agents") == (
        "✗ agents could not be checked (ModuleNotFoundError pydantic)"
    )
    assert "✓ endpoint" in done.stdout
    assert "docker" in done.stdout


def test_a_package_that_is_not_listed_is_named_when_it_is_missing(
    run_doctor: Doctor, tmp_path: Path
) -> None:
    done = run_doctor(environment(tmp_path / "environment", "pandas"))

    assert "pandas" not in run_doctor().stdout
    assert row(done.stdout, "pandas") == "✗ pandas not installed"


def test_without_jupyterlab_in_the_environment_there_are_notes_and_no_problem(
    run_doctor: Doctor, tmp_path: Path
) -> None:
    done = run_doctor(environment(tmp_path / "environment", "jupyterlab", "notebook"))

    assert done.returncode == 0, done.stdout
    assert row(done.stdout, "jupyterlab").startswith("· ")
    assert row(done.stdout, "notebook").startswith("· ")
    assert row(done.stdout, EXTENSION).startswith("· ")


# The JupyterLab extension


def test_an_environment_without_the_extension_has_a_problem_until_it_is_there(
    run_doctor: Doctor, tmp_path: Path
) -> None:
    python = environment(tmp_path / "environment")

    without = run_doctor(python)
    shutil.copytree(
        INSTALLED, tmp_path / "environment" / "share" / "jupyter" / "labextensions" / "kandev-nb"
    )
    with_it = run_doctor(python)

    assert without.returncode == 1
    assert row(without.stdout, EXTENSION).startswith(f"✗ {EXTENSION} not found")
    assert "Run `pip install -e .` again" in without.stdout
    assert with_it.returncode == 0, with_it.stdout


def test_an_install_that_is_not_editable_is_told_how_to_install_it_whole(
    run_doctor: Doctor, tmp_path: Path
) -> None:
    python = environment(tmp_path / "environment", "kandev_nb")
    distribution(site_packages(tmp_path / "environment"), "kandev-nb", __version__)

    done = run_doctor(python)

    assert row(done.stdout, "kandev-nb") == f"✓ kandev-nb {__version__}"
    assert row(done.stdout, EXTENSION).startswith(f"✗ {EXTENSION} not found")
    assert "Run `pip install --force-reinstall --no-deps .` in the sources" in done.stdout


def test_sources_that_run_without_being_installed_are_a_problem(
    jupyter: Path, tmp_path: Path
) -> None:
    python = environment(tmp_path / "environment", "kandev_nb")
    script = "from kandev_nb.doctor import examine; print(*examine(), sep='\\n')"

    done = subprocess.run(
        [python, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )

    assert "name='kandev-nb', state='problem', found='runs without being installed'" in done.stdout
    assert "advice='Run `pip install --force-reinstall --no-deps .`" in done.stdout
    assert "name='mcp', state='ok'" in done.stdout


def test_an_extension_of_another_version_that_comes_first_is_a_problem(
    run_doctor: Doctor, jupyter: Path
) -> None:
    folder = extension(jupyter / "share", version="9.9.9")

    done = run_doctor()

    assert done.returncode == 1
    assert row(done.stdout, EXTENSION) == (
        f"✗ {EXTENSION} 9.9.9 at {folder}, but kandev-nb is {__version__}"
    )
    assert "remove it" in done.stdout


def test_an_extension_whose_bundle_is_gone_is_a_problem(jupyter: Path) -> None:
    folder = extension(jupyter / "share")
    next(folder.glob("static/remoteEntry.*")).unlink()

    assert doctor.extension()[1:3] == ("problem", f"{__version__} at {folder}, not whole")


def test_an_extension_that_was_not_built_is_a_problem(jupyter: Path) -> None:
    extension(jupyter / "share", jupyterlab={"extension": True})

    assert doctor.extension().state == "problem"


def test_an_extension_older_than_the_sources_build_is_a_note(jupyter: Path) -> None:
    folder = extension(
        jupyter / "share", jupyterlab={"_build": {"load": "static/style.js"}, "extension": True}
    )

    check = doctor.extension()

    assert check.state == "note"
    assert check.found == f"{__version__} at {folder}, another build than in the sources"
    assert "pip install -e ." in check.advice


def test_the_metadata_of_any_extension_that_cannot_be_read_is_named(jupyter: Path) -> None:
    broken = jupyter / "share" / "labextensions" / "@other" / "one" / "package.json"
    broken.parent.mkdir(parents=True)
    broken.write_text('{"name": "@other/one", "ver')

    check = doctor.extension()

    assert check.state == "problem"
    assert check.found == f"{broken} cannot be read"


USER = "config/labconfig/page_config.json"
USER_PART = "config/labconfig/page_config.d/other.json"
SYSTEM = "system/labconfig/page_config.json"
APPLICATION = "lab/settings/page_config.json"
OTHER = "share/labextensions/other/package.json"
THE_OTHER = {"name": "other", "version": "1", "jupyterlab": {"disabledExtensions": ["kandev-nb"]}}
THE_OTHER["jupyterlab"]["_build"] = {"load": "static/none.js"}  # type: ignore[index]


def disabled(**names: bool | None) -> dict[str, object]:
    return {"disabledExtensions": {name.replace("_", "-"): on for name, on in names.items()}}


WRITTEN: dict[str, tuple[dict[str, object], str | None]] = {
    "by the user": ({USER: disabled(kandev_nb=True)}, USER),
    "its one plugin": ({USER: {"disabledExtensions": {"kandev-nb:report": True}}}, USER),
    "by a part of the configuration": ({USER_PART: disabled(kandev_nb=True)}, USER_PART),
    "by a path of lower rank": (
        {SYSTEM: disabled(kandev_nb=True), USER: disabled(other=True)},
        SYSTEM,
    ),
    "in the application's settings": (
        {APPLICATION: {"disabledExtensions": ["kandev-nb"]}},
        APPLICATION,
    ),
    "by another extension": ({OTHER: THE_OTHER}, OTHER),
    "by one that is disabled itself": ({OTHER: THE_OTHER, USER: disabled(other=True)}, None),
    "by another extension, and enabled by the user": (
        {OTHER: THE_OTHER, USER: disabled(kandev_nb=False)},
        None,
    ),
    "below, and enabled by the user": (
        {SYSTEM: disabled(kandev_nb=True), USER: disabled(kandev_nb=False)},
        None,
    ),
    "by a part that the user takes back": (
        {USER_PART: disabled(kandev_nb=True), USER: disabled(kandev_nb=None)},
        None,
    ),
    "below, and the user says nothing of it": (
        {SYSTEM: disabled(kandev_nb=True), USER: disabled(kandev_nb=None)},
        SYSTEM,
    ),
    "one whose name only begins like ours": ({USER: disabled(kandev=True, kandev_nb_x=True)}, None),
    "in a file that is not JSON": ({USER: "kandev-nb"}, None),
}


@pytest.mark.parametrize(("files", "decides"), WRITTEN.values(), ids=WRITTEN.keys())
def test_a_disabled_extension_is_one_that_jupyterlab_tells_its_page_is_disabled(
    files: dict[str, object],
    decides: str | None,
    jupyter: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from jupyterlab_server.config import get_page_config

    monkeypatch.setattr("jupyter_core.paths.SYSTEM_CONFIG_PATH", [str(jupyter / "system")])
    for name, content in files.items():
        (jupyter / name).parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        (jupyter / name).write_text(text)

    page = get_page_config(jupyter_path("labextensions"), str(jupyter / "lab" / "settings"))
    check = doctor.extension()

    told = {name.partition(":")[0] for name in page["disabledExtensions"]}
    assert ("kandev-nb" in told) == (decides is not None)
    assert (check.state == "problem") == (decides is not None), check
    assert decides is None or f"disabledExtensions in {jupyter / decides};" in check.advice


def test_what_is_to_be_done_about_a_disabled_extension_is_enough(
    run_doctor: Doctor, jupyter: Path
) -> None:
    file = jupyter / USER
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(disabled(kandev_nb=True, other=True)))

    before = run_doctor()
    file.write_text(json.dumps(disabled(other=True)))
    after = run_doctor()

    assert before.returncode == 1
    assert f'Take "kandev-nb" out of disabledExtensions in {file}' in before.stdout
    assert after.returncode == 0, after.stdout


def test_a_locked_extension_works_and_is_noted(jupyter: Path) -> None:
    (jupyter / USER).parent.mkdir(parents=True)
    (jupyter / USER).write_text(json.dumps({"lockedExtensions": {"kandev-nb": True}}))

    assert doctor.extension().state == "note"
    assert "locked" in doctor.extension().found


# What the package carries, and what the machine allows


@pytest.mark.parametrize("damage", [Path.unlink, lambda bundle: bundle.write_bytes(b"")])
def test_a_widget_bundle_that_is_missing_or_empty_is_a_problem(
    damage: Callable[[Path], object], run_doctor: Doctor, tmp_path: Path
) -> None:
    copy = sources(tmp_path / "sources")
    damage(copy / "kandev_nb" / "static" / "widget.js")

    done = run_doctor(cwd=copy)

    assert done.returncode == 1
    assert row(done.stdout, "widget bundle").startswith("✗ ")
    assert done.stdout.endswith("1 problem: widget bundle.\n")


@pytest.mark.req("SE-5", "SA-1")
@pytest.mark.parametrize(
    ("place", "mark", "words"),
    [
        ("named.db", "✓", "named.db"),
        ("file/below.db", "✗", "file cannot be"),
        ("mysql://me:planted-word@h/x", "✗", "postgresql://"),
        ("postgresql://me:planted-word@127.0.0.1:1/x", "·", "127.0.0.1:1/x (not contacted)"),
    ],
)
def test_the_store_is_named_and_not_opened(
    run_doctor: Doctor, tmp_path: Path, place: str, mark: str, words: str
) -> None:
    (tmp_path / "file").write_text("no folder")
    if "://" not in place:
        place = str(tmp_path / place)

    done = run_doctor(KANDEV_NB_STORE=place)

    told = row(done.stdout, "store")
    assert told.startswith(mark)
    assert words in told
    assert "planted-word" not in done.stdout
    assert not (tmp_path / "named.db").exists()


@pytest.mark.req("CA-8")
def test_a_missing_vocabulary_is_a_problem_and_is_said_once(
    run_doctor: Doctor, tmp_path: Path
) -> None:
    done = run_doctor(cwd=sources(tmp_path / "sources", "o200k_base.bin.gz"))

    assert done.returncode == 1
    assert "the bundled vocabulary is missing" in row(done.stdout, "vocabulary")
    assert "Restore kandev_nb/tokens/o200k_base.bin.gz" in done.stdout
    assert done.stderr == ""


def test_where_no_socket_can_be_had_the_endpoint_is_a_problem() -> None:
    script = (
        "import os, resource; from kandev_nb import doctor; print(doctor.endpoint().state);"
        "free = os.dup(0); os.close(free);"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (free, free));"
        "print(*doctor.endpoint()[1:], sep='\\n')"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.splitlines() == [
        "ok",
        "problem",
        "127.0.0.1 cannot be listened on or reached (Too many open files)",
        "Check that this machine lets a program listen on loopback.",
    ]


# Agents and commands

PLUGIN = r"""
import sys
from kandev_nb.agents.registry import AgentSpec

HERE = __file__.rpartition("/")[0]
missing = AgentSpec(id="zeta", title="Zeta", command=("zeta",), install="pip install zeta")
found = AgentSpec(id="eta", title="Eta", command=("eta",), env={"PATH": HERE})
relative = AgentSpec(id="theta", title="Theta", command=("bin/theta",))
odd = AgentSpec(id="iota\x1b[31m", title="Iota", command=("iota",))
no_spec = "kappa"

def __getattr__(name):
    sys.exit(3)
"""


def plugin(folder: Path, **names: str) -> Path:
    entries = "".join(f"{name} = a_doctors_plugin:{spec}\n" for name, spec in names.items())
    distribution(folder, "a-plugin", "1", entry_points=f"[kandev_nb.agents]\n{entries}")
    (folder / "a_doctors_plugin.py").write_text(PLUGIN)
    executable(folder / "eta")
    return folder


def test_an_agent_whose_command_is_missing_is_noted_with_how_to_get_it(
    run_doctor: Doctor, tmp_path: Path
) -> None:
    folder = plugin(tmp_path / "plugin", zeta="missing", eta="found", theta="relative")

    done = run_doctor(PYTHONPATH=str(folder))

    assert done.returncode == 0, done.stdout
    assert row(done.stdout, "agent zeta") == "· agent zeta command zeta not found"
    assert " pip install zeta\n" in done.stdout
    assert row(done.stdout, "agent eta") == f"✓ agent eta {folder / 'eta'}"
    assert row(done.stdout, "agent theta") == (
        "· agent theta bin/theta is looked for in each session's directory"
    )
    assert row(done.stdout, "agent scripted") == f"✓ agent scripted {sys.executable}"


def test_an_agent_that_a_project_has_installed_is_found_as_a_session_would_find_it(
    run_doctor: Doctor, tmp_path: Path
) -> None:
    folder, project = plugin(tmp_path / "plugin", zeta="missing"), tmp_path / "project"
    program = project / "node_modules" / ".bin" / "zeta"
    executable(program)

    done = run_doctor(cwd=project, PYTHONPATH=str(folder))

    assert row(done.stdout, "agent zeta") == f"✓ agent zeta {program}"


def test_an_entry_point_that_is_no_agent_is_a_problem_with_its_package(
    run_doctor: Doctor, tmp_path: Path
) -> None:
    folder = plugin(tmp_path / "plugin", kappa="no_spec", exits="gone", zeta="missing")

    done = run_doctor(PYTHONPATH=str(folder))

    assert done.returncode == 1
    assert row(done.stdout, "agent kappa") == "✗ agent kappa is no AgentSpec"
    assert row(done.stdout, "agent exits") == "✗ agent exits cannot be loaded (SystemExit)"
    assert "Reinstall or remove a-plugin." in done.stdout
    assert "✓ endpoint" in done.stdout
    assert done.stderr == ""


@pytest.mark.req("CA-5")
def test_control_characters_of_a_foreign_name_are_shown_escaped(
    run_doctor: Doctor, tmp_path: Path
) -> None:
    done = run_doctor(PYTHONPATH=str(plugin(tmp_path / "plugin", iota="odd")))

    assert "\x1b" not in done.stdout
    assert "agent iota\\u001b[31m" in done.stdout


def test_with_an_empty_path_every_command_is_noted_and_nothing_is_a_problem(
    run_doctor: Doctor,
) -> None:
    done = run_doctor(PATH="")

    assert done.returncode == 0, done.stdout
    for name in doctor.COMMANDS:
        assert row(done.stdout, name) == f"· {name} not on PATH"


def test_a_command_on_path_is_shown_with_its_place(run_doctor: Doctor, tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "opencode")

    done = run_doctor(PATH=str(tmp_path / "bin"))

    assert row(done.stdout, "opencode") == f"✓ opencode {tmp_path}/bin/opencode"


# Whatever is broken


def test_a_check_that_breaks_is_a_problem_and_the_others_are_made(jupyter: Path) -> None:
    (jupyter / USER).parent.mkdir(parents=True)
    (jupyter / USER).write_text('["kandev-nb"]')

    checks = by_name()

    assert checks[EXTENSION].state == "problem"
    assert checks[EXTENSION].found == "could not be checked (AttributeError)"
    assert {"endpoint", "vocabulary", "agent scripted", "docker"} <= checks.keys()
