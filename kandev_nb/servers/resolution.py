"""One decision for each entry of a profile: what can be delivered, and why the rest cannot (CF-1).

``filtered`` is left out by a decision, ``unavailable`` cannot work, the rest can be delivered,
perhaps with hints. A fault of one entry never hides another's, and one decision names every fault
of its entry, the first as its reason. Words name fields and variables, never a value.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from kandev_nb.attachment import limits
from kandev_nb.attachment.display import BUILT_IN
from kandev_nb.attachment.model import EvidenceKind
from kandev_nb.attachment.reasons import ReasonCode
from kandev_nb.attachment.sanitize import sanitize_target
from kandev_nb.servers.entry import Entry, Profile
from kandev_nb.servers.filling import Filling, fill_entry
from kandev_nb.servers.notes import Note
from kandev_nb.servers.placeholders import Surroundings
from kandev_nb.servers.policy import Policy
from kandev_nb.servers.server import TRANSPORTS, Server, is_network_url
from kandev_nb.servers.spelling import meant
from kandev_nb.servers.unused import notes_on_unused

_KNOWN_TYPES: Final = (*TRANSPORTS, "acp")
_SERVER: Final[TypeAdapter[Server]] = TypeAdapter(Server)


@dataclass(frozen=True)
class Decision:
    """What becomes of one entry. ``row`` is the name of its row, unique in its attempt (EV-14)."""

    name: str
    row: str
    transport: str
    target: str = field(repr=False)
    """What is contacted or started, in full: sanitize it before it is shown."""
    outcome: EvidenceKind = EvidenceKind.DELIVERED
    reason: Note | None = None
    hints: tuple[Note, ...] = ()
    on_delivery: Note | None = None
    """What the delivery rests on, or how it is made, beside the hints."""
    server: Server | None = field(default=None, repr=False)
    """What the agent is given; there for every server that can be delivered."""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def delivers(self) -> bool:
        """Whether the server goes to the agent."""
        return self.outcome == EvidenceKind.DELIVERED

    @property
    def reason_code(self) -> str:
        """The code of the reason; empty for a server that is delivered."""
        return self.reason.code if self.reason else ""

    @property
    def wire_transport(self) -> str:
        """The word that ACP has for the transport (ACP, "Session Setup")."""
        transport = self.server.type if self.server else self.transport
        return "http" if transport == "streamable_http" else transport

    @property
    def shown_target(self) -> str:
        """The target without anything that may be secret (SA-1)."""
        return sanitize_target(self.transport, self.target)


def resolve(
    profile: Profile, policy: Policy, environ: Mapping[str, str], cwd: Path
) -> tuple[Decision, ...]:
    """Return a decision for each entry, in the profile's order.

    ``environ`` is where placeholders get their values and commands are looked for, and ``cwd`` the
    folder that the session works in.
    """
    surroundings = Surroundings(environ, _workspace(profile, cwd), profile.inputs)
    # Of several entries of one name the last counts, as in any JSON that is read.
    last = {entry.name: at for at, entry in enumerate(profile.entries)}
    rows = enumerate(zip(profile.entries, row_names(profile.entries), strict=True))
    return tuple(
        _decide(entry, row, profile, policy, surroundings, is_repeated=last[entry.name] != at)
        for at, (entry, row) in rows
    )


def _decide(
    entry: Entry,
    row: str,
    profile: Profile,
    policy: Policy,
    surroundings: Surroundings,
    *,
    is_repeated: bool,
) -> Decision:
    filled = fill_entry(entry, profile.format, surroundings, policy)
    left_out = tuple(_left_out(entry, profile, policy))
    faults = () if left_out else tuple(_faults(entry, filled, surroundings.environ, is_repeated))
    server, faults = (None, faults) if left_out or faults else _server(entry, filled)
    reason, *more = *left_out, *faults, None
    return Decision(
        name=entry.name,
        row=row,
        transport=entry.type if entry.type in _KNOWN_TYPES else "",
        target=_target(entry, filled, surroundings.environ),
        outcome=_outcome(left_out, faults),
        reason=reason,
        hints=(*filter(None, more), *_hints(entry, filled, surroundings.environ)),
        server=server,
        secrets=tuple(filled.secrets()),
    )


def row_names(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the name of each entry's row: never that of another server (EV-14).

    Of several entries of one name the last has it.
    """
    entries = tuple(entries)
    names = [_row_name(entry) for entry in entries]
    taken, rows = {BUILT_IN, *names}, list[str]()
    for at, name in enumerate(names):
        row = f"{BUILT_IN} (profile)" if name.strip() == BUILT_IN else name
        if name in names[at + 1 :] or (row != name and row in taken):
            row = next(free for n in count(2) if (free := _numbered(row, n)) not in taken)
        taken.add(row)
        rows.append(row)
    return tuple(rows)


def _numbered(name: str, number: int) -> str:
    """Return the name with a number, no longer than a name may be."""
    suffix = f" ({number})"
    return limits.cut_utf8(name, limits.NAME_BYTES - len(suffix)) + suffix


def _row_name(entry: Entry) -> str:
    return limits.cut_utf8(entry.name, limits.NAME_BYTES) if entry.name.strip() else "(unnamed)"


def _workspace(profile: Profile, cwd: Path) -> Path:
    """Return the folder that a document calls the workspace: the project that it lies in."""
    if profile.path is None or profile.path.parent.name not in (".cursor", ".vscode"):
        return cwd
    project = profile.path.absolute().parent.parent
    return cwd if project == Path.home() else project


def _target(entry: Entry, filled: Filling, environ: Mapping[str, str]) -> str:
    """Return what is started or contacted; nothing for what is neither program nor URL (SA-1)."""
    if entry.type == "stdio" and filled.command.strip():
        # Of a whole command line the first word: its last may be anything.
        is_program = shutil.which(filled.command, path=_path(filled, environ)) is not None
        return filled.command if is_program else filled.command.split()[0]
    return filled.url if entry.type in TRANSPORTS and is_network_url(filled.url) else ""


def _path(filled: Filling, environ: Mapping[str, str]) -> str:
    return filled.env.get("PATH") or environ.get("PATH", os.defpath)


def _outcome(left_out: tuple[Note, ...], faults: tuple[Note, ...]) -> EvidenceKind:
    if left_out:
        return EvidenceKind.FILTERED
    return EvidenceKind.UNAVAILABLE if faults else EvidenceKind.DELIVERED


def _left_out(entry: Entry, profile: Profile, policy: Policy) -> Iterator[Note]:
    """Yield every decision that leaves the entry out."""
    if entry.name.strip() == BUILT_IN:
        yield Note(ReasonCode.RESERVED_NAME)
    if not profile.enabled:
        yield Note(ReasonCode.PROFILE_DISABLED)
    if entry.disabled:
        words = f"{entry.disabled_by} of the document leaves it out." if entry.disabled_by else ""
        yield Note(ReasonCode.DISABLED, words)
    if not policy.permits_name(entry.name):
        yield Note(ReasonCode.POLICY_DENIED)
    if entry.type in TRANSPORTS and not policy.permits_transport(entry.type):
        yield Note(ReasonCode.TRANSPORT_DENIED, f"The policy does not admit {entry.type} servers.")
    if entry.type == "acp":
        yield Note(ReasonCode.ACP_UNSUPPORTED)


def _faults(
    entry: Entry, filled: Filling, environ: Mapping[str, str], is_repeated: bool
) -> Iterator[Note]:
    """Yield everything for which the entry cannot work."""
    if is_repeated:
        yield Note(ReasonCode.DUPLICATE_NAME)
    if entry.faults:
        yield Note(ReasonCode.INVALID_ENTRY, "; ".join(entry.faults))
    elif not entry.type:
        words = "It has a url and no type: is it http or sse?" if entry.url else ""
        yield Note(ReasonCode.MISSING_TYPE, words)
    elif entry.type not in TRANSPORTS:
        like = meant(entry.type, TRANSPORTS)
        words = f"Its type is no transport that is known; was {like} meant?" if like else ""
        yield Note(ReasonCode.UNKNOWN_TRANSPORT, words)
    elif entry.type == "stdio":
        yield from _stdio_faults(entry, filled, _path(filled, environ))
    elif not filled.url.strip() and "url" not in filled.incomplete:
        yield Note(ReasonCode.MISSING_URL)
    if filled.missing:
        yield Note(ReasonCode.PLACEHOLDER_UNRESOLVED, " ".join(filled.missing))


def _stdio_faults(entry: Entry, filled: Filling, path: str) -> Iterator[Note]:
    if entry.mode == "shared":
        yield Note(ReasonCode.SHARED_STDIO)
    if "command" in filled.incomplete:
        return
    if not filled.command.strip():
        yield Note(ReasonCode.MISSING_COMMAND)
    elif filled.command.startswith("~"):
        words = "The command begins with ~, for which an agent puts no home folder."
        yield Note(ReasonCode.RELATIVE_COMMAND, words)
    elif _is_relative(filled.command, path):
        yield Note(ReasonCode.RELATIVE_COMMAND)


def _is_relative(command: str, path: str) -> bool:
    """Tell whether a command is a path from where the agent runs, and no name on the PATH."""
    first = command.split()[0]
    if Path(command).is_absolute():
        return False
    is_path = os.sep in command and shutil.which(first, path=path) is None
    return os.sep in first or first.startswith("~") or is_path


def _server(entry: Entry, filled: Filling) -> tuple[Server | None, tuple[Note, ...]]:
    """Return the server as it is delivered, or what cannot be accepted of it."""
    given: dict[str, Any] = {"type": entry.type, "name": entry.name, "mode": entry.mode}
    if entry.type == "stdio":
        given |= {"command": filled.command, "args": filled.args, "env": filled.env}
    else:
        given |= {"url": filled.url, "headers": filled.headers}
    try:
        return _SERVER.validate_python(given), ()
    except ValidationError as error:
        words = "; ".join(_words(detail) for detail in error.errors(include_url=False))
        return None, (Note(ReasonCode.INVALID_ENTRY, words),)


def _words(detail: Any) -> str:
    place = ".".join(str(part) for part in detail["loc"][1:])
    message = detail["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    return f"{place}: {message}"


def _hints(entry: Entry, filled: Filling, environ: Mapping[str, str]) -> tuple[Note, ...]:
    """Return what may matter about a server that can work all the same."""
    notes = [
        _command_hint(filled, environ) if entry.type == "stdio" else None,
        *notes_on_unused(entry),
        _named(ReasonCode.PLACEHOLDER_EMPTIED, "Replaced by nothing", filled.emptied),
        _named(ReasonCode.PLACEHOLDER_KEPT, "Left as it is, though it holds a $NAME", filled.kept),
        _named(ReasonCode.ENV_INJECTED, "Added by the policy", filled.injected),
        Note(ReasonCode.URL_REWRITTEN) if filled.is_rewritten else None,
    ]
    return tuple(filter(None, notes))


def _named(code: ReasonCode, words: str, names: tuple[str, ...]) -> Note | None:
    return Note(code, f"{words}: {', '.join(names)}.") if names else None


def _command_hint(filled: Filling, environ: Mapping[str, str]) -> Note | None:
    """Say when the command is not found here; the agent's own PATH may differ."""
    command, path = filled.command, _path(filled, environ)
    if not command.strip() or _is_relative(command, path) or shutil.which(command, path=path):
        return None
    first, *rest = command.split()
    if rest and shutil.which(first, path=path):
        return Note(ReasonCode.COMMAND_LINE)
    words = "The command is no file that can be executed." if Path(command).exists() else ""
    return Note(ReasonCode.COMMAND_NOT_FOUND, words if Path(command).is_absolute() else "")
