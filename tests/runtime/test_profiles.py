"""A profile brings its policies, and what they say about keys reaches the models that are deployed."""

from conjoin.kernel.policies import Policies, read_policies
from conjoin.runtime import Engine, Refusal
from conjoin.runtime.client_api.answers import CreatedInstance, Deployment, PublishedMessage
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.testing.clock import FakeClock
from conjoin.testing.observing.open_now import open_jobs, open_subscriptions
from tests.testing.order import ORDER

KEYLESS = ORDER.replace(b'<zeebe:subscription correlationKey="=orderId"/>', b"")


def engine(profile: str, policies: Policies | None = None) -> Engine:
    return Engine(FakeClock(), profile=profile, policies=policies)


def test_a_message_without_a_key_deploys_only_where_a_policy_says_how_it_matches() -> None:
    assert KEYLESS != ORDER
    by_business_key, problems = read_policies("fleans", {"paid": {"match": "business_key"}})
    assert problems == []
    assert isinstance(engine("zeebe").deploy([("order.bpmn", KEYLESS)]), Refusal)
    assert isinstance(engine("fleans", by_business_key).deploy([("order.bpmn", KEYLESS)]), Deployment)


def test_a_message_matched_by_business_key_finds_the_instance_with_that_business_id() -> None:
    policies, _ = read_policies("fleans", {"paid": {"match": "business_key"}})
    it = engine("fleans", policies)
    assert isinstance(it.deploy([("order.bpmn", KEYLESS)]), Deployment)
    assert isinstance(it.create_instance("order", {}, business_id="b-1"), CreatedInstance)
    assert [wait.key for wait in open_subscriptions(it)] == ["b-1"]
    assert isinstance(it.publish(NewMessage("paid", "b-1")), PublishedMessage)
    assert [job.element_id for job in open_jobs(it)] == ["ship"]


def test_a_profile_without_policies_of_its_own_has_those_of_the_profile() -> None:
    for profile in ("zeebe", "fleans", "correlate"):
        expected, _ = read_policies(profile, {})
        assert engine(profile).catalog.policies.default == expected.default
