"""A parallel join that some start event reaches by some of its incoming flows only: it waits for ever.

A parallel gateway with two ways in is always a join, also right behind two start events.
"""

from collections.abc import Iterator
from functools import reduce
from operator import or_

from conjoin.bpmn.analysis.graph import afterwards, bits
from conjoin.bpmn.analysis.ways import ways
from conjoin.bpmn.document import Document, Node
from conjoin.errors import Problem


def starved_joins(document: Document) -> Iterator[Problem]:
    for process in document.processes:
        joins = [child for child in process.children if child.tag == "parallelGateway" and len(child.incoming) > 1]
        follows = ways(process) if joins else {}
        bit = bits(follows)
        later = afterwards(follows, bit)
        reached = {node: later[node] | bit[node] for node in follows if node.tag == "startEvent"}
        for join in joins:
            yield from _starved(document, join, reached, bit)


def _starved(document: Document, join: Node, reached: dict[Node, int], bit: dict[Node, int]) -> Iterator[Problem]:
    sources = {flow.source: bit.get(flow.source, 0) for flow in join.incoming if flow.source}
    wanted = reduce(or_, sources.values(), 0)
    for start, seen in reached.items():
        if wanted & seen and not all(one & seen for one in sources.values()):
            missing = next(source.id for source, one in sources.items() if not one & seen)
            text = f"an instance that begins at '{start.id}' waits here for ever: no token comes from '{missing}'"
            advice = "Use an exclusive gateway: a parallel gateway with several ways in waits for all of them."
            yield document.problem(join, "starved_joins", text, advice)
            return
