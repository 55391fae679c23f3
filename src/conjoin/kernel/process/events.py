"""Events: what happened to instances. Plain values and keys; `apply` is the only reader that changes anything.

A refusal is an event like any other. An element that is passed in one step (a gateway) has one event for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conjoin.kernel.correlation.messages import Subscription

Variables = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class InstanceCreated:
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
class InstanceCompleted:
    key: int


@dataclass(slots=True, eq=False)
class InstanceTerminated:
    key: int


@dataclass(slots=True, eq=False)
class ElementEntered:
    """`active` is false while an incident keeps it from getting ready. `variables` are its own."""

    key: int
    element_id: str
    scope_key: int
    active: bool
    variables: Variables | None


@dataclass(slots=True, eq=False)
class LoopEntered:
    """A multi-instance body."""

    key: int
    element_id: str
    scope_key: int
    items: Sequence[Any]
    variables: Variables | None


@dataclass(slots=True, eq=False)
class ElementPassed:
    """Entered and completed in one step."""

    key: int
    element_id: str
    scope_key: int


@dataclass(slots=True, eq=False)
class ElementCompleted:
    key: int


@dataclass(slots=True, eq=False)
class ElementTerminated:
    key: int


@dataclass(slots=True, eq=False)
class TokenAdded:
    """A token that came by no flow: a start, an event, an item of a multi-instance body."""

    key: int
    element_id: str
    scope_key: int
    index: int = -1


@dataclass(slots=True, eq=False)
class FlowTaken:
    """`joins`: the token waits at a gateway for others."""

    key: int
    element_id: str
    scope_key: int
    flow_id: str
    joins: bool


@dataclass(slots=True, eq=False)
class TokensJoined:
    """The tokens of these flows became one."""

    element_id: str
    scope_key: int
    flow_ids: tuple[str, ...]


@dataclass(slots=True, eq=False)
class TokenDropped:
    """It arrived in a scope that is being left."""

    element_id: str
    scope_key: int


@dataclass(slots=True, eq=False)
class ElementTriggered:
    """Something happened that will end it: its own message or job, or an interrupting event on its border."""

    key: int
    element_id: str
    variables: Variables | None
    subscription_key: int = 0


@dataclass(slots=True, eq=False)
class ScopeTerminating:
    key: int


@dataclass(slots=True, eq=False)
class ScopeInterrupted:
    """An interrupting event subprocess will take over once everything else in the scope has ended."""

    key: int
    element_id: str
    variables: Variables | None
    subscription_key: int = 0


@dataclass(slots=True, eq=False)
class ScopeEnding:
    """It completes once everything in it has been ended."""

    key: int


@dataclass(slots=True, eq=False)
class ScopeShut:
    """Nothing enters any more; tokens that wait at a gateway are gone."""

    key: int


@dataclass(slots=True, eq=False)
class InterruptionBegun:
    key: int


@dataclass(slots=True, eq=False)
class VariablesWritten:
    scope_key: int
    variables: Variables


@dataclass(slots=True, eq=False)
class ResultKept:
    """Of an item of a multi-instance body: it has its place in the list that the body collects."""

    scope_key: int
    collection: str
    index: int
    value: Any


@dataclass(slots=True, eq=False)
class MessageAwaited:
    key: int
    """The element instance that waits: the activity of a boundary event, the scope of an event subprocess."""
    subscription: Subscription


@dataclass(slots=True, eq=False)
class SignalAwaited:
    key: int
    owner_key: int
    element_id: str
    name: str


@dataclass(slots=True, eq=False)
class TimerStarted:
    """`owner_key` is an element instance, or the definition of a start event. `interval` is months, microseconds."""

    key: int
    owner_key: int
    element_id: str
    due_at: int
    repetitions: int
    interval: tuple[int, int]


@dataclass(slots=True, eq=False)
class TimerEnded:
    key: int


@dataclass(slots=True, eq=False)
class JobCreated:
    key: int
    element_key: int
    type: str
    retries: int


@dataclass(slots=True, eq=False)
class JobActivated:
    key: int
    worker: str
    deadline: int


@dataclass(slots=True, eq=False)
class JobCompleted:
    key: int
    variables: Variables


@dataclass(slots=True, eq=False)
class JobFailed:
    key: int
    retries: int
    message: str
    ready_at: int


@dataclass(slots=True, eq=False)
class ErrorThrown:
    """By a worker. `caught` is false when nobody catches it."""

    key: int
    code: str
    message: str
    caught: bool


@dataclass(slots=True, eq=False)
class JobReturned:
    """It can be activated again."""

    key: int


@dataclass(slots=True, eq=False)
class RetriesUpdated:
    key: int
    retries: int


@dataclass(slots=True, eq=False)
class TimeoutUpdated:
    key: int
    deadline: int


@dataclass(slots=True, eq=False)
class TaskAssigned:
    key: int
    assignee: str


@dataclass(slots=True, eq=False)
class IncidentRaised:
    """`job_key` is 0 when no job is to blame."""

    key: int
    element_key: int
    job_key: int
    error_type: str
    text: str


@dataclass(slots=True, eq=False)
class IncidentResolved:
    key: int


@dataclass(slots=True, eq=False)
class CommandRefused:
    """A business no: NOT_FOUND, ALREADY_EXISTS, INVALID_ARGUMENT or INVALID_STATE, and why."""

    code: str
    text: str


Event = (
    InstanceCreated
    | InstanceCompleted
    | InstanceTerminated
    | ElementEntered
    | LoopEntered
    | ElementPassed
    | ElementCompleted
    | ElementTerminated
    | TokenAdded
    | FlowTaken
    | TokensJoined
    | TokenDropped
    | ElementTriggered
    | ScopeTerminating
    | ScopeInterrupted
    | ScopeEnding
    | ScopeShut
    | InterruptionBegun
    | VariablesWritten
    | ResultKept
    | MessageAwaited
    | SignalAwaited
    | TimerStarted
    | TimerEnded
    | JobCreated
    | JobActivated
    | JobCompleted
    | JobFailed
    | ErrorThrown
    | JobReturned
    | RetriesUpdated
    | TimeoutUpdated
    | TaskAssigned
    | IncidentRaised
    | IncidentResolved
    | CommandRefused
)
