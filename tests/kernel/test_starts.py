"""Section G: message start events, and the lock of a process and a key."""

from tests.kernel.story import Story, start


def test_a_matching_message_starts_an_instance() -> None:
    """G3."""
    story = Story(starts=[start("order"), start("audit", name="shipped")])
    assert story.publish("m1", ttl=10) == ["published m1", "m1 starts order"]
    assert story.publish("m2", ttl=10, name="asked") == ["published m2"]


def test_the_latest_version_is_started_and_only_once() -> None:
    """G7."""
    story = Story(starts=[start("order", since=1, until=5), start("order", since=5)])
    story.publish("m1", at=4, key="a")
    story.publish("m2", at=5, key="b")
    versions = [story.messages[label].targets[0].start.from_at for label in ("m1", "m2")]
    assert versions == [1_000, 5_000]


def test_a_second_message_waits_while_the_started_instance_lives() -> None:
    """G12."""
    story = Story(starts=[start("order")])
    story.publish("m1", ttl=10)
    assert story.publish("m2", ttl=10) == ["published m2"]
    assert story.verdict("m2") == "buffered locked"
    assert story.holder("order") == "order/m1"


def test_another_key_starts_at_once() -> None:
    """G13."""
    story = Story(starts=[start("order")])
    story.publish("m1", ttl=10)
    assert story.publish("m2", ttl=10, key="k2") == ["published m2", "m2 starts order"]


def test_an_empty_key_never_locks() -> None:
    """G14."""
    story = Story(starts=[start("order")], key="")
    assert story.publish("m1", ttl=10) == ["published m1", "m1 starts order"]
    assert story.publish("m2", ttl=10) == ["published m2", "m2 starts order"]
    assert story.holder("order") is None
    assert story.end("order") == []


def test_the_lock_spans_versions() -> None:
    """G15."""
    story = Story(starts=[start("order", since=0, until=5), start("order", since=5)])
    story.publish("m1", at=1, ttl=10)
    assert story.publish("m2", at=6, ttl=10) == ["published m2"]


def test_the_lock_spans_all_start_events_of_the_process() -> None:
    """G16."""
    story = Story(starts=[start("order", "asked"), start("order", "paid")])
    story.publish("m1", name="asked", ttl=10)
    assert story.publish("m2", name="paid", ttl=10) == ["published m2"]


def test_the_lock_is_of_one_process() -> None:
    """G17."""
    story = Story(starts=[start("order"), start("audit", since=2)])
    story.publish("m1", at=1, ttl=10)
    assert story.publish("m2", at=2, ttl=10) == ["published m2", "m2 starts audit"]


def test_the_end_of_the_instance_frees_the_lock() -> None:
    """G18, G19: however it ended."""
    story = Story(starts=[start("order")])
    story.publish("m1", ttl=10)
    assert story.end("order", instance="order/m1") == ["freed order"]
    assert story.publish("m2", ttl=10) == ["published m2", "m2 starts order"]


def test_messages_behind_the_lock_start_one_after_the_other_in_order() -> None:
    """G20."""
    story = Story(starts=[start("order")])
    for label in ("m1", "m2", "m3"):
        story.publish(label, ttl=10)
    assert story.end("order") == ["freed order", "m2 starts order"]
    assert story.holder("order") == "order/m2"
    assert story.end("order") == ["freed order", "m3 starts order"]
    assert story.end("order") == ["freed order"]
    assert story.end("order") == []


def test_a_message_behind_the_lock_starts_the_latest_version_of_that_moment() -> None:
    """G21."""
    story = Story(starts=[start("order", since=0, until=5), start("order", since=5)])
    story.publish("m1", at=1, ttl=100)
    story.publish("m2", at=2, ttl=100)
    story.end("order", at=6)
    assert story.messages["m2"].targets[0].start.from_at == 5_000


def test_a_version_without_the_start_event_starts_nothing_any_more() -> None:
    """G9, G21."""
    story = Story(starts=[start("order", since=0, until=5)])
    story.publish("m1", at=1, ttl=100)
    story.publish("m2", at=2, ttl=100)
    assert story.end("order", at=6) == ["freed order"]
    assert story.publish("m3", ttl=100) == ["published m3"]


def test_a_message_behind_the_lock_past_its_deadline_is_passed_over() -> None:
    """G22, without a sweep."""
    story = Story(starts=[start("order")])
    story.publish("m1", at=1, ttl=100)
    story.publish("m2", at=2, ttl=4)
    story.publish("m3", at=3, ttl=100)
    assert story.end("order", at=6) == ["freed order", "m3 starts order"]


def test_a_start_after_the_lock_is_recorded_like_any_other() -> None:
    """G23."""
    story = Story(starts=[start("order")])
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    story.end("order")
    first, second = (story.messages[label].targets[0] for label in ("m1", "m2"))
    assert (first.process_id, first.start, first.locks) == (second.process_id, second.start, second.locks)
    assert (second.instance_id, second.freed_by) == ("order/m2", "order/m1")


def test_the_end_of_an_instance_without_the_lock_frees_nothing() -> None:
    """G24."""
    story = Story(starts=[start("order")])
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    assert story.end("order", instance="made by hand") == []
    assert story.end("stock") == []
    assert story.holder("order") == "order/m1"


def test_deploying_a_start_event_takes_no_message_that_is_already_stored() -> None:
    """G25: such a message waits for a catch, or for the end of an instance with its key."""
    story = Story()
    story.publish("m1", at=1, ttl=100)
    story.deploy(start("order", since=2))
    assert story.takers("m1") == []
    assert story.publish("m2", at=3, ttl=100) == ["published m2", "m2 starts order"]
    assert story.end("order") == ["freed order", "m1 starts order"]


def test_a_new_version_takes_no_message_that_is_already_stored() -> None:
    """G26."""
    story = Story(starts=[start("order", since=0, until=5)])
    story.publish("m1", at=1, ttl=100)
    story.publish("m2", at=2, ttl=100)
    story.deploy(start("order", since=5))
    assert story.takers("m2") == []
    assert story.verdict("m2") == "buffered locked"


def test_a_message_behind_the_lock_may_be_taken_by_a_catch_of_the_same_process() -> None:
    """G29: and then starts nothing."""
    story = Story(starts=[start("order")])
    story.publish("m1", ttl=10)
    story.publish("m2", ttl=10)
    assert story.open("s1", "order", instance="order/m1") == ["opened s1", "m2 -> s1"]
    story.acknowledge("s1")
    assert story.end("order") == ["freed order"]


def test_the_lock_knows_the_tenant() -> None:
    """G31, stricter than Zeebe, whose lock is shared by the tenants."""
    story = Story(starts=[start("order"), start("order", tenant="blue")])
    story.publish("m1", ttl=10)
    assert story.publish("m2", ttl=10, tenant="blue") == ["published m2", "m2 starts order"]
    assert story.end("order", tenant="blue") == ["freed order"]
    assert story.holder("order") == "order/m1"


def test_a_synchronous_correlation_behind_a_lock_is_refused_with_the_processes_that_are_locked() -> None:
    """G33."""
    story = Story(starts=[start("order"), start("audit")])
    story.publish("m1", ttl=10)
    assert story.correlate("m2") == ["refused m2: locked"]
    assert story.parameters("m2") == {"processes": ["audit", "order"]}


def test_without_start_uniqueness_every_message_starts_an_instance() -> None:
    story = Story(policy={"start_uniqueness": "none"}, starts=[start("order")])
    assert story.publish("m1", ttl=10) == ["published m1", "m1 starts order"]
    assert story.publish("m2", ttl=10) == ["published m2", "m2 starts order"]
    assert story.holder("order") is None


def test_start_uniqueness_is_a_matter_of_the_message_name() -> None:
    """A name without uniqueness neither respects nor takes the lock."""
    story = Story(by_name={"asked": {"start_uniqueness": "none"}}, starts=[start("order"), start("order", "asked")])
    story.publish("m1", ttl=10)
    assert story.publish("m2", ttl=10, name="asked") == ["published m2", "m2 starts order"]
    assert story.holder("order") == "order/m1"


def test_a_lock_whose_instance_has_no_name_is_freed_and_told_like_any_other() -> None:
    """G20: locks of an earlier run may come without an instance."""
    story = Story(starts=[start("order")])
    story.publish("m1", ttl=10)
    story.space().locks["order"].instance_id = None
    story.publish("m2", ttl=10)
    assert story.end("order") == ["freed order", "m2 starts order"]
    assert story.verdict("m2") == "correlated started_after_lock"


def test_a_message_that_cannot_wait_behind_a_lock_is_discarded() -> None:
    """G12, D4."""
    story = Story(starts=[start("order")])
    story.publish("m1", ttl=10)
    assert story.publish("m2", ttl=0) == ["published m2", "discarded m2: ttl_zero"]
    assert story.parameters("m2")["near_misses"][0]["kind"] == "lock_held"
