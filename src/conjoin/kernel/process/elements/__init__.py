"""The element kinds, one file each. A new kind is a file with its `BEHAVIOUR` and a line in this table."""

from conjoin.kernel.process.elements import (
    boundary_event,
    call_activity,
    catch_event,
    end_event,
    event_gateway,
    event_subprocess,
    exclusive_gateway,
    inclusive_gateway,
    job_task,
    parallel_gateway,
    pass_task,
    process,
    receive_task,
    script_task,
    start_event,
    subprocess,
    throw_event,
    user_task,
)
from conjoin.kernel.process.elements.behaviour import Behaviour

BEHAVIOURS: dict[str, Behaviour] = {
    "process": process.BEHAVIOUR,
    "subprocess": subprocess.BEHAVIOUR,
    "event_subprocess": event_subprocess.BEHAVIOUR,
    "call_activity": call_activity.BEHAVIOUR,
    "start_event": start_event.BEHAVIOUR,
    "end_event": end_event.BEHAVIOUR,
    "catch_event": catch_event.BEHAVIOUR,
    "throw_event": throw_event.BEHAVIOUR,
    "boundary_event": boundary_event.BEHAVIOUR,
    "exclusive_gateway": exclusive_gateway.BEHAVIOUR,
    "parallel_gateway": parallel_gateway.BEHAVIOUR,
    "inclusive_gateway": inclusive_gateway.BEHAVIOUR,
    "event_gateway": event_gateway.BEHAVIOUR,
    "job_task": job_task.BEHAVIOUR,
    "user_task": user_task.BEHAVIOUR,
    "receive_task": receive_task.BEHAVIOUR,
    "script_task": script_task.BEHAVIOUR,
    "pass_task": pass_task.BEHAVIOUR,
}

__all__ = ["BEHAVIOURS", "Behaviour"]
