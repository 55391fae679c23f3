"""Multi-instance: a body around the element, with one child for each item of a collection.

The body waits at the border (its boundary events), collects the results in the order of the items, and ends early
when its completion condition says so.
"""

from typing import Any

from conjoin.kernel.plan import Element, Loop
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process.rules.catching import open_waits, prepare
from conjoin.kernel.process.rules.entering import raise_incident, stuck
from conjoin.kernel.process.rules.tokens import close_waits, enter, leave, path_ended
from conjoin.kernel.process.rules.variables import merge, visible
from conjoin.kernel.process.state import ElementInstance, LoopBody, Scope
from conjoin.kernel.process.step import EXTRACT_VALUE_ERROR, Failure, Step
from conjoin.kernel.process.values import boolean_value, list_value, stored_value

MOST_ITEMS = 10_000
"""Each item is an element instance of its own, and all of a parallel loop begin in one step."""


def activate_body(step: Step, command: c.ActivateElement, element: Element, scope: Scope) -> None:
    loop = _loop(element)
    view = visible(step, scope)
    items = list_value(loop.collection, view, step.at, "input collection")
    if isinstance(items, Failure):
        stuck(step, command, None, items)
        return
    if len(items) > MOST_ITEMS:
        stuck(step, command, None, _too_many(loop, items))
        return
    prepared = prepare(step, element.boundaries, view, scope.instance)
    if isinstance(prepared, Failure):
        stuck(step, command, None, prepared)
        return
    own = {loop.output_collection: [None] * len(items)} if loop.output_collection else None
    step.out.append(e.LoopEntered(command.key, element.id, scope.key, items, own))
    open_waits(step, command.key, scope.instance, prepared)
    _begin(step, command.key, element, items)


def _too_many(loop: Loop, items: list[Any]) -> Failure:
    text = f"the input collection {loop.collection.text} has {len(items):,} items, and {MOST_ITEMS:,} are the most"
    return Failure(EXTRACT_VALUE_ERROR, text)


def _begin(step: Step, key: int, element: Element, items: list[Any]) -> None:
    if not items:
        step.out.append(c.CompleteElement(key, step.at))
    elif _loop(element).sequential:
        first = step.new_key()
        step.out.append(e.TokenAdded(first, element.id, key, 0))
        step.out.append(c.ActivateElement(first, element.id, key, step.at, None, 0))
    else:
        step.out.append(c.StartLoop(key, step.at))


def start_loop(step: Step, body: LoopBody) -> None:
    if body.shut:
        return
    for index in range(len(body.items)):
        enter(step, body, body.element, None, index)


def complete_item(step: Step, body: LoopBody, it: ElementInstance) -> None:
    """An item is done: its result is kept; then the next one, or the end."""
    loop = _loop(body.element)
    enough = _is_enough(step, loop, body, it)
    if isinstance(enough, Failure):
        raise_incident(step, it.key, enough)
        return
    problem = _keep_result(step, loop, body, it)
    if problem is not None:
        raise_incident(step, it.key, problem)
        return
    close_waits(step, it)
    step.out.append(e.ElementCompleted(it.key))
    if body.shut or body.ending:
        path_ended(step, body)
    elif enough and body.tokens > 1:
        step.out.append(e.ScopeEnding(body.key))
        step.out.append(c.TerminateChildren(body.key, step.at))
    elif not enough and loop.sequential and body.started < len(body.items):
        enter(step, body, body.element, None, body.started)
    else:
        path_ended(step, body)


def _is_enough(step: Step, loop: Loop, body: LoopBody, it: ElementInstance) -> bool | Failure:
    if loop.completion_condition is None:
        return False
    counts = {
        "numberOfInstances": len(body.items),
        "numberOfActiveInstances": body.tokens - 1,
        "numberOfCompletedInstances": body.completed + 1,
        "numberOfTerminatedInstances": body.terminated,
    }
    return boolean_value(loop.completion_condition, visible(step, it, counts), step.at, "completion condition")


def _keep_result(step: Step, loop: Loop, body: LoopBody, it: ElementInstance) -> Failure | None:
    if loop.output_collection is None or loop.output_element is None:
        return None
    value = stored_value(loop.output_element, visible(step, it), step.at, "output element")
    if isinstance(value, Failure):
        return value
    step.out.append(e.ResultKept(body.key, loop.output_collection, body.index_of[it.key], value))
    return None


def complete_body(step: Step, body: LoopBody) -> None:
    """The collected results pass to the scope around; the element's own mappings were applied to each item."""
    collection = _loop(body.element).output_collection
    if collection is not None and body.variables:
        assert body.scope is not None
        merge(step, body.scope, {collection: body.variables.get(collection)})
    leave(step, body)


def _loop(element: Element) -> Loop:
    assert element.loop is not None
    return element.loop
