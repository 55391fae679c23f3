"""Section O: synchronous correlation is answered, never kept, and not lost because somebody is busy."""

import pytest

from tests.kernel.story import Story, start


def test_a_catch_answers_with_its_instance() -> None:
    """O1."""
    story = Story()
    story.open("s1", instance="i")
    story.correlate("m1")
    assert story.acknowledge("s1") == ["closed s1", "answered m1: i"]


def test_nobody_gives_not_found_and_nothing_is_kept() -> None:
    """O2."""
    story = Story()
    assert story.correlate("m1") == ["refused m1: not_found"]
    assert story.open("s1") == ["opened s1"]


def test_a_policy_that_keeps_messages_for_ever_keeps_no_synchronous_one() -> None:
    """O2, O15: it names no time to live, and none is made up for it, taken or not."""
    story = Story(policy={"time_to_live": "none"})
    assert story.correlate("m1") == ["refused m1: not_found"]
    story.open("s1", "order")
    story.correlate("m2")
    assert story.stored() == []
    assert story.open("s2", "stock") == ["opened s2"]


def test_several_started_instances_answer_with_the_oldest_definition() -> None:
    """O3."""
    story = Story(starts=[start("b", since=1), start("a", since=2)])
    lines = story.correlate("m1", at=3)
    assert lines == ["published m1", "m1 starts b", "m1 starts a", "answered m1: b/m1"]


def test_a_started_instance_answers_before_any_catch() -> None:
    """O4: everybody receives it."""
    story = Story(starts=[start("audit")])
    story.open("s1", "order")
    assert story.correlate("m1") == ["published m1", "m1 -> s1", "m1 starts audit", "answered m1: audit/m1"]
    assert story.acknowledge("s1") == ["closed s1"]


def test_of_several_catches_the_first_acknowledgement_answers() -> None:
    """O5."""
    story = Story()
    story.open("s1", "order")
    story.open("s2", "stock")
    assert story.correlate("m1") == ["published m1", "m1 -> s1", "m1 -> s2"]
    assert story.acknowledge("s2") == ["closed s2", "answered m1: i-s2"]
    assert story.acknowledge("s1") == ["closed s1"]


def test_a_non_interrupting_catch_answers_once() -> None:
    """O5, O6."""
    story = Story()
    story.open("s1", interrupting=False)
    story.correlate("m1")
    assert story.acknowledge("s1") == ["s1 took m1", "answered m1: i-s1"]
    story.correlate("m2")
    assert story.acknowledge("s1") == ["s1 took m2", "answered m2: i-s1"]


def test_a_refusal_by_the_only_instance_gives_not_found() -> None:
    """O8."""
    story = Story()
    story.open("s1")
    story.correlate("m1")
    assert story.reject("s1") == ["s1 gave back m1: scope left", "closed s1", "refused m1: not_found"]
    assert story.verdict("m1") == "refused not_found"


def test_a_refusal_goes_on_to_the_next_instance_of_the_process() -> None:
    """O8, D17: refused only when there is no alternative."""
    story = Story()
    story.open("s1")
    story.open("s2")
    story.correlate("m1")
    assert story.reject("s1") == ["s1 gave back m1: scope left", "closed s1", "m1 -> s2"]
    assert story.acknowledge("s2") == ["closed s2", "answered m1: i-s2"]


def test_a_refusal_by_one_of_two_processes_leaves_the_answer_to_the_other() -> None:
    """O5, O8."""
    story = Story()
    story.open("s1", "order")
    story.open("s2", "stock")
    story.correlate("m1")
    assert story.reject("s1") == ["s1 gave back m1: scope left", "closed s1"]
    assert story.acknowledge("s2") == ["closed s2", "answered m1: i-s2"]


def test_a_refusal_by_both_of_two_processes_gives_not_found_once() -> None:
    """O8."""
    story = Story()
    story.open("s1", "order")
    story.open("s2", "stock")
    story.correlate("m1")
    story.reject("s1")
    assert story.reject("s2")[-1] == "refused m1: not_found"


def test_a_business_id_that_excludes_everybody_gives_not_found() -> None:
    """O13."""
    story = Story()
    story.open("s1", business="b-1")
    assert story.correlate("m1", business="b-2") == ["refused m1: not_found"]
    assert story.parameters("m1")["near_misses"][0]["kind"] == "other_business_id"


def test_several_candidates_are_refused_as_ambiguous_under_exactly_one() -> None:
    story = Story(policy={"cardinality": "exactly_one"})
    story.open("s1", "order")
    story.open("s2", "stock")
    assert story.correlate("m1") == ["refused m1: ambiguous"]


def test_while_everybody_is_busy_it_is_held_and_decided_once_they_have_answered() -> None:
    """O16, stricter than Zeebe, which answers NOT_FOUND: here a non-interrupting one is free again."""
    story = Story()
    story.open("s1", interrupting=False)
    story.publish("m1", ttl=10)
    assert story.correlate("m2") == ["held m2"]
    assert story.acknowledge("s1") == ["s1 took m1", "released m2"]
    assert story.offer_again("m2") == ["published m2", "m2 -> s1"]
    assert story.acknowledge("s1") == ["s1 took m2", "answered m2: i-s1"]


def test_while_held_it_may_turn_out_that_nobody_is_left() -> None:
    """O16: decided once, and then it is a no."""
    story = Story()
    story.open("s1")
    story.publish("m1", ttl=10)
    story.correlate("m2")
    assert story.acknowledge("s1") == ["closed s1", "released m2"]
    assert story.offer_again("m2") == ["refused m2: not_found"]


def test_a_held_message_is_held_again_while_somebody_is_still_busy() -> None:
    """O16."""
    story = Story()
    story.open("s1", "order")
    story.open("s2", "stock")
    story.publish("m1", ttl=10)
    story.correlate("m2")
    assert story.acknowledge("s1") == ["closed s1", "released m2"]
    assert story.offer_again("m2") == ["held m2"]
    assert story.acknowledge("s2") == ["closed s2", "released m2"]
    assert story.offer_again("m2") == ["refused m2: not_found"]


def test_a_refusal_releases_what_is_held_too() -> None:
    """O16."""
    story = Story()
    story.open("s1", "order")
    story.publish("m1", ttl=10)
    story.correlate("m2")
    assert story.reject("s1") == ["s1 gave back m1: scope left", "closed s1", "released m2"]


def test_the_answer_of_a_subscription_that_closed_meanwhile_releases_what_is_held() -> None:
    """O16, R7: the caller is never left without an answer."""
    for answer in ("acknowledge", "reject"):
        story = Story()
        story.open("s1")
        story.publish("m1", ttl=10)
        story.correlate("m2")
        lines = story.close("s1") + getattr(story, answer)("s1", message="m1")
        assert "released m2" in lines, answer


@pytest.mark.parametrize("ttl", [0, -1])
def test_a_publication_that_cannot_wait_is_held_likewise(ttl: int) -> None:
    """E8, stricter than Zeebe, which loses it."""
    story = Story()
    story.open("s1", interrupting=False)
    story.publish("m1", ttl=10)
    assert story.publish("m2", ttl=ttl) == ["held m2"]
    assert story.verdict("m2") == "buffered busy"
    assert story.acknowledge("s1") == ["s1 took m1", "released m2"]
    assert story.offer_again("m2") == ["published m2", "m2 -> s1"]


def test_held_messages_are_released_in_the_order_they_came() -> None:
    """O16, A6."""
    story = Story()
    story.open("s1", interrupting=False)
    story.publish("m1")
    story.publish("m2")
    story.publish("m3")
    assert story.acknowledge("s1") == ["s1 took m1", "released m2", "released m3"]
    assert story.offer_again("m2") == ["published m2", "m2 -> s1"]
    assert story.offer_again("m3") == ["held m3"]


def test_a_busy_subscription_that_could_not_take_it_holds_nothing() -> None:
    """O16: another business id, another name."""
    story = Story()
    story.open("s1", business="b-1")
    story.open("s2", name="shipped")
    story.publish("m1", business="b-1")
    story.publish("m2", name="shipped")
    assert story.correlate("m3", business="b-2") == ["refused m3: not_found"]


def test_a_message_that_can_wait_is_never_held() -> None:
    """O16."""
    story = Story()
    story.open("s1")
    story.publish("m1", ttl=10)
    assert story.publish("m2", ttl=10) == ["published m2"]
    assert story.verdict("m2") == "buffered busy"


def test_a_synchronous_message_is_answered_once_and_marked_like_any_other() -> None:
    """O5, D7: a second subscription of the process gets nothing of it."""
    story = Story()
    story.open("s1")
    story.open("s2")
    story.correlate("m1")
    story.acknowledge("s1")
    assert story.takers("m1") == ["s1"]
    assert sum(line.startswith("answered") for line in map(story.tell, story.events)) == 1


@pytest.mark.parametrize("precedence", ["both", "subscription_first", "start_only"])
def test_for_subscriptions_only_starts_no_instance_under_any_policy(precedence: str) -> None:
    story = Story(starts=[start("audit")], policy={"start_precedence": precedence})
    assert story.correlate("m1", subscriptions_only=True) == ["refused m1: not_found"]
    story.open("s1", "order")
    assert story.correlate("m2", subscriptions_only=True) == ["published m2", "m2 -> s1"]
    assert story.acknowledge("s1") == ["closed s1", "answered m2: i-s1"]


def test_for_subscriptions_only_starts_no_instance_after_it_was_held() -> None:
    story = Story(starts=[start("audit")])
    story.open("s1", "order")
    story.correlate("m1", subscriptions_only=True)
    assert story.correlate("m2", subscriptions_only=True) == ["held m2"]
    assert "released m2" in story.acknowledge("s1")
    assert story.offer_again("m2") == ["refused m2: not_found"]
