"""Section E: what comes first is taken first, on one correlation key."""

import random

import pytest

from tests.kernel.story import Story, start


def test_the_earliest_stored_message_is_taken_first() -> None:
    """E1."""
    story = Story()
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    assert story.open("s1") == ["opened s1", "m1 -> s1"]
    assert story.open("s2") == ["opened s2", "m2 -> s2"]


def test_a_non_interrupting_subscription_takes_messages_in_the_order_of_publication() -> None:
    """E2."""
    story = Story()
    story.open("s1", interrupting=False)
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    story.publish("m3", ttl=10)
    assert story.acknowledge("s1") == ["s1 took m1", "m2 -> s1"]
    assert story.acknowledge("s1") == ["s1 took m2", "m3 -> s1"]
    assert story.acknowledge("s1") == ["s1 took m3"]
    assert story.waiting() == ["s1"]


def test_at_most_one_message_is_on_its_way_to_a_subscription() -> None:
    """E3: the second follows the acknowledgement of the first."""
    story = Story()
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    assert story.open("s1", interrupting=False) == ["opened s1", "m1 -> s1"]
    assert story.takers("m2") == []
    assert story.acknowledge("s1") == ["s1 took m1", "m2 -> s1"]


def test_one_message_before_and_one_after_the_opening_are_both_delivered() -> None:
    """E4."""
    story = Story()
    story.publish("m1", ttl=10)
    story.open("s1", interrupting=False)
    story.publish("m2", ttl=10)
    story.acknowledge("s1")
    assert (story.takers("m1"), story.takers("m2")) == (["s1"], ["s1"])


def test_the_next_start_is_the_oldest_message_over_all_start_events_of_the_process() -> None:
    """E5."""
    story = Story(starts=[start("order", "asked"), start("order", "paid")])
    story.publish("m1", ttl=10, name="paid")
    story.publish("m2", ttl=10, name="paid")
    story.publish("m3", ttl=10, name="asked")
    story.publish("m4", ttl=10, name="paid")
    assert story.end("order") == ["freed order", "m2 starts order"]
    assert story.end("order") == ["freed order", "m3 starts order"]
    assert story.end("order") == ["freed order", "m4 starts order"]
    assert story.end("order") == ["freed order"]


def test_a_head_that_does_not_fit_does_not_block_the_queue() -> None:
    """E6."""
    story = Story()
    story.publish("m1", ttl=10, business="b-1")
    story.publish("m2", ttl=10)
    assert story.open("s1") == ["opened s1", "m2 -> s1"]
    assert story.open("s2", business="b-1") == ["opened s2", "m1 -> s2"]


def test_subscriptions_of_several_processes_receive_in_the_order_of_their_rank() -> None:
    """E9: not in the order in which their processes first waited."""
    story = Story()
    story.open("s3", "a", rank=3)
    story.open("s1", "b", rank=1)
    story.open("s2", "c", rank=2)
    assert story.publish("m1")[1:] == ["m1 -> s1", "m1 -> s2", "m1 -> s3"]


def test_rank_decides_when_subscriptions_open_out_of_rank_order() -> None:
    """D7, E9: the smaller element-instance key is first, whoever came first over the network."""
    story = Story()
    story.open("s9", rank=9)
    story.open("s1", rank=1)
    story.open("s5", rank=5)
    taken = [story.publish(f"m{number}", ttl=10)[1:] for number in range(3)]
    assert taken == [["m0 -> s1"], ["m1 -> s5"], ["m2 -> s9"]]


def test_rank_decides_when_a_lower_rank_opens_after_others_have_closed() -> None:
    """E9: closed ones leave the row without disturbing its order."""
    story = Story()
    for rank in (5, 6, 7, 8):
        story.open(f"s{rank}", rank=rank)
    story.close("s5")
    story.close("s6")
    story.open("s1", rank=1)
    taken = [story.publish(f"m{number}", ttl=10)[1:] for number in range(3)]
    assert taken == [["m0 -> s1"], ["m1 -> s7"], ["m2 -> s8"]]


def test_start_events_are_visited_oldest_definition_first() -> None:
    """E10: by the age of the definition, not by its name."""
    story = Story(starts=[start("a", since=3), start("c", since=1), start("b", since=2)])
    assert story.publish("m1", at=5)[1:] == ["m1 starts c", "m1 starts b", "m1 starts a"]


@pytest.mark.parametrize("attempt", range(20))
def test_any_mix_of_opening_and_closing_leaves_the_order_of_ranks(attempt: int, seed: int) -> None:
    """E9, with enough subscriptions that the row is tidied up on the way."""
    chance = random.Random(f"{seed}/{attempt}")
    story = Story()
    waiting: dict[int, str] = {}
    for step in range(400):
        if waiting and chance.random() < 0.45:
            story.close(waiting.pop(chance.choice(sorted(waiting))))
        else:
            rank = chance.randrange(10**6)
            if rank not in waiting:
                waiting[rank] = f"s{step}"
                story.open(waiting[rank], rank=rank)
        if waiting and chance.random() < 0.2:
            first = waiting.pop(min(waiting))
            assert story.publish(f"m{step}") == [f"published m{step}", f"m{step} -> {first}"], f"seed {seed}/{attempt}"
            story.acknowledge(first)
    assert story.waiting() == sorted(waiting.values())


@pytest.mark.parametrize("attempt", range(20))
def test_a_long_queue_is_taken_in_order_by_every_process_whatever_expires_on_the_way(attempt: int, seed: int) -> None:
    """E1, F2, with enough messages that the queue is tidied up on the way."""
    chance = random.Random(f"{seed}/{attempt}")
    story = Story()
    left: dict[str, list[str]] = {"order": [], "stock": []}
    for now in range(500):
        for queue in left.values():
            queue[:] = [label for label in queue if story.messages[label].deadline > now * 1_000]
        if chance.random() < 0.5:
            story.expire(at=now)
        if chance.random() < 0.6:
            story.publish(f"m{now}", at=now, ttl=chance.randrange(1, 300))
            for queue in left.values():
                queue.append(f"m{now}")
        else:
            process = chance.choice(["order", "stock"])
            expected = [f"{left[process][0]} -> s{now}"] if left[process] else []
            assert story.open(f"s{now}", process, at=now)[1:] == expected, f"seed {seed}/{attempt}"
            if expected:
                left[process].pop(0)
                story.acknowledge(f"s{now}")
            else:
                story.close(f"s{now}")
