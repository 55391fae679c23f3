"""A message that was not sent is explained, too; and one that was is waited for."""

import pytest

from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.explain.explain import explain_named, wait_for_verdict
from conjoin.runtime.explain.explanation import Explanation
from tests.runtime.broker_bench import HOUR_MS, waits_on_another_shard
from tests.runtime.test_explain import deployed


def test_dry_run_says_who_would_take_it_and_changes_nothing() -> None:
    bench = deployed()
    order = bench.start()
    for _ in range(2):
        found = explain_named(bench.broker, NewMessage("paid", "o-1")).dry_run
        assert (found.verdict, found.message.key) == ("correlated", None)
        assert [(it.outcome, it.instance) for it in found.attempts] == [("taken", order)]
        assert found.sentence == (
            f"If it were published now, it would be correlated: process order (instance {order} at paid) "
            "was already waiting for 'paid' with key 'o-1'."
        )


def test_dry_run_says_what_would_be_started() -> None:
    found = explain_named(deployed().broker, NewMessage("opened", "t-1")).dry_run
    assert [(it.outcome, it.process, it.instance) for it in found.attempts] == [("started", "ticket", None)]
    assert found.sentence == (
        "If it were published now, it would be correlated: 'opened' with key 't-1' started process ticket (at opened)."
    )


@pytest.mark.parametrize(
    ("new", "fate"),
    [
        (NewMessage("paid", "o-7"), "discarded ttl_zero"),
        (NewMessage("paid", "o-7", ttl_ms=HOUR_MS), "buffered nobody_waits"),
        (NewMessage("paid", "o-7", sync=True), "refused not_found"),
        (NewMessage("opened", "t-1", ttl_ms=HOUR_MS), "buffered locked"),
        (NewMessage("opened", "t-1", sync=True), "refused locked"),
        (NewMessage("paid", "o-7", {"at": object()}), "refused invalid"),
        (NewMessage("paid", "o-7", "no object"), "refused invalid"),  # type: ignore[arg-type]
        (NewMessage("paid", "\udc80"), "refused invalid"),
    ],
)
def test_dry_run_says_what_else_would_become_of_it(new: NewMessage, fate: str) -> None:
    bench = deployed()
    bench.publish("opened", "t-1")
    found = explain_named(bench.broker, new).dry_run
    assert f"{found.verdict} {found.reason}" == fate


def test_dry_run_comes_with_near_misses() -> None:
    bench = deployed()
    bench.start(business_id="b-1")
    found = explain_named(bench.broker, NewMessage("paid", "o-1", business_id="b-2")).dry_run
    assert found.near_misses[0]["business_id"] == "b-1"
    assert found.sentence.endswith("waits for business id 'b-1' - send that one, or none to reach anybody.")


def test_waiting_for_a_verdict_ends_when_somebody_takes_the_message() -> None:
    bench = deployed()
    message = bench.publish(ttl_ms=HOUR_MS)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            bench.start()

    found = wait_for_verdict(bench.broker, message, 60, pause)
    assert isinstance(found, Explanation)
    assert found.verdict == "correlated"
    assert pauses == [0.01, 0.02, 0.04]


def test_waiting_for_a_verdict_ends_at_the_deadline_of_the_message() -> None:
    bench = deployed()
    message = bench.publish(ttl_ms=50)
    found = wait_for_verdict(bench.broker, message, 60, lambda seconds: bench.wait_ms(50))
    assert isinstance(found, Explanation)
    assert found.verdict == "expired"


def test_waiting_for_a_verdict_goes_on_while_a_message_is_held_for_somebody_busy() -> None:
    bench, city = waits_on_another_shard()
    bench.undelivered(NewMessage("arrived", city, {}, HOUR_MS))
    held = bench.undelivered(NewMessage("arrived", city, {}, 0))
    assert (bench.explain(held).reason, bench.explain(held).storage) == ("busy", "held")
    found = wait_for_verdict(bench.broker, held, 60, lambda seconds: bench.broker.tick())
    assert isinstance(found, Explanation)
    assert (found.verdict, found.reason) == ("discarded", "ttl_zero")


def test_waiting_for_a_verdict_ends_when_the_time_is_over() -> None:
    bench = deployed()
    found = wait_for_verdict(bench.broker, bench.publish(ttl_ms=HOUR_MS), 0.02)
    assert isinstance(found, Explanation)
    assert found.verdict == "buffered"


def test_waiting_for_a_message_that_is_not_known_ends_at_once() -> None:
    assert isinstance(wait_for_verdict(deployed().broker, 77, 60), Refusal)
