"""The engine in memory: jobs over time, keys, refusals, and what one shard says to another."""

from typing import Any

import pytest

from conjoin.kernel.keys import rank_of, shard_of_key
from conjoin.kernel.policies import read_policies
from conjoin.runtime import Engine, Refusal
from conjoin.runtime.client_api.answers import ActivatedJob, CorrelatedMessage, CreatedInstance, PublishedMessage
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.testing.clock import FakeClock
from conjoin.testing.observing.history import History
from conjoin.testing.observing.open_now import open_incidents, open_jobs, open_subscriptions
from tests.testing.order import ORDER


class Bench:
    def __init__(self, shards: int = 1, **more: Any) -> None:
        self.clock = FakeClock()
        self.engine = Engine(self.clock, shards, **more)
        self.history = History()
        self.engine.listen(self.history)
        self.engine.deploy([("order.bpmn", ORDER)])

    def start(self, key: str = "o-1", **more: Any) -> int:
        created = self.engine.create_instance("order", {"orderId": key}, **more)
        assert isinstance(created, CreatedInstance)
        return created.key

    def with_job(self) -> int:
        key = self.start()
        self.engine.publish(NewMessage("paid", "o-1"))
        return key

    def jobs(self, limit: int = 1, timeout_ms: int = 60_000) -> list[ActivatedJob]:
        jobs = self.engine.activate_jobs("ship", limit, "w", timeout_ms)
        assert isinstance(jobs, list)
        return jobs

    def pass_ms(self, duration_ms: int) -> None:
        self.clock.advance_ms(duration_ms)
        self.engine.tick()


def code_of(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


def test_an_activated_job_is_nobody_elses_until_its_time_is_over() -> None:
    bench = Bench()
    bench.with_job()
    [job] = bench.jobs(timeout_ms=1_000)
    assert (job.element_id, job.retries, job.worker) == ("ship", 3, "w")
    assert bench.jobs() == []
    bench.pass_ms(999)
    assert bench.jobs() == []
    bench.pass_ms(1)
    assert [again.key for again in bench.jobs()] == [job.key]


def test_a_failed_job_backs_off_before_it_returns() -> None:
    bench = Bench()
    bench.with_job()
    [job] = bench.jobs()
    bench.engine.fail_job(job.key, 2, "busy", backoff_ms=5_000)
    assert bench.jobs() == []
    bench.pass_ms(5_000)
    assert [(again.key, again.retries) for again in bench.jobs()] == [(job.key, 2)]


def test_a_job_that_returns_is_older_than_those_that_came_meanwhile() -> None:
    bench = Bench()
    bench.with_job()
    [first] = bench.jobs()
    bench.with_job()
    bench.engine.fail_job(first.key, 1)
    assert [job.key for job in bench.jobs(2)].index(first.key) == 0


def test_what_is_gone_or_has_moved_on_is_refused_with_its_code() -> None:
    bench = Bench()
    instance = bench.with_job()
    [job] = bench.jobs()
    engine = bench.engine
    engine.fail_job(job.key, 0)
    [incident] = open_incidents(engine)
    assert code_of(engine.complete_job(job.key, {})) == "INVALID_STATE"
    assert code_of(engine.resolve_incident(incident.key)) == "INVALID_STATE"
    assert code_of(engine.update_retries(job.key, 0)) == "INVALID_ARGUMENT"
    assert code_of(engine.cancel_instance(instance)) is None
    for answer in (
        engine.complete_job(job.key, {}),
        engine.fail_job(job.key, 1),
        engine.throw_error(job.key, "E"),
        engine.update_retries(job.key, 1),
        engine.resolve_incident(incident.key),
        engine.cancel_instance(instance),
        engine.set_variables(instance, {}),
        engine.cancel_instance(0),
        engine.cancel_instance(10**30),
    ):
        assert code_of(answer) == "NOT_FOUND"
    assert open_incidents(engine) == []


@pytest.mark.parametrize(("limit", "timeout_ms", "type_"), [(0, 1_000, "ship"), (1, 0, "ship"), (1, 1_000, "")])
def test_jobs_need_a_type_a_limit_and_time(limit: int, timeout_ms: int, type_: str) -> None:
    for shards in (1, 3):
        assert code_of(Bench(shards).engine.activate_jobs(type_, limit, "w", timeout_ms)) == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    "message",
    [
        NewMessage("  "),
        NewMessage("paid", "k" * 32_769),
        NewMessage("paid", variables=[1]),
        NewMessage("paid", business_id="b" * 257),
    ],  # type: ignore[arg-type]
)
def test_an_unusable_message_is_refused_and_leaves_no_trace(message: NewMessage) -> None:
    bench = Bench()
    assert code_of(bench.engine.publish(message)) == "INVALID_ARGUMENT"
    assert code_of(bench.engine.correlate(message)) == "INVALID_ARGUMENT"
    assert bench.history.messages == []


def test_time_never_goes_back() -> None:
    bench = Bench()
    before = bench.engine.now
    bench.clock.advance_ms(-60_000)
    assert bench.engine.now == before


def test_keys_name_their_shard_and_follow_each_other_across_shards() -> None:
    bench = Bench(shards=3)
    keys = [bench.start(f"o-{number}") for number in range(30)]
    assert {shard_of_key(key) for key in keys} == {0, 1, 2}
    assert [rank_of(key) for key in keys] == sorted(rank_of(key) for key in keys)


def test_an_instance_and_its_message_on_different_shards_find_each_other() -> None:
    """The key is not known when the instance is created, so it lives somewhere else."""
    for number in range(6):
        bench = Bench(shards=3)
        for _ in range(number):
            bench.engine.create_instance("order", {})
        created = bench.engine.create_instance("order", {})
        assert isinstance(created, CreatedInstance)
        bench.engine.set_variables(created.key, {"orderId": f"far-{number}"})
        for incident in open_incidents(bench.engine):
            bench.engine.resolve_incident(incident.key)
        assert [s.key for s in open_subscriptions(bench.engine)] == [f"far-{number}"]
        answer = bench.engine.correlate(NewMessage("paid", f"far-{number}", {"n": 1}))
        assert isinstance(answer, CorrelatedMessage)
        assert answer.instance_key == created.key
        assert [job.instance_key for job in open_jobs(bench.engine)] == [created.key]


def test_of_two_instances_on_different_shards_the_older_gets_the_first_message() -> None:
    """D7, by the counter part of the keys."""
    bench = Bench(shards=3)
    keys = []
    for _ in range(5):
        created = bench.engine.create_instance("order", {})
        assert isinstance(created, CreatedInstance)
        keys.append(created.key)
        bench.engine.set_variables(created.key, {"orderId": "same"})
    for incident in sorted(open_incidents(bench.engine), key=lambda incident: rank_of(incident.instance_key)):
        bench.engine.resolve_incident(incident.key)
    taken = [bench.engine.correlate(NewMessage("paid", "same")) for _ in range(5)]
    assert [answer.instance_key for answer in taken if isinstance(answer, CorrelatedMessage)] == keys


def test_a_duplicate_subscription_is_an_incident_that_names_the_holder_and_can_be_resolved() -> None:
    """Policy duplicate_subscription: reject."""
    policies, problems = read_policies("zeebe", {"paid": {"duplicate_subscription": "reject"}})
    assert problems == []
    bench = Bench(policies=policies)
    first, second = bench.start("o-1"), bench.start("o-1")
    [incident] = open_incidents(bench.engine)
    assert (incident.instance_key, incident.error_type) == (second, "DUPLICATE_SUBSCRIPTION")
    assert f"paid of instance {first} waits for it already" in incident.text
    bench.engine.resolve_incident(incident.key)
    assert [i.error_type for i in open_incidents(bench.engine)] == ["DUPLICATE_SUBSCRIPTION"]
    bench.engine.publish(NewMessage("paid", "o-1"))
    [incident] = open_incidents(bench.engine)
    bench.engine.resolve_incident(incident.key)
    assert open_incidents(bench.engine) == []
    assert [s.instance_key for s in open_subscriptions(bench.engine)] == [second]


def test_an_acknowledged_duplicate_is_answered_with_the_first_message() -> None:
    policies, _ = read_policies("zeebe", {"paid": {"on_duplicate": "acknowledge"}})
    bench = Bench(policies=policies)
    message = NewMessage("paid", "o-1", ttl_ms=60_000, message_id="x")
    first = bench.engine.publish(message)
    assert isinstance(first, PublishedMessage)
    assert bench.engine.publish(message) == first
