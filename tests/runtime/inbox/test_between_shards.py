"""Messages whose receiver lives on another shard, and groups on several shards: once each, in order, whatever dies."""

from contextlib import closing
from itertools import count

import pytest

from conjoin.kernel.inbox.message import Hint
from conjoin.kernel.inbox.operations import Pause, Resume
from conjoin.kernel.process import commands as c
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.inbox.requests import InboxRun, InboxTurn
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.run.batches import Batch
from conjoin.runtime.upkeep.removal import HouseKeeper
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock
from tests.runtime.inbox.bench import TENANT, Bench, preset
from tests.runtime.inbox.conftest import Make

SHARDS = 3


def key_on(shard: int, number: int = 0) -> str:
    found = (f"o-{n}" for n in count() if shard_of(f"o-{n}", SHARDS) == shard)
    return [next(found) for _ in range(number + 1)][number]


def waits_elsewhere(bench: Bench, key: str) -> int:
    """An instance whose subscription is on another shard than itself."""
    elsewhere = (shard_of(key, SHARDS) + 1) % SHARDS
    command = c.CreateInstance("order", 0, TENANT, {"orderId": key}, 0)
    return bench.broker.post.run(elsewhere, Batch([command])).replies[0].decided[0].key


def alone(bench: Bench, shard: int) -> None:
    """A run on one shard that leaves what it sends in the outbox, as a crash would."""
    request = InboxRun(bench.settings, bench.broker.now)
    bench.broker.post.runners[shard].run(Batch([request]), bench.broker.catalog.view())


def taken(bench: Bench) -> list[str]:
    """The ids of correlated messages, in the order in which they were taken."""
    rows = bench.broker.store.rows(t.MESSAGE, {"verdict": "correlated"}, None, 1_000)
    return [row.message_id for row in rows]


def completed(bench: Bench) -> int:
    return len(list(bench.broker.store.rows(t.INSTANCE, {"state": "completed"}, None, 1_000)))


def test_an_answer_from_another_shard_is_booked_by_the_same_run(sharded: Make) -> None:
    bench = sharded()
    key = key_on(0)
    instance = waits_elsewhere(bench, key)
    bench.send(key, "m-1")
    counts = bench.run()
    assert (counts.correlated, counts.target_error) == (1, 0)
    row = bench.row("m-1")
    assert (row.state, row.reason, row.taken_by, row.lines) == ("done", "waiting_instance", str(instance), 1)
    assert completed(bench) == 1


def test_the_others_of_the_group_follow_in_the_same_run(sharded: Make) -> None:
    bench = sharded()
    key = key_on(0)
    for number in range(4):
        waits_elsewhere(bench, key)
        bench.send(key, f"m-{number}")
    bench.broker.catalog.set_policy("paid", {"cardinality": "once_per_process"}, 0)
    assert bench.run().correlated == 4
    assert taken(bench) == [f"m-{number}" for number in range(4)]


def test_a_message_on_its_way_is_not_offered_again_however_long_it_takes(sharded: Make) -> None:
    bench = sharded(preset(lock_at_most=1_000))
    key = key_on(0)
    waits_elsewhere(bench, key)
    bench.send(key, "m-1")
    alone(bench, 0)
    assert bench.row("m-1").state == "uncertain"
    bench.clock.advance_ms(3_600_000)
    alone(bench, 0)
    assert bench.row("m-1").state == "uncertain"
    bench.broker.tick()
    assert bench.run(after_s=6).correlated == 1
    assert (completed(bench), bench.row("m-1").attempts) == (1, 0)


def test_a_message_that_comes_back_is_tried_again(sharded: Make) -> None:
    bench = sharded()
    key = key_on(0)
    instance = waits_elsewhere(bench, key)
    bench.send(key, "m-1")
    alone(bench, 0)
    elsewhere = (shard_of(key, SHARDS) + 1) % SHARDS
    cancel = Batch([c.CancelInstance(instance, 0)])
    bench.broker.post.runners[elsewhere].run(cancel, bench.broker.catalog.view())
    bench.broker.tick()
    assert bench.run(after_s=6).target_error == 1
    waits_elsewhere(bench, key)
    assert bench.run(after_s=60).correlated == 1
    assert [line.verdict for line in bench.history("m-1")] == ["failed", "correlated"]


@pytest.mark.parametrize("mode", ["fail_first", "all"])
def test_a_named_group_is_tried_in_its_order_over_all_shards(make: Make, mode: str) -> None:
    bench = make(preset(mode=mode))
    keys = [f"o-{n}" for n in range(12)]
    bench.wait(*keys)
    for number, key in enumerate(keys):
        bench.send(key, f"m-{number:02}", group="batch", position=100 - number)
    assert bench.run().correlated == 12
    tried = sorted((row.tried_at, row.message_key, row.message_id) for row in bench.rows())
    assert {row.state for row in bench.rows()} == {"done"}
    if bench.broker.shard_count == 1:
        assert [id_ for _, _, id_ in tried] == [f"m-{n:02}" for n in reversed(range(12))]


def test_the_first_error_of_a_named_group_stops_all_shards(sharded: Make) -> None:
    bench = sharded()
    keys = [key_on(shard, number) for number in range(2) for shard in range(SHARDS)]
    bench.wait(*(key for key in keys if key != keys[2]))
    for number, key in enumerate(keys):
        bench.send(key, f"m-{number}", group="batch")
    counts = bench.run()
    assert (counts.correlated, counts.target_error) == (2, 1)
    assert bench.run(after_s=30).correlated == 0
    bench.wait(keys[2])
    assert bench.run(after_s=30).correlated == 4
    assert bench.groups() == {}


def test_a_named_group_in_mode_all_tries_everybody(sharded: Make) -> None:
    bench = sharded(preset(mode="all"))
    keys = [key_on(shard) for shard in range(SHARDS)]
    bench.wait(keys[1], keys[2])
    for number, key in enumerate(keys):
        bench.send(key, f"m-{number}", group="batch")
    counts = bench.run()
    assert (counts.correlated, counts.target_error) == (2, 1)


@pytest.mark.parametrize(("size", "runs"), [(1, [1, 1, 1]), (2, [2, 1])])
def test_a_named_group_has_its_batch_size(sharded: Make, size: int, runs: list[int]) -> None:
    bench = sharded(preset(batch_size=size))
    keys = [key_on(shard) for shard in range(SHARDS)]
    bench.wait(*keys)
    for key in keys:
        bench.send(key, group="batch")
    assert [bench.run(after_s=6).correlated for _ in runs] == runs


def test_whoever_comes_to_a_named_group_while_it_is_put_to_rest_is_not_forgotten(
    sharded: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arrival lies between the last look at the group and the commit that says when to look again."""
    from conjoin.runtime.inbox import cross_shard as spanning

    bench = sharded()
    first, second = key_on(0), key_on(0, 1)
    bench.wait(first, second)
    bench.send(first, "m-1", group="batch")
    rests = spanning.rests_until

    def slow(*asked: object, **more: object) -> object:
        if bench.row("m-1").state == "done" and not bench.rows(message_id="m-2"):
            bench.send(second, "m-2", group="batch")
        return rests(*asked, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(spanning, "rests_until", slow)
    assert bench.run().correlated == 2


def test_a_named_group_waits_for_an_answer_between_shards(sharded: Make) -> None:
    bench = sharded()
    keys = [key_on(shard) for shard in range(SHARDS)]
    for key in keys:
        waits_elsewhere(bench, key)
        bench.send(key, f"m-{key}", group="batch")
    assert bench.run().correlated == 3
    assert completed(bench) == 3


def test_a_paused_message_keeps_its_place_in_a_named_group(sharded: Make) -> None:
    bench = sharded()
    keys = [key_on(shard) for shard in range(SHARDS)]
    bench.wait(*keys)
    for number, key in enumerate(keys):
        bench.send(key, f"m-{number}", group="batch")
    bench.operate("m-0", Pause())
    assert bench.run().correlated == 0
    bench.operate("m-0", Resume())
    assert bench.run(after_s=6).correlated == 3


def test_a_message_of_a_named_group_that_is_asked_for_twice_is_tried_once(sharded: Make) -> None:
    bench = sharded()
    key = key_on(1)
    bench.send("", "m-1", hint=Hint("paid", key, group="batch"))
    request = InboxTurn(bench.row("m-1").key, bench.settings, bench.broker.now)
    done = bench.broker.post.run(1, Batch([request, request]))
    assert [reply.inbox.counts.target_error for reply in done.replies] == [1, 0]


def test_a_message_whose_offer_is_not_known_any_more_lapses(clock: FakeClock) -> None:
    """Retention has removed what it was offered as, so nobody can tell what became of it."""
    with closing(temporary_broker(SHARDS, clock)) as broker:
        bench = Bench(broker, clock, preset(lock_at_most=10_000))
        key = key_on(0)
        waits_elsewhere(bench, key)
        bench.send(key, "m-1")
        alone(bench, 0)
        keeper = HouseKeeper(broker.store, 0)
        assert list(keeper.remove(t.MESSAGE, [(bench.row("m-1").message_key,)])) == [1]
        keeper.close()
        alone(bench, 0)
        assert bench.row("m-1").state == "uncertain"
        clock.advance_ms(10_000)
        alone(bench, 0)
        assert (bench.row("m-1").state, bench.row("m-1").attempts) == ("waiting", 1)
