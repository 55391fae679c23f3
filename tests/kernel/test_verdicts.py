"""Every reason that needs no inbox has a story that ends with it, and says what `verdicts.md` promises."""

from collections.abc import Callable

import pytest

from conjoin.kernel.verdicts.near_misses import near_misses
from conjoin.kernel.verdicts.verdicts import REASONS
from tests.kernel.story import Story, start

STORIES: dict[str, Callable[[], Story]] = {}
"""By verdict and reason; the message in question is always `m`."""

NOT_THE_KERNELS = {
    *(f"{verdict} {reason}" for verdict in ("waiting", "parked", "failed") for reason in REASONS[verdict]),
    # Only a message of the inbox can be deleted, or handed over.
    *("discarded deleted", "correlated handed_over", "buffered handed_over"),
    # Edges refuse these before a message exists.
    *("refused invalid", "refused forbidden", "refused wrong_tenant"),
    # A message that a process has taken is correlated, and correlated comes before buffered.
    "buffered taken_by_process",
}


def ends_as(verdict: str) -> Callable[[Callable[[], Story]], Callable[[], Story]]:
    def remember(tell: Callable[[], Story]) -> Callable[[], Story]:
        STORIES[verdict] = tell
        return tell

    return remember


@ends_as("correlated waiting_instance")
def waiting_instance() -> Story:
    story = Story()
    story.open("s1")
    story.publish("m", at=3)
    return story


@ends_as("correlated waiting_instance_later")
def waiting_instance_later() -> Story:
    story = Story()
    story.publish("m", at=3, ttl=10)
    story.open("s1", at=7)
    return story


@ends_as("correlated started_instance")
def started_instance() -> Story:
    story = Story(starts=[start("order")])
    story.publish("m", at=3)
    return story


@ends_as("correlated started_after_lock")
def started_after_lock() -> Story:
    story = Story(starts=[start("order")])
    story.publish("first", at=1, ttl=10)
    story.publish("m", at=3, ttl=10)
    story.end("order", at=7)
    return story


@ends_as("correlated given_back_and_taken")
def given_back_and_taken() -> Story:
    story = Story()
    story.open("s1")
    story.open("s2")
    story.publish("m", at=3, ttl=10)
    story.reject("s1", at=7, why="the other branch won")
    return story


@ends_as("buffered nobody_waits")
def nobody_waits() -> Story:
    story = Story()
    story.open("s1", name="Paid ")
    story.publish("m", at=3, ttl=10)
    return story


@ends_as("buffered locked")
def locked() -> Story:
    story = Story(starts=[start("order")])
    story.publish("first", at=1, ttl=10)
    story.publish("m", at=3, ttl=10)
    return story


@ends_as("buffered given_back")
def given_back() -> Story:
    story = Story()
    story.open("s1")
    story.publish("m", at=3, ttl=10)
    story.reject("s1", at=7, why="the other branch won")
    return story


@ends_as("buffered busy")
def busy() -> Story:
    story = Story()
    story.open("s1")
    story.publish("first", at=1, ttl=10)
    story.publish("m", at=3, ttl=10)
    return story


@ends_as("expired nobody_waited")
def nobody_waited() -> Story:
    story = Story()
    story.publish("m", at=3, ttl=10)
    story.expire(at=20)
    story.open("s1", at=25)
    return story


@ends_as("expired was_locked")
def was_locked() -> Story:
    story = Story(starts=[start("order")])
    story.publish("first", at=1, ttl=10)
    story.publish("m", at=3, ttl=10)
    story.expire(at=20)
    return story


@ends_as("expired never_offered")
def never_offered() -> Story:
    story = Story(starts=[start("order", since=5)])
    story.publish("m", at=3, ttl=10)
    story.expire(at=20)
    return story


@ends_as("discarded ttl_zero")
def ttl_zero() -> Story:
    story = Story()
    story.open("s1")
    story.close("s1", at=1)
    story.publish("m", at=3)
    return story


@ends_as("discarded policy")
def discarded_by_policy() -> Story:
    story = Story(policy={"on_no_match": "discard"})
    story.publish("m", at=3, ttl=10)
    return story


@ends_as("refused duplicate_id")
def duplicate_id() -> Story:
    story = Story()
    story.publish("first", at=1, ttl=10, id="a")
    story.publish("m", at=3, ttl=10, id="a")
    return story


@ends_as("refused not_found")
def not_found() -> Story:
    story = Story()
    story.open("s1", name="shipped")
    story.correlate("m", at=3)
    return story


@ends_as("refused ambiguous")
def ambiguous() -> Story:
    story = Story(policy={"cardinality": "exactly_one"}, starts=[start("audit")])
    for number in range(20):
        story.open(f"s{number}")
    story.publish("m", at=3)
    return story


@ends_as("refused locked")
def refused_locked() -> Story:
    story = Story(starts=[start("order")])
    story.publish("first", at=1, ttl=10)
    story.correlate("m", at=3)
    return story


@ends_as("short fewer_than_expected")
def fewer_than_expected() -> Story:
    story = Story(policy={"expected": 3})
    story.open("s1", "order")
    story.open("s2", "stock")
    story.publish("m", at=3, ttl=10)
    story.expire(at=20)
    return story


def test_every_reason_of_the_kernel_has_a_story() -> None:
    every = {f"{verdict} {reason}" for verdict, reasons in REASONS.items() for reason in reasons}
    assert set(STORIES) == every - NOT_THE_KERNELS


@pytest.mark.parametrize("verdict", list(STORIES))
def test_the_story_ends_with_its_verdict(verdict: str) -> None:
    assert STORIES[verdict]().verdict("m") == verdict


DECIDED_AT = {
    "correlated waiting_instance_later": 7,
    "correlated started_after_lock": 7,
    "correlated given_back_and_taken": 7,
    "buffered given_back": 7,
    "expired nobody_waited": 13,
    "expired was_locked": 13,
    "expired never_offered": 13,
    "short fewer_than_expected": 13,
}


@pytest.mark.parametrize("verdict", list(STORIES))
def test_a_verdict_says_when_it_was_decided(verdict: str) -> None:
    """At publication, unless something later decided: a subscription, a lock, a refusal, the deadline."""
    assert STORIES[verdict]().decided_at("m") == DECIDED_AT.get(verdict, 3)


TAKEN_BY_S1 = {"process": "order", "instance": "i-s1", "element": "catch", "subscription": "s1"}
LOCK_HELD = {"kind": "lock_held", "process": "order", "instance": "order/first"}

PARAMETERS = {
    "correlated waiting_instance": TAKEN_BY_S1,
    "correlated waiting_instance_later": {**TAKEN_BY_S1, "waited_ms": 4},
    "correlated started_instance": {"process": "order", "instance": "order/m", "element": "begin"},
    "correlated started_after_lock": {
        **{"process": "order", "instance": "order/m", "element": "begin"},
        "freed_by": "order/first",
    },
    "correlated given_back_and_taken": {
        **{"process": "order", "instance": "i-s2", "element": "catch", "subscription": "s2", "waited_ms": 4},
        **{"first_instance": "i-s1", "why": "the other branch won"},
    },
    "buffered nobody_waits": {
        "deadline_at": 13_000,
        "near_misses": [
            {
                **{"kind": "other_name", "name": "Paid ", "differs": "case or blanks only"},
                **{"process": "order", "instance": "i-s1", "element": "catch"},
            }
        ],
    },
    "buffered given_back": {"instance": "i-s1", "why": "the other branch won"},
    "expired nobody_waited": {
        **{"deadline_at": 13_000, "near_misses": []},
        "next_subscription": {"process": "order", "instance": "i-s1", "late_ms": 12},
    },
    "expired was_locked": {"deadline_at": 13_000, "near_misses": [LOCK_HELD]},
    "expired never_offered": {"deadline_at": 13_000, "near_misses": []},
    "discarded ttl_zero": {
        "near_misses": [
            {
                **{"kind": "closed_before", "closed_ms_before": 2},
                **{"process": "order", "instance": "i-s1", "element": "catch"},
            }
        ]
    },
    "discarded policy": {"near_misses": []},
    "refused duplicate_id": {
        **{"first_message": 1, "first_published_at": 1_000, "until_at": 11_000},
        "acknowledged": False,
    },
    "refused ambiguous": {"candidates": [f"i-s{number}" for number in range(10)], "count": 21},
    "refused locked": {"processes": ["order"]},
    "short fewer_than_expected": {"expected": 3, "got": 2},
}


@pytest.mark.parametrize("verdict", list(PARAMETERS))
def test_a_reason_comes_with_its_parameters(verdict: str) -> None:
    assert STORIES[verdict]().parameters("m") == PARAMETERS[verdict]


def test_not_found_comes_with_its_near_misses() -> None:
    misses = not_found().parameters("m")["near_misses"]
    assert [(miss["kind"], miss["name"], miss["differs"]) for miss in misses] == [("other_name", "shipped", "name")]


def test_locked_names_the_process_the_key_and_the_instance_that_holds_the_lock() -> None:
    said = locked().parameters("m")
    assert said["near_misses"] == [LOCK_HELD]
    assert (said.get("process"), said.get("key"), said.get("instance")) == ("order", "k", "order/first")


def test_busy_names_the_subscription_in_mid_correlation() -> None:
    said = busy().parameters("m")
    assert said["near_misses"][0]["kind"] == "busy"
    assert said.get("subscription") == "s1"


def test_correlated_wins_over_expired() -> None:
    story = waiting_instance_later()
    story.expire(at=30)
    assert story.verdict("m") == "correlated waiting_instance_later"


def test_the_first_receiver_decides_the_reason() -> None:
    story = waiting_instance_later()
    story.open("s2", "stock", at=9)
    assert story.verdict("m") == "correlated waiting_instance_later"
    assert story.parameters("m")["subscription"] == "s1"


def test_expected_is_not_short_before_the_deadline() -> None:
    story = Story(policy={"expected": 2})
    story.open("s1", "order")
    story.publish("m", at=3, ttl=10)
    assert story.verdict("m") == "correlated waiting_instance"
    story.open("s2", "stock", at=12)
    story.expire(at=13)
    assert story.verdict("m") == "correlated waiting_instance"


def test_expected_of_a_message_that_cannot_wait_is_judged_at_once() -> None:
    story = Story(policy={"expected": 2})
    story.open("s1", "order")
    story.publish("m", at=3)
    assert (story.verdict("m"), story.decided_at("m")) == ("short fewer_than_expected", 3)


def test_a_held_message_is_not_short_before_it_was_decided() -> None:
    """It waits for the answer of somebody busy; who will take it is still open."""
    story = Story(policy={"expected": 1})
    story.open("s1", interrupting=False)
    story.publish("first", at=1, ttl=10)
    story.publish("m", at=3)
    assert story.verdict("m") == "buffered busy"
    story.acknowledge("s1")
    story.offer_again("m")
    assert story.verdict("m") == "correlated waiting_instance"


def test_near_misses_are_ten_at_most() -> None:
    story = Story()
    for number in range(30):
        story.open(f"s{number}", business="b-1")
    story.publish("m", ttl=10, business="b-2")
    assert len(story.parameters("m")["near_misses"]) == 10


def test_whoever_has_a_message_did_not_miss_it_but_others_of_its_process_did() -> None:
    story = Story()
    story.open("s1", interrupting=False)
    story.open("s2")
    story.publish("m", at=3, ttl=10)
    story.acknowledge("s1")
    message = story.messages["m"]
    taken = {"kind": "taken_by_process", "process": "order", "instance": "i-s1", "taken_at": 3_000}
    assert near_misses(story.space(), message, 3_000) == ({**taken, "waiting_instance": "i-s2"},)


def test_whoever_closed_by_taking_the_message_did_not_stop_waiting_before_it() -> None:
    story = Story()
    story.open("s1")
    story.publish("m", at=3, ttl=10)
    story.acknowledge("s1")
    assert near_misses(story.space(), story.messages["m"], 3_000) == ()


def test_a_verdict_changes_nothing() -> None:
    for tell in STORIES.values():
        story = tell()
        assert story.verdict("m") == story.verdict("m")
        assert story.parameters("m") == story.parameters("m")
