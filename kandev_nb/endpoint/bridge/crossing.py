"""Between the agent's client and the endpoint: each message of the client as a request of its own,
and each answer back as soon as it comes (MCP 2025-11-25 and 2026-07-28, "Streamable HTTP").

A stateless request is cancelled by giving up its POST. In the era of sessions the notification
goes on, but never before the request that it names.
"""

import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urljoin

import anyio
import httpx2
from anyio.abc import TaskGroup

from kandev_nb.endpoint.bridge import LIFELINE
from kandev_nb.endpoint.bridge.client import ANSWER_BYTES, JSON, TooLargeError, answers, whole
from kandev_nb.endpoint.bridge.messages import (
    MalformedError,
    Message,
    error_answer,
    header_value,
    read,
)
from kandev_nb.endpoint.bridge.stdio import Stdio

REQUESTS_AT_ONCE: Final = 128
"""Requests that are under way at one time; more wait for their turn."""

LEAVE_SECONDS: Final = 1.0
"""How long it may take to end the session when the agent has left."""

_SESSION: Final = "mcp-session-id"
_VERSION: Final = "mcp-protocol-version"
_OVER: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.GONE)

_PARSE_ERROR: Final = -32700
_INTERNAL_ERROR: Final = -32603

_ENDED: Final = "The Kandev MCP endpoint has ended with its session."
_BROKE: Final = "The connection to the Kandev MCP endpoint broke before its answer."
_TOO_LARGE: Final = f"The answer is larger than {ANSWER_BYTES // 1024**2} MiB."


class _Post:
    """A request under way; ``accepted`` when what is sent now cannot overtake it."""

    def __init__(self, message: Message) -> None:
        self.is_stateless = bool(message.version)
        self.scope = anyio.CancelScope()
        self.accepted = anyio.Event()
        if self.is_stateless:
            # Nothing needs to follow it, and its headers may not come before its answer.
            self.accepted.set()


class Crossing:
    """Carries the messages of one client to the endpoint at ``url``, and the answers back."""

    _tasks: TaskGroup

    def __init__(self, http: httpx2.AsyncClient, url: str, stdio: Stdio) -> None:
        self._http = http
        self._url = url
        self._stdio = stdio
        self._room = anyio.CapacityLimiter(REQUESTS_AT_ONCE)
        self._posts: dict[str, _Post] = {}
        self._is_stateless = False
        self._session = self._version = self._fault = ""

    async def run(self) -> str:
        """Carry until one side ends; return what is wrong if that is the endpoint, else nothing."""
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._until_signalled)
            self._tasks.start_soon(self._until_left)
            await self._opened(self._hold_lifeline)
            async for line in self._stdio.lines():
                await self._take(line)
            self._end("")
        if self._session and not self._fault:
            await self._leave()
        return self._fault

    def _end(self, fault: str) -> None:
        self._fault = self._fault or fault
        self._tasks.cancel_scope.cancel()

    async def _until_signalled(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                self._end("")

    async def _until_left(self) -> None:
        await self._stdio.until_left()
        self._end("")

    async def _opened(self, stream: Callable[[anyio.Event], Coroutine[Any, Any, None]]) -> None:
        """Hold a stream in a task of its own, and wait until it is open."""
        opened = anyio.Event()
        self._tasks.start_soon(stream, opened)
        await opened.wait()

    async def _hold_lifeline(self, opened: anyio.Event) -> None:
        """Hold the request by whose end the endpoint knows of ours, and we of the endpoint's."""
        with suppress(httpx2.TransportError):
            async with self._http.stream("GET", urljoin(self._url, LIFELINE)) as lifeline:
                if lifeline.is_success:
                    opened.set()
                    await whole(lifeline)
        self._end(_ENDED)

    async def _take(self, line: bytes) -> None:
        """Send one message on its way, and wait where the next one must not overtake it."""
        try:
            message = read(line)
        except MalformedError as fault:
            error = {"code": _PARSE_ERROR, "message": str(fault)}
            await self._stdio.write(error_answer(None, error))
            return
        if message is None:
            return
        if not message.is_request:
            await self._tell(message)
        elif message.method == "initialize":
            self._is_stateless, self._version = False, ""
            await self._ask(message, self._posted(message), self._headers(message))
        else:
            if message.version:
                self._is_stateless, self._version = True, message.version
            post, headers = self._posted(message), self._headers(message)
            self._tasks.start_soon(self._ask, message, post, headers)

    def _posted(self, message: Message) -> _Post:
        """Remember a request from now on, for the next line may cancel it."""
        post = self._posts[message.key] = _Post(message)
        return post

    def _headers(self, message: Message | None = None) -> dict[str, str]:
        """Return what a request says beside its body."""
        headers = {} if message is None else {"content-type": JSON, **message.headers}
        if self._version:
            headers[_VERSION] = header_value(self._version)
        if self._session and not self._is_stateless:
            headers[_SESSION] = self._session
        return headers

    async def _ask(self, message: Message, post: _Post, headers: dict[str, str]) -> None:
        """Carry a request, and back whatever comes of it."""
        try:
            with post.scope:
                async with self._room:
                    fault = await self._asked(message, post, headers)
                if fault:
                    error = {"code": _INTERNAL_ERROR, "message": fault}
                    await self._stdio.write(error_answer(message.id, error))
        finally:
            post.accepted.set()
            if self._posts.get(message.key) is post:
                del self._posts[message.key]

    async def _asked(self, message: Message, post: _Post, headers: dict[str, str]) -> str:
        """Carry a request and its answer; return why there is none, else nothing."""
        try:
            async with self._http.stream(
                "POST", self._url, content=message.content, headers=headers
            ) as response:
                post.accepted.set()
                if self._is_over(response):
                    return _ENDED
                if message.method == "initialize" and response.is_success:
                    self._session = response.headers.get(_SESSION, "")
                is_answered = await self._bring(response, message)
        except TooLargeError:
            return _TOO_LARGE
        except httpx2.TransportError as broken:
            return self._lost(broken)
        return "" if is_answered else _status_words(response.status_code)

    async def _bring(self, response: httpx2.Response, request: Message | None = None) -> bool:
        """Carry what an answer holds; tell whether the answer to ``request`` was in it."""
        is_answered = False
        async for text, body in answers(response):
            carried = text if request is None else self._seen(text, body, request, response)
            is_answered = is_answered or (bool(carried) and "method" not in body)
            if carried:
                await self._stdio.write(carried)
        return is_answered

    def _seen(
        self, text: str, body: dict[str, Any], request: Message, response: httpx2.Response
    ) -> str:
        """Return the text to carry for a message that came with a request's answer, if any."""
        if response.is_error:
            # A refusal bears no ID when the message was not read.
            error = body.get("error")
            return error_answer(request.id, error) if isinstance(error, dict) else ""
        if request.method == "initialize" and isinstance(result := body.get("result"), dict):
            self._version = str(result.get("protocolVersion", ""))
        return text

    async def _tell(self, message: Message) -> None:
        """Carry a notification or an answer of the client's, after every request before it."""
        if message.is_cancellation and self._gave_up(message.cancels):
            return
        for post in tuple(self._posts.values()):
            await post.accepted.wait()
        try:
            async with self._http.stream(
                "POST", self._url, content=message.content, headers=self._headers(message)
            ) as response:
                if not self._is_over(response):
                    await whole(response)
        except TooLargeError:
            return
        except httpx2.TransportError as broken:
            self._lost(broken)
            return
        if message.method == "notifications/initialized" and self._session:
            # What the server tells before its stream is open would be lost.
            await self._opened(self._listen)

    def _gave_up(self, key: str) -> bool:
        """Give up a stateless request; tell whether its cancellation needs not be sent."""
        post = self._posts.get(key)
        if post is None:
            return self._is_stateless
        if post.is_stateless:
            post.scope.cancel()
        return post.is_stateless

    async def _listen(self, opened: anyio.Event) -> None:
        """Carry what the server of a session tells on its own."""
        try:
            with suppress(httpx2.TransportError, TooLargeError):
                async with self._http.stream("GET", self._url, headers=self._headers()) as response:
                    opened.set()
                    if response.is_success:
                        await self._bring(response)
        finally:
            opened.set()

    async def _leave(self) -> None:
        """End the session: the agent has left it."""
        with suppress(httpx2.TransportError), anyio.move_on_after(LEAVE_SECONDS):
            await self._http.delete(self._url, headers=self._headers())

    def _is_over(self, response: httpx2.Response) -> bool:
        """Tell whether the endpoint has ended, and with it the bridge."""
        is_over = response.status_code in _OVER
        if is_over:
            self._end(_ENDED)
        return is_over

    def _lost(self, broken: httpx2.TransportError) -> str:
        """Return what is said of a request that no answer will come to."""
        if isinstance(broken, httpx2.ConnectError | httpx2.ConnectTimeout):
            self._end(_ENDED)
        return _BROKE


def _status_words(status: int) -> str:
    with suppress(ValueError):
        return f"The Kandev MCP endpoint answered {status} {HTTPStatus(status).phrase}."
    return f"The Kandev MCP endpoint answered {status}."
