"""A store with a little of everything in it, and its tables as the reader gives them, without a Spark session."""

from decimal import Decimal
from typing import Any

from conjoin.pipeline.source.options import ReadOptions, read_options
from conjoin.pipeline.source.reader import ConjoinReader
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.store.port import Store
from conjoin.testing.clock import FakeClock
from tests.bpmn.snippets import BEGIN, END, catch, message, model
from tests.runtime.broker_bench import HOUR_MS, JOURNEY, STOCK, Bench

SHARDS = 3
STUCK = model(
    BEGIN + catch("stuck") + END, "begin>stuck stuck>end", message("paid_message", "paid", "=missing")
).replace(b'<process id="order"', b'<process id="stuck-order"')
FOR_EVER_MS = 2**62


class StoreBench(Bench):
    """A bench on any store."""

    def __init__(self, store: Store) -> None:
        self.clock = FakeClock()
        self.store = store  # type: ignore[assignment]
        self.broker = Broker(store, self.clock)


def tell_stories(store: Store) -> Broker:
    """Every verdict that a store knows but `short`, every state of instances, subscriptions and storage."""
    bench = StoreBench(store)
    for name, content in (("stock", STOCK), ("journey", JOURNEY), ("stuck", STUCK)):
        bench.deploy(content, name=f"{name}.bpmn")
    bench.deploy()
    bench.deploy(tenant_id="acme")
    _orders(bench)
    _messages(bench)
    return bench.broker


def _orders(bench: StoreBench) -> None:
    for number in range(6):
        lines = [{"sku": "ä", "price": Decimal("1.10")}]
        bench.start(variables={"orderId": f"o-{number}", "lines": lines}, business_id="b-1")
    bench.start("stock", {"orderId": "o-1"})
    bench.start("stuck-order")
    bench.start(variables={"orderId": "o-1"}, tenant_id="acme")
    cancelled = bench.start(variables={"orderId": "o-9"})
    bench.wait_ms(1_000)
    bench.broker.cancel_instance(cancelled)
    for number in range(6):
        bench.start("journey", {"train": f"t-{number}", "city": f"c-{number}"})


def _messages(bench: StoreBench) -> None:
    bench.publish(key="o-1", ttl_ms=HOUR_MS, message_id="first", business_id="b-1")
    again = bench.broker.publish(NewMessage("paid", "o-1", {}, HOUR_MS, "first"))
    assert isinstance(again, Refusal)
    for number in range(3):
        bench.broker.publish(NewMessage("left", f"t-{number}", {"seat": number}))
        bench.publish("arrived", f"c-{number}", HOUR_MS)
        bench.publish("opened", "ticket", HOUR_MS)
    bench.publish("paid", "o-1", tenant_id="acme")
    bench.publish("paid", "not yet", 60_000)
    bench.publish("paid", "for ever", FOR_EVER_MS)
    bench.publish("nobody", "o'1 \N{GREEK SMALL LETTER ALPHA}")
    bench.wait_ms(61_000)
    bench.broker.tick()
    _finish_a_job(bench)


def _finish_a_job(bench: StoreBench) -> None:
    [job] = bench.broker.activate_jobs("work", 1, "w-1", 60_000)
    bench.broker.complete_job(job.key, {"done": True})


def asking(address: str, table: str, **options: Any) -> ReadOptions:
    place = "url" if address.startswith("postgresql://") else "path"
    return read_options({place: address, "table": table, **{name: str(value) for name, value in options.items()}})


def rows_of(reader: ConjoinReader) -> list[dict[str, Any]]:
    """All rows that a task for each part would give."""
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


def read(asked: ReadOptions) -> list[dict[str, Any]]:
    return rows_of(ConjoinReader(asked))
