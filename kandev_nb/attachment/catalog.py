"""From the tools that were served to the catalog that is kept (CA-1 to CA-3).

:func:`summarize` turns the wire tools of one ``tools/list`` result into entries, and
:func:`normalize_catalog` bounds them. Both are pure; the token count comes from the caller.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from kandev_nb.attachment import limits
from kandev_nb.attachment.model import ToolSummary

_BRACKETS: Final = re.compile(r"[\[\]{}]")


class Catalog(NamedTuple):
    """A bounded catalog; ``truncated`` when more tools were served than are listed."""

    tools: tuple[ToolSummary, ...]
    truncated: bool


def summarize(
    tools: Iterable[Mapping[str, Any]], estimate: Callable[[Mapping[str, Any]], int | None]
) -> tuple[ToolSummary, ...]:
    """Return an entry for each wire tool (MCP, "Tool").

    ``estimate`` is given the complete definition as served and returns its tokens, or ``None``
    where there is no tokenizer.
    """
    return tuple(
        ToolSummary(
            name=_text(tool.get("name")),
            description=_text(tool.get("description")),
            input_schema=tool.get("inputSchema"),
            estimated_tokens=estimate(tool) or 0,
        )
        for tool in tools
    )


def normalize_catalog(tools: Iterable[ToolSummary], total: int) -> Catalog:
    """Return at most :data:`limits.TOOLS` entries, sorted by name, then wire position.

    ``total`` is the full count of tools that were served. Entries without a name are not listed.
    A schema that does not fit its own limit, or what the earlier ones left of the common limit, is
    left out whole and marked; a later, smaller one may still fit.
    """
    known = _normalized.get(id(tools))
    if known is not None and known.tools is tools and known.total == total:
        return known.catalog
    catalog = _normalize(tools, total)
    if isinstance(tools, tuple):
        if len(_normalized) >= _REMEMBERED:
            _normalized.clear()
        _normalized[id(tools)] = _Normalized(tools, total, catalog)
    return catalog


class _Normalized(NamedTuple):
    tools: tuple[ToolSummary, ...]
    total: int
    catalog: Catalog


# An agent asks for the same list again and again, and measuring its schemas costs the most. The
# tuple is kept with its catalog, so that no other can have its identity; it never changes.
_normalized: Final[dict[int, _Normalized]] = {}
_REMEMBERED: Final = 16


def _normalize(tools: Iterable[ToolSummary], total: int) -> Catalog:
    named = sorted((tool for tool in tools if tool.name), key=lambda tool: tool.name)
    room = limits.SCHEMAS_BYTES
    kept: list[ToolSummary] = []
    for tool in named[: limits.TOOLS]:
        size = schema_bytes(tool.input_schema)
        fits = size <= min(limits.SCHEMA_BYTES, room)
        room -= size if fits else 0
        kept.append(_bounded(tool, with_schema=fits))
    return Catalog(tuple(kept), truncated=total > len(kept))


def schema_bytes(schema: Any) -> int:
    """Return the size of a schema in bytes, as compact UTF-8 JSON; 0 for no schema.

    A schema that cannot be written as JSON, or not read back by everybody, has more than any
    limit: one that nests too deep, or holds half a surrogate pair.
    """
    if schema is None:
        return 0
    try:
        text = json.dumps(schema, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (ValueError, TypeError, RecursionError):
        return limits.SCHEMAS_BYTES + 1
    return size if _depth(text) <= limits.SCHEMA_DEPTH else limits.SCHEMAS_BYTES + 1


def _depth(text: str) -> int:
    """Return how deep brackets nest in JSON text; those in strings only make it more."""
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _bounded(tool: ToolSummary, *, with_schema: bool) -> ToolSummary:
    return tool.updated(
        name=limits.cut_utf8(tool.name, limits.TOOL_NAME_BYTES),
        description=limits.cut_utf8(tool.description, limits.DESCRIPTION_BYTES),
        input_schema=tool.input_schema if with_schema else None,
        input_schema_truncated=tool.input_schema_truncated or not with_schema,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
