"""The plan: a process model as the kernel runs it. Made once from XML by `bpmn/`, never stored, never shipped.

Elements point at each other, so following a flow is following a reference. What the engine does in an order that
the model's author cannot see (see `docs/zeebe.md`) is already the order of the tuples here: the kernel walks them
from front to back and never reverses anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class ExpressionStoppedError(Exception):
    """An evaluation that cost too much; the text is for people. `decide` makes an incident of it."""


class CostMeter:
    """What several expressions may cost together: variables that have a `meter` hand it from one to the next."""

    __slots__ = ("bytes_left", "work_left")

    def __init__(self) -> None:
        # How much there is, the first expression knows.
        self.work_left: int | None = None
        self.bytes_left: int | None = None


class Expression(Protocol):
    """A compiled expression: it answers None (null) where nothing can be computed, and is stopped if it costs too much.

    What stops it raises `ExpressionStoppedError`, for the same variables every time.
    """

    @property
    def text(self) -> str:
        """As the author wrote it, for incidents; an expression with its leading `=`."""
        ...

    def __call__(self, variables: Mapping[str, Any], now: int) -> Any:
        """The value for these variables at this instant (microseconds since 1970)."""
        ...


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that needs no variables."""

    value: Any
    text: str = ""

    def __call__(self, variables: Mapping[str, Any], now: int) -> Any:
        return self.value


def value_or_null(expression: Expression, variables: Mapping[str, Any], now: int) -> Any:
    """For reading, outside of `decide`: what is stopped has no value."""
    try:
        return expression(variables, now)
    except ExpressionStoppedError:
        return None


@dataclass(frozen=True, slots=True)
class VariableMapping:
    """One input or output mapping: the value of `source` goes to the path `target`."""

    source: Expression
    target: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MessageDefinition:
    """What a catching element listens to. `key` is None for a start event of a process."""

    name: Expression
    key: Expression | None
    match: str = "key"
    """`key`, or by a policy `business_key` or `instance_id`, for models that name no key (Camunda 7)."""


@dataclass(frozen=True, slots=True)
class TimerDefinition:
    """`kind` is `date`, `duration` or `cycle`; the value is an ISO text or a temporal value."""

    kind: str
    value: Expression


@dataclass(frozen=True, slots=True)
class SignalDefinition:
    name: Expression


@dataclass(frozen=True, slots=True)
class ErrorDefinition:
    """`code` None catches every error."""

    code: Expression | None


@dataclass(frozen=True, slots=True)
class LinkDefinition:
    name: str


@dataclass(frozen=True, slots=True)
class TerminateDefinition:
    pass


EventDefinition = (
    MessageDefinition | TimerDefinition | SignalDefinition | ErrorDefinition | LinkDefinition | TerminateDefinition
)


@dataclass(frozen=True, slots=True)
class JobDefinition:
    type: Expression
    retries: Expression
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScriptDefinition:
    """A FEEL script (or a business rule written as one): the result goes into a variable."""

    expression: Expression
    result_variable: str


@dataclass(frozen=True, slots=True)
class CallDefinition:
    process_id: Expression
    propagate_all_parent_variables: bool = True
    propagate_all_child_variables: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """Multi-instance: once for each item of a collection."""

    sequential: bool
    collection: Expression
    input_element: str | None = None
    output_collection: str | None = None
    output_element: Expression | None = None
    output_variable: str | None = None
    """The variable of an output element that is nothing but one: it is null in each inner scope from the start."""
    completion_condition: Expression | None = None


@dataclass(slots=True, eq=False, repr=False)
class Flow:
    id: str
    source: "Element"
    target: "Element"
    condition: Expression | None = None

    def __repr__(self) -> str:
        return f"Flow({self.id!r})"


@dataclass(slots=True, eq=False, repr=False)
class Element:
    """A flow node, or the process itself. `kind` is a name in the table of `kernel/process/elements`."""

    id: str
    kind: str
    name: str | None = None
    scope: "Element | None" = None
    """The process or subprocess around it; None for the process itself."""
    event: EventDefinition | None = None
    outgoing: tuple[Flow, ...] = ()
    """In the order in which they are taken: the reverse of the document's. Without the default flow at a gateway."""
    incoming: tuple[Flow, ...] = ()
    default: Flow | None = None
    inputs: tuple[VariableMapping, ...] = ()
    outputs: tuple[VariableMapping, ...] = ()
    boundaries: tuple["Element", ...] = ()
    """The boundary events on it, in the order in which they open: the reverse of the document's."""
    attached_to: "Element | None" = None
    interrupting: bool = True
    """Of a boundary event or the start event of an event subprocess."""
    loop: Loop | None = None
    job: JobDefinition | None = None
    script: ScriptDefinition | None = None
    call: CallDefinition | None = None
    link_target: "Element | None" = None
    """Of a link throw event: the catch event of the same name in its scope."""
    children: tuple["Element", ...] = ()
    """What is directly inside a process or subprocess, in document order."""
    start: "Element | None" = None
    """Of a process or embedded subprocess: its none start event; of an event subprocess: its only start event."""
    event_subprocesses: tuple["Element", ...] = ()
    """Directly inside, in document order, which is the order in which they open."""
    properties: Mapping[str, Any] = field(default_factory=dict)
    """What a user task says about assignees, dates and forms, for the console; nothing here changes a rule."""

    def __repr__(self) -> str:
        return f"Element({self.id!r}, {self.kind!r})"


@dataclass(slots=True, eq=False, repr=False)
class Plan:
    """One executable process of a deployed model."""

    process_id: str
    root: Element
    elements: Mapping[str, Element]
    """Every flow node by id, nested ones too."""
    starts: tuple[Element, ...]
    """The message, timer and signal start events of the process, in document order."""
    waits: tuple[Element, ...]
    """Every element that catches a message with a key, in document order: where an instance lives is found by them."""
    name: str | None = None
    version_tag: str | None = None
    unreadable: str = ""
    """Why a model that was deployed once cannot be run any more: it has no elements, and starts nothing."""

    def __repr__(self) -> str:
        return f"Plan({self.process_id!r})"
