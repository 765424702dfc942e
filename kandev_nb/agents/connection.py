"""One agent, spoken to over the Agent Client Protocol (version 1).

A command comes in; :meth:`AgentConnection.open` starts it and shakes hands. Then sessions are
opened and prompted, and whatever the agent says on the way goes to :class:`AgentEvents` as it
came. Every call ends: with an answer, with an :class:`~kandev_nb.errors.AgentError`, or by being
cancelled, also when the agent dies in the middle of it.

Importing this module takes the ACP library's second: do it off the event loop.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Literal, Protocol, Self

from acp import PROTOCOL_VERSION, RequestError
from acp import connection as acp_connection
from acp.connection import Connection
from acp.task import sender, supervisor
from anyio import CancelScope

from kandev_nb import logs
from kandev_nb.agents import faults
from kandev_nb.agents.advertised import Advertised, Capabilities, McpCapabilities
from kandev_nb.agents.delivery import Server, secrets_of, session_params
from kandev_nb.agents.opened import Choice, Opened, Way
from kandev_nb.agents.output import RecentOutput
from kandev_nb.agents.permission import PermissionCounts
from kandev_nb.agents.process import AgentProcess
from kandev_nb.agents.requests import METHOD_NOT_FOUND, Client
from kandev_nb.agents.transport import AgentTransport, Oddities, Tap, announcing
from kandev_nb.agents.turn import Listener, PromptResult, Turn
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import KnownSecrets
from kandev_nb.errors import AgentError, ConfigError

_log = logging.getLogger(__name__)

logs.name_loggers(acp_connection, sender, supervisor)

CANCEL_SECONDS: Final = 5.0
"""How long a prompt waits for the end of the one before it that was given up."""

HANDSHAKE_TIMEOUT: Final = 30.0
"""Seconds; the slowest agents measured take 17."""


class AgentEvents(Protocol):
    """What an agent does unasked. The methods are called on the event loop and must not block."""

    def exited(self, returncode: int | None) -> None:
        """The process is gone; called once for each process that was started.

        ``returncode`` is negative for a signal, and None if the process could not be ended.
        """

    def session_update(self, acp_session_id: str, update: dict[str, Any]) -> None:
        """A ``session/update``, raw: unknown kinds and ``_meta`` included."""


class AgentConnection:
    """A running agent. Made by :meth:`open`; its methods belong to one event loop."""

    def __init__(
        self,
        process: AgentProcess,
        events: AgentEvents,
        secrets: KnownSecrets,
        client: Client,
        tap: Tap | None = None,
    ) -> None:
        self._process = process
        self._events = events
        self._secrets = secrets
        self._client = client
        self._turns: dict[str, Turn] = {}
        self._cancelled: dict[str, asyncio.Future[object]] = {}
        self._cancels: set[asyncio.Task[None]] = set()
        self._advertised = Advertised.read(None)
        self._transport = AgentTransport(process, self._notified, tap)
        self._acp = Connection(self._requested, self._transport)
        self._end = asyncio.create_task(self._await_end(), name="kandev-nb agent end")
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path,
        events: AgentEvents,
        secrets: Iterable[str] = (),
        recent_output: RecentOutput | None = None,
        handshake_timeout: float = HANDSHAKE_TIMEOUT,
        client: Client | None = None,
        tap: Tap | None = None,
    ) -> Self:
        """Start an agent and shake hands with it; ``handshake_timeout`` is in seconds.

        ``secrets`` are kept out of errors, beside the values of ``env`` and those that servers are
        given. ``recent_output`` is filled with what it writes to its standard error. ``client``
        is what the agent may ask of us; without one it is offered nothing and permitted nothing.
        ``tap`` is shown every frame.

        Raises:
            ConfigError: ``cwd`` is not a directory.
            AgentError: it does not start (``command_not_found``, ``spawn_failed``), ends
                (``agent_exited``), keeps silent (``handshake_timeout``) or does not speak ACP
                version 1 (``protocol_mismatch``). Nothing of it is left then.
        """
        process = await AgentProcess.start(command, env=env, cwd=cwd, recent_output=recent_output)
        client = client or Client()
        known = KnownSecrets((*secrets, *(env or {}).values()))
        connection = cls(process, events, known, client, tap)
        connection._end.add_done_callback(lambda _: client.end())
        try:
            async with asyncio.timeout(handshake_timeout):
                await connection._shake_hands()
        except BaseException as error:
            # Whoever cancels the start waits until nothing of it is left.
            with CancelScope(shield=True):
                await connection.close()
            if isinstance(error, TimeoutError):
                raise faults.silent(handshake_timeout) from None
            raise
        return connection

    @property
    def pid(self) -> int:
        """The process ID, which is also the number of the process group."""
        return self._process.pid

    @property
    def agent_name(self) -> str:
        """The name that the agent gives itself, or empty text."""
        return self._advertised.agent_name

    @property
    def agent_version(self) -> str:
        """The version that the agent gives itself, or empty text."""
        return self._advertised.agent_version

    @property
    def mcp_capabilities(self) -> McpCapabilities:
        """The MCP transports that the agent advertises."""
        return self._advertised.mcp

    @property
    def capabilities(self) -> Capabilities:
        """The session methods that the agent advertises."""
        return self._advertised.sessions

    @property
    def permission_counts(self) -> PermissionCounts:
        """How many permissions the agent asked for and got, so far."""
        return self._client.permission_counts

    @property
    def auth_methods(self) -> tuple[str, ...]:
        """The IDs of the ways to log in that the agent advertises."""
        return self._advertised.auth_methods

    @property
    def recent_output(self) -> RecentOutput:
        """What the agent wrote to its standard error lately; may hold secrets."""
        return self._process.recent_output

    @property
    def end_words(self) -> str:
        """How the agent ended, as what follows its name: "ended with exit code 3"."""
        if self._process.was_ended and self._transport.cause:
            return f"{self._transport.cause} and was ended"
        return faults.exit_words(self._process.returncode)

    @property
    def oddities(self) -> Oddities:
        """How often the agent strayed from the protocol."""
        return self._transport.oddities

    def offers(self, way: Way) -> bool:
        """Whether the agent advertises that way of opening a session."""
        capabilities = self._advertised.sessions
        offered = {
            "new": True,
            "load": capabilities.load_session,
            "resume": capabilities.resume,
            "fork": capabilities.fork,
        }
        return offered[way]

    async def open_session(
        self,
        way: Way,
        *,
        cwd: Path,
        servers: Sequence[Server],
        on_sent: Callable[[], None],
        session_id: str = "",
    ) -> Opened:
        """Open a session with ``servers`` (``session/new``, ``load``, ``resume``, ``fork``).

        ``session_id`` is the agent's ID of the session that is loaded, resumed or forked.
        ``on_sent`` is called when the request has been written to the agent, before its answer.

        Raises:
            Unsupported: the agent does not advertise it; nothing was sent.
            ConfigError: a server is not of ACP's shape; nothing was sent.
            AgentError: the agent refused (``auth_required``, ``session_request_failed``) or
                ended. Servers may have been connected nevertheless.
        """
        if not self.offers(way):
            raise faults.not_offered(f"session/{way}")
        params = session_params(cwd, servers)
        self._secrets |= secrets_of(params)
        if session_id:
            params["sessionId"] = session_id
        with announcing(lambda: _guarded(on_sent)):
            answer = await self._request(f"session/{way}", params)
        opened = Opened.read(answer, "" if way in ("new", "fork") else session_id)
        if opened is None:
            raise AgentError(
                f"The agent answered session/{way} without a session ID. Use another version of "
                "it.",
                reason_code=ReasonCode.SESSION_REQUEST_FAILED,
            )
        return opened

    async def close_session(self, session_id: str) -> None:
        """End one session of the agent's, where it offers that (``session/close``)."""
        if self._advertised.sessions.close:
            await self._request("session/close", {"sessionId": session_id})

    async def choose(
        self, session_id: str, what: Literal["mode", "model"], choice: Choice | None, wanted: str
    ) -> None:
        """Set a session's mode or model (``session/set_mode``, ``set_config_option``).

        Raises:
            Unsupported: there is no such choice in this session.
            ConfigError: ``wanted`` is not among what can be chosen.
            AgentError: the agent refused.
        """
        if choice is None:
            raise faults.not_offered(f"choosing a {what}")
        if wanted not in choice.available:
            raise ConfigError(
                f"This agent has no {what} {wanted!r}. It has: {', '.join(choice.available)}.",
                reason_code=ReasonCode.WRONG_ARGUMENT,
            )
        if choice.option:
            params = {"configId": choice.option, "value": wanted}
            await self._request("session/set_config_option", {"sessionId": session_id, **params})
        else:
            params = {"sessionId": session_id, f"{what}Id": wanted}
            await self._request(f"session/set_{what}", params)

    async def prompt(
        self, session_id: str, text: str, listener: Listener | None = None
    ) -> PromptResult:
        """Send a prompt and return how its turn ended (``session/prompt``).

        ``listener`` hears how it goes on. Cancelling this coroutine cancels the turn. A prompt
        that follows waits at most :data:`CANCEL_SECONDS` for the end of that, for an agent may
        take both for one (ACP, "Cancellation").

        Raises:
            AgentError: the agent refused (``prompt_failed``, ``auth_required``) or ended.
        """
        await self._await_cancelled(session_id)
        turn = self._turns[session_id] = Turn(listener)
        params = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
        request = asyncio.ensure_future(self._request("session/prompt", params))
        try:
            return turn.result(await asyncio.shield(request))
        except asyncio.CancelledError:
            # An error of a turn that nobody waits for is nobody's.
            request.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            self._cancelled[session_id] = request
            self._cancel_soon(session_id)
            raise
        finally:
            if self._turns.get(session_id) is turn:
                del self._turns[session_id]

    async def _await_cancelled(self, session_id: str) -> None:
        """Wait for the answer to a prompt that was given up, and then for it no more."""
        request = self._cancelled.pop(session_id, None)
        if request is not None:
            try:
                await asyncio.wait([request], timeout=CANCEL_SECONDS)
            finally:
                request.cancel()

    async def cancel(self, session_id: str) -> None:
        """Ask the agent to end the session's turn (``session/cancel``); an ended agent is fine."""
        self._client.cancelled(session_id)
        try:
            await self._acp.send_notification("session/cancel", {"sessionId": session_id})
        except ConnectionError:
            return

    async def close(self) -> None:
        """End the agent and free everything; may be called again and be cancelled safely."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="kandev-nb agent close")
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._transport.end("")
        await self._end
        await self._acp.close()
        await self._client.close()
        await asyncio.gather(*self._cancels)
        for session_id in tuple(self._cancelled):
            await self._await_cancelled(session_id)

    async def _await_end(self) -> None:
        """The end of the agent's output, or of its input, is the end of the agent."""
        try:
            await self._transport.ended.wait()
        finally:
            # Also when the interpreter ends: asyncio complains of a process that outlives its loop.
            await self._process.close()
        _guarded(lambda: self._events.exited(self._process.returncode))

    async def _shake_hands(self) -> None:
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": self._client.capabilities,
            "clientInfo": {"name": "kandev-nb", "title": "kandev-nb", "version": _our_version()},
        }
        self._advertised = Advertised.read(await self._request("initialize", params))
        if self._advertised.protocol_version != PROTOCOL_VERSION:
            raise faults.mismatch(self._advertised.protocol_version)

    async def _request(self, method: str, params: dict[str, Any]) -> Any:
        try:
            return await self._acp.send_request(method, params)
        except RequestError as error:
            methods = self._advertised.auth_methods
            raise faults.refused(method, error, self._secrets, methods) from None
        except ConnectionError:
            raise await self._gone() from None

    async def _gone(self) -> AgentError:
        await asyncio.shield(self._end)
        return faults.closed() if self._closing is not None else faults.exited(self.end_words)

    def _cancel_soon(self, session_id: str) -> None:
        # A task that is being cancelled cannot wait for the frame to be written.
        task = asyncio.create_task(self.cancel(session_id), name="kandev-nb agent cancel")
        self._cancels.add(task)
        task.add_done_callback(self._cancels.discard)

    async def _requested(self, method: str, params: Any, _is_notification: bool) -> Any:
        """Called by the ACP library for each request of the agent."""
        try:
            return await self._client.answer(method, params)
        except RequestError as error:
            if error.code == METHOD_NOT_FOUND:
                self.oddities.requests += 1
            raise

    def _notified(self, method: str, params: dict[str, Any]) -> None:
        """Called by the transport for each notification of the agent."""
        session_id, update = params.get("sessionId"), params.get("update")
        if method != "session/update":
            self.oddities.notifications += 1
        elif isinstance(session_id, str) and isinstance(update, dict):
            _guarded(lambda: self._events.session_update(session_id, update))
            if turn := self._turns.get(session_id):
                _guarded(lambda: turn.take(update))


def _guarded(call: Callable[[], None]) -> None:
    """Call what is not ours; its errors stay there, and say their type only (SA-1, SE-5)."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - any error of a callback
        _log.warning("a callback of an agent connection raised %s", type(error).__name__)


def _our_version() -> str:
    try:
        return version("kandev-nb")
    except PackageNotFoundError:
        return "unknown"
