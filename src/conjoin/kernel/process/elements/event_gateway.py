"""An event-based gateway: it waits for the events behind it, and the first that comes decides (K1-K3)."""

from conjoin.kernel.plan import Element
from conjoin.kernel.process import events as e
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.rules.catching import prepare
from conjoin.kernel.process.rules.entering import Own, entered_with_waits, stuck
from conjoin.kernel.process.rules.tokens import check_joins, close_waits, enter
from conjoin.kernel.process.rules.variables import visible
from conjoin.kernel.process.state import ElementInstance, Scope
from conjoin.kernel.process.step import Failure, Step


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    catches = [flow.target for flow in element.outgoing]
    prepared = prepare(step, catches, visible(step, scope), scope.instance)
    if isinstance(prepared, Failure):
        stuck(step, command, None, prepared)
    else:
        entered_with_waits(step, command, scope, None, prepared)


def complete(step: Step, it: ElementInstance) -> None:
    trigger = it.trigger
    if trigger is None:
        return
    assert it.scope is not None
    close_waits(step, it)
    step.out.append(e.ElementCompleted(it.key))
    catch = it.instance.definition.plan.elements[trigger.element_id]
    enter(step, it.scope, catch, trigger.variables or {})
    check_joins(step, it.scope)


BEHAVIOUR = Behaviour(activate, complete)
