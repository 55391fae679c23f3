"""Business ids (section Q): who is reached by one, and one running instance for each where that is switched on."""

import pytest

from conjoin.runtime import Engine, Refusal
from conjoin.runtime.answers import CreatedInstance
from conjoin.runtime.history import History
from conjoin.runtime.messages import NewMessage
from conjoin.runtime.queries import taken_by
from conjoin.testing.clock import FakeClock
from tests.testing.order import ORDER


class Bench:
    def __init__(self, unique: bool = True, shards: int = 1) -> None:
        self.engine = Engine(FakeClock(), shards, unique_business_ids=unique)
        self.history = History()
        self.engine.listen(self.history)
        self.engine.deploy([("order.bpmn", ORDER)])

    def open(self, key: str, business_id: str = "", n: int = 0) -> None:
        """A message that starts a ticket."""
        self.engine.publish(NewMessage("opened", key, {"n": n}, 3_600_000, business_id=business_id))

    def finish(self, number: int = 0) -> None:
        """Complete the oldest ticket that runs."""
        jobs = self.engine.activate_jobs("work", 1)
        assert isinstance(jobs, list)
        assert jobs, "no ticket runs"
        self.engine.complete_job(jobs[0].key, {})

    def running(self) -> list[int]:
        return [i.variables["n"] for i in self.history.instances.values() if i.state == "active"]


@pytest.fixture(params=[1, 3])
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(shards=request.param)


def test_an_id_reaches_only_instances_with_the_same_one() -> None:
    """Q1, Q2."""
    bench = Bench(unique=False)
    keys = []
    for business_id in ("", "b-1", "b-2"):
        created = bench.engine.create_instance("order", {"orderId": "o"}, business_id=business_id)
        assert isinstance(created, CreatedInstance)
        keys.append(created.key)
    for business_id in ("b-2", "b-3", ""):
        bench.engine.publish(NewMessage("paid", "o", {}, 3_600_000, business_id=business_id))
    taken = [[t.instance_key for t in taken_by(told.message)] for told in bench.history.messages]
    assert taken == [[keys[2]], [], [keys[0]]]


def test_without_the_rule_the_same_id_starts_again() -> None:
    bench = Bench(unique=False)
    bench.open("t-1", "b", n=1)
    bench.open("t-2", "b", n=2)
    assert bench.running() == [1, 2]


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
