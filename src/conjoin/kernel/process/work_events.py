"""Events, for what element instances wait for (messages, timers, signals) and for jobs and incidents.

An element that ends takes its waits, its job and its incident with it.
"""

from dataclasses import dataclass

from conjoin.kernel.correlation.messages import Subscription
from conjoin.kernel.process.events import ProcessEvent, Variables
from conjoin.kernel.process.state import Incident, Job, ProcessState, SignalWait, Timer


@dataclass(slots=True, eq=False)
class MessageAwaited(ProcessEvent):
    key: int
    """The element instance that waits: the activity of a boundary event, the scope of an event subprocess."""
    subscription: Subscription

    def apply(self, state: ProcessState) -> None:
        it = state.elements[self.key]
        it.waits += (self.subscription,)
        state.keys.used(self.subscription.key)


@dataclass(slots=True, eq=False)
class SignalAwaited(ProcessEvent):
    key: int
    owner_key: int
    element_id: str
    name: str

    def apply(self, state: ProcessState) -> None:
        it = state.elements[self.owner_key]
        wait = SignalWait(self.key, self.owner_key, self.element_id, self.name)
        it.waits += (wait,)
        state.signals.setdefault((it.instance.tenant_id, self.name), {})[self.key] = wait
        state.keys.used(self.key)


@dataclass(slots=True, eq=False)
class TimerStarted(ProcessEvent):
    """`owner_key` is an element instance, or the definition of a start event. `interval` is months, microseconds."""

    key: int
    owner_key: int
    element_id: str
    due_at: int
    repetitions: int
    interval: tuple[int, int]

    def apply(self, state: ProcessState) -> None:
        timer = Timer(self.key, self.owner_key, self.element_id, self.due_at, self.repetitions, self.interval)
        state.watch_timer(timer)
        state.keys.used(self.key)
        it = state.elements.get(self.owner_key)
        if it is not None:
            it.waits += (timer,)
        else:
            definition = state.definitions.by_key[self.owner_key]
            state.start_timers.setdefault((definition.tenant_id, definition.process_id), []).append(self.key)


@dataclass(slots=True, eq=False)
class TimerEnded(ProcessEvent):
    key: int

    def apply(self, state: ProcessState) -> None:
        timer = state.timers[self.key]
        state.forget_timer(self.key)
        it = state.elements.get(timer.owner_key)
        if it is not None:
            it.waits = tuple(wait for wait in it.waits if wait is not timer)
        else:
            definition = state.definitions.by_key[timer.owner_key]
            state.start_timers[definition.tenant_id, definition.process_id].remove(self.key)


@dataclass(slots=True, eq=False)
class JobCreated(ProcessEvent):
    key: int
    element_key: int
    type: str
    retries: int

    def apply(self, state: ProcessState) -> None:
        job = Job(self.key, self.element_key, self.type, self.retries)
        it = state.elements[self.element_key]
        it.work_key = self.key
        state.jobs[self.key] = job
        state.keys.used(self.key)
        state.job_index.add(it.instance.tenant_id, self.type, self.key)


@dataclass(slots=True, eq=False)
class JobActivated(ProcessEvent):
    key: int
    worker: str
    deadline: int

    def apply(self, state: ProcessState) -> None:
        job = state.jobs[self.key]
        state.job_index.remove(state.tenant_of(job), job.type, job.key)
        job.state = "activated"
        job.worker = self.worker
        job.deadline = self.deadline
        state.watch_job(job)


@dataclass(slots=True, eq=False)
class JobCompleted(ProcessEvent):
    key: int
    variables: Variables

    def apply(self, state: ProcessState) -> None:
        job = state.jobs[self.key]
        it = state.elements[job.element_key]
        state.drop_job(job, it)
        it.work_key = 0


@dataclass(slots=True, eq=False)
class JobFailed(ProcessEvent):
    key: int
    retries: int
    message: str
    ready_at: int

    def apply(self, state: ProcessState) -> None:
        job = state.jobs[self.key]
        tenant_id = state.tenant_of(job)
        state.job_index.remove(tenant_id, job.type, job.key)
        job.retries = self.retries
        job.message = self.message
        job.deadline = self.ready_at
        if self.retries < 1:
            job.state = "failed"
        elif self.ready_at:
            job.state = "backing_off"
            state.watch_job(job)
        else:
            job.state = "ready"
            state.job_index.add_again(tenant_id, job.type, job.key)
        state.drop_settled_jobs()


@dataclass(slots=True, eq=False)
class ErrorThrown(ProcessEvent):
    """By a worker. `caught` is false when nobody catches it."""

    key: int
    code: str
    message: str
    caught: bool

    def apply(self, state: ProcessState) -> None:
        job = state.jobs[self.key]
        state.job_index.remove(state.tenant_of(job), job.type, job.key)
        job.state = "error_thrown"
        job.message = self.message
        state.drop_settled_jobs()


@dataclass(slots=True, eq=False)
class JobReturned(ProcessEvent):
    """It can be activated again."""

    key: int

    def apply(self, state: ProcessState) -> None:
        job = state.jobs[self.key]
        job.state = "ready"
        job.worker = ""
        job.deadline = 0
        state.job_index.add_again(state.tenant_of(job), job.type, job.key)
        state.drop_settled_jobs()


@dataclass(slots=True, eq=False)
class RetriesUpdated(ProcessEvent):
    key: int
    retries: int

    def apply(self, state: ProcessState) -> None:
        state.jobs[self.key].retries = self.retries


@dataclass(slots=True, eq=False)
class TimeoutUpdated(ProcessEvent):
    key: int
    deadline: int

    def apply(self, state: ProcessState) -> None:
        job = state.jobs[self.key]
        job.deadline = self.deadline
        state.watch_job(job)


@dataclass(slots=True, eq=False)
class TaskAssigned(ProcessEvent):
    key: int
    assignee: str

    def apply(self, state: ProcessState) -> None:
        state.jobs[self.key].worker = self.assignee


@dataclass(slots=True, eq=False)
class IncidentRaised(ProcessEvent):
    """`job_key` is 0 when no job is to blame."""

    key: int
    element_key: int
    job_key: int
    error_type: str
    text: str

    def apply(self, state: ProcessState) -> None:
        incident = Incident(self.key, self.element_key, self.job_key, self.error_type, self.text)
        state.incidents[self.key] = incident
        state.elements[self.element_key].incident_key = self.key
        state.keys.used(self.key)


@dataclass(slots=True, eq=False)
class IncidentResolved(ProcessEvent):
    key: int

    def apply(self, state: ProcessState) -> None:
        incident = state.incidents.pop(self.key)
        it = state.elements.get(incident.element_key)
        if it is not None:
            it.incident_key = 0
