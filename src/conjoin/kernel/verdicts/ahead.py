"""What an instance will wait for, but does not wait for yet: read off its model, from where its tokens are.

An element is ahead if flows lead to it, if it is attached to or inside something ahead; conditions on the way are not
looked at, so what is ahead may be passed by. Its key counts as known if the variables of now give one: nobody can say
what a variable that comes later will hold. Nothing here decides anything.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.kernel.plan import Element, Literal, MessageDefinition, Plan, value_or_null
from conjoin.kernel.process.rules.catching import key_text

MOST_SEEN = 2_000
"""Elements of one model that are looked at."""


class RestingToken(NamedTuple):
    """Where a token rests, and what can be seen from its scope."""

    element: Element
    variables: Mapping[str, Any]


class Ahead(NamedTuple):
    """The element that will wait, and the one at which the token rests that leads there."""

    element: Element
    token: Element


class Awaiting(NamedTuple):
    """What is sought; `called` is the process that a call activity would begin, where its model says which."""

    name: str
    key: str
    business_id: str
    now: int
    called: Callable[[str], Plan | None] = lambda _: None


def first_ahead(tokens: Sequence[RestingToken], awaited: Awaiting) -> Ahead | None:
    """The nearest element that will wait for this name with this key; None if there is none."""
    for token in tokens:
        for element in _after(token.element):
            found = [it for it in (element, *_called(element, awaited)) if waits_so(it, token.variables, awaited)]
            if found:
                return Ahead(found[0], token.element)
    return None


def calls(element: Element) -> str | None:
    """The process that it calls, if its model says which."""
    if element.call is None:
        return None
    process_id = element.call.process_id
    is_constant = isinstance(process_id, Literal) or getattr(process_id, "is_constant", False)
    return str(value_or_null(process_id, {}, 0)) if is_constant else None


def _called(element: Element, awaited: Awaiting) -> Iterator[Element]:
    """What waits in the process that it calls; a call within it is not followed."""
    process_id = calls(element)
    plan = awaited.called(process_id) if process_id is not None else None
    yield from plan.waits if plan is not None else ()


def waits_so(element: Element, variables: Mapping[str, Any], awaited: Awaiting) -> bool:
    """Would an element wait for this name with this key, given these variables?"""
    event = element.event
    if not isinstance(event, MessageDefinition) or (event.key is None and event.match != "business_key"):
        return False
    if value_or_null(event.name, variables, awaited.now) != awaited.name:
        return False
    if event.key is None:
        return awaited.business_id == awaited.key
    return key_text(value_or_null(event.key, variables, awaited.now)) == awaited.key


def _after(begin: Element) -> Iterator[Element]:
    """What can come after an element, the nearest first; itself only if there is a way back."""
    seen: set[str] = set()
    queue = deque(_next(begin))
    while queue and len(seen) < MOST_SEEN:
        element = queue.popleft()
        if element.id in seen:
            continue
        seen.add(element.id)
        yield element
        queue.extend((*_entered(element), *_next(element)))


def _next(element: Element) -> Iterator[Element]:
    """Where its tokens go: along its flows, out of its scope, or where an event on it leads."""
    yield from (flow.target for flow in element.outgoing)
    if element.default is not None:
        yield element.default.target
    if element.link_target is not None:
        yield element.link_target
    for boundary in element.boundaries:
        yield from (flow.target for flow in boundary.outgoing)
    scope = element.scope
    if scope is not None and scope.scope is not None:
        # The scope may end when this branch has; what is attached to it is open already.
        yield from _next(scope)


def _entered(element: Element) -> Iterator[Element]:
    """What opens when it is entered: events on it, its start, its event subprocesses."""
    yield from element.boundaries
    if element.start is not None:
        yield element.start
    yield from element.event_subprocesses
