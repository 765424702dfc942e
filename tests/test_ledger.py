"""The one door for evidence."""

import threading
import time
from collections.abc import Iterable, Iterator

import pytest

from kandev_nb import tokens
from kandev_nb.attachment import Attempt, Evidence, EvidenceKind, History
from kandev_nb.attachment.model import utc_now
from kandev_nb.ledger import Ledger
from kandev_nb.sighting import Fact, Sighting, Unread


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    ledger = Ledger()
    ledger.start(Attempt(attachment_attempt_id="a1", started_at=utc_now()))
    yield ledger
    ledger.close()


def fact(kind: str = "delivered", **facts: object) -> Evidence:
    given = {"attachment_attempt_id": "a1", "server_name": "kandev", **facts}
    return Evidence.model_validate({**given, "kind": kind, "occurred_at": utc_now()})


def listed(*tools: dict[str, object]) -> Sighting:
    kind = EvidenceKind.TOOLS_LIST_OBSERVED
    facts = {"tool_count": len(tools)}
    return Sighting("a1", "kandev", kind, time.time_ns(), facts=facts, served=tools)


@pytest.mark.req("EV-10")
def test_facts_of_several_threads_are_all_kept_each_threads_in_order(ledger: Ledger) -> None:
    def tell(connection: str) -> None:
        for _ in range(200):
            ledger.record(fact("tool_call_observed", connection_id=connection))

    threads = [threading.Thread(target=tell, args=(f"c{n}",)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    current = ledger.drain(30).current
    assert current
    assert current.calls(current.servers[0]) == 1000


@pytest.mark.req("SE-5")
def test_a_subscriber_that_raises_or_exits_changes_nothing(ledger: Ledger) -> None:
    seen: list[History] = []
    told = threading.Event()

    def broken(_: History) -> None:
        raise SystemExit(3)

    def listening(history: History) -> None:
        seen.append(history)
        if history.revision == 3:
            told.set()

    ledger.subscribe(broken)
    ledger.subscribe(listening)
    ledger.record(fact())
    ledger.record(fact("tools_list_observed", tool_count=1))

    assert told.wait(10)
    assert seen[-1] == ledger.drain()


@pytest.mark.req("SE-5")
def test_a_slow_subscriber_delays_nobody_and_gets_the_last_report(ledger: Ledger) -> None:
    may_go_on, got_last = threading.Event(), threading.Event()

    def slow(history: History) -> None:
        may_go_on.wait(10)
        if history.revision == 51:
            got_last.set()

    ledger.subscribe(slow)
    for _ in range(50):
        ledger.record(fact())

    assert ledger.drain().revision == 51
    may_go_on.set()
    assert got_last.wait(10)


def test_an_ended_subscription_is_not_called_again(ledger: Ledger) -> None:
    seen: list[History] = []
    unsubscribe = ledger.subscribe(seen.append)

    unsubscribe()
    unsubscribe()
    ledger.record(fact())
    ledger.drain()
    ledger.close()

    assert seen == []


@pytest.mark.req("SE-5")
def test_a_watcher_that_raises_does_not_end_the_worker(ledger: Ledger) -> None:
    def broken() -> None:
        raise RuntimeError("the loop is gone")

    ledger.watch(broken)
    ledger.record(fact())
    ledger.record(fact("tools_list_observed", tool_count=1))

    current = ledger.drain().current
    assert current
    assert current.servers[0].status == "active"


@pytest.mark.req("SA-2")
def test_summaries_lose_the_sessions_own_secrets_at_the_door(ledger: Ledger) -> None:
    ledger.protect(["swordfish"])

    ledger.record(fact("explicit_error", summary="it said swordfish twice"))

    current = ledger.drain().current
    assert current
    assert current.servers[0].summary == "it said [redacted] twice"


def called(tool: object) -> Sighting:
    kind = EvidenceKind.TOOL_CALL_OBSERVED
    return Sighting("a1", "kandev", kind, time.time_ns(), facts={"tool_name": tool})


@pytest.mark.req("EV-9", "EV-10")
def test_facts_that_come_together_are_recorded_but_for_the_one_that_cannot_be(
    ledger: Ledger,
) -> None:
    class Late(Unread):
        def read(self) -> Iterable[Fact]:
            yield listed({"name": "x"})
            yield from (called(name) for name in ("x", "x", None, "x"))

    ledger.record(Late())

    current = ledger.drain(10).current
    assert current
    assert [event.tool_name for event in current.evidence[1:]] == ["x", "x", "x"]
    assert current.calls(current.servers[0]) == 3


@pytest.mark.req("CA-1", "CA-3")
def test_the_worker_makes_the_catalog_of_what_was_served(ledger: Ledger) -> None:
    served: list[dict[str, object]] = [
        {"name": "b", "inputSchema": {"type": "object"}},
        {"name": ""},
        {"name": "a"},
    ]

    ledger.record(listed(*served))

    current = ledger.drain(10).current
    assert current
    row = current.servers[0]
    assert [tool.name for tool in row.tools] == ["a", "b"]
    assert (row.tool_count, row.unnamed_tools) == (3, 1)
    assert row.tools[1].estimated_tokens == tokens.estimate_tool(tokens.tool_json(served[0]))
    assert row.tool_token_estimator == tokens.ESTIMATOR


@pytest.mark.req("CA-8")
def test_without_a_tokenizer_the_catalog_has_no_numbers_and_no_estimator(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "estimate_tool", lambda _: None)

    ledger.record(listed({"name": "a"}))

    current = ledger.drain(10).current
    assert current
    assert current.servers[0].tools[0].to_wire() == {"name": "a"}
    assert current.servers[0].tool_token_estimator == ""


@pytest.mark.req("EV-7")
def test_a_close_of_a_superseded_attempt_is_no_traffic(ledger: Ledger) -> None:
    ledger.start(Attempt(attachment_attempt_id="a2", started_at=utc_now()))
    ledger.record(fact("connection_closed", connection_id="c1"))
    ledger.record(fact("delivered"))
    current = ledger.drain().current
    assert current
    assert current.late_traffic is None

    ledger.record(fact("tool_call_observed", connection_id="c1"))
    current = ledger.drain().current
    assert current
    assert current.late_traffic
    assert current.late_traffic.count == 1


@pytest.mark.req("EV-11")
def test_every_change_has_a_revision_of_its_own(ledger: Ledger) -> None:
    before = ledger.drain().revision

    ledger.record(fact())
    ledger.record(fact(attachment_attempt_id="unknown"))

    assert ledger.drain().revision == before + 1
