"""Section D and the policy `cardinality`: who receives one message, and how often."""

import pytest

from tests.kernel.story import Story, start

EVERY_CARDINALITY = ["once_per_process", "once_per_instance", "all", "exactly_one"]


@pytest.mark.parametrize("cardinality", EVERY_CARDINALITY)
def test_a_waiting_subscription_takes_a_later_message(cardinality: str) -> None:
    """D1."""
    story = Story(policy={"cardinality": cardinality})
    story.open("s1")
    assert story.publish("m1", ttl=10) == ["published m1", "m1 -> s1"]
    assert story.acknowledge("s1") == ["closed s1"]


@pytest.mark.parametrize("cardinality", EVERY_CARDINALITY)
def test_an_early_message_is_taken_by_a_later_subscription(cardinality: str) -> None:
    """D2."""
    story = Story(policy={"cardinality": cardinality})
    story.publish("m1", ttl=10)
    assert story.open("s1") == ["opened s1", "m1 -> s1"]
    assert story.acknowledge("s1") == ["closed s1"]


def test_a_message_that_cannot_wait_is_taken_by_who_waits_already() -> None:
    """D3."""
    story = Story()
    story.open("s1")
    assert story.publish("m1", ttl=0) == ["published m1", "m1 -> s1"]


def test_a_message_that_cannot_wait_and_meets_nobody_is_gone() -> None:
    """D4."""
    story = Story()
    story.publish("m1", ttl=0)
    assert story.open("s1") == ["opened s1"]
    assert story.verdict("m1") == "discarded ttl_zero"


def test_the_key_finds_the_instance() -> None:
    """D5."""
    story = Story()
    story.open("x", key="X")
    story.open("y", key="Y")
    story.publish("m1", key="Y", ttl=10)
    story.publish("m2", key="X", ttl=10)
    assert (story.takers("m1"), story.takers("m2")) == (["y"], ["x"])


def test_one_instance_of_each_process_receives_the_message() -> None:
    """D6."""
    story = Story()
    story.open("s1", "order")
    story.open("s2", "stock")
    assert story.publish("m1") == ["published m1", "m1 -> s1", "m1 -> s2"]


def test_two_instances_of_one_process_share_two_messages_in_the_order_of_their_rank() -> None:
    """D7, D8: the version of the process plays no part."""
    story = Story()
    story.open("s1")
    story.open("s2")
    assert story.publish("m1", ttl=10) == ["published m1", "m1 -> s1"]
    assert story.acknowledge("s1") == ["closed s1"]
    assert story.publish("m2", ttl=10) == ["published m2", "m2 -> s2"]


def test_a_message_is_not_reused_by_the_next_catch_of_the_same_process() -> None:
    """D9."""
    story = Story()
    story.open("s1", instance="i")
    story.publish("m1", ttl=10)
    story.acknowledge("s1")
    assert story.open("s2", instance="i") == ["opened s2"]
    assert story.publish("m2", ttl=10) == ["published m2", "m2 -> s2"]


def test_two_parallel_catches_of_one_instance_share_two_messages() -> None:
    """D10."""
    story = Story()
    story.open("s1", instance="i")
    story.open("s2", instance="i")
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    assert (story.takers("m1"), story.takers("m2")) == (["s1"], ["s2"])


def test_a_message_that_comes_too_early_waits_for_the_second_catch() -> None:
    """D11."""
    story = Story()
    story.open("s1", instance="i")
    story.publish("m1", ttl=10)
    assert story.publish("m2", ttl=10) == ["published m2"]
    story.acknowledge("s1")
    assert story.open("s2", instance="i") == ["opened s2", "m2 -> s2"]


def test_a_subscription_in_mid_correlation_is_passed_over() -> None:
    """D12."""
    story = Story()
    story.open("s1")
    story.open("s2")
    story.publish("m1", ttl=10)
    assert story.publish("m2", ttl=10) == ["published m2", "m2 -> s2"]
    assert story.publish("m3", ttl=10) == ["published m3"]


def test_a_running_catch_hides_the_start_event_of_its_process() -> None:
    """D13."""
    story = Story(starts=[start("order")])
    story.open("s1", "order")
    assert story.publish("m1", ttl=10) == ["published m1", "m1 -> s1"]
    story.acknowledge("s1")
    assert story.publish("m2", ttl=10) == ["published m2", "m2 starts order"]


def test_the_message_that_started_an_instance_is_not_offered_to_its_process_again() -> None:
    """D14."""
    story = Story(starts=[start("order")])
    story.publish("m1", ttl=10)
    assert story.open("s1", "order", instance="order/m1") == ["opened s1"]
    assert story.publish("m2", ttl=10) == ["published m2", "m2 -> s1"]


def test_a_catch_of_one_process_and_a_start_of_another_both_receive() -> None:
    """D15."""
    story = Story(starts=[start("audit")])
    story.open("s1", "order")
    assert story.publish("m1") == ["published m1", "m1 -> s1", "m1 starts audit"]


def test_a_correlated_message_stays_for_processes_that_wait_later() -> None:
    """D16."""
    story = Story()
    story.open("s1", "order")
    story.publish("m1", ttl=10)
    story.acknowledge("s1")
    assert story.open("s2", "stock") == ["opened s2", "m1 -> s2"]
    assert story.open("s3", "stock") == ["opened s3"]
    assert story.takers("m1") == ["s1", "s2"]


def test_a_called_process_counts_by_its_own_id() -> None:
    """D19: parent and child both receive."""
    story = Story()
    story.open("parent", "order", instance="i")
    story.open("child", "payment", instance="i-child")
    assert story.publish("m1") == ["published m1", "m1 -> parent", "m1 -> child"]


def test_cardinality_counts_inside_one_tenant() -> None:
    """D20."""
    story = Story()
    story.open("s1", "order")
    story.open("s2", "order", tenant="blue")
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10, tenant="blue")
    assert (story.takers("m1"), story.takers("m2")) == (["s1"], ["s2"])


def test_once_per_instance_gives_it_to_each_waiting_instance_once() -> None:
    """U3."""
    story = Story(policy={"cardinality": "once_per_instance"})
    story.open("s1", instance="a")
    story.open("s2", instance="a")
    story.open("s3", instance="b")
    story.open("s4", "stock", instance="c")
    assert story.publish("m1", ttl=10)[1:] == ["m1 -> s1", "m1 -> s3", "m1 -> s4"]
    assert story.open("s5", instance="a") == ["opened s5"]
    assert story.open("s6", instance="d") == ["opened s6", "m1 -> s6"]


def test_once_per_instance_does_not_confuse_a_process_and_an_instance_whose_names_join_to_the_same_text() -> None:
    """U3: process `a/b` with instance `c` is not process `a` with instance `b/c`."""
    story = Story(policy={"cardinality": "once_per_instance"})
    story.open("s1", "a", instance="b/c")
    story.publish("m1", ttl=10)
    assert story.open("s2", "a/b", instance="c") == ["opened s2", "m1 -> s2"]


def test_once_per_instance_does_not_offer_a_message_to_the_instance_it_started() -> None:
    """U3, D14: the started instance has it already."""
    story = Story(policy={"cardinality": "once_per_instance"}, starts=[start("order")])
    story.publish("m1", ttl=10)
    assert story.open("s1", "order", instance="order/m1") == ["opened s1"]
    assert story.open("s2", "order", instance="another") == ["opened s2", "m1 -> s2"]


def test_all_gives_it_to_every_matching_subscription_now_and_later() -> None:
    """U3."""
    story = Story(policy={"cardinality": "all"})
    story.open("s1", instance="a")
    story.open("s2", instance="a")
    story.open("s3", "stock")
    assert story.publish("m1", ttl=10)[1:] == ["m1 -> s1", "m1 -> s2", "m1 -> s3"]
    story.acknowledge("s1")
    assert story.open("s4", instance="a") == ["opened s4", "m1 -> s4"]


def test_all_gives_it_to_one_subscription_only_once() -> None:
    """U3: the subscription is marked."""
    story = Story(policy={"cardinality": "all"})
    story.open("s1", interrupting=False)
    story.publish("m1", ttl=10)
    assert story.acknowledge("s1") == ["s1 took m1"]


def test_all_does_not_confuse_a_subscription_with_a_process_of_the_same_name() -> None:
    """U3: a start marks its process, a catch marks its subscription; the two are different things."""
    story = Story(policy={"cardinality": "all"}, starts=[start("order")])
    story.publish("m1", ttl=10)
    assert story.open("order", "stock") == ["opened order", "m1 -> order"]


def test_many_takers_are_all_remembered() -> None:
    """U3: the marks change their shape when there are many; nobody is forgotten or served twice."""
    story = Story(policy={"cardinality": "all"})
    story.publish("m1", ttl=10)
    for number in range(40):
        assert story.open(f"s{number}", interrupting=False)[1:] == [f"m1 -> s{number}"]
        assert story.acknowledge(f"s{number}") == [f"s{number} took m1"]
    assert len(story.takers("m1")) == 40


def test_exactly_one_gives_it_to_the_only_candidate_and_to_nobody_after() -> None:
    story = Story(policy={"cardinality": "exactly_one"})
    story.open("s1", "order")
    assert story.publish("m1", ttl=10) == ["published m1", "m1 -> s1"]
    assert story.open("s2", "stock") == ["opened s2"]


def test_exactly_one_refuses_several_candidates_as_ambiguous() -> None:
    story = Story(policy={"cardinality": "exactly_one"})
    story.open("s1", "order")
    story.open("s2", "order")
    assert story.publish("m1", ttl=10) == ["refused m1: ambiguous"]
    assert story.stored() == []
    assert story.parameters("m1") == {"candidates": ["i-s1", "i-s2"], "count": 2}


def test_exactly_one_counts_a_start_event_as_a_candidate() -> None:
    """With start_precedence both."""
    story = Story(policy={"cardinality": "exactly_one"}, starts=[start("audit")])
    story.open("s1", "order")
    assert story.publish("m1", ttl=10) == ["refused m1: ambiguous"]
    assert story.parameters("m1")["candidates"] == ["i-s1", "audit"]


def test_exactly_one_refuses_two_start_events_as_ambiguous() -> None:
    story = Story(policy={"cardinality": "exactly_one"}, starts=[start("audit"), start("order")])
    assert story.publish("m1", ttl=10) == ["refused m1: ambiguous"]
    assert story.holder("audit") is None


def test_exactly_one_lets_a_subscription_hide_the_start_event_of_its_own_process() -> None:
    """U4."""
    story = Story(policy={"cardinality": "exactly_one"}, starts=[start("order")])
    story.open("s1", "order")
    assert story.publish("m1", ttl=10) == ["published m1", "m1 -> s1"]


def test_exactly_one_is_not_ambiguous_when_only_one_candidate_is_idle() -> None:
    """D12: a subscription in mid-correlation is no candidate."""
    story = Story(policy={"cardinality": "exactly_one"})
    story.open("s1", "order")
    story.publish("m1", ttl=10)
    story.open("s2", "order")
    assert story.publish("m2", ttl=10) == ["published m2", "m2 -> s2"]


def test_exactly_one_gives_a_stored_message_to_the_first_who_opens() -> None:
    story = Story(policy={"cardinality": "exactly_one"})
    story.publish("m1", ttl=10)
    assert story.open("s1", "order") == ["opened s1", "m1 -> s1"]
    assert story.open("s2", "stock") == ["opened s2"]


def test_the_policy_in_force_is_that_of_the_commands_time() -> None:
    """U1."""
    story = Story()
    story.open("s1", instance="a")
    story.open("s2", instance="b")
    story.change_policies({"*": {"cardinality": "all"}})
    assert story.publish("m1")[1:] == ["m1 -> s1", "m1 -> s2"]


@pytest.mark.parametrize(("before", "after"), [("all", "once_per_process"), ("once_per_process", "all")])
def test_changing_the_policy_does_not_change_a_message_already_accepted(before: str, after: str) -> None:
    """U2."""
    story = Story(policy={"cardinality": before})
    story.publish("m1", ttl=10)
    story.change_policies({"*": {"cardinality": after}})
    story.open("s1")
    assert story.open("s2")[1:] == (["m1 -> s2"] if before == "all" else [])


def test_changing_the_policy_changes_no_message_however_many_are_stored() -> None:
    """U2: remembering how far a queue is used up must not hide messages accepted under another policy."""
    story = Story(policy={"cardinality": "all", "start_uniqueness": "none"}, starts=[start("order")])
    for number in range(40):
        story.publish(f"m{number}", ttl=10)
    story.change_policies({"*": {"start_uniqueness": "none"}})
    assert story.open("s1", "order") == ["opened s1", "m0 -> s1"]


def test_a_message_name_may_have_a_cardinality_of_its_own() -> None:
    story = Story(by_name={"news": {"cardinality": "all"}})
    for name in ("news", "paid"):
        story.open(f"{name}1", name=name)
        story.open(f"{name}2", name=name)
    assert len(story.publish("m1", name="news")) == 3
    assert len(story.publish("m2", name="paid")) == 2


def test_subscription_first_starts_nothing_when_any_subscription_took_it() -> None:
    story = Story(policy={"start_precedence": "subscription_first"}, starts=[start("audit")])
    story.open("s1", "order")
    assert story.publish("m1", ttl=10) == ["published m1", "m1 -> s1"]
    assert story.publish("m2", ttl=10) == ["published m2", "m2 starts audit"]


def test_subscription_first_starts_nothing_either_when_a_lock_is_freed() -> None:
    """A message that a subscription took stays stored, but no longer starts anybody."""
    story = Story(policy={"start_precedence": "subscription_first"}, starts=[start("audit")])
    story.publish("m1", ttl=10)
    story.open("s1", "order")
    story.acknowledge("s1")
    story.open("s2", "order")
    assert story.publish("m2", ttl=10) == ["published m2", "m2 -> s2"]
    assert story.end("audit") == ["freed audit"]


def test_start_only_starts_a_process_although_it_waits() -> None:
    story = Story(policy={"start_precedence": "start_only", "start_uniqueness": "none"}, starts=[start("order")])
    story.open("s1", "order")
    story.open("s2", "stock")
    assert story.publish("m1", ttl=10)[1:] == ["m1 -> s2", "m1 starts order"]


def test_start_only_keeps_a_stored_message_for_the_start_event() -> None:
    story = Story(policy={"start_precedence": "start_only"}, starts=[start("order")])
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    assert story.open("s1", "order") == ["opened s1"]
    assert story.end("order") == ["freed order", "m2 starts order"]
