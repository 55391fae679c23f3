"""Section B: a message id is accepted once while it is remembered."""

import pytest

from tests.kernel.story import Story


def test_the_same_id_is_refused_while_the_first_message_is_stored() -> None:
    """B1."""
    story = Story()
    story.publish("m1", at=1, ttl=10, id="a")
    assert story.publish("m2", at=2, ttl=10, id="a") == ["refused m2: duplicate_id"]
    assert story.stored() == ["m1"]


@pytest.mark.parametrize("other", [{"name": "shipped"}, {"key": "k2"}, {"id": "b"}, {"tenant": "blue"}])
def test_the_id_counts_only_with_the_same_name_key_and_tenant(other: dict[str, str]) -> None:
    """B2, B3, B4, B6."""
    story = Story()
    story.publish("m1", ttl=10, id="a")
    assert story.publish("m2", ttl=10, **{"id": "a", **other}) == ["published m2"]


def test_an_empty_id_is_never_a_duplicate() -> None:
    """B5."""
    story = Story()
    story.publish("m1", ttl=10, id="")
    assert story.publish("m2", ttl=10, id="") == ["published m2"]


def test_the_id_stays_taken_after_correlation() -> None:
    """B7: it lives with the stored message."""
    story = Story()
    story.open("s1")
    story.publish("m1", at=1, ttl=10, id="a")
    story.acknowledge("s1")
    assert story.publish("m2", at=2, ttl=10, id="a") == ["refused m2: duplicate_id"]


def test_a_message_that_is_not_kept_frees_its_id_at_once() -> None:
    """B8."""
    story = Story()
    story.publish("m1", at=1, ttl=0, id="a")
    assert story.publish("m2", at=1, ttl=10, id="a") == ["published m2"]


def test_the_id_is_free_exactly_at_the_deadline_without_any_sweep() -> None:
    """B9, stricter than Zeebe, which waits for its sweep."""
    story = Story()
    story.publish("m1", at=1, ttl=10, id="a")
    assert story.publish("m2", at=10, ttl=10, id="a") == ["refused m2: duplicate_id"]
    assert story.publish("m3", at=11, ttl=10, id="a") == ["published m3"]


def test_a_late_sweep_does_not_free_the_id_that_a_newer_message_has_taken() -> None:
    """B9: the sweep ends the first message, not the id of the second."""
    story = Story()
    story.publish("m1", at=1, ttl=10, id="a")
    story.publish("m2", at=11, ttl=10, id="a")
    story.expire(at=12)
    assert story.publish("m3", at=13, ttl=10, id="a") == ["refused m3: duplicate_id"]


def test_a_refused_duplicate_does_not_prolong_the_id() -> None:
    story = Story()
    story.publish("m1", at=1, ttl=10, id="a")
    story.publish("m2", at=10, ttl=10, id="a")
    assert story.publish("m3", at=11, ttl=10, id="a") == ["published m3"]


def test_a_message_refused_because_nobody_waits_does_not_hold_its_id() -> None:
    story = Story(policy={"on_no_match": "reject", "dedup": "1s"})
    story.publish("m1", ttl=10, id="a")
    story.open("s1")
    assert story.publish("m2", ttl=10, id="a") == ["published m2", "m2 -> s1"]


def test_synchronous_correlations_are_never_deduplicated() -> None:
    """B11."""
    story = Story(policy={"dedup": "1s"})
    story.open("s1")
    story.open("s2")
    assert story.correlate("m1") == ["published m1", "m1 -> s1"]
    assert story.correlate("m2") == ["published m2", "m2 -> s2"]


def test_a_dedup_duration_outlives_the_message_and_counts_from_publication() -> None:
    story = Story(policy={"dedup": "100ms"})
    story.publish("m1", at=1, ttl=10, id="a")
    story.expire(at=20)
    assert story.publish("m2", at=100, ttl=10, id="a") == ["refused m2: duplicate_id"]
    assert story.publish("m3", at=101, ttl=10, id="a") == ["published m3"]


def test_a_dedup_duration_remembers_a_message_that_was_never_kept() -> None:
    story = Story(policy={"dedup": "100ms"})
    story.publish("m1", at=1, ttl=0, id="a")
    assert story.publish("m2", at=2, ttl=0, id="a") == ["refused m2: duplicate_id"]


def test_with_dedup_off_the_same_id_is_accepted_again() -> None:
    story = Story(policy={"dedup": "off"})
    story.publish("m1", ttl=10, id="a")
    assert story.publish("m2", ttl=10, id="a") == ["published m2"]


def test_a_duplicate_is_answered_with_the_first_message() -> None:
    """on_duplicate: refused or acknowledged, it names the first message and until when the id is taken."""
    for choice in ("refuse", "acknowledge"):
        story = Story(policy={"on_duplicate": choice})
        story.publish("m1", at=1, ttl=10, id="a")
        story.publish("m2", at=2, ttl=10, id="a")
        assert story.parameters("m2") == {
            "first_message": 1,
            "first_published_at": 1_000,
            "until_at": 11_000,
            "acknowledged": choice == "acknowledge",
        }


def test_a_duplicate_is_offered_to_nobody() -> None:
    story = Story()
    story.publish("m1", ttl=10, id="a")
    story.open("s1")
    story.open("s2", "stock")
    story.acknowledge("s1")
    story.open("s3", "order")
    story.publish("m2", ttl=10, id="a")
    assert story.takers("m2") == []


def test_changing_the_policy_does_not_change_how_long_an_accepted_id_is_remembered() -> None:
    """U2."""
    story = Story(policy={"dedup": "100ms"})
    story.publish("m1", at=1, ttl=10, id="a")
    story.change_policies({"*": {"dedup": "while_buffered"}})
    assert story.publish("m2", at=50, ttl=10, id="a") == ["refused m2: duplicate_id"]
    assert story.publish("m3", at=101, ttl=10, id="a") == ["published m3"]
