"""What an instance could not take goes back: D17, D18, F12, R7, R8. Nothing is ever delivered twice."""

import pytest

from tests.kernel.story import Story, start

GONE = "s1 gave back m1: scope left"


def test_a_message_given_back_goes_to_the_next_idle_subscription_of_the_process() -> None:
    """D17: in the order of their rank."""
    story = Story()
    story.open("s1", rank=1)
    story.open("s3", rank=3)
    story.open("s2", rank=2)
    story.publish("m1", ttl=10)
    assert story.reject("s1") == [GONE, "closed s1", "m1 -> s2"]
    assert story.takers("m1") == ["s2"]
    assert story.verdict("m1") == "correlated given_back_and_taken"


def test_a_message_given_back_passes_over_subscriptions_in_mid_correlation() -> None:
    """D17, D12."""
    story = Story()
    for label in ("s1", "s2", "s3"):
        story.open(label)
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    assert story.reject("s1") == [GONE, "closed s1", "m1 -> s3"]


def test_a_message_given_back_is_no_concern_of_other_processes() -> None:
    """D17: they have had their own."""
    story = Story()
    story.open("s1", "order")
    story.open("s2", "stock")
    story.publish("m1", ttl=10)
    story.acknowledge("s2")
    story.open("s3", "stock")
    assert story.reject("s1") == [GONE, "closed s1"]
    assert story.takers("m1") == ["s2"]


def test_with_nobody_else_it_stays_stored_for_a_later_subscription() -> None:
    """D18: even one of the same instance."""
    story = Story()
    story.open("s1", instance="i")
    story.publish("m1", at=1, ttl=10)
    assert story.reject("s1", at=2) == [GONE, "closed s1"]
    assert story.verdict("m1") == "buffered given_back"
    assert story.parameters("m1") == {"instance": "i", "why": "scope left"}
    assert story.open("s2", instance="i", at=4) == ["opened s2", "m1 -> s2"]
    assert story.verdict("m1") == "correlated given_back_and_taken"


def test_two_subscriptions_may_hand_a_message_back_and_forth() -> None:
    """D18: the loop of an event-based gateway."""
    story = Story()
    story.publish("m1", ttl=100)
    for turn in range(50):
        assert story.open(f"s{turn}") == [f"opened s{turn}", f"m1 -> s{turn}"]
        story.reject(f"s{turn}")
    assert story.takers("m1") == []
    assert story.stored() == ["m1"]


def test_a_message_given_back_is_the_first_of_the_queue_again() -> None:
    """D18, E1: in a long queue too."""
    story = Story()
    for number in range(60):
        story.publish(f"m{number}", ttl=100)
    for number in range(50):
        story.open(f"s{number}")
        if number != 7:
            story.acknowledge(f"s{number}")
    story.reject("s7")
    assert story.open("late") == ["opened late", "m7 -> late"]
    story.acknowledge("late")
    assert story.open("later") == ["opened later", "m50 -> later"]


def test_a_message_given_back_after_its_deadline_goes_to_nobody() -> None:
    """F12, F14."""
    story = Story()
    story.open("s1")
    story.open("s2")
    story.publish("m1", at=1, ttl=5)
    assert "m1 -> s2" not in story.reject("s1", at=6)


@pytest.mark.parametrize("ttl", [0, -1])
def test_a_message_that_cannot_wait_and_is_given_back_is_discarded(ttl: int) -> None:
    """F12: its time was over when it was published."""
    story = Story()
    story.open("s1")
    story.open("s2")
    story.publish("m1", at=1, ttl=ttl)
    assert story.reject("s1", at=2) == [GONE, "closed s1", "discarded m1: ttl_zero"]
    assert story.verdict("m1") == "discarded ttl_zero"


def test_a_message_that_cannot_wait_but_has_another_receiver_stays_correlated() -> None:
    story = Story()
    story.open("s1", "order")
    story.open("s2", "stock")
    story.publish("m1", ttl=0)
    assert story.reject("s1") == [GONE, "closed s1"]
    assert story.verdict("m1") == "correlated waiting_instance"
    assert story.takers("m1") == ["s2"]


@pytest.mark.parametrize(
    ("on_no_match", "told"),
    [("discard", "discarded m1: policy"), ("reject", "refused m1: not_found")],
)
@pytest.mark.parametrize("ttl", [0, 10])
def test_given_back_by_its_only_receiver_it_ends_as_if_nobody_had_waited(on_no_match: str, told: str, ttl: int) -> None:
    """A policy that keeps nothing: whether it met nobody or was given back, the verdict is the same."""
    story = Story(policy={"on_no_match": on_no_match})
    story.open("s1")
    story.publish("m1", at=1, ttl=ttl)
    assert story.reject("s1", at=2) == [GONE, "closed s1", told]


def test_exactly_one_gives_it_to_whoever_waits_now() -> None:
    """D17: its mark kept it from everybody, so everybody may have it when it is given back."""
    story = Story(policy={"cardinality": "exactly_one"})
    story.open("s1", "order")
    story.publish("m1", ttl=10)
    story.open("s2", "stock")
    assert story.reject("s1") == [GONE, "closed s1", "m1 -> s2"]


def test_once_per_instance_gives_it_to_another_subscription_of_the_instance() -> None:
    """D17, U3."""
    story = Story(policy={"cardinality": "once_per_instance"})
    story.open("s1", instance="i")
    story.open("s2", instance="i")
    story.publish("m1", ttl=10)
    assert story.reject("s1") == [GONE, "closed s1", "m1 -> s2"]


def test_all_leaves_the_others_as_they_are() -> None:
    """D17, U3: they have it already."""
    story = Story(policy={"cardinality": "all"})
    story.open("s1")
    story.open("s2")
    story.publish("m1", ttl=10)
    assert story.reject("s1") == [GONE, "closed s1"]
    assert story.takers("m1") == ["s2"]


def test_a_message_given_back_may_start_an_instance_when_the_lock_is_freed() -> None:
    """D18, G20: the mark is gone."""
    story = Story(starts=[start("order")])
    story.publish("m1", ttl=10)
    story.open("s1", "order")
    story.publish("m2", ttl=10)
    story.reject("s1")
    assert story.end("order") == ["freed order", "m2 starts order"]


def test_a_non_interrupting_subscription_is_gone_when_it_gave_back() -> None:
    """D17: the scope no longer accepts."""
    story = Story()
    story.open("s1", interrupting=False)
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    assert story.reject("s1") == [GONE, "closed s1"]
    assert story.waiting() == []
    assert story.open("s2") == ["opened s2", "m1 -> s2"]


def test_one_of_two_subscriptions_of_an_instance_gives_back_and_the_process_still_has_it() -> None:
    """D13, D17: with `all` both have it; the other one keeps the process from being started by it."""
    story = Story(policy={"cardinality": "all"}, starts=[start("order", "asked"), start("order", "paid")])
    story.publish("m0", ttl=10, name="asked")
    story.open("s1", "order", instance="i")
    story.open("s2", "order", instance="i")
    story.publish("m1", ttl=10)
    story.reject("s1")
    assert story.takers("m1") == ["s2"]
    assert story.end("order") == ["freed order"]


def test_an_acknowledgement_of_a_closed_subscription_is_refused_and_harmless() -> None:
    """R7."""
    story = Story()
    story.open("s1")
    story.publish("m1", ttl=10)
    story.acknowledge("s1")
    assert story.acknowledge("s1", message="m1") == ["refused: NOT_FOUND"]
    assert story.takers("m1") == ["s1"]


def test_an_acknowledgement_of_another_message_is_refused_and_harmless() -> None:
    """R7: an older one, or when nothing is on its way."""
    story = Story()
    story.open("s1", interrupting=False)
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    story.acknowledge("s1")
    assert story.acknowledge("s1", message="m1") == ["refused: INVALID_STATE"]
    assert story.acknowledge("s1", message="m2") == ["s1 took m2"]
    assert story.acknowledge("s1", message="m2") == ["refused: INVALID_STATE"]


def test_a_refusal_that_comes_after_the_acknowledgement_changes_nothing() -> None:
    """R8, stricter than Zeebe: a repeated answer never hands the message to a second instance."""
    story = Story()
    story.open("s1")
    story.open("s2")
    story.publish("m1", ttl=10)
    story.acknowledge("s1")
    assert story.reject("s1", message="m1") == ["refused: NOT_FOUND"]
    assert story.takers("m1") == ["s1"]
    assert story.open("s3") == ["opened s3"]


def test_a_repeated_refusal_does_not_give_the_message_to_a_third() -> None:
    """R8: s2 has it; that s1 says no once more changes nothing."""
    story = Story()
    for label in ("s1", "s2", "s3"):
        story.open(label)
    story.publish("m1", ttl=10)
    story.reject("s1")
    assert story.reject("s1", message="m1") == ["refused: NOT_FOUND"]
    assert story.takers("m1") == ["s2"]


def test_a_repeated_refusal_does_not_close_a_subscription_opened_again_with_the_same_name() -> None:
    """R8: a new subscription under an old key is another one."""
    story = Story()
    story.open("s1")
    story.publish("m1", ttl=10)
    story.reject("s1")
    first = story.subscriptions["s1"]
    story.open("s1")
    story.acknowledge("s1")
    story.subscriptions["s1"] = first
    assert story.reject("s1", message="m1") == ["refused: NOT_FOUND"]
    assert story.verdict("m1") == "correlated given_back_and_taken"


def test_a_refusal_of_another_message_than_the_one_on_its_way_is_refused() -> None:
    """R7: m1 was taken, m2 is on its way."""
    story = Story()
    story.open("s1", interrupting=False)
    story.publish("m1", ttl=10)
    story.acknowledge("s1")
    story.publish("m2", ttl=10)
    assert story.reject("s1", message="m1") == ["refused: INVALID_STATE"]
    assert story.takers("m1") == ["s1"]
    assert story.waiting() == ["s1"]


def test_a_refusal_when_nothing_is_on_its_way_is_refused() -> None:
    """R7."""
    story = Story()
    story.open("s1", "order")
    story.publish("m1", ttl=10, name="shipped")
    assert story.reject("s1", message="m1") == ["refused: INVALID_STATE"]
    assert story.waiting() == ["s1"]
    assert story.verdict("m1") == "buffered nobody_waits"


def test_many_takers_may_give_back_one_after_the_other() -> None:
    """D17: the marks change their shape when there are many; the right one is taken away."""
    story = Story(policy={"cardinality": "all"})
    for number in range(30):
        story.open(f"s{number}")
    story.publish("m1", ttl=10)
    for number in range(0, 30, 2):
        story.reject(f"s{number}")
    assert story.takers("m1") == [f"s{number}" for number in range(1, 30, 2)]
    assert story.open("s30") == ["opened s30", "m1 -> s30"]
    assert story.messages["m1"].targets[-1].reason == "given_back_and_taken"
