"""State: the live instances of one shard. What has ended is not here.

An element instance knows its scope and its instance, so following a token is following references; everything that
arrives with a key is found by it. Only events change anything. Invariant: `tokens` of a scope counts its live
children, the tokens on their way to an element, and those that wait at a gateway.
"""

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, merge
from itertools import islice
from typing import Any, Final, NamedTuple, final

from conjoin.kernel.correlation.messages import Subscription
from conjoin.kernel.definitions import Definition, Definitions
from conjoin.kernel.keys import Keys, SubscriptionKey
from conjoin.kernel.plan import Element

ACTIVATING: Final = "activating"
ACTIVE: Final = "active"
TERMINATING: Final = "terminating"


class Trigger(NamedTuple):
    """What ends an element or interrupts a scope: the catching element, and what came with the event."""

    element_id: str
    variables: Any
    subscription_key: SubscriptionKey


class SignalWait(NamedTuple):
    key: int
    owner_key: int
    element_id: str
    name: str


class Timer(NamedTuple):
    """`repetitions` counts what is left after this time; negative is without end."""

    key: int
    owner_key: int
    element_id: str
    due_at: int
    repetitions: int
    interval: tuple[int, int]


Wait = Subscription | SignalWait | Timer


class ElementInstance:
    """A token at rest in an element. `work_key` is its job or the instance that it called."""

    __slots__ = (
        *("element", "following", "incident_key", "instance", "key", "preceding", "scope", "state"),
        *("trigger", "variables", "waits", "work_key"),
    )

    def __init__(self, key: int, element: Element, scope: "Scope | None", variables: dict[str, Any] | None) -> None:
        self.key = key
        self.element = element
        self.scope = scope
        self.instance: Instance = scope.instance if scope is not None else self  # type: ignore[assignment]
        self.variables = variables
        self.state = ACTIVE
        self.waits: tuple[Wait, ...] = ()
        self.trigger: Trigger | None = None
        self.work_key = 0
        self.incident_key = 0
        self.following: ElementInstance | None = None
        self.preceding: ElementInstance | None = None


class Scope(ElementInstance):
    """An element instance with others inside. They are chained, oldest first, so that one is taken out at once."""

    __slots__ = ("arrived", "ending", "first", "interrupted", "last", "moving", "pending", "shut", "tokens")

    def __init__(self, key: int, element: Element, scope: "Scope | None", variables: dict[str, Any] | None) -> None:
        super().__init__(key, element, scope, variables)
        self.tokens = 0
        self.first: ElementInstance | None = None
        self.last: ElementInstance | None = None
        self.arrived: dict[str, int] | None = None
        """Tokens that wait at a joining gateway, by flow."""
        self.moving: dict[str, int] | None = None
        """Tokens on their way, by the element they go to; kept only where an inclusive gateway asks for it."""
        self.pending: Trigger | None = None
        self.interrupted = False
        self.ending = False
        self.shut = False

    def children(self) -> Iterator[ElementInstance]:
        child = self.first
        while child is not None:
            yield child
            child = child.following

    def add(self, child: ElementInstance) -> None:
        child.preceding = self.last
        if self.last is None:
            self.first = child
        else:
            self.last.following = child
        self.last = child

    def remove(self, child: ElementInstance) -> None:
        before, after = child.preceding, child.following
        if before is None:
            self.first = after
        else:
            before.following = after
        if after is None:
            self.last = before
        else:
            after.preceding = before
        child.preceding = child.following = None


class LoopBody(Scope):
    """A multi-instance body: one child for each item."""

    __slots__ = ("completed", "index_of", "items", "started", "terminated")

    def __init__(
        self, key: int, element: Element, scope: Scope, variables: dict[str, Any] | None, items: Sequence[Any]
    ) -> None:
        super().__init__(key, element, scope, variables)
        self.items = items
        self.index_of: dict[int, int] = {}
        self.started = 0
        self.completed = 0
        self.terminated = 0


class Instance(Scope):
    """A process instance: the outermost scope."""

    __slots__ = ("business_id", "definition", "lock_key", "parent_key", "started", "tenant_id")

    def __init__(self, key: int, definition: Definition, variables: dict[str, Any]) -> None:
        super().__init__(key, definition.plan.root, None, variables)
        self.definition = definition
        self.started = ""
        self.tenant_id = ""
        self.business_id = ""
        self.parent_key = 0
        self.lock_key: str | None = None


@final
@dataclass(slots=True, eq=False)
class Job:
    """Work for somebody outside. `state` is ready, activated, backing_off, failed or error_thrown."""

    key: int
    element_key: int
    type: str
    retries: int
    state: str = "ready"
    worker: str = ""
    deadline: int = 0
    message: str = ""


class _JobQueue:
    __slots__ = ("fresh", "returned")

    def __init__(self) -> None:
        self.fresh: dict[int, None] = {}
        self.returned: list[int] = []

    def __iter__(self) -> Iterator[int]:
        return merge(self.fresh, self.returned) if self.returned else iter(self.fresh)


@final
class JobIndex:
    """The jobs that can be activated, by tenant and type, oldest first.

    New jobs come in the order of their keys; one that returns (its worker failed or took too long) keeps its old key,
    so it is sorted in beside them.
    """

    __slots__ = ("_queues",)

    def __init__(self) -> None:
        self._queues: dict[tuple[str, str], _JobQueue] = {}

    def oldest(self, tenant_id: str, type_: str, limit: int) -> list[int]:
        queue = self._queues.get((tenant_id, type_))
        return [] if queue is None else list(islice(queue, limit))

    def add(self, tenant_id: str, type_: str, key: int) -> None:
        queue = self._queues.get((tenant_id, type_))
        if queue is None:
            queue = self._queues[tenant_id, type_] = _JobQueue()
        queue.fresh[key] = None

    def add_again(self, tenant_id: str, type_: str, key: int) -> None:
        insort(self._queues.setdefault((tenant_id, type_), _JobQueue()).returned, key)

    def remove(self, tenant_id: str, type_: str, key: int) -> None:
        place = (tenant_id, type_)
        queue = self._queues.get(place)
        if queue is None:
            return
        if key in queue.fresh:
            del queue.fresh[key]
        elif key in queue.returned:
            queue.returned.remove(key)
        if not queue.fresh and not queue.returned:
            del self._queues[place]


class Incident(NamedTuple):
    """`element_key` cannot go on until somebody resolves it."""

    key: int
    element_key: int
    job_key: int
    error_type: str
    text: str


@dataclass(slots=True, eq=False, repr=False)
class ProcessState:
    """Everything alive in one shard, by key."""

    definitions: Definitions
    keys: Keys
    elements: dict[int, ElementInstance] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    job_index: JobIndex = field(default_factory=JobIndex)
    incidents: dict[int, Incident] = field(default_factory=dict)
    timers: dict[int, Timer] = field(default_factory=dict)
    start_timers: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    signals: dict[tuple[str, str], dict[int, SignalWait]] = field(default_factory=dict)
    due_timers: list[tuple[int, int]] = field(default_factory=list)
    due_jobs: list[tuple[int, int]] = field(default_factory=list)

    def instance(self, key: int) -> Instance | None:
        found = self.elements.get(key)
        return found if isinstance(found, Instance) else None

    def scope(self, key: int) -> Scope:
        found = self.elements[key]
        assert isinstance(found, Scope)
        return found

    def stop_waiting(self, it: ElementInstance) -> None:
        for wait in it.waits:
            if type(wait) is Timer:
                self.forget_timer(wait.key)
            elif type(wait) is SignalWait:
                name = (it.instance.tenant_id, wait.name)
                waiting = self.signals[name]
                del waiting[wait.key]
                if not waiting:
                    del self.signals[name]
        it.waits = ()

    def forget_work(self, it: ElementInstance) -> None:
        """Its job and its incident. (A call activity has an instance instead of a job, which ends by itself.)"""
        if it.work_key in self.jobs:
            self.drop_job(self.jobs[it.work_key], it)
        if it.incident_key:
            self.incidents.pop(it.incident_key, None)

    def drop_job(self, job: Job, it: ElementInstance) -> None:
        self.job_index.remove(it.instance.tenant_id, job.type, job.key)
        del self.jobs[job.key]
        self.drop_settled_jobs()

    def tenant_of(self, job: Job) -> str:
        return self.elements[job.element_key].instance.tenant_id

    def watch_timer(self, timer: Timer) -> None:
        self.timers[timer.key] = timer
        heappush(self.due_timers, (timer.due_at, timer.key))

    def forget_timer(self, key: int) -> None:
        self.timers.pop(key, None)
        while self.due_timers and self.due_timers[0][1] not in self.timers:
            heappop(self.due_timers)

    def watch_job(self, job: Job) -> None:
        heappush(self.due_jobs, (job.deadline, job.key))
        self.drop_settled_jobs()

    def drop_settled_jobs(self) -> None:
        """Leave the earliest job that really waits for its instant at the front."""
        heap = self.due_jobs
        while heap:
            at, key = heap[0]
            job = self.jobs.get(key)
            if job is not None and job.deadline == at and job.state in ("activated", "backing_off"):
                return
            heappop(heap)
