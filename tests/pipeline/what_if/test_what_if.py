"""What-if against the truth: the same story told again under the changed policies, by a real engine."""

import os
from collections import Counter
from random import Random

import pytest

from conjoin.errors import InputError
from conjoin.pipeline.what_if.judged import Judged
from conjoin.pipeline.what_if.question import Question, read_changes
from conjoin.pipeline.what_if.recorded import check_whole
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.upkeep.retention import KeepFor, Retention
from tests.bpmn.snippets import BEGIN, END, catch, conditional, message, model, script, service, timer
from tests.kernel.process.random_models import NAMES, ModelMaker
from tests.pipeline.what_if.stories import REFUSED, Act, Fate, Telling, fate, random_acts, told_twice, what_if

STORIES = int(os.environ.get("STORIES", "40"))
MINUTE_MS = 60_000
CHANGES = (
    *("ttl=10m", "ttl=10m", "ttl=0", "ttl=1h", "m1:ttl=1h", "m2:ttl=1h", "time_to_live=20m", "dedup=1h", "dedup=off"),
    *("cardinality=exactly_one", "cardinality=once_per_instance", "on_no_match=reject", "on_no_match=discard"),
    *("duplicate_subscription=reject", "start_uniqueness=none", "start_precedence=subscription_first"),
)

ONE_AFTER_THE_OTHER = model(
    BEGIN + service("work") + catch("paid") + catch("shipped", "shipped_message") + END,
    "begin>work work>paid paid>shipped shipped>end",
    message("paid_message", "m1", "=k1") + message("shipped_message", "m2", "=k1"),
)
STARTED = model(
    '<startEvent id="on"><messageEventDefinition messageRef="paid_message"/></startEvent>\n'
    + service("work")
    + catch("shipped", "shipped_message")
    + END,
    "on>work work>shipped shipped>end",
    message("paid_message", "m1") + message("shipped_message", "m2", "=k1"),
)
AGAIN_AND_AGAIN = model(
    BEGIN
    + '<exclusiveGateway id="begin_again"/>\n<exclusiveGateway id="enough" default="enough_begin_again"/>\n'
    + catch("paid")
    + script("count", "=1")
    + END
    + conditional("enough", "end", "=v > 100"),
    "begin>begin_again begin_again>paid paid>count count>enough enough>begin_again",
    message("paid_message", "m1", "=k1"),
)

EITHER_OR = model(
    BEGIN
    + service("work")
    + '<eventBasedGateway id="either"/>\n'
    + catch("paid")
    + catch("shipped", "shipped_message")
    + '<intermediateCatchEvent id="late">'
    + timer("timeDuration", "PT10M")
    + "</intermediateCatchEvent>\n"
    + catch("again", "again_message")
    + END,
    "begin>work work>either either>paid either>shipped either>late paid>again shipped>end late>again again>end",
    message("paid_message", "m1", "=k1")
    + message("shipped_message", "m2", "=k2")
    + message("again_message", "m1", "=k2"),
)
SIDE_BY_SIDE = model(
    BEGIN
    + '<parallelGateway id="fork"/>\n<parallelGateway id="join"/>\n'
    + service("work")
    + catch("paid")
    + catch("shipped", "shipped_message")
    + '<endEvent id="stop"><terminateEventDefinition/></endEvent>\n',
    "begin>fork fork>work fork>shipped work>paid paid>join shipped>join join>stop",
    message("paid_message", "m1", "=k1") + message("shipped_message", "m2", "=k2"),
)
SIMPLE = (ONE_AFTER_THE_OTHER, STARTED, AGAIN_AND_AGAIN, EITHER_OR, SIDE_BY_SIDE)


def random_models(chance: Random) -> dict[str, bytes]:
    if chance.random() < 0.5:
        return {"order.bpmn": chance.choice(SIMPLE)}
    return {
        "beta.bpmn": ModelMaker(chance, "beta").xml(),
        "alpha.bpmn": ModelMaker(chance, "alpha", calls="beta").xml(),
    }


def compare_with_second_telling(seed: str, shards: int = 1) -> Counter[str]:
    chance = Random(seed)
    models = random_models(chance)
    is_simple = "order.bpmn" in models
    processes, names = (("order",), NAMES[:2]) if is_simple else (("alpha", "beta"), NAMES)
    acts = random_acts(chance, chance.choice([15, 30, 50]), processes, names)
    changes = read_changes([chance.choice(CHANGES)])
    twice = told_twice(models, acts, chance.choice([0, 0, len(acts) // 3]), changes, shards)
    until = twice.first.clock()
    try:
        as_it_was = what_if(twice.first.broker, Question(0, until))
        assert {it.change for it in as_it_was} <= {"same"}, f"seed {seed}: nothing was changed"
        compare_with_store(as_it_was, twice.first, seed)
        would = what_if(twice.first.broker, Question(twice.since, until, changes))
        found = {it.message_key: it for it in (*as_it_was, *would)}
        keys, truths = twice.first.keys(), twice.second.fates()
        if shards == 1:
            # Then what was refused stands in its place, too.
            keys = [it.message_key for it in as_it_was]
        return Counter(compare(found[key], truth, seed) for key, truth in zip(keys, truths, strict=True) if key)
    finally:
        twice.close()


def compare_with_store(judged: list[Judged], telling: Telling, seed: str) -> None:
    stored = {key: its for key, its in zip(telling.keys(), telling.fates(), strict=True) if key}
    for it in judged:
        was = fate(it.was_verdict, it.was_reason, it.was_receivers)
        assert was == stored.get(it.message_key, REFUSED), f"seed {seed}: the log tells another story of {it}"


def compare(it: Judged, truth: Fate, seed: str) -> str:
    if it.change != "unknown":
        would = fate(it.would_verdict, it.would_reason, it.would_receivers)
        same = would[:2] == truth[:2] if it.others_unknown else would == truth
        assert same, f"seed {seed}: {it} would really be {truth}"
    return it.change


def test_what_is_not_unknown_is_what_a_second_telling_says(seed: int) -> None:
    counts: Counter[str] = Counter()
    for number in range(STORIES):
        counts += compare_with_second_telling(f"{seed}-{number}")
    assert counts["changed"] > STORIES // 4
    assert counts["same"] > counts["unknown"], "too little is known to be of use"


def told(models: dict[str, bytes], *acts: Act) -> Telling:
    telling = Telling(models)
    telling.do(list(acts))
    return telling


def start(key: str, tag: int) -> Act:
    return Act("start", ("order", {"k1": key, "tag": tag, "v": 0}))


def publish(name: str, key: str, ttl_ms: int = 0, message_id: str = "") -> Act:
    return Act("publish", (NewMessage(name, key, {}, ttl_ms, message_id),))


def complete(tag: int) -> Act:
    return Act("complete", (tag, {}))


def advance(minutes: int) -> Act:
    return Act("advance", (minutes,))


def asked(telling: Telling, *changes: str, one_key: bool = False) -> list[Judged]:
    try:
        return what_if(telling.broker, Question(0, telling.clock(), read_changes(changes), None, one_key))
    finally:
        telling.broker.close()


def test_a_longer_time_to_live_saves_what_came_too_early() -> None:
    """Two orders whose money comes before they wait for it; one of them is told to wait in time."""
    telling = told(
        {"order.bpmn": ONE_AFTER_THE_OTHER},
        *(start("a", 1), start("b", 2), publish("m1", "a"), publish("m1", "b"), advance(5)),
        *(complete(1), advance(15), complete(2), publish("m1", "c"), advance(1)),
    )
    saved, late, other = asked(telling, "ttl=10m")
    assert (saved.was_verdict, saved.would_verdict, saved.would_reason) == (
        *("discarded", "correlated", "waiting_instance_later"),
    )
    assert saved.would_sentence.startswith("Correlated: ")
    assert (late.would_verdict, late.would_reason) == ("expired", "nobody_waited")
    assert (other.would_verdict, other.change) == ("buffered", "changed")


def test_what_an_instance_does_after_a_changed_correlation_is_unknown() -> None:
    """The order would have gone on to wait for m2, so whoever publishes that may find somebody."""
    telling = told(
        {"order.bpmn": ONE_AFTER_THE_OTHER},
        *(start("a", 1), publish("m1", "a"), publish("m2", "a"), advance(5), complete(1)),
        *(publish("m2", "a"), publish("m1", "a"), publish("m2", "b"), advance(1)),
    )
    early, before, after, again, other_key = asked(telling, "m1:ttl=10m")
    assert early.would_verdict == "correlated"
    assert before.change == "same", "it was over before anything changed"
    assert after.change == other_key.change == "unknown"
    assert "instance" in after.would_sentence
    assert "would have gone another way" in after.would_sentence
    # In truth it found the order; now the order has moved on, and nothing leads back to where it waits for m1.
    assert (again.was_verdict, again.would_verdict) == ("correlated", "buffered")


def test_other_keys_are_known_to_those_who_believe_in_one_key_for_each_instance() -> None:
    telling = told(
        {"order.bpmn": ONE_AFTER_THE_OTHER},
        *(start("a", 1), publish("m1", "a"), advance(5), complete(1)),
        *(publish("m2", "a"), publish("m2", "b"), advance(1)),
    )
    assert [it.change for it in asked(telling, "m1:ttl=10m", one_key=True)] == ["changed", "unknown", "same"]


def test_an_instance_that_would_not_have_been_started_has_done_nothing() -> None:
    """The second m1 repeats an id: it would have been refused, and nobody would have waited for m2 under b."""
    telling = told(
        {"order.bpmn": STARTED},
        Act("publish", (NewMessage("m1", "x", {"k1": "a", "tag": 1}, 0, "same"),)),
        *(complete(1), publish("m2", "a"), advance(1)),
        Act("publish", (NewMessage("m1", "x", {"k1": "b", "tag": 2}, 0, "same"),)),
        *(complete(2), publish("m2", "b"), advance(1)),
    )
    first, taken, second, lost = asked(telling, "m1:dedup=1h")
    assert {first.change, taken.change} == {"same"}
    assert (second.was_verdict, second.would_verdict, second.would_reason) == ("correlated", "refused", "duplicate_id")
    assert (lost.was_verdict, lost.would_verdict) == ("correlated", "discarded")


def test_what_a_new_instance_does_is_unknown() -> None:
    """The second m1 waits behind the lock of the first; without locks it would have started an order at once."""
    telling = told(
        {"order.bpmn": STARTED},
        Act("publish", (NewMessage("m1", "x", {"k1": "a", "tag": 1}, MINUTE_MS),)),
        Act("publish", (NewMessage("m1", "x", {"k1": "b", "tag": 2}, MINUTE_MS),)),
        *(publish("m2", "b"), publish("m1", "y"), advance(5)),
    )
    first, second, waited_for, elsewhere = asked(telling, "start_uniqueness=none")
    assert {first.change, elsewhere.change} == {"same"}
    assert (second.was_verdict, second.would_verdict) == ("expired", "correlated")
    assert second.would_receivers == ["a new instance of order"]
    assert waited_for.change == "unknown"


def test_somebody_who_would_have_missed_a_message_still_waits_and_nobody_knows_how_long() -> None:
    telling = told(
        {"order.bpmn": ONE_AFTER_THE_OTHER},
        *(start("a", 1), publish("m1", "a", 10 * MINUTE_MS), advance(5), complete(1)),
        *(publish("m1", "a"), publish("m1", "b"), advance(1)),
    )
    missed, next_one, other_key = asked(telling, "ttl=0")
    assert (missed.was_verdict, missed.would_verdict) == ("correlated", "discarded")
    assert next_one.change == "unknown"
    assert other_key.change == "same"


def test_a_removed_head_of_the_log_is_said() -> None:
    telling = told({"order.bpmn": ONE_AFTER_THE_OTHER}, start("a", 1), advance(60), start("b", 2), advance(60))
    try:
        Retention(telling.broker.store, KeepFor(None, None, 30 * MINUTE_MS)).sweep(telling.clock())
        with pytest.raises(InputError, match=r"begins at version .* was removed"):
            check_whole(telling.broker)
    finally:
        telling.broker.close()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ttl", "is not like ttl=10m"),
        ("ttl=soon", "no duration"),
        ("colour=red", "there is no such policy"),
        ("paid:cardinality=most", "is none of once_per_process"),
        ("match=variables", "cannot be asked about"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_changes([text])
