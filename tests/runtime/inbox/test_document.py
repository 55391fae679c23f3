"""What the document on batch correlation says, against our own engine: batches, grace, exhausted messages."""

from contextlib import closing

import pytest

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.message import Hint
from conjoin.kernel.inbox.operations import Delete
from conjoin.runtime.client_api.answers import CreatedInstance, Deployment
from conjoin.runtime.inbox.requests import InboxRun
from conjoin.runtime.opening import temporary_broker
from conjoin.testing.clock import FakeClock
from tests.bpmn.snippets import END, catch, message, model
from tests.runtime.inbox.bench import Bench, preset
from tests.runtime.inbox.conftest import Make

STARTED = model(
    '<startEvent id="begin"><messageEventDefinition messageRef="placed_message"/></startEvent>\n'
    + catch("paid", "paid_message")
    + END,
    "begin>paid paid>end",
    '<message id="placed_message" name="Order placed"/>' + message("paid_message", "Money collected"),
).replace(b'<process id="order"', b'<process id="shop"')
KEYLESS = model(
    '<startEvent id="begin"/>\n' + catch("paid", "paid_message") + END,
    "begin>paid paid>end",
    '<message id="paid_message" name="paid"/>',
).replace(b'<process id="order"', b'<process id="keyless"')


def test_messages_of_several_names_for_one_instance_are_taken_in_order_in_one_run(make: Make) -> None:
    bench = make()
    assert isinstance(bench.broker.deploy([("shop.bpmn", STARTED)]), Deployment)
    for number in range(10):
        key = f"o-{number}"
        hint = Hint("Order placed", key, {"orderId": key})
        bench.send_many([bench.arrival(key, f"placed-{key}", hint=hint)])
        bench.send_many([bench.arrival(key, f"paid-{key}", name="Money collected")])
    counts = bench.run()
    assert (counts.correlated, counts.target_error) == (20, 0)
    assert set(bench.states().values()) == {"done"}


def test_policy_grace_of_a_name_keeps_its_errors_from_being_counted(make: Make) -> None:
    bench = make()
    bench.broker.catalog.set_policy("paid", {"grace": "1h"}, bench.clock())
    bench.send("o-1", "m-1")
    bench.send("o-2", "m-2", name="sent")
    bench.run()
    assert (bench.row("m-1").attempts, bench.row("m-2").attempts) == (0, 1)
    bench.run(after_s=3_600)
    assert bench.row("m-1").attempts == 1


def test_profile_correlate_counts_no_error_of_the_first_ten_seconds(clock: FakeClock) -> None:
    with closing(temporary_broker(1, clock, "correlate")) as broker:
        bench = Bench(broker, clock, InboxSettings())
        bench.send("o-1", "m-1")
        seen = []
        for _ in range(2):
            bench.run(after_s=6)
            seen.append(bench.row("m-1").attempts)
    assert seen == [0, 1]


def test_exhausted_message_blocks_its_batch_as_the_document_says_until_a_person_acts(make: Make) -> None:
    bench = make(preset("correlate-docs", max_attempts=1))
    bench.send("o-1", "m-1", payload=b"{")
    bench.run()
    bench.wait("o-1")
    bench.send("o-1", "m-2")
    bench.run(after_s=6)
    assert bench.states() == {"m-1": "parked", "m-2": "waiting"}
    assert bench.operate("m-1", Delete()) == ""
    bench.run(after_s=6)
    assert bench.states() == {"m-1": "deleted", "m-2": "done"}


@pytest.mark.parametrize("match", ["business_key", "variables"])
def test_hint_without_a_key_finds_who_waits_without_one(clock: FakeClock, match: str) -> None:
    with closing(temporary_broker(3, clock, "correlate")) as broker:
        bench = Bench(broker, clock, InboxSettings())
        broker.catalog.set_policy("paid", {"match": match}, clock())
        assert isinstance(broker.deploy([("keyless.bpmn", KEYLESS)]), Deployment)
        made = [broker.create_instance("keyless", {}, business_id=f"b-{number}") for number in range(3)]
        for number, instance in enumerate(made):
            assert isinstance(instance, CreatedInstance)
            hint = Hint("paid", business_key=f"b-{number}", process_instance_id=str(instance.key))
            bench.send("", f"m-{number}", hint=hint)
        assert bench.run().correlated == 3


def test_page_counts_messages_and_not_groups(single: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = single(preset(page_size=10))
    for key in ("o-1", "o-2", "o-3"):
        bench.wait(*[key] * 10)
    bench.broker.catalog.set_policy("paid", {"cardinality": "once_per_process"}, bench.clock())
    for number in range(30):
        bench.send(f"o-{1 + number % 3}")
    counts = [bench.inbox.shards.ask(0, InboxRun(bench.settings, bench.broker.now)).counts for _ in range(3)]
    assert [it.correlated for it in counts] == [10, 10, 10]
