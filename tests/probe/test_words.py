"""What a probe says of an agent that does with its server what it is told."""

import sys
from pathlib import Path
from typing import Final

import pytest

from kandev_nb import ConfigError, ProbeResult, probe
from kandev_nb.agents.scripted.scenarios import SCENARIOS
from tests.probe.conftest import CALL, Probe, events, lines
from tests.processes import children, eventually

YES, NO = "observed", "unobserved"
NOT, REFUSED = "not started", "refused"
ALL: Final = (YES, YES, YES, YES, YES)
STEPS: Final = ("session", "delivered", "initialize", "tools_list", "tool_call")

# Of each scenario with a prompt that calls the tool: the steps' words, and the exit status.
PROMPTED: Final = {
    "lists-and-calls": (ALL, 0),
    "lists-only": ((YES, YES, YES, YES, NO), 0),
    "initializes-only": ((YES, YES, YES, NO, YES), 0),
    "ignores": ((YES, YES, NO, NO, NO), 0),
    "stateless": (ALL, 0),
    "auto": (ALL, 0),
    "reports-failed": (ALL, 0),
    "reports-startup": (ALL, 0),
    "reports-on-stderr": (ALL, 0),
    "fails-session-new": (ALL, 0),
    "reconnects": (ALL, 0),
    "closes": ((YES, YES, YES, YES, NO), 0),
    "slow": (ALL, 0),
    "crashes": ((NO, YES, NO, NO, NOT), 3),
    "noisy": (ALL, 0),
    "auth-required": ((REFUSED, YES, NO, NO, NOT), 3),
}
# Of scenarios that leave the server alone, or fail otherwise.
TOLD: Final = {
    "--scenario reports-failed --server kandev": ((YES, YES, REFUSED, REFUSED, REFUSED), 0),
    "--scenario reports-startup --server kandev": ((YES, YES, REFUSED, REFUSED, REFUSED), 0),
    "--scenario fails-session-new --server kandev": ((REFUSED, YES, REFUSED, REFUSED, NOT), 3),
    "--fails-with qwen": ((REFUSED, YES, YES, YES, NOT), 3),
    "--scenario crashes --at initialize": ((NOT, NOT, NOT, NOT, NOT), 3),
    "--scenario crashes --at prompt": ((YES, YES, YES, YES, NO), 3),
}


def words(result: ProbeResult) -> tuple[str, ...]:
    return tuple(getattr(result, step).word for step in STEPS)


def test_there_are_words_for_every_scenario() -> None:
    assert PROMPTED.keys() == SCENARIOS.keys()


@pytest.mark.req("DI-3")
@pytest.mark.parametrize("scenario", PROMPTED)
def test_each_scenario_gets_the_words_of_what_it_does(probed: Probe, scenario: str) -> None:
    expected, status = PROMPTED[scenario]
    waits = scenario in ("initializes-only", "ignores")

    result = probed(f"--scenario {scenario}", prompt=CALL, timeout=5 if waits else 20)

    assert words(result) == expected
    assert result.status() == status
    assert lines(result)[0]["event"] == "start"
    assert lines(result)[-1]["event"] == "close"


@pytest.mark.req("DI-3", "EV-3")
@pytest.mark.parametrize("args", TOLD)
def test_what_the_agent_refuses_and_what_it_dies_of_are_told_apart(
    probed: Probe, args: str
) -> None:
    expected, status = TOLD[args]

    result = probed(args, prompt=CALL)

    assert words(result) == expected
    assert result.status() == status


@pytest.mark.req("DI-3")
def test_without_a_prompt_the_probe_ends_as_soon_as_the_tools_were_listed(probed: Probe) -> None:
    result = probed(timeout=600)

    assert words(result) == (YES, YES, YES, YES, NOT)
    assert result.reason == "the tools were listed"
    assert result.tool_call.summary == "no prompt was sent"
    assert (result.turn, result.exit_code, result.error) == ("", 0, None)
    assert result.connections == ("mcp-1",)
    (listed,) = events(result, "tools_list_observed")
    assert (listed["connection"], listed["tool_count"]) == ("mcp-1", 1)


@pytest.mark.req("DI-3", "EV-2")
def test_what_was_not_seen_in_time_is_unobserved_and_no_failure(probed: Probe) -> None:
    result = probed("--scenario ignores", timeout=0.5)

    assert words(result) == (YES, YES, NO, NO, NOT)
    assert result.reason == "the time was over"
    assert "Unobserved is no failure" in str(result)
    assert (result.status(), result.status("initialize")) == (0, 1)


@pytest.mark.req("DI-3")
def test_times_count_from_the_session_request_and_from_the_prompt(probed: Probe) -> None:
    result = probed(prompt=CALL)

    initialized, called = result.initialize, result.tool_call
    assert initialized.after_session is not None
    assert initialized.after_session > 0
    assert initialized.after_prompt is None, "it was before the prompt"
    assert called.after_session is not None
    assert called.after_prompt is not None
    assert 0 < called.after_prompt < called.after_session


@pytest.mark.req("DI-3", "CF-3")
@pytest.mark.parametrize("transport", ["http", "sse", "stdio"])
def test_a_transport_is_forced_though_the_agent_does_not_advertise_it(
    probed: Probe, transport: str
) -> None:
    result = probed("--mcp-capabilities none", transport=transport, prompt=CALL)

    assert words(result) == ALL
    assert result.transport == transport
    assert result.advertised == ()
    assert result.is_forced == (transport != "stdio")
    assert ("which it does not advertise" in str(result)) == result.is_forced


@pytest.mark.req("DI-3", "CF-2")
def test_unforced_the_transport_is_what_a_session_would_choose(probed: Probe) -> None:
    result = probed("--mcp-capabilities sse")

    assert (result.transport, result.advertised, result.is_forced) == ("sse", ("sse",), False)


@pytest.mark.req("DI-3")
def test_without_a_server_nothing_is_delivered_and_nothing_waited_for(probed: Probe) -> None:
    result = probed(mcp=False, timeout=600)

    assert words(result) == (YES, NOT, NOT, NOT, NOT)
    (request,) = [line for line in lines(result) if method(line) == "session/new"]
    assert request["frame"]["params"]["mcpServers"] == []
    assert result.reason == "no MCP server was delivered"


@pytest.mark.req("DI-3", "SE-4")
def test_the_call_of_the_sentinel_is_permitted(probed: Probe) -> None:
    result = probed("--ask-permission", prompt=CALL)

    assert words(result) == ALL
    assert (result.asked, result.allowed, result.denied) == (1, 1, 0)
    (permission,) = events(result, "permission")
    assert permission["tool"] == "mcp__kandev__probe_kandev"
    assert permission["answer"] == "allowed"


@pytest.mark.req("DI-3", "SE-4")
@pytest.mark.parametrize("tool", ["other", "probe_kandev_and_more", '"echo probe_kandev"'])
def test_the_call_of_anything_else_is_denied_and_that_is_a_word_of_its_own(
    probed: Probe, tool: str
) -> None:
    result = probed("--ask-permission", prompt=f"call kandev {tool} {{}}")

    assert words(result) == (YES, YES, YES, YES, "denied")
    assert (result.allowed, result.denied) == (0, 1)
    assert events(result, "permission")[0]["answer"] == "denied"


@pytest.mark.req("DI-3")
def test_a_call_of_another_tool_is_no_call_of_the_sentinel(probed: Probe) -> None:
    result = probed(prompt="call kandev other {}")

    assert result.tool_call.word == NO
    assert result.status("call") == 1


@pytest.mark.req("DI-3")
def test_models_modes_and_logins_are_listed_and_chosen(probed: Probe) -> None:
    result = probed("--scenario auth-required")
    chosen = probed(model="careful", mode="plan", prompt="model\nmode")

    assert result.auth_methods == ("scripted-login",)
    assert chosen.models
    assert chosen.modes
    assert (chosen.models.current, chosen.models.available) == ("careful", ("fast", "careful"))
    assert (chosen.modes.current, chosen.modes.available) == ("plan", ("default", "plan"))
    said = str([line for line in lines(chosen) if method(line) == "session/update"])
    assert "model careful" in said
    assert "mode plan" in said


@pytest.mark.req("DI-3")
def test_a_model_that_is_not_offered_ends_the_probe_with_what_is(probed: Probe) -> None:
    result = probed(model="huge", prompt=CALL)

    assert result.error
    assert "no model 'huge'. It has: fast, careful" in result.error.summary
    assert (result.tool_call.word, result.status()) == (NOT, 3)


@pytest.mark.req("DI-3", "SE-2")
def test_an_earlier_session_is_loaded(probed: Probe) -> None:
    result = probed(load="scripted-7")
    unknown = probed(load="somebody-elses")
    impossible = probed("--session-capabilities none", load="scripted-7")

    assert words(result)[:4] == (YES, YES, YES, YES)
    assert result.initialize.after_session is not None
    assert words(unknown)[:2] == (REFUSED, YES)
    assert words(impossible)[:2] == (NOT, NOT)
    assert impossible.error
    assert impossible.error.reason_code == "not_offered"


@pytest.mark.req("DI-3")
def test_a_prompt_that_takes_too_long_is_given_up(probed: Probe) -> None:
    result = probed(prompt="wait 600", timeout=0.5)

    assert (result.turn, result.tool_call.word, result.status()) == ("timed out", NO, 0)
    assert [line for line in lines(result) if method(line) == "session/cancel"]


@pytest.mark.req("DI-3")
def test_a_prompt_that_fails_is_no_failure_of_the_probe(probed: Probe) -> None:
    result = probed(prompt="fail planted")

    assert (result.turn, result.tool_call.word, result.status()) == ("failed", NO, 0)
    assert result.error
    assert result.error.reason_code == "prompt_failed"


@pytest.mark.req("DI-3", "SE-4")
def test_an_agent_that_ends_in_its_turn_is_told_with_its_exit_code(probed: Probe) -> None:
    result = probed(prompt="exit 7")

    assert (result.turn, result.exit_code, result.status()) == ("failed", 7, 3)
    assert result.error
    assert result.error.summary.startswith("The agent ended with exit code 7.")
    assert result.reason == "the agent ended"
    assert events(result, "close")[0]["exit_code"] == 7


@pytest.mark.req("DI-3", "SE-4")
def test_an_agent_that_ends_at_once_is_told_without_advice_for_a_session(tmp_path: Path) -> None:
    result = probe(exec=[sys.executable, "-c", "raise SystemExit(7)"], out=tmp_path)

    assert result.error
    assert result.error.summary == "The agent ended with exit code 7."


@pytest.mark.req("DI-3")
def test_the_probe_goes_on_watching_where_it_is_told_to(probed: Probe) -> None:
    result = probed("--connect after --delay 0.2", timeout=0, linger=5)

    assert result.reason == "the time was over"
    assert words(result)[2:4] == (YES, YES)


@pytest.mark.req("DI-3")
def test_the_working_directory_is_fresh_and_gone_unless_it_is_named(
    probed: Probe, tmp_path: Path
) -> None:
    fresh, named = probed(), probed(workdir=tmp_path)

    cwd = Path(session_cwd(fresh))
    assert cwd.name.startswith("kandev-nb-probe-")
    assert not cwd.exists()
    assert session_cwd(named) == str(tmp_path)


@pytest.mark.req("DI-3", "SE-3")
def test_no_process_is_left(probed: Probe) -> None:
    probed()
    probed("--scenario auth-required")

    assert eventually(lambda: not children())


@pytest.mark.req("DI-3")
def test_a_command_that_is_not_there_is_a_result_with_its_file(tmp_path: Path) -> None:
    result = probe(exec="/nowhere/agent --key planted", out=tmp_path)

    assert words(result) == (NOT, NOT, NOT, NOT, NOT)
    assert result.error
    assert result.error.reason_code == "command_not_found"
    assert result.file.is_file()
    assert "planted" not in result.file.read_text()


@pytest.mark.req("DI-3")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transport": "pigeon"}, "Give one of http, sse, stdio"),
        ({"transport": "http", "mcp": False}, "mcp=False that none is"),
        ({"timeout": None}, "timeout= is no bound"),
        ({"linger": -1}, "linger= is no number"),
        ({"prompt": 5}, "prompt= is not text"),
        ({"load": ""}, "load= is empty"),
        ({"workdir": "/nowhere"}, "does not exist"),
        ({"out": 5}, "out= is not a path"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named_and_nothing_is_written(
    probed: Probe, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        probed(**options)

    assert list(tmp_path.rglob("*.jsonl")) == []


def method(line: dict[str, dict[str, str]]) -> str:
    return line.get("frame", {}).get("method", "")


def session_cwd(result: ProbeResult) -> str:
    (request,) = [line for line in lines(result) if method(line) == "session/new"]
    return str(request["frame"]["params"]["cwd"])
