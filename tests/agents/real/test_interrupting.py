"""Other people's agents whose model does not answer in time."""

import pytest

from kandev_nb import WaitTimeout
from tests.agents.model import ANSWER, HANG, ScriptedModel
from tests.agents.real.conftest import AGENTS, StartModelled
from tests.agents.real.starting import home_of, processes
from tests.processes import eventually

# An agent is installed first, which may take minutes.
pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(300)]


@pytest.mark.req("SE-7", "SE-2", "SE-3")
@pytest.mark.parametrize("agent", AGENTS)
def test_a_prompt_that_times_out_is_cancelled_and_the_next_one_is_answered(
    start_modelled: StartModelled, model: ScriptedModel, agent: str
) -> None:
    session = start_modelled(agent)
    # What an agent loads for its first prompt is there then.
    assert ANSWER in session.prompt("Say hello.").text

    with pytest.raises(WaitTimeout, match="did not end within 5 s"):
        session.prompt(HANG, timeout=5)

    assert model.given_up.acquire(timeout=30), "the agent still waits for its model"
    turn = session.prompt("Say hello once more.")
    assert (turn.stop_reason, ANSWER in turn.text) == ("end_turn", True)
    assert session.state == "running"
    assert processes(home_of(session))
    session.close()
    assert eventually(lambda: not processes(home_of(session)))
