"""A call activity: another process runs, as an instance of its own, and the token waits for its end.

The child gets what the call activity sees, or only its own variables; what comes back is all of the child's
variables, or what the output mappings take from them.
"""

from conjoin.kernel.definitions import Definition
from conjoin.kernel.plan import CallDefinition, Element
from conjoin.kernel.process import commands as c
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.rules.entering import Own, enter_waiting, stuck, waits_of
from conjoin.kernel.process.rules.tokens import end_by_force
from conjoin.kernel.process.rules.variables import flattened, visible
from conjoin.kernel.process.state import ElementInstance, Scope
from conjoin.kernel.process.step import CALLED_ELEMENT_ERROR, Failure, Step
from conjoin.kernel.process.values import text_value


def _call_process(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    view = visible(step, scope, own)
    called = _called(step, element, scope, view)
    if isinstance(called, Failure):
        stuck(step, command, own, called)
        return
    if not enter_waiting(step, command, scope, own, waits_of(element, scope)):
        return
    handed = flattened(view) if _call(element).propagate_all_parent_variables else dict(own or {})
    step.out.append(_child(step, command.key, called, handed, scope.instance.business_id))


def _called(step: Step, element: Element, scope: Scope, view: c.Variables) -> Definition | Failure:
    process_id = text_value(_call(element).process_id, view, step.at, "process id")
    if isinstance(process_id, Failure):
        return process_id
    found = step.definitions.latest(scope.instance.tenant_id, process_id)
    if found is None:
        return Failure(CALLED_ELEMENT_ERROR, f"no process with the id {process_id!r} is deployed")
    if found.plan.unreadable:
        return Failure(CALLED_ELEMENT_ERROR, found.plan.unreadable)
    if found.plan.root.start is None:
        return Failure(CALLED_ELEMENT_ERROR, f"the process {process_id!r} has no none start event to be called by")
    return found


def _child(
    step: Step, parent_key: int, called: Definition, variables: c.Variables, business_id: str
) -> c.StartInstance:
    start = called.plan.root.start
    assert start is not None
    return c.StartInstance(called.key, start.id, "call", variables, step.at, 0, business_id, parent_key)


def _end_child(step: Step, it: ElementInstance) -> None:
    """The child first; its end ends the call activity."""
    child = step.state.instance(it.work_key)
    if child is None:
        end_by_force(step, it)
    else:
        step.out.append(c.TerminateElement(child.key, step.at))


def _call(element: Element) -> CallDefinition:
    assert element.call is not None
    return element.call


CALL_ACTIVITY = Behaviour(_call_process, terminate=_end_child)
