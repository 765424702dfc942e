"""A server over stdio that does one thing wrong, as its argument says; run as a file."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "toy", "version": "1.2"},
}
MODERN: Final = "2026-07-28"


def send(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def answer(request: dict[str, Any], result: object) -> None:
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def tools(*descriptions: str) -> dict[str, Any]:
    schema = {"type": "object"}
    return {
        "tools": [
            {"name": f"t{n}", "description": description, "inputSchema": schema}
            for n, description in enumerate(descriptions)
        ]
    }


def serve(
    listed: Callable[[dict[str, Any]], object] = lambda _: tools("one", "two"),
    hello: object = HELLO,
) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if request["method"] == "initialize":
            answer(request, hello)
        elif request["method"] == "tools/list":
            answer(request, listed(request))


def silent() -> None:
    sys.stdin.read()


def banner() -> None:
    say("Server is running")
    say("{not json}")
    sys.stdin.read()


def chatty() -> None:
    say("Server is running")
    serve()


def floods() -> None:
    """Write fifty thousand lines that are no messages, then serve as a good server does."""
    sys.stdout.write("x\n" * 50_000)
    serve()


def exits() -> None:
    sys.exit(3)


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def exits_later() -> None:
    serve(lambda _: sys.exit(4))


def mute() -> None:
    os.close(1)
    signal.pause()


def stubborn() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve()
    signal.pause()


def hanging() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path("pid").write_text(str(os.getpid()))
    serve(lambda _: signal.pause())


def orphaning() -> None:
    """Serve as a good server does, and leave a child behind that ignores everything."""
    child = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(); signal.pause()"
    left = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, stdin=-3)
    assert left.stdout
    left.stdout.readline()
    Path("child").write_text(str(left.pid))
    serve()


def endless() -> None:
    """Write a line without an end."""
    piece = "x" * 65536
    while True:
        sys.stdout.write(piece)


def long_line() -> None:
    send({"jsonrpc": "2.0", "method": "x" * (9 * 1024 * 1024)})
    sys.stdin.read()


def old() -> None:
    serve(hello={**HELLO, "protocolVersion": "1999-12-31"})


def odd_result() -> None:
    serve(hello=["no object"])


def asks_back() -> None:
    """Ask the client something before each answer, and wait for its word."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        send({"jsonrpc": "2.0", "id": "p", "method": "ping"})
        assert json.loads(sys.stdin.readline()) == {"jsonrpc": "2.0", "id": "p", "result": {}}
        send({"jsonrpc": "2.0", "id": 7, "method": "roots/list"})
        assert json.loads(sys.stdin.readline())["error"]["code"] == -32601
        answer(request, HELLO if request["method"] == "initialize" else tools("one"))


def modern_only() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        meta = request["params"].get("_meta", {})
        if meta.get("io.modelcontextprotocol/protocolVersion") != MODERN:
            error = {"code": -32022, "message": "no", "data": {"supported": [MODERN]}}
            send({"jsonrpc": "2.0", "id": request["id"], "error": error})
        elif request["method"] == "server/discover":
            answer(request, {"supportedVersions": [MODERN], "capabilities": {"tools": {}}})
        else:
            answer(request, tools("one"))


def surroundings() -> None:
    """Tell where it runs, and the values of the variables that the arguments name."""
    serve(lambda _: tools(str(Path.cwd()), *(os.environ.get(name, "") for name in sys.argv[2:])))


globals()[sys.argv[1]]()
