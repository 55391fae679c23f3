"""Warnings about flows: instances that can never end, joins that wait for ever, elements that no way leads to."""

from functools import reduce
from operator import or_

from conjoin.bpmn.analysis.graph import afterwards, bits, reachable
from conjoin.bpmn.analysis.ways import ways
from conjoin.bpmn.document import Document, Found, Node


def endless_locks(document: Document) -> Found:
    """A process that a message starts and that can never end: the first message of a key locks that key for ever.

    Looked at is whether any end can be reached from the start event; whether it will be is not.
    """
    for process in document.processes:
        by_message = [start for start in process.starts if start.caught]
        subprocesses = [child for child in process.children if child.is_event_subprocess]
        if not by_message or any(start.interrupts for each in subprocesses for start in each.starts):
            continue
        reached, bit = _reached_from_starts(process)
        ends = sum(bit[node] for node in process.children if not node.outgoing and not node.throws_link)
        for start in by_message:
            if start.caught and not reached[start] & ends:
                text = f"an instance started by the message '{start.caught.name}' can never end"
                advice = "While it lives, no other message with its key starts an instance"
                yield start, text, f"{advice}: lead some way to an end event."


def starved_joins(document: Document) -> Found:
    """A parallel join that some start event reaches by some of its incoming flows only: it waits for ever.

    A parallel gateway with two ways in is always a join, also right behind two start events.
    """
    for process in document.processes:
        joins = [child for child in process.children if child.tag == "parallelGateway" and len(child.incoming) > 1]
        reached, bit = _reached_from_starts(process) if joins else ({}, {})
        for join in joins:
            yield from _starved(join, reached, bit)


def _starved(join: Node, reached: dict[Node, int], bit: dict[Node, int]) -> Found:
    sources = {flow.source: bit.get(flow.source, 0) for flow in join.incoming if flow.source}
    wanted = reduce(or_, sources.values(), 0)
    for start, seen in reached.items():
        if wanted & seen and not all(one & seen for one in sources.values()):
            missing = next(source.id for source, one in sources.items() if not one & seen)
            text = f"an instance that begins at '{start.id}' waits here for ever: no token comes from '{missing}'"
            yield join, text, "Use an exclusive gateway: a parallel gateway with several ways in waits for all of them."
            return


def _reached_from_starts(process: Node) -> tuple[dict[Node, int], dict[Node, int]]:
    """What each start event leads to, itself included, as bits; and the bit of each element."""
    follows = ways(process)
    bit = bits(follows)
    later = afterwards(follows, bit)
    return {start: later[start] | bit[start] for start in process.starts}, bit


def unreachable(document: Document) -> Found:
    """Elements that no way leads to, in a scope that begins somewhere."""
    for scope in document.scopes:
        begin = [*scope.starts, *(child for child in scope.children if child.is_event_subprocess)]
        reached = reachable(begin, ways(scope))
        for node in scope.children if begin else ():
            if node not in reached:
                yield node, f"no way leads to the {node.words}", "Connect it, or delete it."
