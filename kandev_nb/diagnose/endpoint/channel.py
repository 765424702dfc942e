"""A conversation with a server, whatever carries it."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any, ClassVar, Final

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.diagnose.endpoint import messages
from kandev_nb.diagnose.endpoint.course import Course
from kandev_nb.diagnose.endpoint.faults import Fault, refused
from kandev_nb.diagnose.endpoint.messages import Message

_REFUSED: Final = {"tools/list": ReasonCode.TOOLS_LIST_FAILED}


class Channel(ABC):
    """One open transport. A request is asked at a time."""

    stateless_first: ClassVar[bool] = False
    """Whether the stateless era is tried before the one of sessions."""

    version = ""
    """The protocol version that is agreed on, or tried."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self._requests = 0

    async def ask(self, method: str, **params: Any) -> Message:
        """Return the result of a request. Raises ``Fault`` when there is none."""
        self._requests += 1
        asked = messages.request(self._requests, method, params, self.version)
        async with aclosing(self._exchange(asked)) as incoming:
            async for message in incoming:
                self.course.has_spoken = True
                if messages.is_answer(message, self._requests):
                    return _result(message, method)
                if messages.is_request(message):
                    # A server that does not want our answer may still give its own.
                    with suppress(Fault):
                        await self.tell(messages.reply(message))
        raise Fault(ReasonCode.NO_PROTOCOL_OUTPUT, "its answer ended without one")

    @abstractmethod
    def _exchange(self, asked: Message) -> AsyncGenerator[Message, None]:
        """Send a request and yield what comes until its answer is there. Called by :meth:`ask`."""

    @abstractmethod
    async def tell(self, message: Message) -> None:
        """Send a message that has no answer."""


def _result(answer: Message, method: str) -> Message:
    if "error" in answer:
        raise refused(_REFUSED.get(method, ReasonCode.INITIALIZE_REFUSED), answer["error"])
    result = answer.get("result")
    if not isinstance(result, dict):
        raise Fault(ReasonCode.MALFORMED_RESPONSE, "its result is no object")
    return result
