"""Instances that hold a value: looked for among the newest, in a bounded number of bytes, the exact value first."""

from contextlib import closing

import pytest

from conjoin.store import explaining_port
from conjoin.store.explaining_port import Holders, ValueTexts
from tests.bpmn.snippets import BEGIN, catch, message, model, service
from tests.runtime.broker_bench import Bench

CONTENT = model(
    BEGIN + service("work") + catch("paid"), "begin>work work>paid", message("paid_message", "paid", "=orderId")
)
TEXTS = ValueTexts('"order-42"', ":42", (":42,", ":42}", ":42."), '"42"')


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.deploy(CONTENT)
    return bench


def holders(bench: Bench, newest: int = 100, processes: tuple[str, ...] = ("order",)) -> Holders:
    with closing(bench.store.shard(0).reader()) as reader, reader.begin() as snapshot:
        return snapshot.holding("<default>", processes, TEXTS, newest)


def test_the_exact_value_comes_first_and_others_only_where_nobody_has_it(bench: Bench) -> None:
    numbered = [bench.start(variables=it) for it in ({"n": 42}, {"n": 42, "m": 1}, {"n": 42.5}, {"n": "42"})]
    for other in ({"n": 4_200}, {"n": 142}, {"n": "4200"}, {"n": "order-420"}):
        bench.start(variables=other)
    assert holders(bench) == (numbered[::-1], False)
    exact = [bench.start(variables={"n": "order-42"}) for _ in range(2)]
    assert holders(bench) == (exact[::-1], False)


def test_instances_of_other_processes_and_tenants_are_passed_over(bench: Bench) -> None:
    bench.deploy(tenant_id="acme", content=CONTENT)
    bench.start(variables={"n": "order-42"}, tenant_id="acme")
    assert holders(bench) == ([], False)
    bench.start(variables={"n": "order-42"})
    assert holders(bench, processes=("other",)) == ([], False)
    assert holders(bench, newest=0) == ([], False)


def test_the_bytes_that_are_read_are_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining_port, "_AT_ONCE", 2)
    oldest = bench.start(variables={"n": "order-42"})
    assert holders(bench).keys == [oldest]
    bench.start(variables={"n": "order-42", "large": "x" * explaining_port.LARGEST_BODY})
    assert holders(bench) == ([oldest], True)
    for number in range(20):
        bench.start(variables={"n": number, "large": "x" * 60_000})
    # Of a hundred instances 400 kB are read, and they were the newest.
    assert holders(bench) == ([], True)
