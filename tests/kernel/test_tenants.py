"""Section P: nothing crosses from one tenant to another."""

from tests.kernel.story import Story, start


def test_a_message_reaches_only_its_own_tenant() -> None:
    """P1."""
    story = Story(starts=[start("audit"), start("audit", tenant="blue")])
    story.open("s1")
    story.open("s2", tenant="blue")
    story.publish("m1", ttl=10, tenant="blue")
    assert story.takers("m1") == ["s2", "audit/m1"]
    assert story.messages["m1"].targets[1].start.tenant_id == "blue"


def test_a_stored_message_is_left_by_another_tenant_and_taken_by_its_own() -> None:
    """P2."""
    story = Story()
    story.publish("m1", ttl=10, tenant="blue")
    assert story.open("s1") == ["opened s1"]
    assert story.open("s2", tenant="blue") == ["opened s2", "m1 -> s2"]


def test_a_message_for_a_tenant_where_nobody_listens_is_accepted_and_not_correlated() -> None:
    """P3."""
    story = Story(starts=[start("audit")])
    story.open("s1")
    assert story.publish("m1", ttl=10, tenant="blue") == ["published m1"]
    assert story.correlate("m2", tenant="blue") == ["refused m2: not_found"]


def test_the_explanation_names_the_tenant_where_somebody_waits() -> None:
    """P3: a near miss."""
    story = Story()
    story.open("s1")
    story.publish("m1", ttl=10, tenant="blue")
    miss = {"kind": "other_tenant", "tenant": "<default>", "process": "order", "instance": "i-s1", "element": "catch"}
    assert story.parameters("m1")["near_misses"] == [miss]
