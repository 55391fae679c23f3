"""Commands: what the process half has to do. Each carries its own time.

From outside come the commands of clients and of the clock; from correlation StartInstance, DeliverMessage and
RefuseSubscription; the rest are steps that this half orders of itself. All of them pass through one queue, first in,
first out. `ForKey` is the way back: a command of the correlation half, with the key that it is about.
"""

from dataclasses import dataclass

from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.process.events import Variables


class ProcessCommand:
    __slots__ = ("at",)
    at: int


Command = ProcessCommand


@dataclass(slots=True)
class CreateInstance(ProcessCommand):
    """`version` 0 means the latest."""

    process_id: str
    version: int
    tenant_id: str
    variables: Variables
    at: int
    business_id: str = ""


@dataclass(slots=True)
class StartInstance(ProcessCommand):
    """Begin at a start event. Without a key the next free one is used."""

    definition_key: int
    element_id: str
    started: str
    variables: Variables
    at: int
    key: int = 0
    business_id: str = ""
    parent_key: int = 0
    lock_key: str | None = None
    """The correlation key whose lock the instance holds."""


@dataclass(slots=True)
class CancelInstance(ProcessCommand):
    key: int
    at: int


@dataclass(slots=True)
class SetVariables(ProcessCommand):
    """`local`: on exactly this scope; otherwise each goes where it already is, or to the instance."""

    scope_key: int
    variables: Variables
    at: int
    local: bool = False


@dataclass(slots=True)
class ActivateJobs(ProcessCommand):
    type: str
    worker: str
    timeout_ms: int
    limit: int
    at: int
    tenant_id: str = "<default>"


@dataclass(slots=True)
class CompleteJob(ProcessCommand):
    key: int
    variables: Variables
    at: int


@dataclass(slots=True)
class FailJob(ProcessCommand):
    key: int
    retries: int
    message: str
    at: int
    backoff_ms: int = 0
    variables: Variables | None = None


@dataclass(slots=True)
class ThrowError(ProcessCommand):
    key: int
    code: str
    message: str
    at: int
    variables: Variables | None = None


@dataclass(slots=True)
class UpdateRetries(ProcessCommand):
    key: int
    retries: int
    at: int


@dataclass(slots=True)
class UpdateTimeout(ProcessCommand):
    """Whoever works on the job has so long from now on."""

    key: int
    timeout_ms: int
    at: int


@dataclass(slots=True)
class AssignTask(ProcessCommand):
    """A user task goes to a person, or (empty) to nobody; from somebody else only with `override`."""

    key: int
    assignee: str
    override: bool
    at: int


@dataclass(slots=True)
class ReturnJobs(ProcessCommand):
    """The earliest job whose worker took too long, or whose back-off is over, can be activated again; or this one."""

    at: int
    key: int = 0


@dataclass(slots=True)
class ResolveIncident(ProcessCommand):
    key: int
    at: int


@dataclass(slots=True)
class FireTimers(ProcessCommand):
    """The earliest due timer fires; whoever runs the clock repeats it until none is due. With a key, this one does."""

    at: int
    key: int = 0


@dataclass(slots=True)
class BroadcastSignal(ProcessCommand):
    """`starts`: also start processes; exactly one shard does."""

    name: str
    variables: Variables
    tenant_id: str
    at: int
    starts: bool = True


@dataclass(slots=True)
class ScheduleStarts(ProcessCommand):
    """The timers of the start events of a newly deployed version; those of older versions end."""

    definition_key: int
    at: int


@dataclass(slots=True)
class DeliverMessage(ProcessCommand):
    tenant_id: str
    key: str
    subscription: Subscription
    message: Message
    at: int


@dataclass(slots=True)
class RefuseSubscription(ProcessCommand):
    """By the policy `duplicate_subscription`: somebody else holds the name and key."""

    subscription: Subscription
    holder: Subscription
    at: int


@dataclass(slots=True)
class ActivateElement(ProcessCommand):
    """A token arrives. `variables` are what an event brings along; `index` counts inside a multi-instance body."""

    key: int
    element_id: str
    scope_key: int
    at: int
    variables: Variables | None = None
    index: int = -1


@dataclass(slots=True)
class CompleteElement(ProcessCommand):
    key: int
    at: int


@dataclass(slots=True)
class TerminateElement(ProcessCommand):
    key: int
    at: int


@dataclass(slots=True)
class TerminateChildren(ProcessCommand):
    """End everything inside a scope, after what was already accepted has had its effect."""

    key: int
    at: int


@dataclass(slots=True)
class StartLoop(ProcessCommand):
    """All items of a parallel multi-instance body begin."""

    key: int
    at: int


@dataclass(slots=True)
class CheckJoin(ProcessCommand):
    """May an inclusive gateway stop waiting, now that a token has moved or ended?"""

    scope_key: int
    element_id: str
    at: int


@dataclass(slots=True)
class ForKey:
    tenant_id: str
    key: str
    command: correlation.Command
