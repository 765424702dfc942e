"""An execution of a passthrough session: an agent's own CLI in a terminal (CF-4).

There is no ACP, so nothing is asked of the CLI and nothing is read from what it paints: a server is
delivered when it stands in the CLI's configuration and the CLI runs, and what its client then does
is observed at the endpoint as ever.
"""

import asyncio
import os
from functools import partial

from anyio import to_thread

from kandev_nb import runtime
from kandev_nb.agents.opened import Way
from kandev_nb.agents.terminal import Terminal
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import KandevError, Unsupported
from kandev_nb.servers import Decision, built_in_by_header
from kandev_nb.servers.passthrough import Materialized, materialize, without_strategy
from kandev_nb.session.attempt import AttemptRecorder
from kandev_nb.session.execution import Execution


class TerminalExecution(Execution):
    """A CLI that runs in a terminal, and the files that it was given."""

    terminal: Terminal | None = None
    _making: asyncio.Future[Materialized] | None = None
    _watch: asyncio.Task[None] | None = None

    def check_offers(self, way: Way) -> None:
        """Raise ``Unsupported`` for what only an agent over ACP can do."""
        if way != "new":
            raise no_conversation(self._owner.name)

    async def serve(self, attempt_id: str) -> tuple[Decision, ...]:
        """Open the endpoint of an attempt; its secret is in a header, never in an address."""
        endpoint = await self._new_endpoint(attempt_id)
        return (built_in_by_header(f"{self._server.origin}/mcp", endpoint.secret),)

    async def open(
        self,
        recorder: AttemptRecorder,
        own: tuple[Decision, ...],
        way: Way,
        acp_session_id: str,
    ) -> None:
        """Write the CLI's configuration, start it, and record which servers it was given."""
        del way, acp_session_id
        given = (*own, *self.launch.servers)
        try:
            judged, args, env = await self._materialized(given)
            for before, after in zip(given, judged, strict=True):
                if before.delivers and not after.delivers:
                    recorder.left_out(after)
            given = judged
            await self._start((*self.launch.command, *args), {**self.launch.env, **env})
        except KandevError as error:
            recorder.not_materialized(given, str(error))
            raise
        recorder.delivered_all(given)

    async def free(self) -> None:
        """Put files of the project back and remove the CLI's own, then end the endpoints."""
        if self._making is not None:
            # One that failed has left nothing.
            await asyncio.wait([self._making])
            if self._making.exception() is None:
                await runtime.in_thread(self._making.result().close)
        await super().free()

    async def _end_process(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        if self.terminal is not None:
            await self.terminal.close()

    async def _materialized(
        self, given: tuple[Decision, ...]
    ) -> tuple[tuple[Decision, ...], tuple[str, ...], dict[str, str]]:
        """Return a decision for each server, and the arguments and variables of the CLI."""
        cli = self.launch.passthrough
        assert cli is not None, "it is a passthrough session"
        if cli.strategy is None:
            return without_strategy(given), (), {}
        make = partial(
            materialize,
            cli.strategy,
            given,
            cwd=self.launch.cwd,
            strict=cli.strict,
            environ={**os.environ, **self.launch.env},
        )
        # What a thread has begun is finished, also when the call that began it is given up.
        self._making = asyncio.ensure_future(to_thread.run_sync(make))
        made = await asyncio.shield(self._making)
        return made.decisions, made.args, dict(made.env)

    async def _start(self, command: tuple[str, ...], env: dict[str, str]) -> None:
        self.terminal = await Terminal.start(
            command, env=env, cwd=self.launch.cwd, recent_output=self._owner.recent_output
        )
        self._watch = asyncio.create_task(self._tell_end(self.terminal))

    async def _tell_end(self, terminal: Terminal) -> None:
        await terminal.ended.wait()
        self._owner.exited(terminal.returncode)


def no_conversation(name: str) -> Unsupported:
    """Return the error for what needs an agent over ACP."""
    return Unsupported(
        f'Session "{name}" is a CLI in a terminal, which is not spoken to over ACP. Type into it '
        "with its write(…), or start the agent over ACP.",
        reason_code=ReasonCode.NOT_OFFERED,
    )


def no_terminal(name: str) -> Unsupported:
    """Return the error for what needs a CLI in a terminal."""
    return Unsupported(
        f'Session "{name}" is an agent over ACP and has no terminal. Call its prompt(…), or start '
        "a CLI with passthrough=.",
        reason_code=ReasonCode.NOT_OFFERED,
    )
