"""Section C: subscriptions open and close, and a repeated order is harmless."""

import pytest

from tests.kernel.story import Story


def test_opening_the_same_subscription_twice_is_refused_and_changes_nothing() -> None:
    """C3."""
    story = Story()
    story.open("s1")
    assert story.open("s1") == ["not opened s1: already_open s1"]
    assert story.waiting() == ["s1"]
    story.publish("m1", ttl=10)
    assert story.takers("m1") == ["s1"]


def test_a_repeated_opening_takes_no_stored_message() -> None:
    """C3: the second order finds another message waiting and leaves it."""
    story = Story()
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    story.open("s1")
    assert story.open("s1") == ["not opened s1: already_open s1"]
    assert story.takers("m2") == []


def test_a_closed_subscription_receives_nothing() -> None:
    """C4."""
    story = Story()
    story.open("s1")
    assert story.close("s1") == ["closed s1"]
    assert story.publish("m1", ttl=10) == ["published m1"]
    assert story.waiting() == []


def test_closing_one_of_several_subscriptions_leaves_the_others() -> None:
    """C4, C5."""
    story = Story()
    for label in ("s1", "s2", "s3"):
        story.open(label)
    story.close("s2")
    assert [story.publish(f"m{n}", ttl=10)[1:] for n in (1, 2, 3)] == [["m1 -> s1"], ["m2 -> s3"], []]


def test_closing_twice_is_refused_as_not_found() -> None:
    """C6."""
    story = Story()
    story.open("s1")
    story.close("s1")
    assert story.close("s1") == ["refused: NOT_FOUND"]
    assert story.close("never opened") == ["refused: NOT_FOUND"]


def test_a_subscription_can_open_again_after_it_closed() -> None:
    story = Story()
    story.open("s1")
    story.close("s1")
    assert story.open("s1") == ["opened s1"]
    assert story.publish("m1") == ["published m1", "m1 -> s1"]


def test_a_stored_message_is_given_at_the_opening_itself() -> None:
    """C9."""
    story = Story()
    story.publish("m1", ttl=10)
    assert story.open("s1") == ["opened s1", "m1 -> s1"]


@pytest.mark.parametrize("other", [{"name": "shipped"}, {"key": "k2"}, {"tenant": "blue"}])
def test_a_subscription_sees_no_message_of_another_name_key_or_tenant(other: dict[str, str]) -> None:
    """C10, both orders."""
    story = Story()
    story.publish("m1", ttl=10, **other)
    assert story.open("s1") == ["opened s1"]
    story.publish("m2", ttl=10, **other)
    assert story.takers("m1") == story.takers("m2") == []


def test_a_second_subscription_on_the_same_name_and_key_is_refused_by_policy() -> None:
    """duplicate_subscription: reject. The refusal names the holder."""
    story = Story(policy={"duplicate_subscription": "reject"})
    story.open("s1", "order")
    assert story.open("s2", "stock") == ["not opened s2: duplicate s1"]
    assert story.waiting() == ["s1"]
    assert story.open("s3", "stock", name="shipped") == ["opened s3"]
    assert story.open("s4", "stock", key="k2") == ["opened s4"]
    assert story.open("s5", "stock", tenant="blue") == ["opened s5"]


def test_after_the_holder_has_closed_a_second_try_opens() -> None:
    """duplicate_subscription: reject. Resolving the incident tries again."""
    story = Story(policy={"duplicate_subscription": "reject"})
    story.open("s1")
    story.open("s2")
    story.close("s1")
    assert story.open("s2") == ["opened s2"]


def test_a_subscription_refused_by_policy_takes_no_stored_message() -> None:
    story = Story(policy={"duplicate_subscription": "reject"})
    story.open("s1", interrupting=False)
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    story.open("s2", "stock")
    assert story.takers("m1") == ["s1"]
    assert story.takers("m2") == []


def test_closing_in_mid_correlation_leaves_the_message_with_its_instance() -> None:
    """C4: until the instance says that it could not take it (D17)."""
    story = Story()
    story.open("s1")
    story.publish("m1", ttl=10)
    assert story.close("s1") == ["closed s1"]
    assert story.verdict("m1") == "correlated waiting_instance"
    assert story.reject("s1", message="m1") == ["s1 gave back m1: scope left"]
    assert story.verdict("m1") == "buffered given_back"
