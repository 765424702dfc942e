"""A secret in every field of a configuration, and every way out of it: none is ever shown."""

import base64
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
from click.testing import CliRunner

from kandev_nb import AgentError, AttachmentFailed, Controller, Session, plan
from kandev_nb.attachment.display import mime_bundle
from kandev_nb.reporting import report
from tests.processes import eventually

FIELDS: Final = (
    "agent_env",
    "env",
    "env_in_url",
    "env_placeholder",
    "env_default",
    "arg_of_flag",
    "arg_after_flag",
    "arg_assigned",
    "arg_alone",
    "arg_one_element",
    "arg_attached",
    "arg_header",
    "arg_of_start",
    "command_word",
    "arg_in_url",
    "header",
    "bearer",
    "basic_user",
    "basic_password",
    "cookie",
    "url_user",
    "url_password",
    "url_path",
    "url_query",
    "url_fragment",
    "disabled_env",
    "broken_env",
    "unresolved_header",
    "unused_key",
    "injected_env",
    "rewritten_path",
)
PLANTED: Final = {name: f"pl4nt3d-{n:02}-{name.replace('_', '-')}" for n, name in enumerate(FIELDS)}
"""Each field's own secret; all have a piece that no other text has."""

MARK: Final = re.compile(r"pl4nt3d-(\d\d)")
SCRIPTED: Final = (sys.executable, "-P", "-m", "kandev_nb.agents.scripted")
BASIC: Final = base64.b64encode(
    f"{PLANTED['basic_user']}:{PLANTED['basic_password']}".encode()
).decode()
ENV: Final = {
    "AGENT_KEY": PLANTED["agent_env"],
    "FROM_ENVIRONMENT": PLANTED["env_placeholder"],
}
SERVERS: Final[dict[str, Any]] = {
    "local": {
        "command": "/no/such/program",
        "args": [
            f"--token={PLANTED['arg_of_flag']}",
            "--header",
            PLANTED["arg_after_flag"],
            f"KEY={PLANTED['arg_assigned']}",
            PLANTED["arg_alone"],
            f"--token {PLANTED['arg_one_element']}",
            f"-p{PLANTED['arg_attached']}",
            f"-HAuthorization: Bearer {PLANTED['arg_header']}",
            f"https://127.0.0.1/{PLANTED['arg_in_url']}/mcp",
        ],
        "env": {
            "KEY": PLANTED["env"],
            "DATABASE": f"postgres://user:{PLANTED['env_in_url']}@127.0.0.1/x",
            "FILLED": "x ${FROM_ENVIRONMENT} y",
            "DEFAULT": f"${{NO_SUCH:-{PLANTED['env_default']}}}",
        },
        "unusedKey": PLANTED["unused_key"],
    },
    "remote": {
        "url": (
            f"http://{PLANTED['url_user']}:{PLANTED['url_password']}@127.0.0.1:9/"
            f"{PLANTED['url_path']}/mcp?key={PLANTED['url_query']}#{PLANTED['url_fragment']}"
        ),
        "headers": {
            "X-Key": PLANTED["header"],
            "Authorization": f"Bearer {PLANTED['bearer']}",
            "Proxy-Authorization": f"Basic {BASIC}",
            "Cookie": f"a=b; session={PLANTED['cookie']}",
        },
    },
    "line": {"command": f"/no/such/server --key {PLANTED['command_word']}"},
    "moved": {"url": "http://old.test/mcp"},
    "off": {"command": "/bin/sh", "disabled": True, "env": {"A": PLANTED["disabled_env"]}},
    "broken": {"command": "/bin/sh", "args": 5, "env": {"A": PLANTED["broken_env"]}},
    "open": {
        "url": "http://127.0.0.1:9/",
        "headers": {"A": f"{PLANTED['unresolved_header']} ${{NO_SUCH}}"},
    },
}
POLICY: Final[dict[str, Any]] = {
    "env_injection": {"INJECTED": PLANTED["injected_env"]},
    "url_rewrite": {"http://old.test": f"http://127.0.0.1:9/{PLANTED['rewritten_path']}"},
}
EVERYTHING: Final = " ".join(f'"{secret}"' for secret in PLANTED.values())
"""What an agent says that has read all of it."""

NOTEBOOK: Final = {"metadata": {}, "nbformat": 4, "nbformat_minor": 4}

NOT_HANDED_OVER: Final = {"unused_key"}
"""What no agent can say, because none is given it."""


def leaks(text: str) -> set[str]:
    """The fields whose secret is in a text, as it is or in base64."""
    found = {FIELDS[int(number)] for number in MARK.findall(text)}
    return found | ({"basic_user", "basic_password"} if BASIC in text else set())


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What was told to somebody; everything that any library logs is part of it."""
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    yield told
    told.append(caplog.text)
    told.extend(str(record.__dict__) for record in caplog.records)


def look_at(session: Session) -> Iterator[str]:
    """Everything that a session shows."""
    from kandev_nb.widgets import StatusWidget

    shown = session.report
    widget = StatusWidget(session._core)
    yield json.dumps(shown.to_wire())
    yield json.dumps(mime_bundle(shown))
    yield json.dumps(widget.get_state()["rows"])
    yield from (repr(shown), repr(session), repr(session.task), str(session.view))
    yield from (session.explain(row.name) for row in session.view.rows)
    copied = session.diagnostics()
    yield from (copied.text, copied.markdown, json.dumps(copied.to_json()))
    yield from (session.servers().to_string(), session.timeline().to_string())
    yield repr(session.recent_output())
    yield repr(session._core.launch.servers)
    widget.close()


def reported(session_id: str) -> Iterator[str]:
    """Everything that the command line prints of a session, once its kernel is done with it."""
    for form in ("text", "json", "markdown"):
        printed = CliRunner().invoke(report, [session_id, "--format", form])
        assert session_id in printed.output
        assert printed.exit_code == 0
        yield printed.output


def cell(source: str) -> dict[str, Any]:
    """A code cell as nbformat 4.4 writes it."""
    kind: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
    }
    return {**kind, "source": source}


def argv_of_all() -> Iterator[str]:
    """The command lines of everything that this process runs."""
    for child in psutil.Process().children(recursive=True):
        yield " ".join(child.cmdline())


@pytest.mark.req("SA-1", "SA-2")
@pytest.mark.parametrize("capabilities", ["http,sse", "none"])
def test_no_planted_secret_is_ever_shown(told: list[str], capabilities: str) -> None:
    args = ["--scenario", "reports-failed", "--mcp-capabilities", capabilities]
    args += ["--server", PLANTED["arg_of_start"]]
    planned = plan(SERVERS, POLICY, "scripted", env=ENV)
    told += [str(planned), json.dumps(planned.to_json()), planned.frame.to_string()]

    with Controller() as kandev:
        task = kandev.task("secrets")
        session = task.start("scripted", args=args, servers=SERVERS, policy=POLICY, env=ENV)
        session.wait_for("kandev", "active")
        session.prompt(f"say {EVERYTHING}\nstderr {EVERYTHING}")
        with pytest.raises(AgentError) as refused:
            session.prompt(f"fail {EVERYTHING}")
        told += [str(refused.value), *getattr(refused.value, "__notes__", ())]
        with pytest.raises(AttachmentFailed) as late:
            session.wait_for("open", "active")
        told += [str(late.value), *look_at(session), repr(kandev)]
        assert eventually(lambda: "pl4nt3d" in session.recent_output().text), "nothing was said"
    told += look_at(session)
    told += reported(session.session_id)

    assert leaks("\n".join(told)) <= set()


@pytest.mark.req("AC.5", "AC.6", "DI-2", "SA-1", "SA-3")
def test_diagnostics_that_are_copied_after_tests_and_output_hold_no_secret(
    told: list[str],
) -> None:
    args = ["--scenario", "reports-failed"]
    with Controller() as kandev:
        task = kandev.task(f"for {PLANTED['header']}")
        session = task.start("scripted", args=args, servers=SERVERS, policy=POLICY, env=ENV)
        session.prompt(f"say {EVERYTHING}\nstderr {EVERYTHING}")
        for server in ("kandev", "local", "remote", "moved"):
            session.test_endpoint(server, consent=True, timeout=5)
        assert eventually(lambda: "pl4nt3d" in session.recent_output().text), "nothing was said"
        copied = session.diagnostics()

    tests = [row.endpoint_test for row in copied.attempts[0].servers if row.endpoint_test]
    assert [test.outcome for test in tests] == ["ok", "failed", "failed", "failed"]
    told += [copied.text, copied.markdown, json.dumps(copied.to_json()), repr(copied)]
    assert "remote" in copied.text
    assert not leaks("\n".join(told))


@pytest.mark.req("SA-1", "EV-3")
def test_a_refused_session_names_its_server_and_no_secret(told: list[str]) -> None:
    args = ["--scenario", "fails-session-new", "--server", "remote"]
    with Controller() as kandev:
        task = kandev.task("secrets")
        with pytest.raises(AgentError) as refused:
            task.start("scripted", args=args, servers=SERVERS, policy=POLICY, env=ENV)
        told += [str(refused.value), *refused.value.__notes__, *look_at(task.sessions[-1])]

    assert "remote" in "\n".join(told)
    assert not leaks("\n".join(told))


@pytest.mark.req("SA-2")
def test_every_value_that_is_handed_over_is_known_to_the_ledger() -> None:
    with Controller() as kandev:
        session = kandev.task("secrets").start(
            exec=[*SCRIPTED, "--scenario", "ignores", f"--server={PLANTED['arg_of_start']}"],
            servers=SERVERS,
            policy=POLICY,
            env=ENV,
        )
        known = session._core.ledger
        for field, secret in PLANTED.items():
            if field not in NOT_HANDED_OVER:
                assert secret not in known.redact(f"It broke at {secret}, so."), field


@pytest.mark.req("SA-1", "SA-4")
def test_the_processes_that_run_beside_the_agent_hold_no_secret_of_the_profile() -> None:
    with Controller() as kandev:
        session = kandev.task("secrets").start(
            "scripted", args=["--mcp-capabilities", "none"], servers=SERVERS, env=ENV
        )
        session.wait_for("kandev", "active")

        execution = session._core._execution
        secret = execution._endpoints[-1].secret if execution else ""
        others = [
            child
            for child in psutil.Process().children(recursive=True)
            if "kandev_nb.agents.scripted" not in " ".join(child.cmdline())
        ]

        assert any("kandev_nb.endpoint.bridge" in " ".join(o.cmdline()) for o in others)
        assert secret
        assert not any(secret in line for line in argv_of_all())
        assert not leaks("\n".join(f"{o.cmdline()} {o.environ()}" for o in others))


@pytest.mark.req("SA-1")
def test_a_saved_notebook_holds_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = tmp_path / "given.json"
    inputs.write_text(json.dumps({"servers": SERVERS, "policy": POLICY, "env": ENV}))
    monkeypatch.setenv("GIVEN", str(inputs))
    cells = [
        "import json, logging, os; logging.basicConfig(level=logging.DEBUG)",
        "from kandev_nb import Controller, plan\nkandev = Controller()\n"
        "given = json.load(open(os.environ['GIVEN']))\nplan(given['servers'], given['policy'])",
        "session = kandev.task('secrets').start('scripted', **given, "
        "args=['--scenario', 'reports-failed'])\nsession",
        "session.prompt('stderr ' + str(given)); session.servers()",
        "session.prompt('fail ' + str(given))",
        "session.report",
        "session.diagnostics()",
        "kandev.close()",
    ]
    notebook = tmp_path / "secrets.ipynb"
    notebook.write_text(json.dumps({"cells": [cell(c) for c in cells], **NOTEBOOK}))

    subprocess.run(
        [sys.executable, "-m", "jupyter", "execute", "--inplace", "--allow-errors", notebook],
        check=True,
        capture_output=True,
    )

    saved = notebook.read_text()
    assert "agent_reported_failure" in saved, "the session was not run"
    assert "application/vnd.jupyter.widget-state+json" in saved
    assert not leaks(saved)
    assert os.environ["GIVEN"] not in saved
