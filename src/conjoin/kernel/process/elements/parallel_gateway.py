"""A parallel gateway: waits for one token of each way in, then takes every way out."""

from conjoin.kernel.plan import Element
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.events import ElementPassed, TokensJoined
from conjoin.kernel.process.rules.entering import Own
from conjoin.kernel.process.rules.joining import joined_by_all
from conjoin.kernel.process.rules.tokens import go_on, joins
from conjoin.kernel.process.state import Scope
from conjoin.kernel.process.step import Step


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    if joins(element):
        flows = joined_by_all(scope, element)
        if flows is None:
            return
        step.out.append(TokensJoined(element.id, scope.key, flows))
    step.out.append(ElementPassed(command.key, element.id, scope.key))
    go_on(step, scope, element.outgoing)


BEHAVIOUR = Behaviour(activate)
