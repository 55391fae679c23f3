"""The ways through a scope: which element can come after which, by flows, links and boundary events."""

from conjoin.bpmn.document import Node
from conjoin.bpmn.graph import reachable


def ways(scope: Node) -> dict[Node, list[Node]]:
    """Each element directly in a scope with those that can follow it."""
    return {node: _next(node) for node in scope.children}


def _next(node: Node) -> list[Node]:
    after = [flow.target for flow in node.outgoing if flow.target]
    after.extend(node.boundaries)
    if node.tag == "intermediateThrowEvent" and node.event and node.event.type == "link" and node.scope:
        after.extend(other for other in node.scope.children if catches_link(other, node.event.name))
    return [other for other in after if other.scope is node.scope]


def catches_link(node: Node, name: str | None) -> bool:
    event = node.event
    return node.tag == "intermediateCatchEvent" and event is not None and event.type == "link" and event.name == name


def beginnings(scope: Node) -> list[Node]:
    """Where tokens appear in a scope by themselves."""
    return [child for child in scope.children if child.tag == "startEvent" or child.is_event_subprocess]


def ahead(node: Node, follows: dict[Node, list[Node]]) -> set[Node]:
    """What can come after a node, the node itself only if there is a way back."""
    return reachable(follows[node], follows)
