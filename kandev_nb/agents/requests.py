"""What an agent asks of us, and what it gets.

A request of the agent comes in, by method and parameters; its result leaves, or a JSON-RPC error
that tells the agent what was wrong. What is not offered is not found (ACP, "Client
capabilities"). The parts that answer are :mod:`~kandev_nb.agents.permission`,
:mod:`~kandev_nb.agents.files` and :mod:`~kandev_nb.agents.terminals`; here is the wire.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Self

from acp import RequestError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from kandev_nb.agents.files import FAILED, INVALID, Files
from kandev_nb.agents.permission import (
    ASK_TIMEOUT,
    PermissionCounts,
    PermissionDesk,
    Permissions,
    Person,
)
from kandev_nb.agents.terminals import Terminals

_log = logging.getLogger(__name__)

METHOD_NOT_FOUND: Final = -32601

_Answer = Callable[[object], Awaitable[dict[str, Any]]]


class Client:
    """What one agent may ask of us. Nothing but permissions is offered unless it is given."""

    def __init__(
        self,
        permissions: PermissionDesk | None = None,
        files: Files | None = None,
        terminals: Terminals | None = None,
    ) -> None:
        self._permissions = permissions or PermissionDesk()
        self._terminals = terminals
        self._answers = {
            **_permission_answers(self._permissions),
            **(_file_answers(files) if files else {}),
            **(_terminal_answers(terminals) if terminals else {}),
        }

    @classmethod
    def in_directory(
        cls,
        cwd: Path,
        *,
        session: str = "",
        permissions: Permissions = "ask",
        person: Person | None = None,
        ask_timeout: float = ASK_TIMEOUT,
        files: bool = True,
        terminal: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> Self:
        """Return what a session named ``session`` offers its agent in ``cwd``.

        ``ask_timeout`` is in seconds. ``env`` is laid over the environment of terminals. Raises
        :class:`~kandev_nb.errors.ConfigError` for ``permissions`` that cannot be used.
        """
        return cls(
            PermissionDesk(permissions, person, session=session, ask_timeout=ask_timeout),
            Files(cwd) if files else None,
            Terminals(cwd, env) if terminal else None,
        )

    @property
    def capabilities(self) -> dict[str, Any]:
        """The ``clientCapabilities`` of the handshake."""
        return {
            "fs": {
                "readTextFile": "fs/read_text_file" in self._answers,
                "writeTextFile": "fs/write_text_file" in self._answers,
            },
            "terminal": "terminal/create" in self._answers,
        }

    @property
    def permission_counts(self) -> PermissionCounts:
        """How many permissions the agent asked for and got; the object is live."""
        return self._permissions.counts

    async def answer(self, method: str, params: object) -> dict[str, Any]:
        """Return the result for one request of the agent.

        Raises:
            RequestError: -32601 it is not offered; -32602 a parameter is malformed; or what the
                part that answers has to say.
        """
        if method not in self._answers:
            raise RequestError.method_not_found(method)
        try:
            return await self._answers[method](params)
        except RequestError:
            raise
        except ValidationError as error:
            raise _malformed(method, error) from None
        except Exception as error:  # noqa: BLE001 - the agent is told of no fault of ours
            _log.warning("%s could not be answered (%s)", method, type(error).__name__)
            raise RequestError(FAILED, "Internal error") from None

    def cancelled(self, acp_session_id: str) -> None:
        """Answer the permission requests of a turn that is being cancelled, as ACP asks."""
        self._permissions.cancelled(acp_session_id)

    def end(self) -> None:
        """Begin to end what is under way: the agent is gone."""
        self._permissions.end()
        if self._terminals:
            self._terminals.end()

    async def close(self) -> None:
        """End everything that was begun for the agent; returns when it is over."""
        self.end()
        if self._terminals:
            await self._terminals.close()


class _Wire(BaseModel):
    # ACP's own models drop what they do not accept, such as one argument of a command.
    model_config = ConfigDict(frozen=True, strict=True, alias_generator=to_camel)


class _Params(_Wire):
    session_id: str


class _ToolCall(_Wire):
    model_config = ConfigDict(extra="allow")

    tool_call_id: str


class _RequestPermission(_Params):
    tool_call: _ToolCall
    options: list[Any]


class _ReadTextFile(_Params):
    path: str
    line: Annotated[int, Field(ge=0)] | None = None
    limit: Annotated[int, Field(ge=0)] | None = None


class _WriteTextFile(_Params):
    path: str
    content: str


class _Variable(_Wire):
    name: str
    value: str


class _CreateTerminal(_Params):
    command: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    cwd: str | None = None
    output_byte_limit: Annotated[int, Field(ge=0)] | None = None


class _OfTerminal(_Params):
    terminal_id: str


def _permission_answers(desk: PermissionDesk) -> dict[str, _Answer]:
    async def request_permission(params: object) -> dict[str, Any]:
        asked = _RequestPermission.model_validate(params)
        told = asked.tool_call
        tool_call = {**(told.model_extra or {}), "toolCallId": told.tool_call_id}
        return {"outcome": await desk.decide(asked.session_id, tool_call, asked.options)}

    return {"session/request_permission": request_permission}


def _file_answers(files: Files) -> dict[str, _Answer]:
    async def read(params: object) -> dict[str, Any]:
        asked = _ReadTextFile.model_validate(params)
        return {"content": await files.read(asked.path, asked.line, asked.limit)}

    async def write(params: object) -> dict[str, Any]:
        asked = _WriteTextFile.model_validate(params)
        await files.write(asked.path, asked.content)
        return {}

    return {"fs/read_text_file": read, "fs/write_text_file": write}


def _terminal_answers(terminals: Terminals) -> dict[str, _Answer]:
    async def create(params: object) -> dict[str, Any]:
        asked = _CreateTerminal.model_validate(params)
        terminal_id = await terminals.create(
            asked.session_id,
            asked.command,
            asked.args or (),
            env={variable.name: variable.value for variable in asked.env or ()},
            cwd=asked.cwd,
            limit=asked.output_byte_limit,
        )
        return {"terminalId": terminal_id}

    async def output(params: object) -> dict[str, Any]:
        asked = _OfTerminal.model_validate(params)
        return terminals.output(asked.session_id, asked.terminal_id)

    async def wait(params: object) -> dict[str, Any]:
        asked = _OfTerminal.model_validate(params)
        return await terminals.wait(asked.session_id, asked.terminal_id)

    async def kill(params: object) -> dict[str, Any]:
        asked = _OfTerminal.model_validate(params)
        await terminals.kill(asked.session_id, asked.terminal_id)
        return {}

    async def release(params: object) -> dict[str, Any]:
        asked = _OfTerminal.model_validate(params)
        await terminals.release(asked.session_id, asked.terminal_id)
        return {}

    return {
        "terminal/create": create,
        "terminal/output": output,
        "terminal/wait_for_exit": wait,
        "terminal/kill": kill,
        "terminal/release": release,
    }


def _malformed(method: str, error: ValidationError) -> RequestError:
    """Name the member and what it should be; never what it was."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    member = ".".join(map(str, first["loc"])) or "params"
    return RequestError(INVALID, f"{method}: {member}: {first['msg']}", {"member": member})
