"""Section F: a message's time is over at its deadline, whenever somebody looks."""

from tests.kernel.story import Story, start


def test_a_message_is_eligible_until_its_deadline_and_not_at_it() -> None:
    """F1, without a sweep."""
    story = Story()
    story.publish("m1", at=1, ttl=10)
    story.publish("m2", at=2, ttl=10)
    assert story.open("s1", at=10) == ["opened s1", "m1 -> s1"]
    assert story.open("s2", at=12) == ["opened s2"]


def test_an_expired_head_is_passed_over() -> None:
    """F2."""
    story = Story()
    story.publish("m1", at=1, ttl=5)
    story.publish("m2", at=2, ttl=50)
    assert story.open("s1", at=6) == ["opened s1", "m2 -> s1"]


def test_a_non_interrupting_subscription_passes_over_what_expired_while_it_was_busy() -> None:
    """F2."""
    story = Story()
    story.open("s1", interrupting=False)
    story.publish("m1", at=1, ttl=50)
    story.publish("m2", at=2, ttl=5)
    story.publish("m3", at=3, ttl=50)
    assert story.acknowledge("s1", at=7) == ["s1 took m1", "m3 -> s1"]


def test_a_sweep_ends_what_is_due_by_deadline_and_then_by_key() -> None:
    """F3."""
    story = Story()
    for label, ttl in (("m1", 9), ("m2", 5), ("m3", 7), ("m4", 5), ("m5", 20)):
        story.publish(label, ttl=ttl)
    ended = [line.split(":")[0] for line in story.expire(at=9)]
    assert ended == ["expired m2", "expired m4", "expired m3", "expired m1"]
    assert story.stored() == ["m5"]


def test_a_sweep_with_a_limit_goes_on_where_the_last_one_ended() -> None:
    """F4: seven due, three at a time."""
    story = Story()
    for number in range(7):
        story.publish(f"m{number}", ttl=10 - number % 3)
    rounds = [story.expire(at=10, limit=3) for _ in range(4)]
    assert [len(ended) for ended in rounds] == [3, 3, 1, 0]
    ended = [line.split()[1].rstrip(":") for lines in rounds for line in lines]
    assert ended == ["m2", "m5", "m1", "m4", "m0", "m3", "m6"]


def test_a_limit_of_nothing_ends_nothing() -> None:
    """F4."""
    story = Story()
    story.publish("m1", ttl=1)
    assert story.expire(at=5, limit=0) == []


def test_nothing_due_gives_nothing() -> None:
    """F6."""
    story = Story()
    story.publish("m1", at=1, ttl=10)
    assert story.expire(at=10) == []


def test_a_message_that_is_gone_already_is_ignored_by_the_sweep() -> None:
    """F9: sweeping twice ends nothing twice."""
    story = Story()
    story.publish("m1", ttl=5)
    story.publish("m2", ttl=0)
    assert story.expire(at=6) == ["expired m1: nobody_waited"]
    assert story.expire(at=7) == []


def test_expiry_leaves_no_trace_of_the_message() -> None:
    """F10: store, queue, id."""
    story = Story()
    story.publish("m1", ttl=5, id="a")
    story.expire(at=5)
    space = story.space("m1")
    assert (story.stored(), list(space.topics["paid"].stored_from("order")), space.deadlines) == ([], [], [])
    assert story.open("s1") == ["opened s1"]
    story.close("s1")
    assert story.publish("m2", ttl=5, id="a") == ["published m2"]


def test_a_correlation_under_way_goes_on_although_its_message_expires() -> None:
    """F11."""
    story = Story()
    story.open("s1")
    story.publish("m1", at=1, ttl=5)
    assert story.expire(at=6) == ["expired m1"]
    assert story.acknowledge("s1") == ["closed s1"]
    assert story.verdict("m1") == "correlated waiting_instance"


def test_a_message_that_expired_meanwhile_is_not_offered_again() -> None:
    """F12."""
    story = Story()
    story.open("s1")
    story.open("s2")
    story.publish("m1", at=1, ttl=5)
    story.expire(at=6)
    assert "m1 -> s2" not in story.reject("s1")
    assert story.takers("m1") == []
    assert story.verdict("m1") == "expired nobody_waited"


def test_expiry_touches_neither_subscriptions_nor_locks() -> None:
    """F13."""
    story = Story(starts=[start("order")])
    story.publish("m1", at=1, ttl=5)
    story.open("s1", "stock", name="shipped")
    assert story.expire(at=6) == ["expired m1"]
    assert story.holder("order") == "order/m1"
    assert story.waiting() == ["s1"]
    assert story.publish("m2", ttl=5) == ["published m2"]


def test_a_message_past_its_deadline_is_not_offered_again_although_no_sweep_came() -> None:
    """F14, stricter than Zeebe, which only asks whether it is still stored."""
    story = Story()
    story.open("s1")
    story.open("s2")
    story.publish("m1", at=1, ttl=5)
    assert story.reject("s1", at=6) == ["s1 gave back m1: scope left", "closed s1"]
    assert story.expire(at=6) == ["expired m1: nobody_waited"]


def test_a_message_whose_deadline_is_the_last_instant_is_never_swept() -> None:
    story = Story()
    story.publish("m1", ttl=2**63 - 1)
    assert story.expire(at=2**53) == []
    assert story.verdict("m1") == "buffered nobody_waits"
