"""Every reason that needs no inbox can be explained from a store: verdict, parameters, and one sentence."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conjoin.kernel.verdicts.verdicts import REASONS
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.explain.explain import explain, explain_named, wait_for_verdict
from conjoin.runtime.explain.explanation import Explanation
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.runtime.visibility.plain_values import to_plain
from tests.runtime.broker_bench import CHOOSE, HOUR_MS, STOCK, Bench, waits_on_another_shard

Told = tuple[Explanation, dict[str, Any], str]
"""What was explained, the parameters that matter, and the sentence it must say."""

STORIES: dict[str, Callable[[], Told]] = {}
"""By verdict and reason."""

NOT_IN_A_STORE = {
    *(f"{verdict} {reason}" for verdict in ("waiting", "parked", "failed") for reason in REASONS[verdict]),
    # Only a message of the inbox can be deleted, or handed over.
    *("discarded deleted", "correlated handed_over", "buffered handed_over"),
    # The edges refuse these; there is no sender to ask here.
    *("refused forbidden", "refused wrong_tenant"),
    # It stands beside a verdict: somebody has the message. See below.
    "buffered taken_by_process",
}
EPOCH = "2030-01-01T00"


def reason(named: str) -> Callable[[Callable[[], Told]], Callable[[], Told]]:
    def remember(tell: Callable[[], Told]) -> Callable[[], Told]:
        STORIES[named] = tell
        return tell

    return remember


def holds(instance: int) -> str:
    """Since when and where, too."""
    since = f"{EPOCH}:00:00Z, now at 'work'"
    return f"instance {instance} of process ticket holds the key since {since} - it must end first"


def deployed(shards: int = 1, content: bytes | None = None) -> Bench:
    bench = Bench(shards)
    if content is None:
        bench.deploy()
    else:
        bench.deploy(content)
    return bench


@reason("correlated waiting_instance")
def waiting_instance() -> Told:
    bench = deployed()
    order = bench.start()
    found = bench.explain(bench.publish())
    said = f"Correlated: process order (instance {order} at paid) was already waiting for 'paid' with key 'o-1'."
    return found, {"process": "order", "instance": order, "element": "paid"}, said


@reason("correlated waiting_instance_later")
def waiting_instance_later() -> Told:
    bench = deployed()
    message = bench.publish(ttl_ms=HOUR_MS)
    bench.wait_ms(90_000)
    order = bench.start()
    said = (
        "Correlated: 'paid' with key 'o-1' came early and was kept; "
        f"process order (instance {order} at paid) took it 1.5 min after it was published."
    )
    return bench.explain(message), {"instance": order, "waited_ms": 90_000}, said


@reason("correlated started_instance")
def started_instance() -> Told:
    bench = deployed()
    found = bench.explain(bench.publish("opened", "t-1"))
    [started] = found.attempts
    said = f"Correlated: 'opened' with key 't-1' started process ticket (instance {started.instance} at opened)."
    return found, {"process": "ticket", "instance": started.instance, "version": 1}, said


@reason("correlated started_after_lock")
def started_after_lock() -> Told:
    bench = deployed()
    first = bench.explain(bench.publish("opened", "t-1")).attempts[0].instance
    assert first is not None
    message = bench.publish("opened", "t-1", HOUR_MS)
    bench.broker.cancel_instance(first)
    found = bench.explain(message)
    said = (
        "Correlated: 'opened' with key 't-1' waited behind a running instance of the same key and started "
        f"process ticket (instance {found.attempts[0].instance} at opened) when instance {first} had ended."
    )
    return found, {"process": "ticket", "freed_by": first, "version": 1}, said


@reason("correlated given_back_and_taken")
def given_back_and_taken() -> Told:
    bench, message, first = _given_back()
    second = bench.start("choose", {"id": "k"})
    said = (
        f"Correlated: instance {first} gave it back (it no longer waits), "
        f"then process choose (instance {second} at agree) took 'agree' with key 'k'."
    )
    found = bench.explain(message)
    assert [(it.outcome, it.instance) for it in found.attempts] == [("given_back", first), ("taken", second)]
    return found, {"first_instance": first, "why": "it no longer waits", "instance": second}, said


def _given_back() -> tuple[Bench, int, int]:
    """Both ways of an event-based gateway are offered a message, and only one can be gone."""
    bench = deployed(content=CHOOSE)
    message = bench.publish("agree", "k", HOUR_MS)
    bench.publish("refuse", "k", HOUR_MS)
    return bench, message, bench.start("choose", {"id": "k"})


@reason("buffered nobody_waits")
def nobody_waits() -> Told:
    bench = deployed()
    found = bench.explain(bench.publish(ttl_ms=HOUR_MS))
    assert found.storage == "buffered"
    said = f"Buffered: nobody waits for 'paid' with key 'o-1' yet; it is kept until {EPOCH[:-1]}1:00:00Z."
    return found, {"deadline_at": found.message.deadline_at}, said


@reason("buffered locked")
def locked() -> Told:
    bench = deployed()
    first = bench.explain(bench.publish("opened", "t-1")).attempts[0].instance
    found = bench.explain(bench.publish("opened", "t-1", HOUR_MS))
    said = (
        "Buffered: 'opened' with key 't-1' would start a process of which an instance with this key is still running; "
        f"it is kept until {EPOCH[:-1]}1:00:00Z; {holds(first)}."
    )
    return found, {"process": "ticket", "key": "t-1", "instance": first}, said


@reason("buffered given_back")
def given_back() -> Told:
    bench, message, first = _given_back()
    said = (
        f"Buffered: instance {first} gave 'agree' with key 'k' back (it no longer waits); "
        "it is kept, for whoever waits next."
    )
    return bench.explain(message), {"instance": first, "why": "it no longer waits"}, said


@reason("buffered busy")
def busy() -> Told:
    bench, city = waits_on_another_shard()
    first = bench.undelivered(NewMessage("arrived", city, {}, HOUR_MS))
    assert bench.explain(first).attempts[0].outcome == "on_its_way"
    second = bench.undelivered(NewMessage("arrived", city, {}, HOUR_MS))
    found = bench.explain(second)
    [miss] = found.near_misses
    said = (
        f"Buffered: the one who waits for 'arrived' with key '{city}' is just taking another message; it is kept until "
        f"{EPOCH[:-1]}1:00:00Z; process journey (instance {miss['instance']} at arrived) waits for it but is just "
        "taking another message - it is free in a moment."
    )
    return found, {"subscription": miss["subscription"]}, said


@reason("expired nobody_waited")
def nobody_waited() -> Told:
    bench = deployed()
    message = bench.publish(ttl_ms=1_000)
    bench.wait_ms(3_500)
    bench.broker.tick()
    order = bench.start()
    found = bench.explain(message)
    assert found.storage == "expired"
    said = (
        f"Expired: nobody waited for 'paid' with key 'o-1' until its deadline {EPOCH}:00:01Z; process order "
        f"(instance {order}) began to wait 2.5 s after the deadline - a longer time to live mends it."
    )
    return found, {"next_subscription": {"process": "order", "instance": order, "late_ms": 2_500}}, said


@reason("expired was_locked")
def was_locked() -> Told:
    bench = deployed()
    first = bench.explain(bench.publish("opened", "t-1")).attempts[0].instance
    message = bench.publish("opened", "t-1", 1_000)
    bench.wait_ms(1_000)
    said = (
        "Expired: an instance with its key ran, so 'opened' with key 't-1' could not start another until its deadline "
        f"{EPOCH}:00:01Z; {holds(first)}."
    )
    found = bench.explain(message)
    held = {"kind": "lock_held", "process": "ticket", "instance": first, "since_at": found.message.published_at}
    return found, {"near_misses": [{**held, "at": ["work"]}]}, said


@reason("expired never_offered")
def never_offered() -> Told:
    bench = Bench()
    message = bench.publish("opened", "t-1", 2_000)
    bench.wait_ms(1_000)
    bench.deploy()
    bench.wait_ms(1_000)
    said = (
        "Expired: the process that 'opened' with key 't-1' could start was deployed later, and a deployment does not "
        f"look at messages that are already there; it was kept until its deadline {EPOCH}:00:02Z."
    )
    found = bench.explain(message)
    return found, {"deadline_at": found.message.published_at + 2_000_000}, said


@reason("discarded ttl_zero")
def ttl_zero() -> Told:
    bench = deployed()
    order = bench.start()
    bench.broker.cancel_instance(order)
    bench.wait_ms(5_000)
    found = bench.explain(bench.publish())
    said = (
        "Discarded: nobody waited for 'paid' with key 'o-1' and its time to live is 0; process order "
        f"(instance {order} at paid) stopped waiting 5 s before it was published - it came too late."
    )
    return found, {}, said


@reason("discarded policy")
def discarded_by_policy() -> Told:
    bench = deployed()
    bench.policy(on_no_match="discard")
    found = bench.explain(bench.publish(ttl_ms=HOUR_MS))
    said = "Discarded: nobody waited for 'paid' with key 'o-1' and the policy on_no_match says discard."
    return found, {}, said


@reason("refused duplicate_id")
def duplicate_id() -> Told:
    bench = deployed()
    first = bench.publish(ttl_ms=HOUR_MS, message_id="a")
    bench.wait_ms(60_000)
    again = bench.broker.publish(NewMessage("paid", "o-1", {}, HOUR_MS, "a"))
    assert isinstance(again, Refusal)
    named = explain_named(bench.broker, NewMessage("paid", "o-1", message_id="a"))
    found, kept = named.known
    assert (kept.message.key, kept.verdict) == (first, "buffered")
    said = (
        f"Refused: 'paid' with key 'o-1' has the id of message {first}, which is still remembered, first published at "
        f"{EPOCH}:00:00Z; the id is free again at {EPOCH[:-1]}1:00:00Z."
    )
    return found, {"first_message": first, "acknowledged": False}, said


@reason("refused not_found")
def not_found() -> Told:
    bench = deployed()
    bench.broker.correlate(NewMessage("paid", "o-1"))
    [found] = explain_named(bench.broker, NewMessage("paid", "o-1")).known
    return found, {}, "Refused: nobody waited for 'paid' with key 'o-1', and it may not be kept."


@reason("refused ambiguous")
def ambiguous() -> Told:
    bench = deployed()
    bench.policy(cardinality="exactly_one")
    orders = [bench.start(), bench.start()]
    bench.deploy(STOCK, name="stock.bpmn")
    other = bench.start("stock")
    assert isinstance(bench.broker.publish(NewMessage("paid", "o-1")), Refusal)
    [found] = explain_named(bench.broker, NewMessage("paid", "o-1")).known
    named = ", ".join(map(str, [*orders, other]))
    said = f"Refused: 3 could take 'paid' with key 'o-1' and exactly one may: {named}."
    return found, {"count": 3, "candidates": [*orders, other]}, said


@reason("refused locked")
def refused_locked() -> Told:
    bench = deployed()
    first = bench.explain(bench.publish("opened", "t-1")).attempts[0].instance
    bench.broker.correlate(NewMessage("opened", "t-1"))
    found = explain_named(bench.broker, NewMessage("opened", "t-1")).known[0]
    said = (
        "Refused: 'opened' with key 't-1' would start process ticket, of which an instance with this key is still "
        f"running; {holds(first)}."
    )
    return found, {"processes": ["ticket"]}, said


@reason("refused invalid")
def invalid() -> Told:
    found = explain_named(deployed().broker, NewMessage(" ", "o-1")).dry_run
    said = "If it were published now, it would be refused: ' ' with key 'o-1' cannot be used: a message needs a name."
    return found, {"why": "a message needs a name"}, said


@reason("short fewer_than_expected")
def fewer_than_expected() -> Told:
    bench = deployed()
    bench.policy(expected=2)
    bench.start()
    message = bench.publish(ttl_ms=1_000)
    assert bench.explain(message).verdict == "correlated"
    bench.wait_ms(1_000)
    said = "Short: 'paid' with key 'o-1' was expected by 2 receivers and taken by 1."
    return bench.explain(message), {"expected": 2, "got": 1}, said


def test_every_reason_that_a_store_can_give_is_explained() -> None:
    every = {f"{verdict} {reason}" for verdict, reasons in REASONS.items() for reason in reasons}
    assert set(STORIES) == every - NOT_IN_A_STORE


@pytest.mark.parametrize("named", list(STORIES))
def test_a_message_is_explained_with_verdict_parameters_and_one_sentence(named: str) -> None:
    found, parameters, said = STORIES[named]()
    assert f"{found.verdict} {found.reason}" == named
    assert {name: found.parameters.get(name) for name in parameters} == parameters
    assert found.sentence == said


def test_a_message_that_a_process_has_is_still_kept_and_another_instance_waits_in_vain() -> None:
    bench = deployed()
    first, second = bench.start(), bench.start()
    found = bench.explain(bench.publish(ttl_ms=HOUR_MS))
    assert (found.verdict, found.storage) == ("correlated", "buffered")
    assert found.still_buffered is not None
    assert found.still_buffered.reason == "taken_by_process"
    assert found.still_buffered.parameters["waiting_instance"] == second
    assert found.still_buffered.sentence == (
        f"Buffered: process order already has 'paid' with key 'o-1' through instance {first} since {EPOCH}:00:00Z, "
        f"and a process gets a message once; it is kept until {EPOCH[:-1]}1:00:00Z."
    )
    assert bench.kinds(found.message.key or 0) == ["taken_by_process"]


def test_a_message_without_anybody_else_waiting_misses_nothing() -> None:
    bench = deployed()
    bench.start()
    found = bench.explain(bench.publish(ttl_ms=HOUR_MS))
    assert (found.near_misses, found.still_buffered) == ([], None)


def test_an_explanation_does_not_wait_for_the_sweep() -> None:
    bench = deployed()
    message = bench.publish(ttl_ms=1_000)
    bench.wait_ms(1_000)
    assert (bench.explain(message).verdict, bench.explain(message).storage) == ("expired", "expired")


def test_a_lock_taken_after_publication_shows_in_the_explanation() -> None:
    bench = Bench()
    message = bench.publish("opened", "t-1", HOUR_MS)
    assert bench.explain(message).reason == "nobody_waits"
    bench.deploy()
    bench.publish("opened", "t-1")
    assert bench.explain(message).reason == "locked"


@pytest.mark.parametrize("shards", [1, 3])
def test_explaining_writes_nothing(shards: int) -> None:
    bench = deployed(shards)
    message = bench.publish(ttl_ms=HOUR_MS)
    before = [bench.store.shard(index).begin() for index in range(shards)]
    heads = [snapshot.head for snapshot in before]
    for snapshot in before:
        snapshot.abandon()
    bench.wait_ms(2 * HOUR_MS)
    bench.explain(message)
    explain_named(bench.broker, NewMessage("opened", "o-1"))
    after = [bench.store.shard(index).begin() for index in range(shards)]
    assert [snapshot.head for snapshot in after] == heads


def test_messages_are_explained_and_awaited_while_other_threads_run_the_shards() -> None:
    bench = deployed(2)
    keys: list[int] = []
    with shard_threads(bench.broker), ThreadPoolExecutor(2) as threads:
        for number in range(20):
            keys.append(bench.publish(key=f"o-{number}", ttl_ms=HOUR_MS))
        asked = [threads.submit(wait_for_verdict, bench.broker, key, 30) for key in keys]
        for number in range(20):
            bench.start(variables={"orderId": f"o-{number}"})
        found = [future.result() for future in asked]
    assert {it.verdict for it in found if isinstance(it, Explanation)} == {"correlated"}
    assert len(found) == 20


def test_an_unknown_key_is_not_found() -> None:
    assert explain(deployed().broker, 77) == Refusal("NOT_FOUND", "no message with key 77 is known")


def test_a_message_among_very_many_on_its_key_is_explained() -> None:
    bench = deployed()
    keys = [bench.publish(ttl_ms=HOUR_MS, message_id=str(number)) for number in range(130)]
    assert bench.explain(keys[-1]).reason == "nobody_waits"
    named = explain_named(bench.broker, NewMessage("paid", "o-1", message_id="129"))
    assert [it.message.key for it in named.known] == [keys[-1]]
    assert (named.dry_run.verdict, named.dry_run.reason) == ("refused", "duplicate_id")
    assert [it.message.key for it in explain_named(bench.broker, NewMessage("paid", "o-1")).known] == keys[:-11:-1]


def test_as_json_has_instants_as_text_and_near_misses_with_their_words() -> None:
    bench = deployed()
    bench.start(variables={"orderId": "O-1"})
    said = bench.explain(bench.publish(ttl_ms=HOUR_MS)).as_json()
    assert said["message"]["deadline_at"] == f"{EPOCH[:-1]}1:00:00Z"
    assert said["parameters"] == {"deadline_at": f"{EPOCH[:-1]}1:00:00Z"}
    [miss] = said["near_misses"]
    assert miss["text"].endswith("waits for it with key 'O-1' - the key differs in case or blanks only")


def test_instants_are_told_by_their_name_and_keys_by_their_size() -> None:
    said = to_plain({"until_at": 2**63 - 1, "late_ms": 5, "inner": [{"taken_at": 0, "instance": 2**51 + 3}]})
    assert said == {
        "until_at": "never",
        "late_ms": 5,
        "inner": [{"taken_at": "1970-01-01T00:00:00Z", "instance": "2251799813685251"}],
    }


def test_variables_are_told_as_they_were_sent() -> None:
    variables = {"paid_at": 5, "number": 2**60}
    assert to_plain({"variables": variables}) == {"variables": variables}
