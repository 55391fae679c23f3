"""A store with days of messages in it: some lost, some kept, some with names that would like to be HTML."""

from pathlib import Path

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.store import create_store
from conjoin.store.port import Facts
from tests.pipeline.source.stories import STUCK, StoreBench

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
HOSTILE = "</td><script>alert('1')</script>\" onload=\"x"
HOSTILE_KEY = "<img src=http://evil.example/x onerror=alert(1)> & 'co'"


def tell_days(folder: Path) -> Broker:
    """Ends two days later, at 2030-01-03T03:00:00Z."""
    bench = StoreBench(create_store(folder, Facts(2, "zeebe", 0, False)))
    bench.deploy()
    bench.deploy(STUCK, name="stuck.bpmn")
    bench.start("stuck-order")
    _first_hour(bench)
    _next_hour(bench)
    bench.wait_ms(49 * HOUR_MS)
    bench.broker.tick()
    bench.publish(HOSTILE, "fresh", HOUR_MS)
    bench.publish("paid", "fresh", HOUR_MS)
    bench.wait_ms(30 * MINUTE_MS)
    bench.publish("paid", "fresher", HOUR_MS)
    bench.start(variables={"orderId": "young"})
    bench.wait_ms(30 * MINUTE_MS)
    return bench.broker


def _first_hour(bench: StoreBench) -> None:
    """Gaps of 5 minutes, 20 minutes and none that is known; one that waited 90 s, one 10 s."""
    for key in ("late-1", "late-2", "never", HOSTILE_KEY, "twice", "twice"):
        bench.publish("paid", key, 2 * MINUTE_MS)
    bench.publish(HOSTILE, HOSTILE_KEY, MINUTE_MS, message_id="1")
    bench.publish(HOSTILE, HOSTILE_KEY, HOUR_MS * 1_000)
    bench.publish("paid", "early-1", HOUR_MS)
    bench.publish("paid", "early-2", HOUR_MS)
    bench.wait_ms(10_000)
    bench.start(variables={"orderId": "early-2"})
    bench.wait_ms(80_000)
    bench.start(variables={"orderId": "early-1"})
    bench.wait_ms(5 * MINUTE_MS - 90_000)
    bench.broker.tick()
    bench.start(variables={"orderId": "late-1"})
    bench.start(variables={"orderId": "twice"})
    bench.wait_ms(15 * MINUTE_MS)
    bench.start(variables={"orderId": "late-2"})
    bench.wait_ms(40 * MINUTE_MS)


def _next_hour(bench: StoreBench) -> None:
    """Who waits for what was taken before, for almost the same key, and for nothing that has come."""
    bench.publish("paid", "Near 1", 0)
    bench.publish("paid", "at once", 0)
    bench.wait_ms(MINUTE_MS)
    for key in ("near1", "at once", "alone", "early-1"):
        bench.start(variables={"orderId": key})
    bench.broker.publish(NewMessage("paid", "early-1", {}, HOUR_MS, "id"))
    bench.broker.publish(NewMessage("paid", "early-1", {}, HOUR_MS, "id"))
    bench.start(variables={"orderId": "early-1"})
    for number in range(3):
        bench.publish("opened", f"ticket-{number}", HOUR_MS)
    bench.wait_ms(59 * MINUTE_MS)
