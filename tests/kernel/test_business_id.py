"""Section Q: the business id of a message narrows down who may take it."""

from tests.kernel.story import Story, start


def test_a_message_without_a_business_id_fits_everybody() -> None:
    """Q1."""
    story = Story()
    story.open("s1", business="b-1")
    assert story.publish("m1") == ["published m1", "m1 -> s1"]


def test_a_message_with_a_business_id_fits_only_the_same() -> None:
    """Q2: exactly, and an instance without one does not fit."""
    story = Story()
    story.open("s1")
    story.open("s2", business="B-1")
    story.open("s3", business="b-1")
    assert story.publish("m1", business="b-1") == ["published m1", "m1 -> s3"]


def test_the_business_id_of_the_opening_counts() -> None:
    """Q3: what the instance gets later changes new subscriptions only."""
    story = Story()
    story.open("s1", instance="i")
    story.open("s2", instance="i", business="b-1")
    assert story.publish("m1", business="b-1") == ["published m1", "m1 -> s2"]


def test_the_same_rule_holds_for_stored_messages_and_synchronous_ones() -> None:
    """Q4."""
    story = Story()
    story.publish("m1", ttl=10, business="b-1")
    assert story.open("s1", business="b-2") == ["opened s1"]
    assert story.open("s2", business="b-1") == ["opened s2", "m1 -> s2"]
    assert story.correlate("m2", business="b-2") == ["published m2", "m2 -> s1"]


def test_the_same_rule_holds_for_the_next_message_of_a_non_interrupting_subscription() -> None:
    """Q4."""
    story = Story()
    story.open("s1", interrupting=False, business="b-1")
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10, business="b-2")
    story.publish("m3", ttl=10, business="b-1")
    assert story.acknowledge("s1") == ["s1 took m1", "m3 -> s1"]


def test_a_message_that_fits_nobody_stays_stored() -> None:
    """Q5."""
    story = Story()
    story.open("s1", business="b-1")
    assert story.publish("m1", ttl=10, business="b-2") == ["published m1"]
    assert story.verdict("m1") == "buffered nobody_waits"
    assert story.parameters("m1")["near_misses"][0] == {
        "kind": "other_business_id",
        "business_id": "b-1",
        "process": "order",
        "instance": "i-s1",
        "element": "catch",
    }


def test_the_record_of_a_correlation_shows_the_business_id_of_both_sides() -> None:
    """Q6: of a catch the instance's, of a start the message's."""
    story = Story(starts=[start("audit")])
    story.open("s1", business="b-1")
    story.publish("m1", business="b-1", ttl=10)
    caught, started = story.messages["m1"].targets
    assert caught.subscription.business_id == "b-1"
    assert started.message.business_id == "b-1"


def test_a_message_given_back_is_offered_only_to_who_fits() -> None:
    """Q17, stricter than Zeebe, which does not look again."""
    story = Story()
    story.open("s1", business="b-1")
    story.open("s2", business="b-2")
    story.open("s3", business="b-1")
    story.publish("m1", ttl=10, business="b-1")
    assert story.reject("s1") == ["s1 gave back m1: scope left", "closed s1", "m1 -> s3"]


def test_an_extra_constraint_narrows_down_who_may_take_it() -> None:
    """Policy `constraint`, in both directions and when it is given back."""

    def same_element(message: object, subscription: object) -> bool:
        return message.payload == subscription.instance_id  # type: ignore[attr-defined]

    story = Story(policy={"constraint": same_element})
    story.open("s1", instance="a")
    assert story.publish("m1", ttl=10, variables="b") == ["published m1"]
    assert story.parameters("m1")["near_misses"][0]["kind"] == "constraint"
    assert story.open("s2", instance="b") == ["opened s2", "m1 -> s2"]
    assert story.reject("s2") == ["s2 gave back m1: scope left", "closed s2"]
