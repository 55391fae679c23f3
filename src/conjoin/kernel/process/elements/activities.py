"""Activities: tasks, subprocesses and call activities, entered with their boundary events open; and processes.

A task is left when its work is done, whoever does it. A scope (a process, an embedded subprocess, an event subprocess)
is left when everything inside has ended; the boundary events of a subprocess open with its start event. A call activity
runs another process, as an instance of its own, and waits for its end: the child gets what the call activity sees, or
only its own variables; what comes back is all of the child's variables, or what the output mappings take from them.
"""

from conjoin.kernel.plan import Element
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process.rules.catching import prepare
from conjoin.kernel.process.rules.entering import enter_waiting, entered, waits_of
from conjoin.kernel.process.rules.jobs import FOR_A_PERSON
from conjoin.kernel.process.rules.tokens import complete_instance, end_by_force, enter
from conjoin.kernel.process.rules.variables import flattened, visible
from conjoin.kernel.process.state import TERMINATING, ElementInstance, Instance, Scope
from conjoin.kernel.process.step import CALLED_ELEMENT_ERROR, Failure, Own, Step
from conjoin.kernel.process.values import stored_value, text_value
from conjoin.kernel.process.work_events import JobCreated


def receive(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """A catch event that can have boundary events. Its own message opens first."""
    enter_waiting(step, command, scope, own, (element, *waits_of(element, scope)))


def wait_for_person(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """Kept as a job of a type that cannot be activated, so that completing it and its incidents need no second way."""
    enter_waiting(step, command, scope, own, waits_of(element, scope))
    step.out.append(JobCreated(step.new_key(), command.key, FOR_A_PERSON, 1))


def evaluate(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """A script or a business rule that is written as an expression: its result goes into a variable."""
    view = visible(step, scope, own)
    prepared = prepare(step, waits_of(element, scope), view, scope.instance)
    script = element.script
    assert script is not None
    value = stored_value(script.expression, view, step.at, "result")
    entered(step, command, scope, own, prepared)
    step.out.append(e.ElementTriggered(command.key, element.id, {script.result_variable: value}))
    step.out.append(c.CompleteElement(command.key, step.at))


def never(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """An instance begins with StartInstance, never by a token."""


def begin(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """The token of the start event, with what an event brought along."""
    entered(step, command, scope, own)
    assert element.start is not None
    enter(step, command.key, element.start, command.variables)


def end_instance(step: Step, it: ElementInstance) -> None:
    """The end of a process is the end of its instance, and completes the call activity."""
    assert isinstance(it, Instance)
    complete_instance(step, it)
    call = step.state.elements.get(it.parent_key)
    if call is None or call.element.call is None:
        return
    handed = call.element.call.propagate_all_child_variables or call.element.outputs
    step.out.append(e.ElementTriggered(call.key, call.element.id, dict(it.variables or {}) if handed else None))
    step.out.append(c.CompleteElement(call.key, step.at))


def terminate_scope(step: Step, it: ElementInstance) -> None:
    if it.state == TERMINATING:
        return
    step.out.append(e.ScopeTerminating(it.key))
    step.out.append(c.TerminateChildren(it.key, step.at))


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
