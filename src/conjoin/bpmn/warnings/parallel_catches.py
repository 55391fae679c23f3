"""Two elements of one process that wait at the same time for the same message with the same key.

Looked at are branches of one split, a boundary event and what is inside its activity, and an event subprocess and
what is beside it. A message is taken by one of the two only, and which one is decided by an order nobody sees.
"""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Node
from conjoin.bpmn.graph import reachable
from conjoin.bpmn.keys import correlation_key
from conjoin.bpmn.ways import ahead, ways
from conjoin.errors import Problem

_SPLITS_ALWAYS_ONE = ("exclusiveGateway", "eventBasedGateway")


def parallel_catches(document: Document) -> Iterator[Problem]:
    for process in document.processes:
        waiting: dict[tuple[str | None, str | None], list[Node]] = {}
        for node in process.within():
            if node.caught and not node.starts_process:
                waiting.setdefault((node.caught.name, correlation_key(node)), []).append(node)
        for (name, _), nodes in waiting.items():
            yield from _together(document, name, nodes)


def _together(document: Document, name: str | None, nodes: list[Node]) -> Iterator[Problem]:
    """One warning for each element that has company among those before it."""
    for place, node in enumerate(nodes):
        company = [other.id for other in nodes[:place] if _wait_together(other, node)]
        if company:
            others = " and ".join(f"'{identifier}'" for identifier in company)
            text = f"it may wait together with {others} for the message '{name}' with the same key"
            advice = "One message reaches only one of them: give them different messages, or different keys."
            yield document.problem(node, "parallel_catches", text, advice)


def _wait_together(one: Node, other: Node) -> bool:
    if _is_over_when_in(one, other) or _is_over_when_in(other, one):
        return False
    place, other_place = _place(one), _place(other)
    if _around(place, other_place) or _around(other_place, place):
        return True
    for scope in _scopes(place):
        first, second = _child_of(scope, place), _child_of(scope, other_place)
        if first and second and first is not second:
            return _are_parallel(scope, first, second)
    return False


def _is_over_when_in(start: Node, inner: Node) -> bool:
    """An interrupting event subprocess no longer listens once it is entered."""
    interrupts = start.tag == "startEvent" and start.flag("isInterrupting", True)
    return interrupts and start.scope in _scopes(inner)


def _place(node: Node) -> Node:
    """The element that has to be active for this one to wait."""
    if node.tag == "boundaryEvent" and node.attached_to:
        return node.attached_to
    if node.tag == "startEvent" and node.scope and node.scope.scope:
        return node.scope.scope
    return node


def _around(outer: Node, inner: Node) -> bool:
    return outer is not inner and outer in _scopes(inner)


def _scopes(node: Node) -> list[Node]:
    """The scopes around a node, the nearest first."""
    found = []
    while node.scope:
        node = node.scope
        found.append(node)
    return found


def _child_of(scope: Node, node: Node) -> Node | None:
    """The element directly in the scope that is the node or holds it."""
    return next((each for each in (node, *_scopes(node)) if each.scope is scope), None)


def _are_parallel(scope: Node, one: Node, other: Node) -> bool:
    follows = ways(scope)
    if other in ahead(one, follows) or one in ahead(other, follows):
        return False
    for split in scope.children:
        branches = [flow.target for flow in split.outgoing if flow.target and flow.target.scope is scope]
        if split.tag in _SPLITS_ALWAYS_ONE or len(branches) < 2:
            continue
        reached = [reachable([branch], follows) for branch in branches]
        if any(one in a and other in b for a in reached for b in reached if a is not b):
            return True
    return False
