"""A call activity: another process runs, as an instance of its own, and the token waits for its end.

The child gets what the call activity sees, or only its own variables; what comes back is all of the child's
variables, or what the output mappings take from them.
"""

from conjoin.kernel.plan import Element
from conjoin.kernel.process import commands as c
from conjoin.kernel.process.rules.entering import enter_waiting, waits_of
from conjoin.kernel.process.rules.tokens import end_by_force
from conjoin.kernel.process.rules.variables import flattened, visible
from conjoin.kernel.process.state import ElementInstance, Scope
from conjoin.kernel.process.step import CALLED_ELEMENT_ERROR, Failure, Own, Step
from conjoin.kernel.process.values import text_value


def call_process(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    view, call, caller = visible(step, scope, own), element.call, scope.instance
    assert call is not None
    process_id = text_value(call.process_id, view, step.at, "process id")
    called = step.definitions.latest(caller.tenant_id, process_id)
    if called is None:
        raise Failure(CALLED_ELEMENT_ERROR, f"no process with the id {process_id!r} is deployed")
    if called.plan.unreadable:
        raise Failure(CALLED_ELEMENT_ERROR, called.plan.unreadable)
    start = called.plan.root.start
    if start is None:
        raise Failure(CALLED_ELEMENT_ERROR, f"the process {process_id!r} has no none start event to be called by")
    enter_waiting(step, command, scope, own, waits_of(element, scope))
    handed = flattened(view) if call.propagate_all_parent_variables else dict(own or {})
    child = c.StartInstance(called.key, start.id, "call", handed, step.at, 0, caller.business_id, command.key)
    step.out.append(child)


def end_child(step: Step, it: ElementInstance) -> None:
    """The child first; its end ends the call activity."""
    child = step.state.instance(it.work_key)
    if child is None:
        end_by_force(step, it)
    else:
        step.out.append(c.TerminateElement(child.key, step.at))
