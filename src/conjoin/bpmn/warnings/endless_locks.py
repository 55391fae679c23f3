"""A process that a message starts and that can never end: the first message of a key locks that key for ever.

Looked at is whether any end can be reached from the start event; whether it will be is not.
"""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Node
from conjoin.bpmn.graph import reachable
from conjoin.bpmn.ways import ways
from conjoin.errors import Problem


def endless_locks(document: Document) -> Iterator[Problem]:
    for process in document.processes:
        follows = ways(process)
        for start in process.children:
            if start.tag == "startEvent" and start.caught and not _can_end(process, reachable([start], follows)):
                yield document.problem(
                    start,
                    "endless_locks",
                    f"an instance started by the message '{start.caught.name}' can never end",
                    "While it lives, no other message with its key starts an instance: lead some way to an end event.",
                )


def _can_end(process: Node, reached: set[Node]) -> bool:
    interrupted = any(child.is_event_subprocess and _interrupts(child) for child in process.children)
    return interrupted or any(not node.outgoing and not _goes_on(node) for node in reached)


def _interrupts(event_subprocess: Node) -> bool:
    starts = [child for child in event_subprocess.children if child.tag == "startEvent"]
    return any(start.flag("isInterrupting", True) for start in starts)


def _goes_on(node: Node) -> bool:
    return node.tag == "intermediateThrowEvent" and node.event_type == "link"
