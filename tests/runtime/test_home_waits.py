"""Subscriptions in the rows of their instances: which of them stand there, and that no reader can tell."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from conjoin.runtime.client_api.answers import Done
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.home_waits import FEW
from conjoin.runtime.upkeep.backup import backup_store
from conjoin.runtime.upkeep.reshard import reshard_store
from conjoin.store import tables as t
from conjoin.store.opening import open_store
from conjoin.store.port import Store
from conjoin.store.rows import InstanceRow, SubscriptionRow
from tests.bpmn.snippets import BEGIN, END, catch, message, model
from tests.runtime.broker_bench import JOURNEY, Bench

STEPS = [f"step{n}" for n in range(12)]
LONG = model(
    BEGIN + "".join(catch(step, f"{step}_message") for step in STEPS) + END,
    " ".join(f"{one}>{other}" for one, other in zip(["begin", *STEPS], [*STEPS, "end"], strict=True)),
    "".join(message(f"{step}_message", step, "=orderId") for step in STEPS),
).replace(b'<process id="order"', b'<process id="long"')
"""It waits for twelve messages in a row, all with one key."""


@pytest.fixture(params=[1, 3])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    bench = Bench(request.param)
    bench.deploy()
    bench.deploy(JOURNEY, name="journey.bpmn")
    bench.deploy(LONG, name="long.bpmn")
    yield bench
    assert [it.difference for it in verify_store(bench.store) if it.difference] == []


@pytest.fixture
def single() -> Iterator[Bench]:
    bench = Bench()
    bench.deploy()
    bench.deploy(JOURNEY, name="journey.bpmn")
    bench.deploy(LONG, name="long.bpmn")
    yield bench
    assert [it.difference for it in verify_store(bench.store) if it.difference] == []


def subscriptions(store: Store) -> list[SubscriptionRow]:
    return list(store.rows(t.SUBSCRIPTION, {}, None, 1_000))


def apart(bench: Bench) -> list[SubscriptionRow]:
    return list(bench.store.rows(t.APART, {}, None, 1_000))


def instance(bench: Bench, key: int) -> InstanceRow:
    [found] = bench.store.rows(t.INSTANCE, {"key": key}, None, 1)
    assert isinstance(found, InstanceRow)
    return found


def awaited(bench: Bench) -> list[tuple[str, str]]:
    return [(row.correlation_key, row.name) for row in subscriptions(bench.store) if row.closed_at is None]


def closed(bench: Bench) -> list[tuple[str, str]]:
    return [(row.correlation_key, row.name) for row in subscriptions(bench.store) if row.closed_at is not None]


def test_the_only_wait_of_an_instance_stands_in_its_row(single: Bench) -> None:
    key = single.start()
    row = instance(single, key)
    assert (row.wait_on, row.wait_name) == ("o-1", "paid")
    assert apart(single) == []
    assert awaited(single) == [("o-1", "paid")]


def test_a_message_takes_an_instance_from_wait_to_wait_in_its_own_row(single: Bench) -> None:
    key = single.start("long")
    for step in STEPS[:4]:
        single.publish(step)
    assert instance(single, key).wait_name == STEPS[4]
    assert apart(single) == []
    assert awaited(single) == [("o-1", STEPS[4])]
    assert sorted(closed(single)) == [("o-1", step) for step in STEPS[:4]]


def test_more_closed_ones_than_a_row_holds_stand_apart(bench: Bench) -> None:
    bench.start("long")
    for step in STEPS[:-1]:
        bench.publish(step)
    assert awaited(bench) == [("o-1", STEPS[-1])]
    assert sorted(closed(bench)) == sorted(("o-1", step) for step in STEPS[:-1])


@pytest.mark.parametrize("step", STEPS)
def test_whoever_comes_late_is_told_who_stopped_waiting(bench: Bench, step: str) -> None:
    """Wherever it stands, and also when the instance is over."""
    bench.start("long")
    for name in STEPS:
        bench.publish(name)
    bench.wait_ms(50)
    assert "closed_before" in bench.kinds(bench.publish(step))


def test_on_another_key_the_closed_ones_of_the_first_make_room(bench: Bench) -> None:
    key = bench.start("journey", {"train": "ICE", "city": "Bonn"})
    bench.publish("left", "ICE")
    assert awaited(bench) == [("Bonn", "arrived")]
    assert closed(bench) == [("ICE", "left")]
    assert "closed_before" in bench.kinds(bench.publish("left", "ICE"))
    bench.publish("arrived", "Bonn")
    assert instance(bench, key).state == "completed"
    assert sorted(closed(bench)) == [("Bonn", "arrived"), ("ICE", "left")]


def test_only_the_last_one_closed_of_a_name_is_kept(bench: Bench) -> None:
    first, second = bench.start("long"), bench.start("long")
    bench.publish(STEPS[0])
    bench.publish(STEPS[0])
    [row] = [row for row in subscriptions(bench.store) if row.closed_at is not None]
    assert row.instance_key == second
    assert (instance(bench, first).wait_name or STEPS[1]) == STEPS[1]
    assert len(awaited(bench)) == 2


def test_of_many_on_one_key_the_first_stand_in_their_rows(single: Bench) -> None:
    keys = [single.start() for _ in range(FEW + 3)]
    assert [bool(instance(single, key).wait_key) for key in keys] == [True] * FEW + [False] * 3
    assert len(apart(single)) == 3
    assert len(awaited(single)) == FEW + 3
    for key in keys:
        explained = single.explain(single.publish())
        assert explained.attempts[0].instance == key


def test_a_cancelled_instance_waits_nowhere(bench: Bench) -> None:
    key = bench.start()
    assert isinstance(bench.broker.cancel_instance(key), Done)
    assert awaited(bench) == []
    assert "closed_before" in bench.kinds(bench.publish())


def test_a_backup_is_the_same_row_by_row(bench: Bench, tmp_path: Path) -> None:
    _some_of_each(bench)
    backup_store(bench.store, tmp_path / "copy")
    with closing(open_store(str(tmp_path / "copy"))) as copy:
        for table in (t.SUBSCRIPTION, t.APART, t.INSTANCE):
            assert list(copy.rows(table, {}, None, 1_000)) == list(bench.store.rows(table, {}, None, 1_000))


@pytest.mark.parametrize("shards", [1, 2, 4])
def test_with_another_number_of_shards_everybody_waits_as_before(bench: Bench, tmp_path: Path, shards: int) -> None:
    _some_of_each(bench)
    reshard_store(bench.store, shards, tmp_path / "other", lambda text: None)
    with closing(open_store(str(tmp_path / "other"))) as other:
        assert subscriptions(other) == subscriptions(bench.store)
        assert [row for row in other.rows(t.INSTANCE, {}, None, 1_000) if row.wait_on is not None] == []


def _some_of_each(bench: Bench) -> None:
    for number in range(3):
        bench.start("long", {"orderId": f"o-{number}"})
        bench.publish(STEPS[0], f"o-{number}")
    for _ in range(FEW + 2):
        bench.start()
    bench.start("journey", {"train": "ICE", "city": "Bonn"})
    bench.publish("left", "ICE")
    bench.broker.tick()
