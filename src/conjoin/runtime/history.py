"""The history of an engine in memory: what became of every instance and message, derived from the events alone.

The kernel keeps only what is alive. Whoever wants to look back (a scenario, a test) listens with one of these.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from conjoin.kernel.correlation import Message
from conjoin.kernel.correlation import events as e
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.runtime.shard import Shard

ACTIVE, COMPLETED, TERMINATED = "active", "completed", "terminated"


@dataclass(slots=True)
class InstanceHistory:
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


class History:
    """Listens to an engine. Instances and messages stand in the order in which they came to be."""

    def __init__(self) -> None:
        self.instances: dict[int, InstanceHistory] = {}
        self.messages: list[MessageHistory] = []
        self._instance_of: dict[int, InstanceHistory] = {}

    def __call__(self, shard: Shard, command: Any, event: Any) -> None:
        note = _NOTES.get(type(event))
        if note is not None:
            note(self, shard, command, event)

    def _created(self, shard: Shard, command: Any, event: pe.InstanceCreated) -> None:
        definition = shard.definitions.by_key[event.definition_key]
        told = (event.key, definition.process_id, definition.version, event.started, event.parent_key)
        instance = InstanceHistory(*told, dict(event.variables))
        self.instances[event.key] = self._instance_of[event.key] = instance

    def _instance_completed(self, shard: Shard, command: Any, event: pe.InstanceCompleted) -> None:
        self.instances[event.key].state = COMPLETED

    def _instance_terminated(self, shard: Shard, command: Any, event: pe.InstanceTerminated) -> None:
        self.instances[event.key].state = TERMINATED

    def _entered(self, shard: Shard, command: Any, event: pe.ElementEntered | pe.LoopEntered) -> None:
        self._note(event.key, event.element_id, event.scope_key, ACTIVE)

    def _passed(self, shard: Shard, command: Any, event: pe.ElementPassed) -> None:
        self._note(event.key, event.element_id, event.scope_key, COMPLETED)

    def _note(self, key: int, element_id: str, scope_key: int, state: str) -> None:
        instance = self._instance_of[scope_key]
        self._instance_of[key] = instance
        instance.elements[key] = ElementHistory(element_id, state)

    def _completed(self, shard: Shard, command: Any, event: pe.ElementCompleted) -> None:
        self._instance_of[event.key].elements[event.key].state = COMPLETED

    def _terminated(self, shard: Shard, command: Any, event: pe.ElementTerminated) -> None:
        self._instance_of[event.key].elements[event.key].state = TERMINATED

    def _written(self, shard: Shard, command: Any, event: pe.VariablesWritten) -> None:
        instance = self.instances.get(event.scope_key)
        if instance is not None:
            instance.variables.update(event.variables)

    def _published(self, shard: Shard, command: c.ForKey, event: e.MessagePublished) -> None:
        message = event.message
        self.messages.append(MessageHistory(message, command.key, command.tenant_id, message.sync))


_NOTES: dict[type, Callable[[History, Shard, Any, Any], None]] = {
    pe.InstanceCreated: History._created,
    pe.InstanceCompleted: History._instance_completed,
    pe.InstanceTerminated: History._instance_terminated,
    pe.ElementEntered: History._entered,
    pe.LoopEntered: History._entered,
    pe.ElementPassed: History._passed,
    pe.ElementCompleted: History._completed,
    pe.ElementTerminated: History._terminated,
    pe.VariablesWritten: History._written,
    e.MessagePublished: History._published,
}
