"""Elements that no way leads to."""

from collections.abc import Iterator

from conjoin.bpmn.analysis.graph import reachable
from conjoin.bpmn.analysis.ways import beginnings, ways
from conjoin.bpmn.document import Document
from conjoin.errors import Problem


def unreachable(document: Document) -> Iterator[Problem]:
    for scope in document.scopes:
        begin = beginnings(scope)
        reached = reachable(begin, ways(scope))
        for node in scope.children if begin else ():
            if node not in reached:
                text = f"no way leads to the {node.words}"
                yield document.problem(node, "unreachable", text, "Connect it, or delete it.")
