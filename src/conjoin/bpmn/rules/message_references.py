"""Whoever waits for a message says which: one that exists and has a name (S1, S2)."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Node
from conjoin.bpmn.names import CATCHING
from conjoin.errors import Problem

RULE = "message_references"


def message_references(document: Document) -> Iterator[Problem]:
    unnamed = set()
    for node in document.nodes:
        if not _waits_for_message(node):
            continue
        message = node.caught
        if message is None:
            named = (node.xml if node.tag == "receiveTask" else node.events[0].xml).get("messageRef")
            text = f"its message '{named}' does not exist" if named else f"the {node.words} names no message"
            yield document.problem(node, RULE, text, "Choose a message for it.")
        elif not (message.name or "").strip() and message not in unnamed:
            unnamed.add(message)
            text = f"the message has no name, but '{node.id}' waits for it"
            yield document.problem(message, RULE, text, "Give it the name under which it is published.")


def _waits_for_message(node: Node) -> bool:
    return node.tag == "receiveTask" or (node.tag in CATCHING and node.event_type == "message")
