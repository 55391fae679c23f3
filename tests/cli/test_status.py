"""conjoin store status: the figures of each shard, of the catalog, and what is open in all."""

from pathlib import Path

from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import open_broker
from conjoin.runtime.run.batches import Batch
from conjoin.testing.clock import FakeClock
from tests.cli.command import Command
from tests.runtime.broker_bench import JOURNEY


def test_everything_that_is_open_is_counted(shop: Command) -> None:
    for number in range(4):
        shop.order(f"o-{number}")
    shop.tells("publish paid --key o-0")
    shop.tells("publish paid --key early --ttl 1h")
    shop.tells("create reminder")
    shop.json("create order")
    told = shop.json("status")
    assert told["open"] == {"instances": 6, "subscriptions": 3, "buffered": 1, "jobs": 1, "timers": 1, "incidents": 1}
    for name, count in told["open"].items():
        assert sum(shard[name] for shard in told["shards"]) == count


def test_shards_tell_how_far_they_have_come(shop: Command, clock: FakeClock) -> None:
    clock.advance_ms(1_500)
    before = shop.json("status")["shards"]
    shop.order("o-1")
    home = shard_of("o-1", 3)
    for shard, earlier in zip(shop.json("status")["shards"], before, strict=True):
        moved = shard["shard"] == home
        assert shard["version"] == earlier["version"] + moved
        assert (shard["counter"] > earlier["counter"]) == moved
        assert shard["logged"] == shard["version"]
        assert shard["time"] == ("2030-01-01T00:00:01.5Z" if moved else "2030-01-01T00:00:00Z")


def test_people_get_lines_that_fit_a_screen(shop: Command) -> None:
    shop.tells("policy set paid dedup=7d")
    shop.order()
    lines = shop.tells("status").splitlines()
    assert lines[:3] == [
        "conjoin-data: profile zeebe",
        "catalog version 2: order version 1, reminder version 1, alarm version 1",
        "policy paid: dedup=7d",
    ]
    assert lines[4].split() == ["shard", "version", "counter", "time", "logged", "undelivered"]
    assert lines[-1].split() == ["all", "1", "1", "0", "0", "0", "0"]
    assert max(map(len, lines)) < 80


def test_new_store_has_nothing_and_says_so(command: Command) -> None:
    command.tells("init --shards 1")
    lines = command.tells("status").splitlines()
    assert lines[1] == "catalog version 0: nothing is deployed"
    assert lines[4].split() == ["0", "0", "1", "never", "0", "0"]


def test_order_that_lies_in_an_outbox_is_undelivered_until_it_is_taken(shop: Command) -> None:
    Path("journey.bpmn").write_bytes(JOURNEY)
    shop.tells("deploy journey.bpmn")
    home = shard_of("t-1", 3)
    city = next(name for name in "abcdef" if shard_of(name, 3) != home)
    shop.tells(f"""create journey --variables '{{"train": "t-1", "city": "{city}"}}'""")
    leave_in_the_outbox(NewMessage("left", "t-1"))
    assert undelivered(shop) == [int(shard == home) for shard in range(3)]
    shop.tells("tick")
    assert undelivered(shop) == [0, 0, 0]
    assert shop.json(f"publish arrived --key {city}")["verdict"] == "correlated"


def undelivered(shop: Command) -> list[int]:
    return [shard["undelivered"] for shard in shop.json("status")["shards"]]


def leave_in_the_outbox(message: NewMessage) -> None:
    """Published by a process that ends before it has delivered what follows on other shards."""
    broker = open_broker("conjoin-data")
    runner = broker.post.runners[shard_of(message.key, 3)]
    runner.run(Batch([message]), broker.catalog.view())
    broker.close()
