"""Section A: what a publication is, and when its time is over."""

import pytest

from conjoin.kernel.instants import NEVER, after
from tests.kernel.story import FOREVER_MS, MS, Story, start


def test_a_valid_publication_is_accepted_with_a_positive_key() -> None:
    """A1."""
    story = Story()
    assert story.publish("m1", ttl=10) == ["published m1"]
    message = story.messages["m1"]
    assert message.key > 0
    assert (message.message_id, message.business_id) == ("", "")


def test_a_message_carries_exactly_the_variables_it_was_published_with() -> None:
    """A2: the rules look at none of them."""
    story = Story()
    variables = {"amount": 5}
    story.open("s1")
    story.publish("m1", variables=variables)
    assert story.messages["m1"].payload is variables
    assert variables == {"amount": 5}


def test_a_message_keeps_its_id() -> None:
    """A3."""
    story = Story()
    story.publish("m1", ttl=10, id="payment-7")
    assert story.messages["m1"].message_id == "payment-7"


@pytest.mark.parametrize("ttl", [0, -1, -(2**63)])
def test_a_time_to_live_of_zero_or_less_is_accepted_and_tried_once(ttl: int) -> None:
    """A4, A5."""
    story = Story()
    assert story.publish("m1", ttl=ttl) == ["published m1", "discarded m1: ttl_zero"]
    assert story.open("s1") == ["opened s1"]
    assert story.publish("m2", ttl=ttl) == ["published m2", "m2 -> s1"]
    assert story.stored() == []


def test_the_order_of_messages_is_the_order_of_their_keys() -> None:
    """A6."""
    story = Story()
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    assert story.messages["m2"].key > story.messages["m1"].key
    assert story.open("s1") == ["opened s1", "m1 -> s1"]


def test_messages_that_reach_the_store_out_of_order_are_still_taken_in_the_order_of_their_keys() -> None:
    """A6: a late row of a table is put where it belongs."""
    story = Story()
    story.publish("m1", ttl=10)
    story.messages["m1"].key = 9
    story.publish("m2", ttl=10)
    assert story.open("s1") == ["opened s1", "m2 -> s1"]


def test_the_deadline_counts_from_the_time_of_the_command() -> None:
    """A14."""
    story = Story()
    story.publish("m1", at=7, ttl=10)
    assert story.messages["m1"].deadline == 17 * MS


def test_a_message_that_names_no_time_to_live_gets_that_of_its_policy() -> None:
    story = Story(by_name={"paid": {"time_to_live": "20ms"}, "kept": {"time_to_live": "none"}})
    story.publish("m1", at=1)
    story.publish("m2", name="kept")
    story.publish("m3", name="other")
    assert story.messages["m1"].deadline == 21 * MS
    assert story.messages["m2"].deadline == NEVER
    assert story.verdict("m3") == "discarded ttl_zero"


def test_the_longest_time_to_live_is_kept_for_ever_instead_of_overflowing() -> None:
    """Stricter than Zeebe, which accepts it and never gives it to anybody."""
    story = Story()
    story.publish("m1", at=5, ttl=FOREVER_MS)
    assert story.messages["m1"].deadline == NEVER
    assert story.expire(at=10**12) == []
    assert story.open("s1") == ["opened s1", "m1 -> s1"]


def test_a_deadline_saturates_exactly_at_the_end_of_time() -> None:
    assert after(NEVER - 1_000, 1) == NEVER
    assert after(NEVER - 1_001, 1) == NEVER - 1
    assert after(0, FOREVER_MS) == NEVER


@pytest.mark.parametrize(("name", "key"), [("Paid", "k"), ("paid ", "k"), ("paid", "K"), ("paid", " k"), ("", "k")])
def test_names_and_keys_are_compared_exactly(name: str, key: str) -> None:
    """A15: case and blanks count."""
    story = Story()
    story.open("s1")
    story.publish("m1", name=name, key=key, ttl=10)
    assert story.takers("m1") == []


def test_composed_and_decomposed_letters_are_different_names() -> None:
    """A15: bytes, not looks."""
    story = Story()
    story.open("s1", name="caf\u00e9")
    story.publish("m1", name="cafe\u0301", ttl=10)
    assert story.takers("m1") == []


def test_a_publication_may_be_taken_by_nobody_by_one_or_by_one_of_each_process() -> None:
    """A16."""
    story = Story(starts=[start("audit", name="shipped")])
    story.publish("none", ttl=10, name="asked")
    story.open("s1", "order")
    story.publish("one", ttl=10)
    story.open("s2", "order", name="shipped")
    story.open("s3", "stock", name="shipped")
    story.publish("many", ttl=10, name="shipped")
    assert story.takers("none") == []
    assert story.takers("one") == ["s1"]
    assert story.takers("many") == ["s2", "s3", "audit/many"]


def test_on_no_match_reject_refuses_and_keeps_nothing() -> None:
    story = Story(policy={"on_no_match": "reject"})
    assert story.publish("m1", ttl=10, id="a") == ["refused m1: not_found"]
    assert story.open("s1") == ["opened s1"]
    assert story.publish("m2", ttl=10, id="a") == ["published m2", "m2 -> s1"]


def test_on_no_match_discard_accepts_and_keeps_nothing() -> None:
    story = Story(policy={"on_no_match": "discard"})
    assert story.publish("m1", ttl=10) == ["published m1", "discarded m1: policy"]
    assert story.open("s1") == ["opened s1"]


def test_on_no_match_retry_keeps_the_message_like_buffer() -> None:
    """U5."""
    story = Story(policy={"on_no_match": "retry"})
    story.publish("m1", ttl=10)
    assert story.open("s1") == ["opened s1", "m1 -> s1"]
