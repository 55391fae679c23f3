"""The element kinds: what each does when a token arrives, when it completes, and when it is ended by force.

A new kind is a `Behaviour` in one of these files and a line in this table.
"""

from conjoin.kernel.process.elements import calls, events, gateways, scopes, tasks
from conjoin.kernel.process.elements.behaviour import Behaviour

BEHAVIOURS: dict[str, Behaviour] = {
    "process": scopes.PROCESS,
    "subprocess": scopes.SUBPROCESS,
    "event_subprocess": scopes.EVENT_SUBPROCESS,
    "call_activity": calls.CALL_ACTIVITY,
    "start_event": events.START_EVENT,
    "end_event": events.END_EVENT,
    "catch_event": events.CATCH_EVENT,
    "throw_event": events.THROW_EVENT,
    "boundary_event": events.BOUNDARY_EVENT,
    "exclusive_gateway": gateways.EXCLUSIVE_GATEWAY,
    "parallel_gateway": gateways.PARALLEL_GATEWAY,
    "inclusive_gateway": gateways.INCLUSIVE_GATEWAY,
    "event_gateway": gateways.EVENT_GATEWAY,
    "job_task": tasks.JOB_TASK,
    "user_task": tasks.USER_TASK,
    "receive_task": tasks.RECEIVE_TASK,
    "script_task": tasks.SCRIPT_TASK,
    "pass_task": tasks.PASS_TASK,
}

__all__ = ["BEHAVIOURS", "Behaviour"]
