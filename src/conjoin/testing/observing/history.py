"""History: what became of every instance and message, derived from the events alone.

The kernel keeps only what is alive. A scenario or a test that looks back listens with one of these.
"""

from dataclasses import dataclass, field
from typing import Any

from conjoin.kernel.correlation import Message
from conjoin.kernel.correlation import events as e
from conjoin.kernel.definitions import Definitions
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
    """What became of instances, from the events of an engine or of a log, in the order in which they were created."""

    def __init__(self) -> None:
        self.instances: dict[int, InstanceStory] = {}
        self._instance_of: dict[int, InstanceStory] = {}

    def note(self, kind: str, event: Any, definitions: Definitions) -> None:
        """`kind` is the name of the event; only some change anything."""
        match kind:
            case "InstanceCreated":
                it = definitions.by_key[event.definition_key]
                about = (event.key, it.process_id, it.version, event.started, event.parent_key)
                instance = InstanceStory(*about, dict(event.variables))
                self.instances[event.key] = self._instance_of[event.key] = instance
            case "InstanceCompleted" | "InstanceTerminated":
                self.instances[event.key].state = _STATES[kind]
            case "ElementEntered" | "LoopEntered" | "ElementPassed":
                instance = self._instance_of[event.key] = self._instance_of[event.scope_key]
                instance.elements[event.key] = ElementHistory(event.element_id, _STATES[kind])
            case "ElementCompleted" | "ElementTerminated":
                self._instance_of[event.key].elements[event.key].state = _STATES[kind]
            case "VariablesWritten" if event.scope_key in self.instances:
                self.instances[event.scope_key].variables.update(event.variables)


_STATES = {
    **dict.fromkeys(("ElementEntered", "LoopEntered"), ACTIVE),
    **dict.fromkeys(("InstanceCompleted", "ElementPassed", "ElementCompleted"), COMPLETED),
    **dict.fromkeys(("InstanceTerminated", "ElementTerminated"), TERMINATED),
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
