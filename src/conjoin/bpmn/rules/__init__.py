"""The rules of deployment: a function for each, and a line here. Each sees the whole document and names every problem.

A rule never relies on another having passed. What may be there but surprises people is in `warnings/`.
"""

from conjoin.bpmn.rule import Rule
from conjoin.bpmn.rules import events, flows, messages, supported, tasks
from conjoin.bpmn.rules.straight_loops import straight_loops

RULES: tuple[Rule, ...] = (
    flows.element_ids,
    flows.executable_process,
    supported.supported_elements,
    supported.supported_events,
    supported.supported_extensions,
    flows.start_events,
    flows.flow_ends,
    flows.gateway_flows,
    events.boundary_events,
    events.interruption,
    events.event_gateways,
    messages.duplicate_catches,
    messages.message_references,
    messages.correlation_keys,
    messages.start_names,
    messages.signal_names,
    events.error_codes,
    events.links,
    tasks.jobs,
    tasks.task_headers,
    tasks.user_tasks,
    tasks.scripts,
    tasks.calls,
    tasks.mappings,
    tasks.multi_instance,
    events.timers,
    tasks.expressions,
    straight_loops,
)
