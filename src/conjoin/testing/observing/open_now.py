"""Questions to an engine in memory about what is open now, answered in plain values."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from conjoin.kernel.correlation import Message
from conjoin.kernel.correlation import events as e
from conjoin.kernel.process.rules.jobs import FOR_A_PERSON
from conjoin.runtime.engine.key_spaces import KeySpaces
from conjoin.runtime.engine.memory import Engine
from conjoin.testing.observing.history import History


class ListedSubscription(NamedTuple):
    instance_key: int
    element_id: str
    name: str
    key: str


class OpenJob(NamedTuple):
    instance_key: int
    element_id: str
    type: str
    key: int


class OpenIncident(NamedTuple):
    key: int
    instance_key: int
    element_id: str
    error_type: str
    text: str


class TakenBy(NamedTuple):
    """Who has a message: the instance, and the element that caught it."""

    instance_key: int
    element_id: str


def open_subscriptions(engine: Engine) -> list[ListedSubscription]:
    return [
        ListedSubscription(subscription.instance_id, subscription.element_id or "", subscription.name, key)
        for spaces in (shard.spaces for shard in engine.shards)
        if isinstance(spaces, KeySpaces)
        for (_, key), subscription in spaces.subscriptions()
    ]


def open_jobs(engine: Engine) -> list[OpenJob]:
    """Jobs that a worker may still do; one whose error nothing caught is over."""
    return _jobs(engine, lambda job: job.state != "error_thrown" and job.type != FOR_A_PERSON)


def user_tasks(engine: Engine) -> list[OpenJob]:
    return _jobs(engine, lambda job: job.type == FOR_A_PERSON)


def _jobs(engine: Engine, is_wanted: Callable[[Any], bool]) -> list[OpenJob]:
    return [
        OpenJob(it.instance.key, it.element.id, job.type, job.key)
        for shard in engine.shards
        for job in shard.state.jobs.values()
        if is_wanted(job)
        for it in (shard.state.elements[job.element_key],)
    ]


def open_incidents(engine: Engine) -> list[OpenIncident]:
    """Oldest first."""
    found = [
        OpenIncident(incident.key, it.instance.key, it.element.id, incident.error_type, incident.text)
        for shard in engine.shards
        for incident in shard.state.incidents.values()
        for it in (shard.state.elements[incident.element_key],)
    ]
    return sorted(found)


def taken_by(message: Message) -> list[TakenBy]:
    targets: list[Any] = list(message.targets)
    return [
        TakenBy(target.instance_id, target.start.element_id or "")
        if isinstance(target, e.InstanceStarted)
        else TakenBy(target.instance_id, target.subscription.element_id)
        for target in targets
    ]


class MemoryView(History):
    """What can be observed of an engine in memory: its history, and what is open now."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine
        engine.listen(self)
        self.open_subscriptions = partial(open_subscriptions, engine)
        self.open_jobs = partial(open_jobs, engine)
        self.open_incidents = partial(open_incidents, engine)

    @property
    def now(self) -> int:
        return self._engine.now
