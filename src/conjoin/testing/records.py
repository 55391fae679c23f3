"""What a test holds in its hands: an instance, a message, a job. They answer for the engine as it is now."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conjoin.runtime.engine.memory import Engine
from conjoin.testing.observing import open_now
from conjoin.testing.observing.explained import Told
from conjoin.testing.observing.history import ACTIVE, History, InstanceStory, MessageHistory


@dataclass(frozen=True, slots=True)
class InstanceHandle:
    key: int
    _engine: Engine = field(repr=False, compare=False)
    _history: History = field(repr=False, compare=False)

    @property
    def _story(self) -> InstanceStory:
        return self._history.instances[self.key]

    @property
    def process_id(self) -> str:
        return self._story.process_id

    @property
    def version(self) -> int:
        return self._story.version

    @property
    def state(self) -> str:
        """active, completed or terminated"""
        return self._story.state

    @property
    def variables(self) -> dict[str, Any]:
        """Those of the instance itself, without the local ones of its elements."""
        return dict(self._story.variables)

    @property
    def active_elements(self) -> list[str]:
        """Where its tokens are, each element once, in the order in which they were entered."""
        return list(dict.fromkeys(e.element_id for e in self._story.elements.values() if e.state == ACTIVE))

    @property
    def entered_elements(self) -> list[str]:
        return [element.element_id for element in self._story.elements.values()]

    def states_of(self, element_id: str) -> list[str]:
        return [element.state for element in self._story.elements.values() if element.element_id == element_id]

    @property
    def incidents(self) -> list[open_now.OpenIncident]:
        return [incident for incident in open_now.open_incidents(self._engine) if incident.instance_key == self.key]

    @property
    def subscriptions(self) -> list[open_now.ListedSubscription]:
        return [wait for wait in open_now.open_subscriptions(self._engine) if wait.instance_key == self.key]

    @property
    def children(self) -> list["InstanceHandle"]:
        """The instances that its call activities have called."""
        mine, every = self._story.elements, self._history.instances.values()
        return [InstanceHandle(child.key, self._engine, self._history) for child in every if child.parent_key in mine]

    def __str__(self) -> str:
        return f"instance {self.key} of process {self.process_id}"


@dataclass(frozen=True, slots=True)
class MessageHandle:
    key: int
    _published: MessageHistory = field(repr=False, compare=False)
    _engine: Engine = field(repr=False, compare=False)
    _history: History = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        return self._published.message.name

    @property
    def correlation_key(self) -> str:
        return self._published.correlation_key

    @property
    def is_buffered(self) -> bool:
        """Its deadline is still ahead: an instance may take it, also after others have."""
        return self._published.message.stored and self._published.message.deadline > self._engine.now

    @property
    def taken(self) -> list[open_now.TakenBy]:
        return open_now.taken_by(self._published.message)

    @property
    def receivers(self) -> list[InstanceHandle]:
        """The instances that have it, those that it started included."""
        return [InstanceHandle(taken.instance_key, self._engine, self._history) for taken in self.taken]

    @property
    def verdict(self) -> str:
        """What became of it and why, as one sentence."""
        return self._told.sentence

    @property
    def reason(self) -> str:
        """The reason of its verdict, such as `ttl_zero`."""
        return self._told.verdict.reason

    @property
    def near_misses(self) -> list[Mapping[str, Any]]:
        """What came near to taking it, the likeliest cause first, three at most; each has a `kind`."""
        return self._told.near_misses

    @property
    def _told(self) -> Told:
        return Told(self._engine, self._published)

    def __str__(self) -> str:
        return f"message {self.name!r} with key {self.correlation_key!r}"


@dataclass(frozen=True, slots=True)
class JobHandle:
    """A job that a test has activated; `variables` are what its worker sees."""

    key: int
    type: str
    element_id: str
    retries: int
    variables: dict[str, Any]
    instance: InstanceHandle
