"""The profile that a session is started from: what a user hands over as ``servers=``."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.errors import ConfigError
from kandev_nb.servers.documents import read_document
from kandev_nb.servers.entry import Entry, Profile
from kandev_nb.servers.server import ServerModel

Servers = Profile | Path | str | Mapping[str, Any] | ServerModel | Iterable[ServerModel]
"""A profile, a path, the text of a document or the dict in it, or server models."""


def read_profile(servers: Servers | None, *, format: str | None = None) -> Profile:  # noqa: A002
    """Return the profile that ``servers`` describes; ``None`` is one without servers.

    Args:
        servers: a document of any known client, as a path, as text or as a dict; a dict of name to
            entry; or models such as :class:`StdioServer`.
        format: whose document it is, where neither path nor content tells.

    Raises:
        ConfigError: the document as a whole cannot be read (``invalid_profile``). A fault of one
            entry is kept with it and makes that server unavailable.
    """
    if servers is None:
        return Profile()
    if isinstance(servers, Profile):
        return servers
    if isinstance(servers, ServerModel):
        return read_profile([servers])
    if isinstance(servers, str | Path | Mapping):
        return read_document(servers, format=format)
    models = tuple(servers) if isinstance(servers, Iterable) else (servers,)
    if not all(isinstance(model, ServerModel) for model in models):
        raise ConfigError(
            f"servers= cannot be read: {_what(models)}. Give a dict of name to entry, the path or "
            "text of a configuration document, or a list of server models.",
            reason_code=ReasonCode.INVALID_PROFILE,
        )
    return Profile(entries=tuple(Entry(**model.model_dump()) for model in models))


def _what(given: tuple[object, ...]) -> str:
    """Name the first that is no server model."""
    at, wrong = next((n, each) for n, each in enumerate(given) if not isinstance(each, ServerModel))
    return f"its member {at} is of the type {type(wrong).__name__}"
