"""Reports as pandas frames."""

import pandas as pd
import pytest

from kandev_nb import frames
from kandev_nb.attachment.model import NOTHING_STARTED
from tests.attachment.story import Story


def told() -> Story:
    story = Story().start("attempt-1").tell("configured", source="kandev", transport="http")
    story.tell("delivered").tell("tools_list_observed", "c1", tool_count=1)
    story.start("attempt-2").tell("configured").tell("delivered")
    story.tell(
        "tools_list_observed", "c2", tool_count=1, tools=[{"name": "a", "estimated_tokens": 9}]
    )
    return story.tell("tool_call_observed", "c2", tool_name="a")


@pytest.mark.req("FR/timeline")
def test_the_timeline_tells_every_kept_attempt_oldest_first() -> None:
    frame = frames.timeline(told().history)

    assert frame["attempt"].unique().tolist() == ["attempt-1", "attempt-2"]
    assert frame["kind"].tolist() == [
        "configured",
        "delivered",
        "tools_list_observed",
        "attempt_superseded",
        "configured",
        "delivered",
        "tools_list_observed",
        "tool_call_observed",
    ]
    assert frame["seconds"].tolist() == [1, 2, 3, 4, 1, 2, 3, 4]
    assert frame["provenance"].tolist()[2] == "observed"
    assert frame["tool_name"].tolist()[-1] == "a"


@pytest.mark.req("FR/servers")
def test_the_servers_say_the_words_of_the_text_table() -> None:
    (row,) = frames.servers(told().history).to_dict("records")

    assert row["server"] == "kandev"
    assert row["label"] == "Active"
    assert (row["tool_count"], row["estimated_tokens"], row["calls"]) == (1, 9, 1)
    assert pd.isna(row["failed_at"])


@pytest.mark.req("FR/timeline", "FR/servers")
@pytest.mark.parametrize("history", [NOTHING_STARTED, Story().start().history, told().history])
@pytest.mark.parametrize(
    ("make", "schema"),
    [(frames.servers, frames.SERVERS), (frames.timeline, frames.TIMELINE)],
    ids=["servers", "timeline"],
)
def test_the_dtypes_are_those_of_the_schema_for_any_report(make, schema, history) -> None:  # type: ignore[no-untyped-def]
    frame = make(history)

    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == dict(schema)
