"""The errors that kandev-nb raises.

::

    KandevError                  every one has a stable ``reason_code``
    ├── ConfigError              what the user handed over cannot be used
    ├── AgentError               the agent process or its ACP connection
    ├── EndpointError            the Kandev MCP endpoint
    ├── StoreError               the store
    ├── Unsupported              the agent or the platform does not offer it
    ├── AttachmentFailed         a server is failed, filtered or unavailable
    └── WaitTimeout              not reached in time (also a ``TimeoutError``)

``ToolError`` is not of this tree: a user's tool raises it, to tell its caller something.

The message says what happened and what to do next. It never holds a secret.
"""


class KandevError(Exception):
    """The root of the tree.

    ``reason_code`` is one of :class:`kandev_nb.attachment.ReasonCode`, as text.
    """

    def __init__(self, message: str, *, reason_code: str) -> None:
        super().__init__(message)
        self.reason_code = reason_code


class ConfigError(KandevError):
    """What the user handed over cannot be used; the message names the input and the way out."""


class AgentError(KandevError):
    """The agent process or its ACP connection failed.

    ``code`` is the JSON-RPC error code and ``data`` the error's ``data`` member, where the agent
    answered with an error (ACP, "Errors"). ``data`` may hold anything: it is never shown as it is.
    """

    def __init__(
        self, message: str, *, reason_code: str, code: int | None = None, data: object = None
    ) -> None:
        super().__init__(message, reason_code=reason_code)
        self.code = code
        self.data = data


class EndpointError(KandevError):
    """The Kandev MCP endpoint could not do what was asked."""


class StoreError(KandevError):
    """The store could not do what was asked."""


class Unsupported(KandevError):  # noqa: N818 - the name users read
    """The agent, or this platform, does not offer what was asked; nothing was sent."""


class AttachmentFailed(KandevError):  # noqa: N818 - the name users read
    """The server that was waited for is failed, filtered or unavailable."""


class WaitTimeout(KandevError, TimeoutError):  # noqa: N818 - the name users read
    """What was waited for did not happen in time; the message says what is proven so far."""
