"""Plans built by hand, without XML: a few lines for a process, with variables for expressions."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from conjoin.kernel.correlation.commands import OpenSubscription
from conjoin.kernel.definitions import Definition, Definitions
from conjoin.kernel.keys import Keys
from conjoin.kernel.plan import Element, Flow, JobDefinition, Literal, MessageDefinition, Plan, VariableMapping
from conjoin.kernel.process import ProcessState, decide
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e

TENANT = "<default>"


class Var:
    """An expression that is a variable."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = f"={name}"

    def __call__(self, variables: Mapping[str, Any], now: int) -> Any:
        return variables.get(self.name)


def maps(source: Any, target: str) -> VariableMapping:
    return VariableMapping(source, tuple(target.split(".")))


def task(id_: str, **more: Any) -> Element:
    return Element(id_, "job_task", job=JobDefinition(Literal(id_), Literal(3)), **more)


def catch(id_: str, key: Any, **more: Any) -> Element:
    return Element(id_, "catch_event", event=MessageDefinition(Literal(id_), key), **more)


def row(process_id: str, *elements: Element) -> Plan:
    """A process in which one element follows the other."""
    steps = [Element("begin", "start_event"), *elements, Element("end", "end_event")]
    root = Element(process_id, "process", children=tuple(steps), start=steps[0])
    for element in steps:
        element.scope = root
    for number, (source, target) in enumerate(pairwise(steps)):
        flow = Flow(f"f{number}", source, target)
        source.outgoing, target.incoming = (flow,), (flow,)
    waits = tuple(element for element in steps if isinstance(element.event, MessageDefinition))
    return Plan(process_id, root, {element.id: element for element in steps}, (), waits)


class Half:
    """The process half alone: what it says to the other half stays in `posted`."""

    def __init__(self, *plans: Plan) -> None:
        self.definitions = Definitions(Definition(key + 1, 1, TENANT, plan) for key, plan in enumerate(plans))
        self.state = ProcessState(self.definitions, Keys(0))
        self.events: list[Any] = []
        self.posted: list[c.ForKey] = []

    def do(self, command: c.Command) -> list[Any]:
        """Carry out a command and everything that follows; answers with what the first one decided."""
        queue: list[Any] = [command]
        first: list[Any] | None = None
        for order in queue:
            decided = decide(self.state, order, self.definitions)
            first = decided if first is None else first
            for item in decided:
                if isinstance(item, e.ProcessEvent):
                    item.apply(self.state)
                    self.events.append(item)
                elif isinstance(item, c.ForKey):
                    self.posted.append(item)
                else:
                    queue.append(item)
        return first or []

    def start(self, process_id: str = "p", **variables: Any) -> int:
        created = self.do(c.CreateInstance(process_id, 0, TENANT, variables, 0))[0]
        assert isinstance(created, e.InstanceCreated)
        return created.key

    def complete(self, type_: str, **variables: Any) -> None:
        [activated] = self.do(c.ActivateJobs(type_, "w", 1_000, 1, 0))
        self.do(c.CompleteJob(activated.key, variables, 0))

    def opened(self) -> list[tuple[str, str]]:
        """Name and key of every subscription it asked for."""
        asked = [(post.key, post.command) for post in self.posted]
        return [(order.subscription.name, key) for key, order in asked if isinstance(order, OpenSubscription)]

    def variables(self, key: int) -> dict[str, Any]:
        """Of an instance, also of one that has ended."""
        found: dict[str, Any] = {}
        for event in self.events:
            created = isinstance(event, e.InstanceCreated) and event.key == key
            if created or (isinstance(event, e.VariablesWritten) and event.scope_key == key):
                found.update(event.variables)
        return found

    def told(self, kind: type) -> list[Any]:
        return [event for event in self.events if type(event) is kind]
