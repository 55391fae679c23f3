"""The explanation of the longest key that may be sent looks up few keys, and holds little in memory."""

import tracemalloc

import pytest

from conjoin.kernel.storable import LONGEST_KEY
from conjoin.store.sqlite.shard import SqliteSnapshot
from tests.runtime.broker_bench import Bench


@pytest.mark.parametrize("bit", ["a", "a-", "7", "ä", "x1"])
def test_a_long_key_is_looked_up_in_few_ways(bit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(3)
    bench.deploy()
    bench.start(variables={"orderId": "order-7"})
    sent = bench.publish(key=(bit * LONGEST_KEY)[:LONGEST_KEY])
    asked: list[str] = []
    waiting_on = SqliteSnapshot.waiting_on

    def noted(its: SqliteSnapshot, tenant_id: str, keys: list[str], most: int) -> object:
        asked.extend(keys)
        return waiting_on(its, tenant_id, keys, most)

    monkeypatch.setattr(SqliteSnapshot, "waiting_on", noted)
    tracemalloc.start()
    assert bench.explain(sent).near_misses == []
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(asked) <= 8
    assert most_bytes < 16 * 1024 * 1024
