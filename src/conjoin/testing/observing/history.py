"""History: what became of every instance and message, derived from the events alone.

The kernel keeps only what is alive. Whoever wants to look back (a scenario, a test) listens with one of these.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from conjoin.kernel.correlation import Message
from conjoin.kernel.correlation import events as e
from conjoin.kernel.definitions import Definition, Definitions
from conjoin.runtime.engine.shard import Shard

ACTIVE, COMPLETED, TERMINATED = "active", "completed", "terminated"


@dataclass(slots=True)
class InstanceStory:
    key: int
    process_id: str
    version: int
    started: str
    parent_key: int
    variables: dict[str, Any]
    state: str = ACTIVE
    elements: dict[int, "ElementHistory"] = field(default_factory=dict)


@dataclass(slots=True)
class ElementHistory:
    element_id: str
    state: str


@dataclass(slots=True)
class MessageHistory:
    """`message` is the live record: who has it is in its targets."""

    message: Message
    correlation_key: str
    tenant_id: str
    is_sync: bool


class Instances:
    """What became of instances, told by the events of an engine or of a log. They stand in the order they came."""

    def __init__(self) -> None:
        self.instances: dict[int, InstanceStory] = {}
        self._instance_of: dict[int, InstanceStory] = {}

    def note(self, kind: str, event: Any, definitions: Definitions) -> None:
        """`kind` is the name of the event; only some tell anything."""
        note = _NOTES.get(kind)
        if note is not None:
            note(self, event)
        elif kind == "InstanceCreated":
            self._created(event, definitions.by_key[event.definition_key])

    def _created(self, event: Any, definition: Definition) -> None:
        told = (event.key, definition.process_id, definition.version, event.started, event.parent_key)
        instance = InstanceStory(*told, dict(event.variables))
        self.instances[event.key] = self._instance_of[event.key] = instance

    def _instance_completed(self, event: Any) -> None:
        self.instances[event.key].state = COMPLETED

    def _instance_terminated(self, event: Any) -> None:
        self.instances[event.key].state = TERMINATED

    def _entered(self, event: Any) -> None:
        self._note(event.key, event.element_id, event.scope_key, ACTIVE)

    def _passed(self, event: Any) -> None:
        self._note(event.key, event.element_id, event.scope_key, COMPLETED)

    def _note(self, key: int, element_id: str, scope_key: int, state: str) -> None:
        instance = self._instance_of[scope_key]
        self._instance_of[key] = instance
        instance.elements[key] = ElementHistory(element_id, state)

    def _completed(self, event: Any) -> None:
        self._instance_of[event.key].elements[event.key].state = COMPLETED

    def _terminated(self, event: Any) -> None:
        self._instance_of[event.key].elements[event.key].state = TERMINATED

    def _written(self, event: Any) -> None:
        instance = self.instances.get(event.scope_key)
        if instance is not None:
            instance.variables.update(event.variables)


_NOTES: dict[str, Callable[[Instances, Any], None]] = {
    "InstanceCompleted": Instances._instance_completed,
    "InstanceTerminated": Instances._instance_terminated,
    "ElementEntered": Instances._entered,
    "LoopEntered": Instances._entered,
    "ElementPassed": Instances._passed,
    "ElementCompleted": Instances._completed,
    "ElementTerminated": Instances._terminated,
    "VariablesWritten": Instances._written,
}


class History(Instances):
    """Listens to an engine in memory; keeps its messages too, in the order in which they were published."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[MessageHistory] = []

    def __call__(self, shard: Shard, command: Any, event: Any) -> None:
        kind = type(event)
        if kind is e.MessagePublished:
            message = event.message
            self.messages.append(MessageHistory(message, command.key, command.tenant_id, message.sync))
        else:
            self.note(kind.__name__, event, shard.definitions)
