"""Two stories of lost messages: whoever reads the explanation knows what to do, does it, and it works.

A payment service sends as soon as it has the money, which is before the order waits for it. And a typist copies a key
in capitals.
"""

from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.explain.explain import explain_named
from tests.bpmn.snippets import BEGIN, END, catch, extended, message, model, service
from tests.runtime.broker_bench import Bench

APPROVAL = model(
    BEGIN
    + extended("serviceTask", "approve", '<zeebe:taskDefinition type="approve"/>').replace(
        'id="approve"', 'id="approve" name="Approve invoice"'
    )
    + catch("paid")
    + service("ship")
    + END,
    "begin>approve approve>paid paid>ship ship>end",
    message("paid_message", "Money collected", "=orderId"),
)


def approved(bench: Bench) -> None:
    [job] = bench.broker.activate_jobs("approve", 1, "w", 60_000)  # type: ignore[misc]
    bench.broker.complete_job(job.key, {})


def test_a_payment_service_that_sends_too_early_is_told_for_how_long_to_keep_its_message() -> None:
    bench = Bench(3)
    bench.deploy(APPROVAL)
    # Others have been here before: they began to wait after twelve minutes.
    for number in range(5):
        bench.start(variables={"orderId": f"order-{number}"})
    bench.wait_ms(12 * 60_000)
    for _ in range(5):
        approved(bench)
    order = bench.start(variables={"orderId": "order-77"})
    lost = bench.publish("Money collected", "order-77")
    said = bench.explain(lost)
    assert said.sentence == (
        "Discarded: nobody waited for 'Money collected' with key 'order-77' and its time to live is 0; instance "
        f"{order} of process order is at 'Approve invoice' and waits for it after that, at paid - publish it with a "
        "time to live, such as 1h (such waits began 12 min after the start, on average)."
    )
    # So it is published with it, and the order has its money when it is approved.
    kept = bench.publish("Money collected", "order-77", 3_600_000)
    assert bench.explain(kept).sentence.endswith(
        "and waits for it after that, at paid - it is kept for that"
        " (such waits began 12 min after the start, on average)."
    )
    bench.wait_ms(60_000)
    approved(bench)
    taken = bench.explain(kept)
    assert (taken.verdict, taken.attempts[0].instance) == ("correlated", order)
    # Of the first it is said that it was gone when the order began to wait.
    assert [miss["kind"] for miss in bench.explain(lost).near_misses] == ["expired_before"]


def test_a_typist_with_a_key_in_capitals_is_told_the_right_key() -> None:
    bench = Bench()
    bench.deploy()
    order = bench.start(variables={"orderId": "order-4095"})
    for other in ("order-1105", "order-4096", "order-4094"):
        bench.start(variables={"orderId": other})
    lost = bench.explain(bench.publish("paid", "ORDER-4095"))
    [miss] = lost.near_misses
    assert lost.sentence == (
        "Discarded: nobody waited for 'paid' with key 'ORDER-4095' and its time to live is 0; process order (instance "
        f"{order} at paid) waits for it with key 'order-4095' - the key differs in case or blanks only."
    )
    again = bench.explain(bench.publish("paid", miss["key"]))
    assert (again.verdict, again.attempts[0].instance) == ("correlated", order)
    # Now there is nobody any more whose key differs in its writing only, and the neighbours are not offered.
    once_more = explain_named(bench.broker, NewMessage("paid", "ORDER-4095", ttl_ms=0)).dry_run
    assert once_more.near_misses == []
    assert once_more.nobody is not None
    assert once_more.nobody.last_similar is not None
    assert once_more.nobody.last_similar["key"] == "order-4095"
