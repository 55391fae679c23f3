"""Two elements of one process that wait at the same time for the same message with the same key.

Looked at are branches of one split, a boundary event and what is inside its activity, and an event subprocess and
what is beside it. A message is taken by one of the two only, and which one is decided by an order nobody sees. Of very
many elements with one message and key each is compared with the first of them only.
"""

from conjoin.bpmn.analysis.ways import Branches
from conjoin.bpmn.document import Document, Found, Node

_MOST_COMPARED = 50
_MOST_NAMED = 5


def parallel_catches(document: Document) -> Found:
    for process in document.processes:
        waiting: dict[tuple[str | None, str | None], list[Node]] = {}
        for node in process.within():
            if node.caught and not node.starts_process:
                waiting.setdefault((node.caught.name, node.correlation_key), []).append(node)
        company = _Company()
        for (name, _), nodes in waiting.items():
            for place, node in enumerate(nodes):
                others = [f"'{it.id}'" for it in nodes[: min(place, _MOST_COMPARED)] if company.wait_together(it, node)]
                if others:
                    named = " and ".join(others[:_MOST_NAMED] + ["others"] * (len(others) > _MOST_NAMED))
                    text = f"it may wait together with {named} for the message '{name}' with the same key"
                    advice = "One message reaches only one of them: give them different messages, or different keys."
                    yield node, text, advice


class _Company:
    """Who waits with whom in a process; what is found out about a scope or an element is kept."""

    def __init__(self) -> None:
        self._branches: dict[Node, Branches] = {}
        self._paths: dict[Node, tuple[Node, ...]] = {}

    def wait_together(self, one: Node, other: Node) -> bool:
        if self._is_over_when_in(one, other) or self._is_over_when_in(other, one):
            return False
        path, other_path = self._path(_place(one)), self._path(_place(other))
        for depth, (first, second) in enumerate(zip(path, other_path, strict=False)):
            if first is not second:
                scope = path[depth - 1]
                if scope not in self._branches:
                    self._branches[scope] = Branches(scope)
                return self._branches[scope].are_parallel(first, second)
        return len(path) != len(other_path)

    def _is_over_when_in(self, start: Node, inner: Node) -> bool:
        """An interrupting event subprocess no longer listens once it is entered."""
        return start.tag == "startEvent" and start.interrupts and start.scope in self._path(inner)[:-1]

    def _path(self, node: Node) -> tuple[Node, ...]:
        """The scopes around a node from the process inwards, and the node itself."""
        if node not in self._paths:
            self._paths[node] = (*self._path(node.scope), node) if node.scope else (node,)
        return self._paths[node]


def _place(node: Node) -> Node:
    """The element that has to be active for this one to wait."""
    if node.tag == "boundaryEvent" and node.attached_to:
        return node.attached_to
    if node.tag == "startEvent" and node.scope and node.scope.scope:
        return node.scope.scope
    return node
