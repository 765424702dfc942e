"""The probe on coding agents that other people wrote: what was measured of them, in its words."""

from collections.abc import Callable
from typing import Any

import pytest

from kandev_nb import ProbeResult, probe
from tests.agents.model import ScriptedModel
from tests.agents.npm import search_path
from tests.agents.real import conftest, starting
from tests.agents.real.starting import Start, commands_of, version_of

# An agent is installed first, which may take minutes.
pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(300)]

CALL = "call probe_kandev {}"
YES, NO = "observed", "unobserved"

Probe = Callable[..., ProbeResult]


@pytest.fixture
def probed(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Probe:
    """Probes an agent in a home of its own, which may have nothing of it left at the end."""

    def probed(agent: str, env: dict[str, str], **options: Any) -> ProbeResult:
        home = tmp_path_factory.mktemp(agent)
        start.homes.append(home)
        path = {"PATH": search_path(commands_of(agent))}
        given = path | starting._home(home) | starting._no_network() | env
        return probe(agent, env=given, out=home, **options)

    return probed


def words(result: ProbeResult) -> tuple[str, ...]:
    steps = (result.delivered, result.session, result.initialize, result.tools_list)
    return (*(step.word for step in steps), result.tool_call.word)


@pytest.mark.req("DI-3", "CF-3")
@pytest.mark.parametrize("transport", ["http", "sse", "stdio"])
def test_opencode_connects_over_each_transport_before_it_answers(
    probed: Probe, model: ScriptedModel, transport: str
) -> None:
    result = probed("opencode", conftest._opencode(model), transport=transport)

    assert words(result) == (YES, YES, YES, YES, "not started")
    assert (result.transport, result.is_forced) == (transport, False)
    assert result.advertised == ("http", "sse")
    assert (result.client_name, result.client_version) == ("opencode", version_of("opencode")[1])
    assert result.initialize.after_session is not None
    assert result.session.after_session is not None
    assert result.initialize.after_session < result.session.after_session


@pytest.mark.req("DI-3")
def test_opencode_calls_the_sentinel_when_it_is_permitted(
    probed: Probe, model: ScriptedModel
) -> None:
    result = probed("opencode", conftest._opencode(model), prompt=CALL, timeout=90)

    assert words(result) == (YES, YES, YES, YES, YES)
    assert (result.asked, result.allowed, result.denied) == (1, 1, 0)
    assert result.tool_call.after_prompt is not None


@pytest.mark.req("DI-3", "EV-2")
def test_gemini_in_a_folder_that_is_not_trusted_is_given_the_server_and_never_connects(
    probed: Probe, model: ScriptedModel
) -> None:
    result = probed("gemini", conftest._gemini(model), prompt=CALL)

    assert words(result) == (YES, YES, NO, NO, NO)
    assert (result.turn, result.status(), result.status("initialize")) == ("end_turn", 0, 1)


@pytest.mark.req("DI-3")
def test_gemini_in_a_trusted_folder_connects_lists_and_calls(
    probed: Probe, model: ScriptedModel
) -> None:
    result = probed("gemini", conftest._trusted_gemini(model), prompt=CALL, timeout=90)

    assert words(result) == (YES, YES, YES, YES, YES)
    assert (result.asked, result.allowed, result.denied) == (1, 1, 0)
    assert result.client_name == "gemini-cli-mcp-client"


@pytest.mark.req("DI-3")
def test_gemini_without_a_login_refuses_the_session_and_says_which_logins_there_are(
    probed: Probe,
) -> None:
    result = probed("gemini", {"GEMINI_CLI_TRUST_WORKSPACE": "true"})

    assert result.session.word == "refused"
    assert result.error
    assert (result.error.reason_code, result.status()) == ("auth_required", 3)
    assert result.auth_methods


@pytest.mark.req("DI-3", "EV-6")
def test_claude_is_stateless_and_calls_the_sentinel_when_it_is_permitted(
    probed: Probe, model: ScriptedModel
) -> None:
    result = probed("claude", conftest._claude(model), mode="default", prompt=CALL, timeout=90)

    assert words(result) == (YES, YES, YES, YES, YES)
    assert (result.protocol_version, result.connections) == ("2026-07-28", ())
    assert (result.asked, result.allowed, result.denied) == (1, 1, 0)
