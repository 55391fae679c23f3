"""The element kinds: what each does when a token arrives, when it completes, and when it is ended by force.

A new kind is a function in one of these files and a line in this table.
"""

from collections.abc import Callable
from dataclasses import dataclass

from conjoin.kernel.plan import Element
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.elements import activities, events, gateways
from conjoin.kernel.process.rules.entering import pass_through
from conjoin.kernel.process.rules.jobs import enter_with_job
from conjoin.kernel.process.rules.leaving import complete_element
from conjoin.kernel.process.rules.tokens import end_by_force
from conjoin.kernel.process.state import ElementInstance, Scope
from conjoin.kernel.process.step import Own, Step


@dataclass(frozen=True, slots=True)
class Behaviour:
    activate: Callable[[Step, ActivateElement, Element, Scope, Own], None]
    """A token arrives, with the variables it begins with; again with the same key after an incident was resolved."""
    complete: Callable[[Step, ElementInstance], None] = complete_element
    terminate: Callable[[Step, ElementInstance], None] = end_by_force


BEHAVIOURS: dict[str, Behaviour] = {
    "process": Behaviour(activities.never, activities.end_instance, activities.terminate_scope),
    "subprocess": Behaviour(activities.begin, terminate=activities.terminate_scope),
    "event_subprocess": Behaviour(activities.begin, terminate=activities.terminate_scope),
    "call_activity": Behaviour(activities.call_process, terminate=activities.end_child),
    "start_event": Behaviour(events.happen, events.begin_to_wait),
    # Plain, with a job (message), a signal, an error, or the end of the whole scope (terminate).
    "end_event": Behaviour(events.throw, events.end),
    "catch_event": Behaviour(events.catch),
    # Plain, with a job (message), a signal, or a link to a catch event of its scope.
    "throw_event": Behaviour(events.throw, events.go_to_link),
    "boundary_event": Behaviour(events.happen),
    "exclusive_gateway": Behaviour(gateways.choose),
    "parallel_gateway": Behaviour(gateways.join_and_split),
    "inclusive_gateway": Behaviour(gateways.choose_all),
    "event_gateway": Behaviour(gateways.wait_for_first, gateways.go_to_first),
    # Somebody outside does it: service, send, business rule and script tasks, and user tasks of the job form.
    "job_task": Behaviour(enter_with_job),
    # Of Zeebe's own form: it waits for a person, and no worker sees it as a job.
    "user_task": Behaviour(activities.wait_for_person),
    "receive_task": Behaviour(activities.receive),
    "script_task": Behaviour(activities.evaluate),
    # A manual or undefined task: nobody outside does anything, the token passes.
    "pass_task": Behaviour(pass_through),
}
