"""Entering an element: its own variables, its waits, and the incident when it cannot get ready.

While an incident keeps it from getting ready an element is entered but not active: no subscription, no job (M9).
Resolving enters it again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from conjoin.kernel.plan import Element
from conjoin.kernel.process import events as e
from conjoin.kernel.process import work_events as w
from conjoin.kernel.process.commands import ActivateElement, CompleteElement
from conjoin.kernel.process.rules.catching import Prepared, open_waits, prepare
from conjoin.kernel.process.rules.variables import mapped, visible
from conjoin.kernel.process.state import LoopBody, Scope
from conjoin.kernel.process.step import Failure, Own, Step


def own_variables(step: Step, command: ActivateElement, element: Element, scope: Scope) -> Own:
    """What a multi-instance body gives to its item, then the input mappings."""
    own: Own = None
    if isinstance(scope, LoopBody):
        loop, index = element.loop, command.index
        assert loop is not None
        own = {"loopCounter": index + 1}
        if loop.output_variable is not None:
            own[loop.output_variable] = None
        if loop.input_element is not None:
            own[loop.input_element] = scope.items[index]
    if not element.inputs:
        return own
    results = mapped(element.inputs, visible(step, scope, own), step.at, onto_existing=False)
    return results if own is None else {**own, **results}


def waits_of(element: Element, scope: Scope) -> tuple[Element, ...]:
    """The boundary events that open with an activity; those of a multi-instance activity open with its body."""
    return () if type(scope) is LoopBody else element.boundaries


def entered(
    step: Step, command: ActivateElement, scope: Scope, own: Mapping[str, Any] | None, waits: Prepared | None = None
) -> None:
    step.out.append(e.ElementEntered(command.key, command.element_id, command.scope_key, True, own))
    if waits:
        open_waits(step, command.key, scope.instance, waits)


def enter_waiting(step: Step, command: ActivateElement, scope: Scope, own: Own, catches: Sequence[Element]) -> None:
    entered(step, command, scope, own, prepare(step, catches, visible(step, scope, own), scope.instance))


def pass_through(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """An element in which nothing has to be waited for: entered now, done with the next step."""
    enter_waiting(step, command, scope, own, waits_of(element, scope))
    step.out.append(CompleteElement(command.key, step.at))


def stuck(step: Step, command: ActivateElement, own: Own, failure: Failure) -> None:
    step.out.append(e.ElementEntered(command.key, command.element_id, command.scope_key, False, own))
    raise_incident(step, command.key, failure)


def raise_incident(step: Step, element_key: int, failure: Failure, job_key: int = 0) -> None:
    step.out.append(w.IncidentRaised(step.new_key(), element_key, job_key, failure.error_type, failure.text))
