"""Whoever waits for a message says which: one that exists and has a name (S1, S2)."""

from conjoin.bpmn.document import Document, Found
from conjoin.bpmn.names import CATCHING


def message_references(document: Document) -> Found:
    unnamed = set()
    for node in document.nodes:
        message = node.caught
        if node.tag != "receiveTask" and (node.tag not in CATCHING or node.event_type != "message"):
            continue
        if message is None:
            named = (node.xml if node.tag == "receiveTask" else node.events[0].xml).get("messageRef")
            text = f"its message '{named}' does not exist" if named else f"the {node.words} names no message"
            yield node, text, "Choose a message for it."
        elif not (message.name or "").strip() and message not in unnamed:
            unnamed.add(message)
            text = f"the message has no name, but '{node.id}' waits for it"
            yield message, text, "Give it the name under which it is published."
