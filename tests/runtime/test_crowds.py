"""Very many who wait on one key, and large families: a command reads what it concerns, however many there are."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from threading import get_ident

import pytest

from benchmarks.broker.hot_stores import FAMILY, WIDE
from conjoin.runtime.broker import Broker
from conjoin.runtime.explain.explain import explain
from conjoin.runtime.explain.explanation import Explanation
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.home_waits import FEW
from conjoin.runtime.run.working_set.loaded_instances import NEAR
from conjoin.runtime.run.working_set.loaded_spaces import MOST_WAITING
from conjoin.store import tables as t
from conjoin.store.sqlite.files import connect
from conjoin.store.sqlite.shard import SqliteSnapshot
from tests.runtime.broker_bench import STOCK, Bench

CROWD = 5 * MOST_WAITING


class Counted:
    """How many rows were read, by statement, in this thread: a server of another test may still be sweeping."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows: dict[str, int] = {}
        read, here = SqliteSnapshot._read, get_ident()

        def counting(its: SqliteSnapshot, statement: str, *parameters: object) -> list[tuple[object, ...]]:
            found = read(its, statement, *parameters)
            if get_ident() == here:
                name = statement.removesuffix("_of_one")
                self.rows[name] = self.rows.get(name, 0) + len(found)
            return found

        monkeypatch.setattr(SqliteSnapshot, "_read", counting)

    def by(self, act: Callable[[], object]) -> dict[str, int]:
        self.rows.clear()
        act()
        return {name: count for name, count in self.rows.items() if count}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    bench.deploy()
    bench.deploy(STOCK, name="stock.bpmn")
    yield bench
    assert [it.difference for it in verify_store(bench.store) if it.difference] == []


def test_a_publish_reads_as_much_of_a_large_crowd_as_of_a_small_one(bench: Bench, counted: Counted) -> None:
    read = []
    for _ in range(2):
        for _ in range(2 * MOST_WAITING):
            bench.start()
        for _ in range(FEW):
            # The first of all stand in the rows of their instances.
            bench.publish()
        read.append(counted.by(bench.publish))
    assert read[0] == read[1]
    assert read[0]["instances"] == 1


def test_whoever_waits_longest_of_each_process_gets_a_message(bench: Bench) -> None:
    orders = [bench.start() for _ in range(CROWD)]
    stock = bench.start("stock")
    for oldest in orders[:3]:
        found = explain(bench.broker, bench.publish())
        assert isinstance(found, Explanation)
        assert found.attempts[0].instance == oldest
    rows = bench.store.rows(t.MESSAGE, {"name": "paid"}, None, 1)
    assert str(stock) in next(iter(rows)).record


def test_a_message_with_another_name_reads_no_instance_of_the_crowd(bench: Bench, counted: Counted) -> None:
    for _ in range(2 * MOST_WAITING):
        bench.start()
    assert "instances" not in counted.by(lambda: bench.publish("unheard", ttl_ms=1_000))


def test_an_instance_that_waits_very_often_is_read_once(bench: Bench, counted: Counted) -> None:
    bench.deploy(WIDE, name="wide.bpmn")
    bench.start("wide", {"k": "o-1", "list": list(range(CROWD)), "large": "x" * 10_000})
    assert counted.by(lambda: bench.publish("part"))["instances"] == 1
    assert "instances" not in counted.by(lambda: bench.publish("unheard"))


def test_a_message_to_one_of_many_who_were_called_reads_it_and_its_caller(bench: Bench, counted: Counted) -> None:
    bench.deploy(FAMILY, name="family.bpmn")
    root = bench.start("root", {"list": [f"k-{n}" for n in range(50)]})
    read = counted.by(lambda: bench.publish("child", "k-7"))
    assert (read["waiting"], read["instances"]) == (1, 1)
    bench.broker.cancel_instance(root)
    assert {row.state for row in bench.store.rows(t.INSTANCE, {}, None, 100)} == {"completed", "terminated"}


def test_a_crowd_that_an_earlier_version_has_left_is_put_in_order(bench: Bench, counted: Counted) -> None:
    for _ in range(CROWD):
        bench.start()
    with closing(connect(bench.store.folder / "shard-00.db")) as connection:
        connection.execute("update subscription_apart set crowd = ''")
    assert counted.by(lambda: bench.publish("unheard"))["subscriptions"] > CROWD - FEW
    assert counted.by(lambda: bench.publish("unheard"))["subscriptions"] == MOST_WAITING


def test_variables_for_a_key_that_nobody_has_look_into_no_instance(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = bench.start()
    for _ in range(100):
        bench.start()
    bench.broker.cancel_instance(gone)
    looked: list[int] = []
    within = SqliteSnapshot.instances_mentioning

    def noted(its: SqliteSnapshot, key: int, since: int) -> Sequence[int]:
        looked.append(key - since)
        return within(its, key, since)

    monkeypatch.setattr(SqliteSnapshot, "instances_mentioning", noted)
    for key in (gone, gone + 1, gone + 100_000, 7, 2**62):
        assert _code(bench.broker, key) == "NOT_FOUND"
    assert max(looked) <= NEAR


def _code(broker: Broker, key: int) -> str:
    return getattr(broker.set_variables(key, {"n": 1}), "code", "")
