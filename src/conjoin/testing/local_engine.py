"""An engine in process for tests: one method for each thing that a client or a worker does.

What the engine refuses is raised as `Refused`, so that a test that did not expect it fails at that line. Everything
that a call causes has happened when it returns.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from conjoin.runtime.client_api.answers import ActivatedJob, Done, Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.catalog import chosen_policies
from conjoin.runtime.engine.memory import Engine
from conjoin.testing.clock import FakeClock
from conjoin.testing.observing.history import History
from conjoin.testing.observing.open_now import open_jobs, user_tasks
from conjoin.testing.records import InstanceHandle, JobHandle, MessageHandle
from conjoin.times.durations import read_duration_ms

Variables = Mapping[str, Any]
_A = TypeVar("_A")


class Refused(AssertionError):  # noqa: N818 - the name says what is the matter
    """The engine refused: `code` is NOT_FOUND, ALREADY_EXISTS, INVALID_ARGUMENT or INVALID_STATE."""

    def __init__(self, code: str, text: str) -> None:
        self.code, self.text = code, text
        super().__init__(f"{code}: {text}")


class LocalEngine:
    def __init__(
        self, shards: int = 1, profile: str = "zeebe", policies: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        """`policies` by message name, `*` for all; raises `PolicyError` with everything that is wrong with them."""
        self.clock = FakeClock()
        self._engine = Engine(self.clock, shards, chosen_policies(profile, policies or {}), profile)
        self._history = History()
        self._engine.listen(self._history)

    def deploy(self, *files: str | Path) -> None:
        """BPMN files, in one call: all of them or none."""
        self.deploy_texts({Path(file).name: Path(file).read_bytes() for file in files})

    def deploy_texts(self, models: Mapping[str, bytes]) -> None:
        self._granted(self._engine.deploy(list(models.items())))

    def start(
        self, process_id: str, variables: Variables | None = None, version: int = 0, business_id: str = ""
    ) -> InstanceHandle:
        created = self._granted(self._engine.create_instance(process_id, variables or {}, version, business_id))
        return self._instance(created.key)

    def publish(
        self,
        name: str,
        key: str = "",
        variables: Variables | None = None,
        *,
        ttl: str | int = 0,
        id: str = "",
        business_id: str = "",
    ) -> MessageHandle:
        """`ttl` is milliseconds, or `30s`, `5m`, `1h`."""
        new = NewMessage(name, key, variables or {}, _duration_ms(ttl), id, business_id)
        published = self._granted(self._engine.publish(new))
        new_one = next(it for it in reversed(self._history.messages) if it.message.key == published.key)
        return MessageHandle(published.key, new_one, self._engine, self._history)

    def correlate(
        self, name: str, key: str = "", variables: Variables | None = None, *, business_id: str = ""
    ) -> InstanceHandle:
        """Synchronous: the instance that took the message; raises `Refused` when none did."""
        new = NewMessage(name, key, variables or {}, business_id=business_id)
        return self._instance(self._granted(self._engine.correlate(new)).instance_key)

    def signal(self, name: str, variables: Variables | None = None) -> None:
        self._granted(self._engine.broadcast_signal(name, variables or {}))

    def advance(self, duration: str | int) -> None:
        """Move the clock by milliseconds, or `30s`, `5m`, `1h`; what falls due happens."""
        self.clock.advance_ms(_duration_ms(duration))
        self._engine.tick()

    def activate(self, type: str, limit: int = 1) -> list[JobHandle]:
        """The oldest jobs of a type, as a worker gets them."""
        return [self._job(job) for job in self._granted(self._engine.activate_jobs(type, limit))]

    def complete(self, type: str, variables: Variables | None = None, limit: int = 1) -> list[JobHandle]:
        """Do the oldest jobs of a type; there must be that many."""
        return [self._done(job, self._engine.complete_job(job.key, variables or {})) for job in self._some(type, limit)]

    def fail(self, type: str, retries: int = 0, message: str = "") -> JobHandle:
        job = self._some(type, 1)[0]
        return self._done(job, self._engine.fail_job(job.key, retries, message))

    def throw_error(self, type: str, code: str, variables: Variables | None = None) -> JobHandle:
        job = self._some(type, 1)[0]
        return self._done(job, self._engine.throw_error(job.key, code, "", variables))

    def complete_user_task(self, element_id: str, variables: Variables | None = None) -> None:
        """The oldest user task of this element; one that is a job is completed as such."""
        for task in sorted(user_tasks(self._engine), key=lambda task: task.key):
            if task.element_id == element_id:
                self._granted(self._engine.complete_job(task.key, variables or {}))
                return
        raise Refused("NOT_FOUND", f"no user task waits at {element_id!r}")

    def cancel(self, instance: InstanceHandle) -> None:
        self._granted(self._engine.cancel_instance(instance.key))

    def set_variables(self, instance: InstanceHandle, variables: Variables) -> None:
        self._granted(self._engine.set_variables(instance.key, variables))

    def resolve_incidents(self, instance: InstanceHandle) -> None:
        """Every open one of the instance, oldest first."""
        for incident in instance.incidents:
            self._granted(self._engine.resolve_incident(incident.key))

    def update_retries(self, job: JobHandle, retries: int) -> None:
        self._granted(self._engine.update_retries(job.key, retries))

    @property
    def instances(self) -> list[InstanceHandle]:
        """Every instance there ever was, in the order in which they came to be."""
        return [self._instance(key) for key in self._history.instances]

    def _granted(self, answer: _A | Refusal) -> _A:
        """The answer, after everything that the call caused: a timer that is due at once, too."""
        if isinstance(answer, Refusal):
            raise Refused(answer.code, answer.text)
        self._engine.tick()
        return answer

    def _instance(self, key: int) -> InstanceHandle:
        return InstanceHandle(key, self._engine, self._history)

    def _some(self, type: str, limit: int) -> list[JobHandle]:
        jobs = self.activate(type, limit)
        if len(jobs) < limit:
            there = sorted({job.type for job in open_jobs(self._engine)})
            raise Refused("NOT_FOUND", f"{len(jobs)} of {limit} jobs of type {type!r}; open are jobs of {there}")
        return jobs

    def _done(self, job: JobHandle, answer: Done | Refusal) -> JobHandle:
        self._granted(answer)
        return job

    def _job(self, job: ActivatedJob) -> JobHandle:
        about = (job.key, job.type, job.element_id, job.retries, dict(job.variables))
        return JobHandle(*about, self._instance(job.instance_key))


def _duration_ms(duration: str | int) -> int:
    ms = read_duration_ms(duration, signed=True)
    if ms is None:
        raise ValueError(f"{duration!r} is neither milliseconds nor a duration such as 30s, 5m or 1h")
    return ms
