"""Without a vocabulary, or with a tokenizer that breaks: no number, one line in the log, no error.

A request to stop is not a failure, and gets out.
"""

import gzip
import logging
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tiktoken

from kandev_nb import tokens
from kandev_nb.tokens import _estimator
from kandev_nb.tokens._estimator import Estimator
from kandev_nb.tokens._vocabulary import BUNDLE
from tests.processes import run_script

TOOL = b'{"name":"read_note"}'
BUNDLED = BUNDLE.read_bytes()

DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda bundle: bundle.write_bytes(b""),
    "truncated": lambda bundle: bundle.write_bytes(BUNDLED[:-1000]),
    "one byte changed": lambda bundle: bundle.write_bytes(
        BUNDLED[:500_000] + bytes((BUNDLED[500_000] ^ 1,)) + BUNDLED[500_001:]
    ),
    "not compressed": lambda bundle: bundle.write_bytes(gzip.decompress(BUNDLED)),
    "another vocabulary": lambda bundle: bundle.write_bytes(
        gzip.compress(gzip.decompress(BUNDLED).replace(b"the", b"eht"))
    ),
    "a directory": lambda bundle: bundle.mkdir(),
}


Panic = Callable[..., list[int]]


@pytest.fixture
def panic(encoding: tiktoken.Encoding) -> Panic:
    """Panics in native code for real: white space without end exhausts the expression's stack."""
    return lambda *args, **options: encoding.encode_ordinary(" " * 1_000_000)


@pytest.mark.req("CA-8")
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_given_a_damaged_vocabulary_then_there_is_no_number_and_one_warning(
    damage: Callable[[Path], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    damage(tmp_path / "bundle")
    monkeypatch.setattr(tokens, "_shared", Estimator(tmp_path / "bundle"))

    assert [tokens.estimate_tool(TOOL) for _ in range(3)] == [None, None, None]

    problem = tokens.problem()
    assert problem is not None
    assert str(tmp_path) not in problem
    assert [(r.name, r.levelno, r.message) for r in caplog.records] == [
        ("kandev_nb.tokens", logging.WARNING, problem)
    ]


@pytest.mark.req("CA-8")
def test_given_an_installation_without_its_vocabulary_then_a_fresh_process_says_so_once(
    tmp_path: Path,
) -> None:
    room = tmp_path / "kandev_nb" / "tokens"
    shutil.copytree(BUNDLE.parent, room, ignore=shutil.ignore_patterns(BUNDLE.name, "__pycache__"))
    (tmp_path / "kandev_nb" / "__init__.py").touch()
    script = f"from kandev_nb import tokens; print([tokens.estimate_tool({TOOL!r})] * 2)"

    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert ended.stdout == "[None, None]\n"
    assert ended.stderr == (
        "No token estimates: the bundled vocabulary is missing. Reinstall kandev-nb.\n"
    )


@pytest.mark.req("CA-8")
def test_given_tiktoken_cannot_be_imported_then_there_is_no_number(
    estimator: Estimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)

    assert estimator.estimate(TOOL) is None
    assert "tiktoken" in str(estimator.problem())


@pytest.mark.req("CA-8")
def test_given_a_whole_installation_then_there_is_no_problem() -> None:
    assert tokens.problem() is None


@pytest.mark.req("CA-8")
@pytest.mark.req("SE-7")
def test_given_a_native_panic_while_loading_then_there_is_no_number(
    estimator: Estimator, panic: Panic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_estimator, "build", panic)

    assert estimator.estimate(TOOL) is None
    assert "PanicException" in str(estimator.problem())


@pytest.mark.req("CA-8")
@pytest.mark.req("SE-7")
@pytest.mark.req("SA-1")
def test_given_a_native_panic_while_counting_then_only_that_tool_has_no_number(
    estimator: Estimator,
    panic: Panic,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert estimator.problem() is None
    with monkeypatch.context() as broken:
        broken.setattr(tiktoken.Encoding, "encode", panic)
        assert estimator.estimate(TOOL) is None

    assert caplog.messages == ["A tool was not counted (PanicException)."]
    assert estimator.estimate(TOOL) == tokens.estimate_tool(TOOL)


@pytest.mark.req("SE-7")
@pytest.mark.parametrize("request_to_stop", [KeyboardInterrupt, SystemExit])
def test_given_an_interrupt_while_loading_then_it_gets_out_and_the_next_estimate_loads(
    estimator: Estimator, monkeypatch: pytest.MonkeyPatch, request_to_stop: type[BaseException]
) -> None:
    def interrupted(bundle: Path) -> dict[bytes, int]:
        raise request_to_stop

    with monkeypatch.context() as pressed:
        pressed.setattr(_estimator, "read_ranks", interrupted)
        with pytest.raises(request_to_stop):
            estimator.estimate(TOOL)

    assert estimator.estimate(TOOL) == tokens.estimate_tool(TOOL)


@pytest.mark.req("SE-7")
def test_given_an_interrupt_while_counting_then_it_gets_out(
    estimator: Estimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object, **options: object) -> list[int]:
        raise KeyboardInterrupt

    monkeypatch.setattr(tiktoken.Encoding, "encode", interrupted)

    with pytest.raises(KeyboardInterrupt):
        estimator.estimate(TOOL)


@pytest.mark.req("CA-8")
def test_an_interpreter_that_ends_while_the_tokenizer_loads_says_nothing() -> None:
    script = """
        import atexit
        from kandev_nb import tokens

        atexit.register(tokens.problem)
    """
    done = run_script(script)

    assert (done.returncode, done.stderr) == (0, "")
