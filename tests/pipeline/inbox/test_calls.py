"""Remote targets are called from the tasks, which share out the calls that a target allows at a time."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING

import pytest

from conjoin.errors import SparkFailed
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.message import DONE, UNCERTAIN, WAITING
from conjoin.pipeline.inbox import draining
from conjoin.pipeline.inbox.draining import DrainRound, drain
from conjoin.pipeline.inbox.sharing import callers_of, recipes_of
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.placement import home_of_row
from conjoin.runtime.targets import Camunda8, HttpCarrier, HttpLimits, RemoteTarget
from tests.pipeline.inbox.stores import SHARDS, make
from tests.runtime.inbox.bench import CHANNELS, REMOTE, Bench, preset
from tests.runtime.targets.servers import FakeTarget, Handler, answering, running_target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONGEST_S = 20
TAKEN = answering(200, '{"messageKey": "7", "tenantId": "<default>"}')


@pytest.fixture
def server() -> Iterator[FakeTarget]:
    with running_target() as target:
        target.way = TAKEN
        yield target


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = make(tmp_path / "store", preset(lock_at_most=60_000))
    yield bench
    bench.broker.close()


def remote(server: FakeTarget, calls_in_flight: int = 8) -> RemoteTarget:
    return RemoteTarget(Camunda8(), HttpCarrier(server.url, limits=HttpLimits(calls_in_flight=calls_in_flight)))


class AtOnce:
    """Counts how many calls there are at a time, and holds the first ones until so many have met."""

    def __init__(self, wanted: int) -> None:
        self.most = self._now = 0
        self._wanted = wanted
        self._lock = Lock()
        self._met = Event()

    def __call__(self, handler: Handler) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            if self._now == self._wanted:
                self._met.set()
        self._met.wait(LONGEST_S)
        # Whoever is one too many comes now.
        handler.server.over.wait(0.02)
        with self._lock:
            self._now -= 1
        TAKEN(handler)


@pytest.mark.parametrize("limit", [1, 3])
def test_tasks_call_a_target_and_never_more_at_a_time_than_it_allows(
    spark: "SparkSession", bench: Bench, server: FakeTarget, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    from conjoin.pipeline.inbox import SparkInbox

    server.way = at_once = AtOnce(limit)
    keys = [f"r-{number}" for number in range(20)]
    bench.send_many([bench.arrival(key, key) for key in keys], REMOTE)
    assert {home_of_row(row, SHARDS) for row in bench.rows()} == {0, 1}
    inbox = SparkInbox(spark, bench.broker, bench.settings, CHANNELS, {"elsewhere": remote(server, limit)})
    monkeypatch.setattr(RemoteTarget, "deliver", None)  # in this process
    assert inbox.run().correlated == len(keys)
    assert len(server.seen) == len(keys)
    assert at_once.most == limit
    assert set(bench.states().values()) == {DONE}
    assert inbox.run() == Counts()


def test_errors_of_a_call_are_booked_with_their_back_off_and_keep_the_order_of_their_group(
    spark: "SparkSession", bench: Bench, server: FakeTarget
) -> None:
    from conjoin.pipeline.inbox import SparkInbox

    bench.send_many([bench.arrival(key, f"{key}-{turn}") for key in ("a", "b") for turn in range(3)], REMOTE)
    inbox = SparkInbox(spark, bench.broker, bench.settings, CHANNELS, {"elsewhere": remote(server)})
    server.way = answering(503)
    counts = inbox.run()
    assert (counts.target_error, counts.correlated, len(server.seen)) == (2, 0, 2)
    assert bench.row("a-0").next_retry_at == bench.broker.now + 60_000_000
    assert inbox.run() == Counts()
    server.way = TAKEN
    bench.clock.advance_ms(60_000)
    assert inbox.run().correlated == 6
    ids = [seen.body.partition(b'"messageId":"')[2][:3].decode() for seen in server.seen[2:]]
    assert [id_ for id_ in ids if id_[0] == "a"] == ["a-0", "a-1", "a-2"]


def test_task_that_dies_in_a_call_leaves_its_message_uncertain_and_its_repetition_does_not_call_again(
    bench: Bench, server: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dying:
        def deliver(self, message: object) -> None:
            raise KeyboardInterrupt

    bench.send("r-0", "r-0", REMOTE)
    [row] = bench.rows()
    shard, recipes = home_of_row(row, SHARDS), recipes_of({"elsewhere": remote(server)})

    def run_task() -> Counts:
        now, address = bench.broker.now, bench.broker.store.address
        callers = callers_of([shard], recipes)
        return drain(DrainRound(address, now, now, bench.settings, 100, 60.0, {}, [shard], callers), shard).counts

    with monkeypatch.context() as patch:
        patch.setattr(draining, "worker_target", lambda recipe: Dying())
        with pytest.raises(KeyboardInterrupt):
            run_task()
    assert bench.states() == {"r-0": UNCERTAIN}
    assert run_task() == Counts()
    assert server.seen == []
    bench.clock.advance_ms(60_000)
    run_task()
    assert bench.states() == {"r-0": WAITING}
    bench.clock.advance_ms(60_000)
    assert run_task().correlated == 1
    assert len(server.seen) == 1


def test_target_that_only_this_process_can_call_is_called_here(bench: Bench, server: FakeTarget) -> None:
    assert recipes_of({"one": remote(server), "other": bench.target}) == {}
    assert callers_of([0, 1], {}) == {}


def test_shards_of_a_limit_take_turns_and_their_shares_come_to_the_limit(server: FakeTarget) -> None:
    recipes = recipes_of({"wide": remote(server, 8), "narrow": remote(server, 3)})
    callers = callers_of([4, 5, 6, 7, 8], recipes)
    assert list(callers) == [4, 5, 6]
    shares = {name: [callers[shard][name].limits.calls_in_flight for shard in callers] for name in recipes}
    assert shares == {"wide": [3, 3, 2], "narrow": [1, 1, 1]}


def test_job_that_fails_is_an_error_of_ours_that_may_pass_and_the_next_run_goes_on(
    spark: "SparkSession", bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conjoin.pipeline.inbox.inbox import SparkInboxRunner

    bench.wait("o-1")
    bench.send("o-1")
    runner = SparkInboxRunner(spark, bench.broker, bench.settings)
    with monkeypatch.context() as patch:
        round_ = runner._round(bench.broker.now)._replace(address="/no/such/store")
        patch.setattr(runner, "_round", lambda horizon: round_)
        with pytest.raises(SparkFailed) as raised:
            runner.run()
    assert raised.value.retryable
    assert runner.run().correlated == 1


def test_messages_of_two_names_with_one_key_are_one_batch_on_spark_too(spark: "SparkSession", bench: Bench) -> None:
    from conjoin.pipeline.inbox import SparkInbox

    bench.configure(preset("correlate-docs"))
    bench.send("o-1", "m-1", name="sent")
    bench.inbox = SparkInbox(spark, bench.broker, bench.settings, CHANNELS)
    assert bench.run().target_error == 1
    bench.wait("o-1")
    bench.send("o-1", "m-2")
    assert bench.run(after_s=6) == Counts()  # the error of the other name holds it back
    assert bench.states() == {"m-1": WAITING, "m-2": WAITING}


def test_cleanup_is_a_job_only_where_there_is_something_to_remove(
    spark: "SparkSession", bench: Bench, server: FakeTarget
) -> None:
    from conjoin.pipeline.inbox import SparkInbox

    bench.configure(preset(retention=1_000))
    nowhere = SparkInbox(None, bench.broker, bench.settings, CHANNELS)  # type: ignore[arg-type]
    assert nowhere.clean_up() == Counts()
    bench.wait("o-1")
    bench.send("o-1", "done")
    over = ("X-CORRELATE-Expiration", "2030-01-01T00:00:30Z")
    bench.send("nobody", "late", headers=(over,))
    assert bench.inbox.run().correlated == 1
    assert nowhere.clean_up() == Counts()
    bench.clock.advance_ms(60_000)
    with pytest.raises(AttributeError):
        nowhere.clean_up()
    counts = SparkInbox(spark, bench.broker, bench.settings, {"orders": Channel("orders")}).clean_up()
    assert (counts.removed, counts.expired) == (1, 1)
    assert bench.states() == {"late": "expired"}
