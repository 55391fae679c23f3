"""Signals: everybody who waits for the name hears it, and it is not kept for anybody."""

from conjoin.kernel.plan import Element, SignalDefinition
from conjoin.kernel.process import commands as c
from conjoin.kernel.process.rules.catching import trigger
from conjoin.kernel.process.rules.entering import Own, entered, stuck
from conjoin.kernel.process.rules.variables import visible
from conjoin.kernel.process.state import Scope
from conjoin.kernel.process.step import Failure, Step
from conjoin.kernel.process.values import text_value


def throw_signal(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """What a throw or end event does; its input mappings are what the signal carries."""
    assert isinstance(element.event, SignalDefinition)
    name = text_value(element.event.name, visible(step, scope, own), step.at, "signal name")
    if isinstance(name, Failure):
        stuck(step, command, own, name)
        return
    entered(step, command, own)
    step.out.append(c.BroadcastSignal(name, own or {}, scope.instance.tenant_id, step.at))
    step.out.append(c.CompleteElement(command.key, step.at))


def broadcast_signal(step: Step, command: c.BroadcastSignal) -> None:
    if command.starts:
        _start_instances(step, command)
    waiting = step.state.signals.get((command.tenant_id, command.name), {})
    for wait in sorted(waiting.values()):
        it = step.state.elements[wait.owner_key]
        trigger(step, it, it.instance.definition.plan.elements[wait.element_id], command.variables)


def _start_instances(step: Step, command: c.BroadcastSignal) -> None:
    for definition in step.definitions.all_latest():
        for start in definition.plan.starts if definition.tenant_id == command.tenant_id else ():
            event = start.event
            if isinstance(event, SignalDefinition) and event.name({}, step.at) == command.name:
                step.out.append(c.StartInstance(definition.key, start.id, "signal", command.variables, step.at))
