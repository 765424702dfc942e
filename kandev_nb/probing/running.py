"""The course of one probe: start, watch, prompt where told to, end (DI-3).

It goes through the same session as every other, so that the probe can never say more than a
session's report would. Only the tools, the delivery and the tap are a probe's own.
"""

import asyncio
import os
from typing import Final, Literal, NamedTuple

from anyio import CancelScope, fail_after, move_on_after

from kandev_nb.agents.faults import exit_words
from kandev_nb.agents.permission import PermissionCounts
from kandev_nb.attachment import ReasonCode
from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.endpoint import ToolRegistry, endpoint_server
from kandev_nb.errors import AgentError, AttachmentFailed, KandevError, WaitTimeout
from kandev_nb.probing.recorder import Recorder
from kandev_nb.probing.summary import ProbeResult, Problem, Seen, options, steps
from kandev_nb.session.core import SessionCore
from kandev_nb.session.launch import Launch
from kandev_nb.session.task import TaskCore
from kandev_nb.session.waiting import wait_for

START_SECONDS: Final = 60.0
"""How long an agent may take to start and to open its session."""

BEFORE_PROMPT: Final = 5.0
"""How long a prompt waits for the tools to be listed, at most: some agents connect only for it."""

SCHEMA: Final = 1
"""The version of a file's lines."""


class Course(NamedTuple):
    """What is done with the agent once it is started."""

    prompt: str | None = None
    timeout: float = 20.0
    """Seconds for the tools to be listed, and again for the prompt's turn."""
    linger: float = 0.0
    model: str | None = None
    mode: str | None = None
    load: str | None = None


class Probe:
    """One probe. Belongs to the loop; :meth:`run` is called once."""

    def __init__(self, launch: Launch, course: Course, recorder: Recorder) -> None:
        self._launch, self._course, self._recorder = launch, course, recorder
        self._core = SessionCore(
            "probe", launch, endpoint_server(), TaskCore("probe", ToolRegistry())
        )
        self._error: Problem | None = None
        self._turn = self._reason = ""

    async def run(self) -> ProbeResult:
        """Probe the agent; what goes wrong with it is part of the result."""
        self._note_start()
        self._core.subscribe(self._recorder.report)
        try:
            await self._open()
            await self._watch()
        except KandevError as error:
            self._fail(error)
            self._reason = self._end_words()
        except BaseException:
            self._reason = "the probe was interrupted"
            raise
        finally:
            with CancelScope(shield=True):
                await self._end()
        return self._result()

    async def _open(self) -> None:
        load = self._course.load
        try:
            with fail_after(START_SECONDS):
                await self._core.start("load" if load else "new", load or "")
        except TimeoutError:
            raise WaitTimeout(
                f"The agent did not open a session within {START_SECONDS:g} s.",
                reason_code=ReasonCode.CALL_TIMEOUT,
            ) from None
        chosen: tuple[tuple[Literal["mode", "model"], str | None], ...] = (
            ("mode", self._course.mode),
            ("model", self._course.model),
        )
        for what, wanted in chosen:
            if wanted is not None:
                await self._core.choose(what, wanted)

    async def _watch(self) -> None:
        """Wait for what can be seen: the tools being listed, and the turn of a prompt."""
        clock, course = asyncio.get_running_loop().time, self._course
        deadline = clock() + course.timeout
        if course.prompt is not None:
            await self._await_tools(min(course.timeout, BEFORE_PROMPT))
            await self._prompt(course.prompt)
        listed = await self._await_tools(max(deadline - clock(), 0))
        if not listed:
            self._reason = "the time was over"
        elif not self._reason:
            self._reason = "the turn has ended" if self._turn else "the tools were listed"
        await asyncio.sleep(course.linger)

    async def _await_tools(self, seconds: float) -> bool:
        """Wait until the tools were listed; also when they cannot be there is no more to wait for.

        Raises:
            AgentError: the agent has ended.
        """
        if not self._is_delivered:
            self._reason = "no MCP server was delivered"
            return True
        try:
            await wait_for(self._core, BUILT_IN, "active", seconds)
        except WaitTimeout:
            return False
        except AttachmentFailed:
            self._reason = "the agent says that it could not attach the server"
        return True

    async def _prompt(self, words: str) -> None:
        self._turn = "timed out"
        try:
            with move_on_after(self._course.timeout):
                self._turn = (await self._core.prompt(words)).stop_reason
        except AgentError as error:
            self._turn = "failed"
            if error.reason_code == ReasonCode.AGENT_EXITED:
                raise
            self._fail(error)
        finally:
            self._recorder.note("turn", ended=self._turn)

    async def _end(self) -> None:
        try:
            await self._core.close()
        finally:
            recorder = self._recorder
            # What was said last did not end in a line.
            *_, rest = self._core.recent_output.text.split("\n")
            if rest:
                recorder.frame("stderr", rest.encode())
            recorder.report(self._core.ledger.history)
            recorder.note("close", reason=self._reason, exit_code=recorder.returncode)
            recorder.close()

    def _note_start(self) -> None:
        spec, probed = self._launch.agent, self._launch.probed
        self._recorder.note(
            "start",
            schema=SCHEMA,
            agent=spec.id,
            program=os.path.basename(spec.command[0]),
            cwd=str(self._launch.cwd),
            transport=probed.over if probed else "",
        )

    def _fail(self, error: KandevError) -> None:
        words, agent = str(error), self._core.agent
        if error.reason_code == ReasonCode.AGENT_EXITED:
            # What its session would advise is not for who probes.
            how = agent.end_words if agent else exit_words(self._recorder.returncode)
            words = f"The agent {how}."
        summary = self._core.ledger.redact(words)
        self._error = Problem(reason_code=error.reason_code, summary=summary)

    def _end_words(self) -> str:
        assert self._error is not None
        if self._error.reason_code == ReasonCode.AGENT_EXITED:
            return "the agent ended"
        return "the agent could not be started, or refused"

    @property
    def _is_delivered(self) -> bool:
        return self._launch.probed is None or self._launch.probed.over != "nothing"

    def _result(self) -> ProbeResult:
        core, recorder = self._core, self._recorder
        agent = core.agent
        counts = agent.permission_counts if agent else PermissionCounts()
        seen = Seen(
            core.ledger.history.current,
            recorder.sent_at,
            self._is_delivered,
            counts,
            self._error,
        )
        row = seen.row
        advertised = tuple(sorted(agent.mcp_capabilities.offered)) if agent else None
        transport = row.transport if row and row.delivered_at else ""
        events = seen.attempt.evidence if seen.attempt else ()
        return ProbeResult(
            agent=self._launch.agent.id,
            agent_name=agent.agent_name if agent else "",
            agent_version=agent.agent_version if agent else "",
            advertised=advertised,
            assumed=tuple(sorted(self._launch.agent.takes - set(advertised or ()))),
            transport=transport,
            is_forced=self._is_forced(transport, advertised),
            protocol_version=row.protocol_version if row else "",
            client_name=row.client_name if row else "",
            client_version=row.client_version if row else "",
            connections=tuple(dict.fromkeys(e.connection_id for e in events if e.connection_id)),
            asked=counts.asked,
            allowed=counts.allowed,
            denied=counts.denied,
            turn=self._turn,
            models=options(core.choice("model")),
            modes=options(core.choice("mode")),
            auth_methods=agent.auth_methods if agent else (),
            error=self._error,
            exit_code=recorder.returncode,
            reason=self._reason,
            file=recorder.path,
            file_problem=recorder.problem,
            **steps(seen),
        )

    def _is_forced(self, transport: str, advertised: tuple[str, ...] | None) -> bool:
        probed = self._launch.probed
        is_asked_for = probed is not None and bool(probed.over) and probed.over == transport
        return is_asked_for and transport not in ("stdio", *(advertised or ()))
