"""A broker on a small store with a clock that only a test moves, and a few models that wait for messages."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import finalize

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance, PublishedMessage, Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.explain.explain import explain
from conjoin.runtime.explain.explanation import Explanation
from conjoin.runtime.run.batches import Batch
from conjoin.store.port import Facts
from conjoin.store.sqlite.store import SqliteStore
from conjoin.testing.clock import FakeClock
from tests.bpmn.snippets import BEGIN, END, catch, message, model
from tests.testing.order import ORDER

CHOOSE = (Path(__file__).parents[1] / "conformance/golden/models/choose.bpmn").read_bytes()
JOURNEY = model(
    BEGIN + catch("left", "left_message") + catch("arrived", "arrived_message") + END,
    "begin>left left>arrived arrived>end",
    message("left_message", "left", "=train") + message("arrived_message", "arrived", "=city"),
).replace(b'<process id="order"', b'<process id="journey"')
"""It waits for two messages with different keys, so that on several shards it may have to wait elsewhere."""
STOCK = ORDER.replace(b'<bpmn:process id="order"', b'<bpmn:process id="stock"').replace(
    b'<bpmn:process id="ticket"', b'<bpmn:process id="stock-ticket"'
)
"""Other processes that wait for the same."""

HOUR_MS = 3_600_000


class Bench:
    """Its store is closed when nobody has the broker any more."""

    def __init__(self, shards: int = 1, profile: str = "zeebe") -> None:
        self.clock = FakeClock()
        self.store = SqliteStore.temporary(Facts(shards, profile, 1, False))
        self.broker = Broker(self.store, self.clock)
        finalize(self.broker, self.store.close)

    def deploy(self, content: bytes = ORDER, tenant_id: str = DEFAULT_TENANT, name: str = "model.bpmn") -> None:
        assert not isinstance(self.broker.deploy([(name, content)], tenant_id), Refusal)

    def start(self, process_id: str = "order", variables: Mapping[str, Any] | None = None, **more: Any) -> int:
        created = self.broker.create_instance(process_id, variables or {"orderId": "o-1"}, **more)
        assert isinstance(created, CreatedInstance)
        return created.key

    def publish(self, name: str = "paid", key: str = "o-1", ttl_ms: int = 0, **more: Any) -> int:
        published = self.broker.publish(NewMessage(name, key, {}, ttl_ms, **more))
        assert isinstance(published, PublishedMessage)
        return published.key

    def undelivered(self, new: NewMessage) -> int:
        """Published, but what it asks of other shards still lies in the outbox."""
        runner = self.broker.post.runners[shard_of(new.key, self.store.facts.shards)]
        return runner.run(Batch([new]), self.broker.catalog.view()).replies[0].key

    def policy(self, **answers: Any) -> None:
        self.broker.catalog.set_policy("paid", answers, self.clock())

    def wait_ms(self, duration_ms: int) -> None:
        self.clock.advance_ms(duration_ms)

    def explain(self, message_key: int) -> Explanation:
        found = explain(self.broker, message_key)
        assert isinstance(found, Explanation)
        return found

    def kinds(self, message_key: int) -> list[str]:
        return [miss["kind"] for miss in self.explain(message_key).near_misses]


def waits_on_another_shard() -> tuple[Bench, str]:
    """A journey that waits in a city whose key is not on its own shard."""
    bench = Bench(2)
    bench.deploy(JOURNEY)
    city = next(name for name in ("Bonn", "Ulm", "Hof") if shard_of(name, 2) != shard_of("ICE", 2))
    bench.start("journey", {"train": "ICE", "city": city})
    bench.publish("left", "ICE")
    return bench, city
