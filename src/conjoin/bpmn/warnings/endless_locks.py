"""A process that a message starts and that can never end: the first message of a key locks that key for ever.

Looked at is whether any end can be reached from the start event; whether it will be is not.
"""

from collections.abc import Iterator

from conjoin.bpmn.analysis.graph import afterwards, bits
from conjoin.bpmn.analysis.ways import ways
from conjoin.bpmn.document import Document, Node
from conjoin.errors import Problem


def endless_locks(document: Document) -> Iterator[Problem]:
    for process in document.processes:
        starts = [child for child in process.children if child.tag == "startEvent" and child.caught]
        if starts and not any(child.is_event_subprocess and _interrupts(child) for child in process.children):
            yield from _endless(document, process, starts)


def _endless(document: Document, process: Node, starts: list[Node]) -> Iterator[Problem]:
    follows = ways(process)
    bit = bits(follows)
    later = afterwards(follows, bit)
    ends = sum(bit[node] for node in process.children if not node.outgoing and not _goes_on(node))
    for start in starts:
        if start.caught and not (later[start] | bit[start]) & ends:
            yield document.problem(
                start,
                "endless_locks",
                f"an instance started by the message '{start.caught.name}' can never end",
                "While it lives, no other message with its key starts an instance: lead some way to an end event.",
            )


def _interrupts(event_subprocess: Node) -> bool:
    starts = [child for child in event_subprocess.children if child.tag == "startEvent"]
    return any(start.flag("isInterrupting", True) for start in starts)


def _goes_on(node: Node) -> bool:
    return node.tag == "intermediateThrowEvent" and node.event_type == "link"
