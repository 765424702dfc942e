"""The shape of a schema table, as the page gets it."""

from pydantic import BaseModel, ConfigDict, Field

from kandev_nb.attachment.words import Message


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True, serialize_by_alias=True)


class Argument(_Shown):
    """One row. Every text in it is visible as it stands; ``description`` may have line breaks.

    A row without a name is a group, one of several alternatives, say: its note says of what.
    """

    name: str
    type: str
    required: bool = False
    default: str | None = None
    values: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    description: str = ""
    children: tuple["Argument", ...] = ()
    note: Message | None = None


class Branch(_Shown):
    """Rows that apply beside the others under a condition, which the label says."""

    label: Message
    rows: tuple[Argument, ...] = ()


class Arguments(_Shown):
    """The table of one tool; ``state`` says why there is none.

    ``json_text`` is the schema as JSON where the table does not tell all of it. It goes out as
    ``schema``, a name that pydantic keeps for itself.
    """

    state: Message | None = None
    rows: tuple[Argument, ...] = ()
    branches: tuple[Branch, ...] = ()
    notes: tuple[Message, ...] = ()
    json_text: str | None = Field(default=None, serialization_alias="schema")
