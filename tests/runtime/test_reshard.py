"""A store with another number of shards goes on where the old one stopped: everything is found, in its old order."""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from conjoin.errors import InputError, StoreExists
from conjoin.kernel.keys import shard_of_key
from conjoin.kernel.process.commands import CompleteJob
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.placement import Generation, KeyHomes, shard_of
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.batches import Batch
from conjoin.runtime.upkeep.backup import backup_store
from conjoin.runtime.upkeep.reshard import reshard_store
from conjoin.store import tables as t
from conjoin.store.rows import PositionRow
from conjoin.store.sqlite.store import SqliteStore
from conjoin.testing.clock import FakeClock
from conjoin.testing.observing.stored_history import StoredHistory
from tests.bpmn.snippets import BEGIN, END, PAID, boundary, catch, message, model, service, timer
from tests.runtime.test_stored_stories import StoredStory

LIFE = model(
    BEGIN
    + catch("paid")
    + service("ship")
    + boundary("late", "ship", timer("timeDuration", "PT1H"), 'cancelActivity="false"')
    + service("hurry")
    + catch("received", "received_message")
    + END,
    "begin>paid paid>ship ship>received received>end late>hurry hurry>end",
    PAID + message("received_message", "received", "=parcel"),
)
"""A message, a job, a timer, and a message on another key."""
DAILY = model(
    f'<startEvent id="begin">{timer("timeCycle", "R/PT24H")}</startEvent>\n' + service("count") + END,
    "begin>count count>end",
).replace(b'id="order"', b'id="daily"')
STARTED = model(
    '<startEvent id="begin"><messageEventDefinition messageRef="paid_message"/></startEvent>\n' + catch("again") + END,
    "begin>again again>end",
    PAID,
).replace(b'id="order"', b'id="started"')
CHAINS = [(1, 3), (3, 2), (2, 5), (5, 1), (3, 2, 5), (5, 2, 7, 3), (4, 1, 4)]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def resharded(tmp_path: Path, clock: FakeClock) -> Iterator[Callable[[Broker, int], Broker]]:
    """The same broker with another number of shards."""
    numbers, opened = count(1), []

    def go(broker: Broker, shards: int) -> Broker:
        out = tmp_path / f"store-{next(numbers)}"
        reshard_store(broker.store, shards, out, lambda text: None)
        broker.close()
        opened.append(open_broker(out, clock))
        return opened[-1]

    yield go
    for broker in opened[-1:]:
        broker.close()


@pytest.fixture
def fresh(tmp_path: Path, clock: FakeClock) -> Callable[[int], Broker]:
    def make(shards: int) -> Broker:
        broker = create_broker(tmp_path / "store-0", shards, clock)
        broker.deploy([("life.bpmn", LIFE), ("daily.bpmn", DAILY)])
        return broker

    return make


def states(broker: Broker) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in broker.store.rows(t.INSTANCE, {"process_id": "order"}, None, 1_000):
        found[row.state] = found.get(row.state, 0) + 1
    return found


@pytest.mark.parametrize("chain", CHAINS, ids=["-".join(map(str, chain)) for chain in CHAINS])
def test_instances_are_finished_on_the_new_shards(
    chain: tuple[int, ...], fresh: Callable[[int], Broker], resharded: Callable[[Broker, int], Broker], clock: FakeClock
) -> None:
    """One more group of instances is begun before each change, and each group is one step further after it."""
    broker = fresh(chain[0])
    for number, shards in enumerate(chain[1:]):
        for order in range(8):
            name = f"{number}-{order}"
            broker.create_instance("order", {"orderId": name, "parcel": f"p-{name}"})
        broker = resharded(broker, shards)
        for order in range(8):
            broker.publish(NewMessage("paid", f"{number}-{order}", {}, 0))
    broker = resharded(broker, 2)
    clock.advance_ms(3_600_000)
    broker.tick()
    total = 8 * (len(chain) - 1)
    for type_ in ("hurry", "ship"):
        jobs = broker.activate_jobs(type_, 1_000)
        assert len(jobs) == total
        for job in jobs:
            assert not hasattr(broker.complete_job(job.key, {}), "code")
    for number in range(len(chain) - 1):
        for order in range(8):
            broker.publish(NewMessage("received", f"p-{number}-{order}", {}, 0))
    assert states(broker) == {"completed": total}


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2), (2, 5), (5, 1)])
def test_start_timers_and_locks_and_buffered_messages_go_along(
    before: int,
    after: int,
    fresh: Callable[[int], Broker],
    resharded: Callable[[Broker, int], Broker],
    clock: FakeClock,
) -> None:
    broker = fresh(before)
    broker.deploy([("started.bpmn", STARTED)])
    for number in range(6):
        for text in ("first", "second"):
            broker.publish(NewMessage("paid", f"s-{number}", {"text": text}, 7 * 86_400_000))
    broker = resharded(broker, after)
    clock.advance_ms(86_400_000)
    broker.tick()
    assert len(broker.activate_jobs("count", 10)) == 1
    for row in list(broker.store.rows(t.INSTANCE, {"process_id": "started", "state": "active"}, None, 100)):
        broker.cancel_instance(row.key)
    started = broker.store.rows(t.INSTANCE, {"process_id": "started", "state": "active"}, None, 100)
    assert len(list(started)) == 6, "the lock is free, and the second message starts the next"


def test_buffered_messages_keep_their_order_beside_younger_ones(
    fresh: Callable[[int], Broker], resharded: Callable[[Broker, int], Broker]
) -> None:
    """A key may move to a shard whose number is smaller; the keys of its messages must grow all the same."""
    broker = fresh(3)
    key = next(f"k-{n}" for n in count() if shard_of(f"k-{n}", 3) == 2 and shard_of(f"k-{n}", 2) == 0)
    old = broker.publish(NewMessage("paid", key, {"text": "old"}, 60_000)).key
    broker = resharded(broker, 2)
    young = broker.publish(NewMessage("paid", key, {"text": "young"}, 60_000)).key
    assert young > old
    broker.create_instance("order", {"orderId": key, "parcel": "p"})
    (job,) = broker.activate_jobs("ship", 1)
    assert job.variables["text"] == "old"


@pytest.mark.parametrize("number", range(3))
def test_random_story_goes_on_and_replays_from_the_first_backup(
    seed: int, number: int, resharded: Callable[[Broker, int], Broker], tmp_path: Path
) -> None:
    story = StoredStory(f"{seed}/reshard-{number}", 3)
    for shards in (2, 5, 1):
        for _ in story.steps(30):
            pass
        seen = story.history
        assert seen.instances is not None
        out = tmp_path / f"story-{shards}"
        reshard_store(story.engine.store, shards, out, lambda text: None)
        story.engine.close()
        story.engine = open_broker(out, story.clock)
        story.history = StoredHistory(story.engine)
        story.history._instances = seen._instances
        backup_store(story.engine.store, tmp_path / f"base-{shards}")
        for _ in story.steps(30):
            pass
        with closing(SqliteStore(tmp_path / f"base-{shards}")) as base:
            checked = verify_store(story.engine.store, base)
        assert [it.difference for it in checked if it.difference] == [], f"{story.seed}: {story.told}"
    story.engine.close()


def test_undelivered_orders_are_refused_until_they_are_delivered(
    fresh: Callable[[int], Broker], tmp_path: Path
) -> None:
    broker = fresh(3)
    key = next(f"k-{n}" for n in count() if shard_of(f"k-{n}", 3) == 1)
    parcel = next(f"p-{n}" for n in count() if shard_of(f"p-{n}", 3) == 2)
    broker.create_instance("order", {"orderId": key, "parcel": parcel})
    broker.publish(NewMessage("paid", key, {}, 0))
    (job,) = broker.activate_jobs("ship", 1)
    assert shard_of_key(job.key) == 1
    broker.post.runners[1].run(Batch([CompleteJob(job.key, {}, 0)]), broker.catalog.view())
    with pytest.raises(InputError, match="not delivered yet: 1; conjoin store tick delivers them"):
        reshard_store(broker.store, 2, tmp_path / "out", lambda text: None)
    assert not (tmp_path / "out").exists()
    broker.tick()
    reshard_store(broker.store, 2, tmp_path / "out", lambda text: None)
    broker.close()


def test_new_store_is_made_where_there_is_none(fresh: Callable[[int], Broker], tmp_path: Path) -> None:
    broker = fresh(2)
    with pytest.raises(StoreExists):
        reshard_store(broker.store, 3, tmp_path / "store-0", lambda text: None)
    broker.close()


def test_source_that_was_read_unequally_far_is_refused_unless_it_is_done(
    fresh: Callable[[int], Broker], tmp_path: Path
) -> None:
    broker = fresh(2)
    for index, offset in ((0, "9"), (1, "10")):
        batch = Batch([NewMessage("paid", "k", {}, 0)], positions=[PositionRow("kafka", "topic/0", offset)])
        broker.post.run(index, batch)
    with pytest.raises(InputError, match="kafka: topic/0 was not read equally far on every shard"):
        reshard_store(broker.store, 3, tmp_path / "out", lambda text: None)
    reshard_store(broker.store, 3, tmp_path / "out", lambda text: None, ingest_is_done=True)
    with closing(SqliteStore(tmp_path / "out")) as out:
        found = [row.position for row in out.rows(t.POSITION, {"source": "kafka"}, None, 10)]
    assert found == ["10", "10", "10"]
    broker.close()


def test_numbers_of_old_shards_lead_where_their_instances_went() -> None:
    homes = KeyHomes([Generation(0, 3), Generation(3, 2), Generation(5, 5)])
    assert [homes.shard_of_record((number + 1) << 51 | 7) for number in range(10)] == [0, 1, 0, 0, 1, 0, 1, 2, 3, 4]
    assert [homes.number_of(shard) for shard in range(5)] == [5, 6, 7, 8, 9]
    assert homes.shard_of_record(5) == -1
