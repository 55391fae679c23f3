"""Events: what happened to instances. Plain values and keys; only `apply` changes anything by them.

A refusal is an event like any other. An element that is passed in one step (a gateway) has one event for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conjoin.kernel.correlation.messages import Subscription
from conjoin.kernel.keys import SubscriptionKey

Variables = Mapping[str, Any]


class ProcessEvent:
    __slots__ = ()


Event = ProcessEvent


@dataclass(slots=True, eq=False)
class InstanceCreated(ProcessEvent):
    """`parent_key` is the call activity that called it; `lock_key` the correlation key it was started by."""

    key: int
    definition_key: int
    started: str
    tenant_id: str
    business_id: str
    variables: Variables
    parent_key: int
    lock_key: str | None


@dataclass(slots=True, eq=False)
class InstanceCompleted(ProcessEvent):
    key: int


@dataclass(slots=True, eq=False)
class InstanceTerminated(ProcessEvent):
    key: int


@dataclass(slots=True, eq=False)
class ElementEntered(ProcessEvent):
    """`active` is false while an incident keeps it from getting ready. `variables` are its own."""

    key: int
    element_id: str
    scope_key: int
    active: bool
    variables: Variables | None


@dataclass(slots=True, eq=False)
class LoopEntered(ProcessEvent):
    """A multi-instance body."""

    key: int
    element_id: str
    scope_key: int
    items: Sequence[Any]
    variables: Variables | None


@dataclass(slots=True, eq=False)
class ElementPassed(ProcessEvent):
    """Entered and completed in one step."""

    key: int
    element_id: str
    scope_key: int


@dataclass(slots=True, eq=False)
class ElementCompleted(ProcessEvent):
    key: int


@dataclass(slots=True, eq=False)
class ElementTerminated(ProcessEvent):
    key: int


@dataclass(slots=True, eq=False)
class TokenAdded(ProcessEvent):
    """A token that came by no flow: a start, an event, an item of a multi-instance body."""

    key: int
    element_id: str
    scope_key: int
    index: int = -1


@dataclass(slots=True, eq=False)
class FlowTaken(ProcessEvent):
    """`joins`: the token waits at a gateway for others."""

    key: int
    element_id: str
    scope_key: int
    flow_id: str
    joins: bool


@dataclass(slots=True, eq=False)
class TokensJoined(ProcessEvent):
    """The tokens of these flows became one."""

    element_id: str
    scope_key: int
    flow_ids: tuple[str, ...]


@dataclass(slots=True, eq=False)
class TokenDropped(ProcessEvent):
    """It arrived in a scope that is being left."""

    element_id: str
    scope_key: int


@dataclass(slots=True, eq=False)
class ElementTriggered(ProcessEvent):
    """Something happened that will end it: its own message or job, or an interrupting event on its border."""

    key: int
    element_id: str
    variables: Variables | None
    subscription_key: SubscriptionKey = 0


@dataclass(slots=True, eq=False)
class ScopeTerminating(ProcessEvent):
    key: int


@dataclass(slots=True, eq=False)
class ScopeInterrupted(ProcessEvent):
    """An interrupting event subprocess will take over once everything else in the scope has ended."""

    key: int
    element_id: str
    variables: Variables | None
    subscription_key: SubscriptionKey = 0


@dataclass(slots=True, eq=False)
class ScopeEnding(ProcessEvent):
    """It completes once everything in it has been ended."""

    key: int


@dataclass(slots=True, eq=False)
class ScopeShut(ProcessEvent):
    """Nothing enters any more; tokens that wait at a gateway are gone."""

    key: int


@dataclass(slots=True, eq=False)
class InterruptionBegun(ProcessEvent):
    key: int


@dataclass(slots=True, eq=False)
class VariablesWritten(ProcessEvent):
    scope_key: int
    variables: Variables


@dataclass(slots=True, eq=False)
class ResultKept(ProcessEvent):
    """Of an item of a multi-instance body: it has its place in the list that the body collects."""

    scope_key: int
    collection: str
    index: int
    value: Any


@dataclass(slots=True, eq=False)
class MessageAwaited(ProcessEvent):
    key: int
    """The element instance that waits: the activity of a boundary event, the scope of an event subprocess."""
    subscription: Subscription


@dataclass(slots=True, eq=False)
class SignalAwaited(ProcessEvent):
    key: int
    owner_key: int
    element_id: str
    name: str


@dataclass(slots=True, eq=False)
class TimerStarted(ProcessEvent):
    """`owner_key` is an element instance, or the definition of a start event. `interval` is months, microseconds."""

    key: int
    owner_key: int
    element_id: str
    due_at: int
    repetitions: int
    interval: tuple[int, int]


@dataclass(slots=True, eq=False)
class TimerEnded(ProcessEvent):
    key: int


@dataclass(slots=True, eq=False)
class JobCreated(ProcessEvent):
    key: int
    element_key: int
    type: str
    retries: int


@dataclass(slots=True, eq=False)
class JobActivated(ProcessEvent):
    key: int
    worker: str
    deadline: int


@dataclass(slots=True, eq=False)
class JobCompleted(ProcessEvent):
    key: int
    variables: Variables


@dataclass(slots=True, eq=False)
class JobFailed(ProcessEvent):
    key: int
    retries: int
    message: str
    ready_at: int


@dataclass(slots=True, eq=False)
class ErrorThrown(ProcessEvent):
    """By a worker. `caught` is false when nobody catches it."""

    key: int
    code: str
    message: str
    caught: bool


@dataclass(slots=True, eq=False)
class JobReturned(ProcessEvent):
    """It can be activated again."""

    key: int


@dataclass(slots=True, eq=False)
class RetriesUpdated(ProcessEvent):
    key: int
    retries: int


@dataclass(slots=True, eq=False)
class TimeoutUpdated(ProcessEvent):
    key: int
    deadline: int


@dataclass(slots=True, eq=False)
class TaskAssigned(ProcessEvent):
    key: int
    assignee: str


@dataclass(slots=True, eq=False)
class IncidentRaised(ProcessEvent):
    """`job_key` is 0 when no job is to blame."""

    key: int
    element_key: int
    job_key: int
    error_type: str
    text: str


@dataclass(slots=True, eq=False)
class IncidentResolved(ProcessEvent):
    key: int


@dataclass(slots=True, eq=False)
class CommandRefused(ProcessEvent):
    """A business no: NOT_FOUND, ALREADY_EXISTS, INVALID_ARGUMENT or INVALID_STATE, and why."""

    code: str
    text: str
