"""The arguments of a tool as a person reads them: a table of its input schema (CA-6).

:func:`arguments` makes it, for any JSON that a tool may serve as its schema. References are
followed inside the schema and nowhere else, everything is bounded, and what was cut is said.
"""

from typing import Any

from kandev_nb.attachment import words
from kandev_nb.attachment.arguments import _texts
from kandev_nb.attachment.arguments._models import Argument, Arguments, Branch
from kandev_nb.attachment.arguments._table import Table, as_json
from kandev_nb.attachment.arguments._types import kind
from kandev_nb.attachment.model import ToolSummary

__all__ = ["Argument", "Arguments", "Branch", "arguments"]


def arguments(tool: ToolSummary) -> Arguments:
    """Return the argument table of ``tool``, or the state that says why there is none."""
    schema = tool.input_schema
    if tool.input_schema_truncated:
        return Arguments(state=words.say("arguments.too_large"))
    if schema is None:
        return Arguments(state=words.say("arguments.none_given"))
    if not isinstance(schema, dict):
        return _refused(_texts.value(schema) if isinstance(schema, bool) else kind(schema), schema)
    table = Table(schema)
    return table.arguments() if table.takes_objects else _refused(table.type, schema)


def _refused(root: str, schema: Any) -> Arguments:
    """Return the table of a schema that arguments, which are an object, cannot match."""
    text, notes = as_json(schema)
    return Arguments(state=words.say("arguments.root", root=root), notes=notes, json_text=text)
