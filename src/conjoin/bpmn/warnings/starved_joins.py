"""A parallel join that some start event reaches by some of its incoming flows only: it waits for ever.

A parallel gateway with two ways in is always a join, also right behind two start events.
"""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Node
from conjoin.bpmn.graph import reachable
from conjoin.bpmn.ways import ways
from conjoin.errors import Problem


def starved_joins(document: Document) -> Iterator[Problem]:
    for process in document.processes:
        starts = [child for child in process.children if child.tag == "startEvent"]
        follows = ways(process)
        reached = {start: reachable([start], follows) for start in starts}
        for join in process.children:
            if join.tag == "parallelGateway" and len(join.incoming) > 1:
                yield from _starved(document, join, reached)


def _starved(document: Document, join: Node, reached: dict[Node, set[Node]]) -> Iterator[Problem]:
    sources = [flow.source for flow in join.incoming if flow.source]
    for start, seen in reached.items():
        missing = [source for source in sources if source not in seen]
        if missing and len(missing) < len(sources):
            text = f"an instance that begins at '{start.id}' waits here for ever: no token comes from '{missing[0].id}'"
            advice = "Use an exclusive gateway: a parallel gateway with several ways in waits for all of them."
            yield document.problem(join, "starved_joins", text, advice)
            return
