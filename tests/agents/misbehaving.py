"""An agent that goes wrong in one place; tests run this file as a process of its own.

The file ``plan`` in its working directory says what goes wrong, anew at each message, as
``METHOD WHEN FAULT``. ``before``, ``inside`` and ``after`` are said of the line that answers the
message, ``instead`` of what is written in its place. Without the file the agent behaves.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

MIB: Final = 2**20

ANSWERS: Final[dict[str, dict[str, Any]]] = {
    "initialize": {
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": True,
            "mcpCapabilities": {"http": True},
            "sessionCapabilities": {"resume": {}, "fork": {}, "close": {}},
        },
    },
    "session/prompt": {"stopReason": "end_turn"},
}
OPENS: Final = ("session/new", "session/load", "session/resume", "session/fork")
CHOICES: Final = {
    "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "plan"}]},
    "configOptions": [
        {
            "id": "m",
            "category": "model",
            "type": "select",
            "currentValue": "fast",
            "options": [{"value": "fast"}, {"value": "careful"}],
        }
    ],
}
RESULT: Final = b'"result": {'

opened = 0
kept_back: list[bytes] = []
prompts: list[Any] = []


def write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def say(words: str) -> None:
    os.write(2, f"{words}\n".encode())


def line(frame: Any) -> bytes:
    return json.dumps(frame).encode() + b"\n"


def answer_to(message: dict[str, Any]) -> bytes:
    global opened
    result = ANSWERS.get(message["method"], {"_meta": {}})
    if message["method"] in OPENS:
        opened += 1
        result = {"sessionId": f"s{opened}", **CHOICES}
    return line({"jsonrpc": "2.0", "id": message["id"], "result": result})


def deaf() -> None:
    time.sleep(600)


def close_output() -> None:
    os.close(1)
    deaf()


def close_input() -> None:
    os.close(0)
    deaf()


def ignore_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say("ready")
    deaf()


def spawn(leaves: bool) -> None:
    # What is ignored is ignored by a child too, from its first moment.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "600"], start_new_session=leaves)
    say(f"grandchild {child.pid}")


def die_of_child(leaves: bool) -> None:
    spawn(leaves)
    os._exit(3)


def keep_child() -> None:
    spawn(leaves=False)
    say("ready")


def flood() -> None:
    say("ready")
    while True:
        write(NOISE["words"])


LATE_FAILURE: Final = {
    "method": "session/update",
    "params": {
        "sessionId": "s1",
        "update": {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "mcp_startup.kandev.1",
            "status": "failed",
        },
    },
}

ENDS: Final[dict[str, Callable[[], None]]] = {
    "exit": lambda: os._exit(3),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "close-output": close_output,
    "close-input": close_input,
    "deaf": deaf,
    "ignore-sigterm": ignore_sigterm,
    "flood": flood,
    "keep-child": keep_child,
    "leave-child": lambda: die_of_child(leaves=False),
    "leave-stranger": lambda: die_of_child(leaves=True),
    "endless-line": lambda: write(b"a" * (65 * MIB)),
}
"""What ends the agent, or makes it unusable."""

NOISE: Final[dict[str, bytes]] = {
    "words": b"starting up ...\r\n\n[warn] \x1b[31m12 %\x1b[0m\n" * 200,
    "invalid-utf-8": b'\xff\xfe\xc3(\n{"jsonrpc": "2.0", "method": "\xed\xa0\x80"}\n',
    "half-a-frame": b'{"jsonrpc": "2.0", "id": 1, "resu\n',
    "batch": line([{"jsonrpc": "2.0", "id": number, "result": {}} for number in range(9)]),
    "nesting": b'{"id": 1, "result": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "large-number": b'{"id": ' + b"9" * 10_000 + b', "result": {}}\n',
    "unknown-ids": b"".join(line({"id": n, "result": {}}) for n in (-1, 77, 2**60, "77", "x")),
    "odd-ids": b"".join(line({"id": n, "result": {}}) for n in (1.5, True, None, [1], {"a": 1})),
    "unknown-notification": line({"method": "x/y"}) + line({"method": "x/z", "params": [1]}),
    "unknown-request": line({"id": "r", "method": "x/y"}) + line({"id": 0, "method": "fs/x"}),
    "odd-methods": line({"id": 1, "method": 5}) + line({"id": [1], "method": "x"}),
}
"""What an agent may write beside its answers."""


def disfigured(fault: str, message: dict[str, Any]) -> bytes:
    """Return what is written instead of the answer."""
    proper = answer_to(message)
    frame = json.loads(proper)
    match fault:
        case "nothing":
            say("not answered")
            return b""
        case "later":
            kept_back.append(proper)
            say("kept back")
            return b""
        case "after-closing-input":
            os.close(0)
            write(b"".join(NOISE.values()) * 5 + proper)
            os._exit(3)
        case "in-a-batch":
            return line([frame])
        case "under-another-id":
            return line(frame | {"id": message["id"] + 1000})
        case "under-a-fraction":
            return line(frame | {"id": message["id"] + 0.5})
        case "under-text":
            return line(frame | {"id": str(message["id"])})
        case "twice":
            return proper + line(frame | {"result": {"sessionId": "x", "stopReason": "refusal"}})
        case "with-invalid-utf-8":
            return proper.replace(RESULT, RESULT + b'"_meta": "\xc3(\xff", ')
        case "in-63-MiB":
            return proper.replace(RESULT, RESULT + b'"_meta": "' + b"a" * (63 * MIB) + b'", ')
        case "nested":
            return proper.replace(RESULT, RESULT + b'"_meta": ' + b"[" * 400 + b"]" * 400 + b", ")
        case _:
            raise ValueError(fault)


def do(fault: str) -> None:
    if fault in ENDS:
        ENDS[fault]()
    elif fault == "late-failure":
        write(line(LATE_FAILURE))
    elif fault != "the-answer-twice":
        write(b"".join(NOISE.values()) if fault == "all" else NOISE[fault])


def ask(request: str) -> None:
    """Send the request that a prompt spells; its answer is the end of the turn."""
    write(line({"jsonrpc": "2.0", "id": "asked", **json.loads(request)}))


def go_on(result: dict[str, Any]) -> None:
    """Wait for the end of a command that was asked for; else the turn is at its end."""
    if "terminalId" in result:
        params = {"sessionId": "s1", "terminalId": result["terminalId"]}
        ask(json.dumps({"method": "terminal/wait_for_exit", "params": params}))
    else:
        write(answer_to(prompts.pop()))


def take(message: dict[str, Any], when: str, fault: str) -> None:
    method = message["method"]
    for server in message.get("params", {}).get("mcpServers", ()):
        say(server.get("url"))
    if when == "instead":
        write(disfigured(fault, message))
        return
    if when == "before":
        do(fault)
    while kept_back:
        write(kept_back.pop() * (2 if fault == "the-answer-twice" else 1))
    if "id" in message:
        words = message["params"]["prompt"][0]["text"] if method == "session/prompt" else ""
        if words.startswith("{"):
            prompts.append(message)
            ask(words)
            return
        proper = answer_to(message)
        write(proper[:20])
        if when == "inside":
            do(fault)
        write(proper[20:])
    if when == "after":
        do(fault)


def main() -> None:
    while received := sys.stdin.buffer.readline():
        message = json.loads(received)
        try:
            where, when, fault = Path("plan").read_text().split()
        except FileNotFoundError:
            where, when, fault = "", "", ""
        if "method" not in message:
            say("an answer has come")
            if where == "an-answer":
                do(fault)
            if prompts and message["id"] == "asked":
                go_on(message.get("result") or {})
        elif message["method"] == where:
            take(message, when, fault)
        else:
            take(message, "", "")


if __name__ == "__main__":
    main()
