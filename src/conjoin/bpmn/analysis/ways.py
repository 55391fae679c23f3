"""The ways through a scope: which element can come after which, by flows, links and boundary events."""

from conjoin.bpmn.document import Node

Links = dict[str | None, list[Node]]
"""The link catch events of a scope, by the name of the link."""


def ways(scope: Node) -> dict[Node, list[Node]]:
    """Each element directly in a scope with those that can follow it."""
    links = link_catches(scope)
    return {node: _next(node, links) for node in scope.children}


def _next(node: Node, links: Links) -> list[Node]:
    after = [flow.target for flow in node.outgoing if flow.target]
    after.extend(node.boundaries)
    after.extend(link_targets(node, links))
    return [other for other in after if other.scope is node.scope]


def link_catches(scope: Node) -> Links:
    found: Links = {}
    for node in scope.children:
        if node.tag == "intermediateCatchEvent" and node.event and node.event.type == "link":
            found.setdefault(node.event.name, []).append(node)
    return found


def link_targets(node: Node, links: Links) -> list[Node]:
    """Where a link throw event leads, by the link catch events of its scope; nothing of any other element."""
    if node.tag == "intermediateThrowEvent" and node.event and node.event.type == "link":
        return links.get(node.event.name, [])
    return []


def beginnings(scope: Node) -> list[Node]:
    """Where tokens appear in a scope by themselves."""
    return [child for child in scope.children if child.tag == "startEvent" or child.is_event_subprocess]
