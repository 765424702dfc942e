"""A probe's result as text: a line a step, then what else was seen, then where the frames are."""

from collections.abc import Iterator
from typing import Final

from kandev_nb.probing.summary import ProbeResult, Step

NO_FAILURE: Final = "Unobserved is no failure: it was not seen to happen while the probe watched."


def lines(result: ProbeResult) -> Iterator[str]:
    """Yield the lines of the summary."""
    who = " ".join(filter(None, (result.agent_name, result.agent_version)))
    yield f"Probe of {result.agent}{f' ({who})' if who else ''}"
    yield _line("advertised", _advertised(result))
    for name, step in _steps(result):
        yield _line(name, f"{step.word:<13}{_details(result, name, step)}".rstrip())
    if result.asked:
        yield _line("permissions", f"{result.allowed} allowed, {result.denied} denied")
    yield from _choices(result)
    if result.turn:
        yield _line("turn", result.turn)
    if result.error:
        yield _line("error", f"{result.error.summary} ({result.error.reason_code})")
    code = "" if result.exit_code is None else f"; the agent's exit code was {result.exit_code}"
    yield _line("ended", f"{result.reason}{code}")
    if any(step.word == "unobserved" for _, step in _steps(result)):
        yield NO_FAILURE
    yield f"Raw frames, which may hold secrets, are in {result.file}"
    if result.file_problem:
        yield f"That file is not complete: {result.file_problem}"


def _line(name: str, words: str) -> str:
    return f"  {name:<13}{words}"


def _steps(result: ProbeResult) -> tuple[tuple[str, Step], ...]:
    return (
        ("delivered", result.delivered),
        ("session", result.session),
        ("initialize", result.initialize),
        ("tools list", result.tools_list),
        ("tool call", result.tool_call),
    )


def _advertised(result: ProbeResult) -> str:
    if result.advertised is None:
        return "nothing was said"
    words = ", ".join(("stdio", *result.advertised))
    return f"{words}; assumed: {', '.join(result.assumed)}" if result.assumed else words


def _details(result: ProbeResult, name: str, step: Step) -> str:
    times = (("session request", step.after_session), ("prompt", step.after_prompt))
    details = [f"{passed:.2f} s after the {what}" for what, passed in times if passed is not None]
    if name == "delivered" and result.transport:
        forced = ", which it does not advertise" if result.is_forced else ""
        details.insert(0, f"over {result.transport}{forced}")
    if name == "initialize" and step.word == "observed":
        details.append(" ".join(filter(None, (result.client_name, result.client_version))))
        details.append(f"MCP {result.protocol_version}" if result.protocol_version else "")
    if name == "session" or step.word != "observed":
        # The error has a line of its own.
        same = result.error is not None and step.summary == result.error.summary
        details.append("" if same else step.summary)
    return ", ".join(filter(None, details))


def _choices(result: ProbeResult) -> Iterator[str]:
    for name, found in (("models", result.models), ("modes", result.modes)):
        if found:
            marked = (
                f"{word} (now)" if word == found.current else word for word in found.available
            )
            yield _line(name, ", ".join(marked))
    if result.auth_methods:
        yield _line("logins", ", ".join(result.auth_methods))
