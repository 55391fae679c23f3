"""What can be changed about a job: how long its worker has, and who does a user task. The log replays both."""

import pytest

from conjoin.runtime.client_api.answers import DONE, ActivatedJob, Refusal
from conjoin.runtime.reading.lists import ListQuery, list_page
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.working_set import working_set
from tests.runtime.broker_bench import Bench

MINUTE_MS = 60_000


def code_of(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


def shipping() -> tuple[Bench, ActivatedJob]:
    """A worker has the job of the only order, for a minute."""
    bench = Bench()
    bench.deploy()
    bench.start()
    bench.publish()
    (job,) = bench.broker.activate_jobs("ship", 1, "w", MINUTE_MS)
    return bench, job


def test_longer_timeout_keeps_the_job_with_its_worker() -> None:
    bench, job = shipping()
    assert bench.broker.update_timeout(job.key, 2 * MINUTE_MS) is DONE
    bench.wait_ms(MINUTE_MS)
    bench.broker.tick()
    assert bench.broker.activate_jobs("ship", 1) == []
    bench.wait_ms(MINUTE_MS)
    bench.broker.tick()
    assert [again.key for again in bench.broker.activate_jobs("ship", 1)] == [job.key]
    assert [it.difference for it in verify_store(bench.store)] == [None]


def test_only_a_job_that_somebody_works_on_has_a_timeout() -> None:
    bench, job = shipping()
    assert code_of(bench.broker.update_timeout(job.key, -1)) == "INVALID_ARGUMENT"
    bench.broker.fail_job(job.key, 2)
    assert code_of(bench.broker.update_timeout(job.key, 1)) == "INVALID_STATE"
    bench.broker.cancel_instance(job.instance_key)
    assert code_of(bench.broker.update_timeout(job.key, 1)) == "NOT_FOUND"


def test_user_task_is_assigned_taken_over_and_given_back() -> None:
    bench, job = shipping()
    assert code_of(bench.broker.assign_task(job.key, "ann")) == "NOT_FOUND"
    bench.wait_ms(60 * MINUTE_MS)
    bench.broker.tick()
    (task,) = list_page(bench.broker, "jobs", ListQuery({"element": "ask"})).items
    assert bench.broker.assign_task(task.key, "ann", override=False) is DONE
    assert code_of(bench.broker.assign_task(task.key, "bob", override=False)) == "INVALID_STATE"
    for assignee in ("bob", ""):
        assert bench.broker.assign_task(task.key, assignee) is DONE
        (task,) = list_page(bench.broker, "jobs", ListQuery({"element": "ask"})).items
        assert task.worker == assignee
    assert bench.broker.complete_job(task.key, {}) is DONE
    assert [it.difference for it in verify_store(bench.store)] == [None]


def test_jobs_with_large_variables_are_handed_out_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working_set, "MOST_JOB_BYTES", 5_000)
    bench = Bench()
    bench.deploy()
    for number in range(4):
        bench.start(variables={"orderId": f"o-{number}", "letter": "x" * 3_000})
        bench.publish(key=f"o-{number}")
    counts = [len(bench.broker.activate_jobs("ship", 10, "w", MINUTE_MS)) for _ in range(3)]
    assert counts == [2, 2, 0]
    assert [it.difference for it in verify_store(bench.store)] == [None]
