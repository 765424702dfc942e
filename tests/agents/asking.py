"""An agent that sends its client the requests that a prompt spells, and tells the answers."""

import json
from dataclasses import dataclass
from typing import Any

from kandev_nb.agents.connection import AgentConnection
from tests.agents.conftest import fake_agent

SESSION = "s"

ASKING = fake_agent("""
    request = receive()
    offered = json.dumps(request["params"]["clientCapabilities"])
    answer(request, {"protocolVersion": 1, "agentInfo": {"name": offered}})
    while True:
        prompt = receive()
        if prompt["method"] != "session/prompt":
            continue
        asked = json.loads(prompt["params"]["prompt"][0]["text"])
        for number, request in enumerate(asked):
            send({"jsonrpc": "2.0", "id": f"r{number}", **request})
        answers = []
        while len(answers) < len(asked):
            frame = receive()
            if "method" not in frame:
                answers.append(frame)
        answer(prompt, {"stopReason": json.dumps(answers)})
""")
"""Its name is what it was offered, as JSON."""


@dataclass(frozen=True)
class Answers:
    """The answers to the requests of one prompt."""

    frames: list[dict[str, Any]]

    @property
    def order(self) -> list[int]:
        """The numbers of the requests in the order of their answers."""
        return [int(frame["id"][1:]) for frame in self.frames]

    def __getitem__(self, number: int) -> dict[str, Any]:
        frame = next(frame for frame in self.frames if frame["id"] == f"r{number}")
        return {key: value for key, value in frame.items() if key in ("result", "error")}


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"sessionId": SESSION, **params}}


def permission(*kinds: str, **tool_call: Any) -> dict[str, Any]:
    """A request whose options have IDs of the agent's own."""
    options = [{"optionId": f"my-{kind}", "name": "x", "kind": kind} for kind in kinds]
    return request(
        "session/request_permission",
        toolCall={"toolCallId": "call-1", **tool_call},
        options=options,
    )


def selected(kind: str) -> dict[str, Any]:
    return {"result": {"outcome": {"outcome": "selected", "optionId": f"my-{kind}"}}}


CANCELLED = {"result": {"outcome": {"outcome": "cancelled"}}}


async def ask(connection: AgentConnection, *requests: dict[str, Any]) -> Answers:
    """Let the agent send all the requests at once, and wait for the answers."""
    turn = await connection.prompt(SESSION, json.dumps(requests))
    return Answers(json.loads(turn.stop_reason))
