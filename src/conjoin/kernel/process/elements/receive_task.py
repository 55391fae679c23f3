"""A receive task: a catch event that can have boundary events. Its own message opens first."""

from conjoin.kernel.plan import Element
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.rules.catching import prepare
from conjoin.kernel.process.rules.entering import Own, entered_with_waits, stuck, waits_of
from conjoin.kernel.process.rules.variables import visible
from conjoin.kernel.process.state import Scope
from conjoin.kernel.process.step import Failure, Step


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    catches = (element, *waits_of(element, scope))
    prepared = prepare(step, catches, visible(step, scope, own), scope.instance)
    if isinstance(prepared, Failure):
        stuck(step, command, own, prepared)
    else:
        entered_with_waits(step, command, scope, own, prepared)


BEHAVIOUR = Behaviour(activate)
