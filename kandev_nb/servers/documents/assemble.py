"""From a parsed document to a profile: where its servers stand, and each read by its client."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kandev_nb.attachment import limits
from kandev_nb.servers.documents.client import Client, Document, KeyPath, Unusable
from kandev_nb.servers.documents.clients import CLIENTS
from kandev_nb.servers.documents.clients.mcp_servers import has_entries
from kandev_nb.servers.documents.detect import by_content
from kandev_nb.servers.documents.fields import Fields, kind, safe, shown, text_fault
from kandev_nb.servers.documents.text import pairs, repeated
from kandev_nb.servers.entry import Entry, Profile

_ABSENT: Final = object()


def profile(document: object, format_: str | None, path: Path | None, *, asked: bool) -> Profile:
    """Return the profile that a parsed document is.

    ``format_`` is its format where that is known, ``asked`` whether the user named it: entries that
    stand in the document directly are then taken as those of that client.

    Raises ``Unusable`` when the document as a whole cannot be used.
    """
    if not isinstance(document, Mapping):
        raise Unusable(f"must be an object, is {kind(document)}; name the servers in it")
    format_ = format_ or by_content(document)
    client = CLIENTS[format_]
    servers = _servers(document, client)
    if servers is None and (asked or format_ == "mcp_servers") and has_entries(document):
        bare = client._replace(listed=False)
        return Profile(entries=tuple(_entries(document, bare)), format=format_, path=path)
    entries = tuple(_entries(servers or {}, client))
    decided: dict[str, Any] = {"entries": entries, **client.whole(document, entries)}
    notes = (*_notes(document, client, found=servers is not None), *decided.pop("notes", ()))
    return Profile(format=format_, path=path, notes=notes, **decided)


def _servers(document: Document, client: Client) -> Any:
    """Return what holds the servers, ``None`` if nothing does."""
    places = [(key_path, _at(document, key_path)) for key_path in client.servers]
    there = [(key_path, found) for key_path, found in places if found is not _ABSENT]
    if not there:
        return None
    key_path, found = next((place for place in there if place[1]), there[0])
    if not isinstance(found, list | tuple if client.listed else Mapping):
        expected = "a list of servers" if client.listed else "an object of name to server"
        raise Unusable(f"{'.'.join(key_path)}: must be {expected}, is {kind(found)}; correct it")
    return found


def _at(document: Any, key_path: KeyPath) -> Any:
    for key in key_path:
        if not isinstance(document, Mapping) or key not in document:
            return _ABSENT
        document = document[key]
    return document


def _notes(document: Document, client: Client, *, found: bool) -> Iterator[str]:
    for key in repeated(document):
        yield f"key '{shown(key)}' is given more than once; the last one counts"
    if not found:
        yield f"it names no servers: there is no '{'.'.join(client.servers[0])}'"


def _entries(servers: Any, client: Client) -> Iterator[Entry]:
    for name, entry in _named(servers) if client.listed else pairs(servers):
        yield _entry(name, entry, client)


def _named(servers: Any) -> Iterator[tuple[object, Any]]:
    for entry in servers:
        yield entry.get("name", "") if isinstance(entry, Mapping) else "", entry


def _entry(name: object, entry: object, client: Client) -> Entry:
    faults = [*_name_faults(name)]
    row = "" if name is None else safe(str(name))
    if not isinstance(entry, Mapping):
        faults.append(f"must be an object, is {kind(entry)}")
        return Entry(name=row, faults=tuple(faults))
    fields = Fields(entry)
    if client.listed:
        fields.value("name")
    found = client.read(fields)
    faults += fields.faults
    return Entry(name=row, **found, unused=fields.unused(), faults=tuple(faults))


def _name_faults(name: object) -> Iterator[str]:
    if fault := text_fault(name):
        yield f"its name {fault}"
    elif not str(name).strip():
        yield "its name is empty"
    elif len(str(name).encode()) > limits.NAME_BYTES:
        yield f"its name is longer than {limits.NAME_BYTES} bytes"
