"""Instances: they are created by a client, started by an event or a call, and cancelled."""

from conjoin.kernel.definitions import Definition
from conjoin.kernel.plan import Element
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process.rules.tokens import enter
from conjoin.kernel.process.rules.variables import merge, write
from conjoin.kernel.process.step import Step


def create_instance(step: Step, command: c.CreateInstance) -> None:
    definitions, process_id, version = step.definitions, command.process_id, command.version
    if version:
        definition = definitions.version(command.tenant_id, process_id, version)
    else:
        definition = definitions.latest(command.tenant_id, process_id)
    if definition is None:
        which = f" in version {version}" if version else ""
        step.refuse("NOT_FOUND", f"no process with the id {process_id!r} is deployed{which}: deploy it first")
        return
    if definition.plan.unreadable:
        step.refuse("INVALID_STATE", definition.plan.unreadable)
        return
    start = definition.plan.root.start
    if start is None:
        text = f"the process {process_id!r} has no none start event: it is started by an event, not by hand"
        step.refuse("INVALID_STATE", text)
        return
    started = c.StartInstance(definition.key, start.id, "command", command.variables, command.at)
    started.business_id = command.business_id
    _begin(step, definition, start, started)


def start_instance(step: Step, command: c.StartInstance) -> None:
    """By a message, a timer, a signal or a call. A call whose activity has gone meanwhile starts nothing."""
    if command.parent_key and command.parent_key not in step.state.elements:
        return
    definition = step.definitions.by_key[command.definition_key]
    _begin(step, definition, definition.plan.elements[command.element_id], command)


def _begin(step: Step, definition: Definition, start: Element, command: c.StartInstance) -> None:
    """Variables of a client or caller belong to the instance; those of an event to its start event (G6, N8)."""
    key = command.key or step.new_key()
    by_event = start.event is not None
    step.out.append(
        e.InstanceCreated(
            key,
            definition.key,
            command.started,
            definition.tenant_id,
            command.business_id,
            {} if by_event else command.variables,
            command.parent_key,
            command.lock_key,
        )
    )
    enter(step, key, start, command.variables if by_event else None)


def cancel_instance(step: Step, command: c.CancelInstance) -> None:
    instance = step.state.instance(command.key)
    if instance is None:
        text = f"no active instance with key {command.key} was found: it has ended, or there never was one"
        step.refuse("NOT_FOUND", text)
    elif instance.parent_key:
        step.refuse("INVALID_STATE", f"instance {command.key} was called by another one: cancel that one")
    else:
        step.out.append(c.TerminateElement(command.key, command.at))


def set_variables(step: Step, command: c.SetVariables) -> None:
    scope = step.state.elements.get(command.scope_key)
    if scope is None:
        step.refuse("NOT_FOUND", f"no active instance or element with key {command.scope_key} was found")
    elif command.local:
        write(step, scope, command.variables)
    else:
        merge(step, scope, command.variables)
