"""Which client a document belongs to: told by its path, else by its content."""

from collections.abc import Iterable
from pathlib import Path

from kandev_nb.servers.documents.client import Client, Document, Unusable
from kandev_nb.servers.documents.clients import CLIENTS


def by_path(path: Path | None) -> str | None:
    """Return the format of a file that only one client has, else ``None``."""
    if path is None:
        return None
    whole = path.absolute()
    return next((name for name, client in CLIENTS.items() if _ends_as(whole, client.paths)), None)


def by_content(document: Document) -> str:
    """Return the format of a document; raises ``Unusable`` that says what was looked for."""
    for name, client in CLIENTS.items():
        if client.recognizes(document):
            return name
    raise Unusable(
        f"no MCP servers are in it; looked for {', '.join(_looked_for())} and for servers that "
        "stand in it directly, each with a command or a url; if a client has it, name that one: "
        "read_profile(…, format=)"
    )


def _ends_as(path: Path, ends: Iterable[str]) -> bool:
    return any(path.parts[-len(parts) :] == parts for parts in (Path(end).parts for end in ends))


def _looked_for() -> Iterable[str]:
    """Return the key paths of all clients, each once."""
    return dict.fromkeys(where for client in CLIENTS.values() for where in _key_paths(client))


def _key_paths(client: Client) -> Iterable[str]:
    return (f"'{'.'.join(key_path)}'" for key_path in client.servers)
