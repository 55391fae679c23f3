"""Leaving an element: what it hands to its scope, and the token that goes on.

Without output mappings the variables of an event or job are merged from the element's own scope upwards, so that a
local of the same name keeps them (N5). With output mappings only their results leave (N2).
"""

from conjoin.kernel.process.rules.loops import complete_item
from conjoin.kernel.process.rules.tokens import leave
from conjoin.kernel.process.rules.variables import mapped, merge, visible, write
from conjoin.kernel.process.state import ElementInstance, LoopBody
from conjoin.kernel.process.step import Step

_BROUGHT_BY_EVENT = ("boundary_event", "start_event", "catch_event")


def propagate(step: Step, it: ElementInstance) -> None:
    """Hand over. Where that fails, an incident keeps the element (M14)."""
    element, scope = it.element, it.scope
    brought = it.trigger.variables if it.trigger is not None else None
    if element.outputs:
        assert scope is not None
        results = mapped(element.outputs, visible(step, it, brought), step.at, onto_existing=True)
        if isinstance(scope, LoopBody):
            # An item maps into its own scope, where what was brought has become local (N7).
            if brought:
                write(step, it, brought)
            merge(step, it, results)
        else:
            merge(step, scope, results)
    elif brought:
        merge(step, it, brought)
    elif it.trigger is None and it.variables and element.kind in _BROUGHT_BY_EVENT:
        # The event's variables came in as the element's own; they pass to what is around it (J9, K6, L10).
        assert scope is not None
        merge(step, scope, it.variables)


def complete_element(step: Step, it: ElementInstance) -> None:
    propagate(step, it)
    if type(it.scope) is LoopBody:
        complete_item(step, it.scope, it)
    else:
        leave(step, it)
