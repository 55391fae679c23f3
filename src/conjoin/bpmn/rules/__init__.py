"""The rules of deployment: one rule, one file, and a line here. Each sees the whole document and names every problem.

A rule never relies on another having passed. What may be there but surprises people is in `warnings/`.
"""

from conjoin.bpmn.rule import Rule
from conjoin.bpmn.rules.boundary_events import boundary_events
from conjoin.bpmn.rules.calls import calls
from conjoin.bpmn.rules.correlation_keys import correlation_keys
from conjoin.bpmn.rules.duplicate_catches import duplicate_catches
from conjoin.bpmn.rules.element_ids import element_ids
from conjoin.bpmn.rules.error_codes import error_codes
from conjoin.bpmn.rules.event_gateways import event_gateways
from conjoin.bpmn.rules.executable_process import executable_process
from conjoin.bpmn.rules.expressions import expressions
from conjoin.bpmn.rules.flow_ends import flow_ends
from conjoin.bpmn.rules.gateway_flows import gateway_flows
from conjoin.bpmn.rules.interruption import interruption
from conjoin.bpmn.rules.jobs import jobs
from conjoin.bpmn.rules.links import links
from conjoin.bpmn.rules.mappings import mappings
from conjoin.bpmn.rules.message_references import message_references
from conjoin.bpmn.rules.multi_instance import multi_instance
from conjoin.bpmn.rules.scripts import scripts
from conjoin.bpmn.rules.signal_names import signal_names
from conjoin.bpmn.rules.start_events import start_events
from conjoin.bpmn.rules.start_names import start_names
from conjoin.bpmn.rules.straight_loops import straight_loops
from conjoin.bpmn.rules.supported_elements import supported_elements
from conjoin.bpmn.rules.supported_events import supported_events
from conjoin.bpmn.rules.supported_extensions import supported_extensions
from conjoin.bpmn.rules.task_headers import task_headers
from conjoin.bpmn.rules.timers import timers
from conjoin.bpmn.rules.user_tasks import user_tasks

RULES: tuple[Rule, ...] = (
    element_ids,
    executable_process,
    supported_elements,
    supported_events,
    supported_extensions,
    start_events,
    flow_ends,
    gateway_flows,
    boundary_events,
    interruption,
    event_gateways,
    duplicate_catches,
    message_references,
    correlation_keys,
    start_names,
    signal_names,
    error_codes,
    links,
    jobs,
    task_headers,
    user_tasks,
    scripts,
    calls,
    mappings,
    multi_instance,
    timers,
    expressions,
    straight_loops,
)
