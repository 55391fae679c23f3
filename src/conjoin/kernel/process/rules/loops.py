"""Multi-instance: a body around the element, with one child for each item of a collection.

The body waits at the border (its boundary events), collects the results in the order of the items, and ends early
when its completion condition says so.
"""

from conjoin.kernel.plan import Element, Loop
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process.rules.catching import open_waits, prepare
from conjoin.kernel.process.rules.tokens import close_waits, enter, leave, path_ended
from conjoin.kernel.process.rules.variables import merge, visible
from conjoin.kernel.process.state import ElementInstance, LoopBody, Scope
from conjoin.kernel.process.step import EXTRACT_VALUE_ERROR, Failure, Step
from conjoin.kernel.process.values import boolean_value, list_value, stored_value

MOST_ITEMS = 10_000
"""Each item is an element instance of its own, and all of a parallel loop begin in one step."""


def activate_body(step: Step, command: c.ActivateElement, element: Element, scope: Scope, loop: Loop) -> None:
    key, view = command.key, visible(step, scope)
    items = list_value(loop.collection, view, step.at, "input collection")
    if len(items) > MOST_ITEMS:
        text = f"the input collection {loop.collection.text} has {len(items):,} items, and {MOST_ITEMS:,} are the most"
        raise Failure(EXTRACT_VALUE_ERROR, text)
    prepared = prepare(step, element.boundaries, view, scope.instance)
    own = {loop.output_collection: [None] * len(items)} if loop.output_collection else None
    step.out.append(e.LoopEntered(key, element.id, scope.key, items, own))
    open_waits(step, key, scope.instance, prepared)
    if not items:
        step.out.append(c.CompleteElement(key, step.at))
    elif loop.sequential:
        enter(step, key, element, None, 0)
    else:
        step.out.append(c.StartLoop(key, step.at))


def start_loop(step: Step, command: c.StartLoop) -> None:
    body = step.state.elements.get(command.key)
    if isinstance(body, LoopBody) and not body.shut:
        for index in range(len(body.items)):
            enter(step, body.key, body.element, None, index)


def complete_item(step: Step, body: LoopBody, it: ElementInstance) -> None:
    """An item is done: its result is kept; then the next one, or the end."""
    loop = _loop(body)
    enough = _is_enough(step, loop, body, it)
    if loop.output_collection is not None and loop.output_element is not None:
        value = stored_value(loop.output_element, visible(step, it), step.at, "output element")
        step.out.append(e.ResultKept(body.key, loop.output_collection, body.index_of[it.key], value))
    close_waits(step, it)
    step.out.append(e.ElementCompleted(it.key))
    ends = body.shut or body.ending
    if enough and body.tokens > 1 and not ends:
        step.out.append(e.ScopeEnding(body.key))
        step.out.append(c.TerminateChildren(body.key, step.at))
    elif loop.sequential and body.started < len(body.items) and not enough and not ends:
        enter(step, body.key, body.element, None, body.started)
    else:
        path_ended(step, body)


def _is_enough(step: Step, loop: Loop, body: LoopBody, it: ElementInstance) -> bool:
    if loop.completion_condition is None:
        return False
    counts = {
        "numberOfInstances": len(body.items),
        "numberOfActiveInstances": body.tokens - 1,
        "numberOfCompletedInstances": body.completed + 1,
        "numberOfTerminatedInstances": body.terminated,
    }
    return boolean_value(loop.completion_condition, visible(step, it, counts), step.at, "completion condition")


def complete_body(step: Step, body: LoopBody) -> None:
    """The collected results pass to the scope around; the element's own mappings were applied to each item."""
    collection = _loop(body).output_collection
    if collection is not None and body.variables:
        assert body.scope is not None
        merge(step, body.scope, {collection: body.variables.get(collection)})
    leave(step, body)


def _loop(body: LoopBody) -> Loop:
    assert body.element.loop is not None
    return body.element.loop
