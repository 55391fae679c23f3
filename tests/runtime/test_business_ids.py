"""Business ids (section Q): who is reached by one, and one running instance for each where that is switched on.

The same on all engines: in memory, and on a store of one shard in both databases.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from conjoin.runtime import Engine, Refusal
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.opening import open_broker, temporary_broker
from conjoin.testing.clock import FakeClock
from conjoin.testing.observing.history import History
from conjoin.testing.observing.open_now import taken_by
from conjoin.testing.observing.stored_history import StoredHistory
from tests.testing.order import ORDER

HOUR_MS = 3_600_000


class Bench:
    def __init__(self, engine: Engine | Broker, clock: FakeClock) -> None:
        self.engine = engine
        self.clock = clock
        self.history: Any
        if isinstance(engine, Engine):
            self.history = History()
            engine.listen(self.history)
        else:
            self.history = StoredHistory(engine)
        engine.deploy([("order.bpmn", ORDER)])

    def open(
        self, key: str, business_id: str = "", n: int = 0, ttl_ms: int = HOUR_MS, tenant_id: str = DEFAULT_TENANT
    ) -> None:
        """A message that starts a ticket."""
        message = NewMessage("opened", key, {"n": n}, ttl_ms, business_id=business_id, tenant_id=tenant_id)
        self.engine.publish(message)

    def finish(self) -> None:
        """Complete the oldest ticket that runs."""
        jobs = self.engine.activate_jobs("work", 1)
        assert isinstance(jobs, list)
        assert jobs, "no ticket runs"
        self.engine.complete_job(jobs[0].key, {})

    def cancel(self, n: int) -> None:
        keys = [key for key, it in self.history.instances.items() if it.variables["n"] == n]
        self.engine.cancel_instance(keys[-1])

    def running(self) -> list[int]:
        return [i.variables["n"] for i in self.history.instances.values() if i.state == "active"]


@pytest.fixture(params=["memory-1", "memory-3", "sqlite", "postgres"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    clock = FakeClock()
    if request.param.startswith("memory"):
        yield Bench(Engine(clock, int(request.param[-1]), unique_business_ids=True), clock)
        return
    if request.param == "sqlite":
        broker = temporary_broker(1, clock, unique_business_ids=True)
    else:
        server = request.getfixturevalue("postgres_server")
        broker = open_broker(server.emptied_store(1, unique_business_ids=True), clock)
    yield Bench(broker, clock)
    broker.close()


@pytest.fixture
def without_the_rule() -> Bench:
    clock = FakeClock()
    return Bench(Engine(clock), clock)


def test_an_id_reaches_only_instances_with_the_same_one(without_the_rule: Bench) -> None:
    """Q1, Q2."""
    bench = without_the_rule
    keys = []
    for business_id in ("", "b-1", "b-2"):
        created = bench.engine.create_instance("order", {"orderId": "o"}, business_id=business_id)
        assert isinstance(created, CreatedInstance)
        keys.append(created.key)
    for business_id in ("b-2", "b-3", ""):
        bench.engine.publish(NewMessage("paid", "o", {}, 3_600_000, business_id=business_id))
    taken = [[t.instance_key for t in taken_by(told.message)] for told in bench.history.messages]
    assert taken == [[keys[2]], [], [keys[0]]]


def test_without_the_rule_the_same_id_starts_again(without_the_rule: Bench) -> None:
    without_the_rule.open("t-1", "b", n=1)
    without_the_rule.open("t-2", "b", n=2)
    assert without_the_rule.running() == [1, 2]


def test_a_held_id_keeps_the_message_waiting_until_its_holder_ends(bench: Bench) -> None:
    """Q8, Q11: over all correlation keys."""
    bench.open("t-1", "b", n=1)
    bench.open("t-2", "b", n=2)
    bench.open("t-3", "b", n=3)
    bench.open("t-4", "other", n=4)
    bench.open("t-5", "", n=5)
    assert bench.running() == [1, 4, 5]
    bench.finish()
    assert bench.running() == [4, 5, 2]


def test_a_cancelled_holder_frees_its_id_too(bench: Bench) -> None:
    bench.open("t-1", "b", n=1)
    bench.open("t-2", "b", n=2)
    bench.engine.cancel_instance(next(iter(bench.history.instances)))
    assert bench.running() == [2]


def test_the_key_lock_holds_whatever_the_id(bench: Bench) -> None:
    """Q14."""
    bench.open("t-1", "b", n=1)
    bench.open("t-1", "c", n=2)
    assert bench.running() == [1]
    bench.finish()
    assert bench.running() == [2]


def test_one_end_may_free_a_key_and_an_id(bench: Bench) -> None:
    """Q12: two different candidates start both; one id starts once, with the older message."""
    bench.open("t-1", "b", n=1)
    bench.open("t-1", "c", n=2)
    bench.open("t-2", "b", n=3)
    bench.finish()
    assert sorted(bench.running()) == [2, 3]


def test_both_candidates_with_the_freed_id_start_the_older_one(bench: Bench) -> None:
    """Q12."""
    bench.open("t-1", "b", n=1)
    bench.open("t-2", "b", n=2)
    bench.open("t-1", "b", n=3)
    bench.finish()
    assert bench.running() == [2]
    bench.finish()
    assert bench.running() == [3]


def test_a_blocked_head_does_not_block_the_queue(bench: Bench) -> None:
    """E6: the id of the first is held elsewhere, the second may go."""
    bench.open("t-1", "", n=1)
    bench.open("t-2", "b", n=2)
    bench.open("t-1", "b", n=3)
    bench.open("t-1", "", n=4)
    bench.finish()
    assert sorted(bench.running()) == [2, 4]


def test_a_synchronous_message_with_a_held_id_finds_nobody(bench: Bench) -> None:
    bench.open("t-1", "b", n=1)
    answer = bench.engine.correlate(NewMessage("opened", "t-2", {"n": 2}, business_id="b"))
    assert isinstance(answer, Refusal)
    assert answer.code == "NOT_FOUND"


def test_an_id_held_by_an_instance_is_refused_to_a_client(bench: Bench) -> None:
    """Q15, both ways, and Q16."""
    first = bench.engine.create_instance("order", {"orderId": "o"}, business_id="b")
    again = bench.engine.create_instance("order", {"orderId": "p"}, business_id="b")
    assert isinstance(first, CreatedInstance)
    assert isinstance(again, Refusal)
    assert again.code == "ALREADY_EXISTS"
    assert str(first.key) in again.text
    bench.engine.cancel_instance(first.key)
    assert isinstance(bench.engine.create_instance("order", {"orderId": "p"}, business_id="b"), CreatedInstance)
    long = bench.engine.create_instance("order", {}, business_id="b" * 257)
    assert isinstance(long, Refusal)
    assert long.code == "INVALID_ARGUMENT"


def test_ids_of_different_processes_do_not_meet(bench: Bench) -> None:
    bench.engine.create_instance("order", {"orderId": "o", "n": 0}, business_id="b")
    bench.open("t-1", "b", n=1)
    assert bench.running() == [0, 1]


def test_ids_of_different_tenants_do_not_meet(bench: Bench) -> None:
    """P7."""
    bench.engine.deploy([("order.bpmn", ORDER)], "other")
    bench.open("t-1", "b", n=1)
    bench.open("t-1", "b", n=2, tenant_id="other")
    bench.open("t-2", "b", n=3, tenant_id="other")
    assert bench.running() == [1, 2]
    bench.cancel(2)
    assert bench.running() == [1, 3]


def test_message_that_waits_for_its_key_only_keeps_its_id_from_nobody(bench: Bench) -> None:
    """Q8: an id is held by an instance, not by a message."""
    bench.open("t-1", "", n=1)
    bench.open("t-1", "b", n=2)
    bench.open("t-2", "b", n=3)
    assert bench.running() == [1, 3]
    bench.cancel(1)
    assert bench.running() == [3]
    bench.cancel(3)
    assert bench.running() == [2]


def test_message_whose_key_is_locked_lets_the_next_one_with_its_id_go_first(bench: Bench) -> None:
    """Q14: its key keeps it waiting, so the id goes on to somebody who can use it."""
    bench.open("t-1", "b", n=1)
    bench.open("t-2", "", n=2)
    bench.open("t-2", "b", n=3)
    bench.open("t-3", "b", n=4)
    bench.cancel(1)
    assert bench.running() == [2, 4]
    bench.cancel(2)
    assert bench.running() == [4]
    bench.cancel(4)
    assert bench.running() == [3]


def test_message_that_is_over_and_not_swept_yet_is_passed_over(bench: Bench) -> None:
    """F1, F2."""
    bench.open("t-1", "b", n=1)
    bench.open("t-2", "b", n=2, ttl_ms=1_000)
    bench.open("t-3", "b", n=3)
    bench.clock.advance_ms(1_000)
    bench.cancel(1)
    assert bench.running() == [3]
    bench.cancel(3)
    bench.open("t-4", "b", n=4)
    assert bench.running() == [4]


def test_swept_message_waits_for_nothing_any_more(bench: Bench) -> None:
    bench.open("t-1", "b", n=1)
    bench.open("t-2", "b", n=2, ttl_ms=1_000)
    bench.clock.advance_ms(1_000)
    bench.engine.tick()
    bench.cancel(1)
    assert bench.running() == []


def test_latest_version_is_started_by_what_waited_before_it_was_deployed(bench: Bench) -> None:
    """Q11, G21: a version without the start event starts nothing; the next one with it does."""
    bench.open("t-1", "b", n=1)
    bench.open("t-2", "b", n=2)
    bench.engine.deploy([("order.bpmn", ORDER.replace(b'name="opened"', b'name="reopened"'))])
    bench.cancel(1)
    assert bench.running() == []
    bench.engine.publish(NewMessage("reopened", "t-3", {"n": 3}, HOUR_MS, business_id="b"))
    bench.engine.deploy([("order.bpmn", ORDER)])
    assert bench.running() == [3]
    bench.cancel(3)
    assert bench.running() == [2]


def test_id_is_found_behind_many_messages_that_start_nothing(bench: Bench) -> None:
    bench.open("t-1", "b", n=1)
    for number in range(120):
        bench.engine.publish(NewMessage("paid", f"o-{number % 7}", {}, HOUR_MS, business_id="b"))
    bench.open("t-2", "b", n=2)
    bench.cancel(1)
    assert bench.running() == [2]


def test_id_passes_through_a_long_queue_in_its_order(bench: Bench) -> None:
    for number in range(60):
        bench.open(f"t-{number % 3}", "b", n=number)
    for number in range(60):
        assert bench.running() == [number]
        bench.finish()
    assert bench.running() == []
